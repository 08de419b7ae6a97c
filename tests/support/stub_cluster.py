"""A cluster in memory, for quick tests: so much of OpenSearch's interface as this program uses.

It ranks by the sum of the boosts of the terms that a document holds.
"""

from __future__ import annotations

import copy
import fnmatch
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from cluster_proxy import Answer, Asked, Proxy, proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]


def answered(body: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(body).encode())


def failed(status: int, kind: str, reason: str) -> Answer:
    cause = {"type": kind, "reason": reason}
    return answered({"error": {**cause, "root_cause": [cause]}, "status": status}, status)


def as_settings(value: Any) -> Any:
    """Return settings as a cluster shows them: nested, all values as text."""
    if isinstance(value, dict):
        return {name: as_settings(part) for name, part in value.items()}
    return str(value).lower() if isinstance(value, bool) else str(value)


class StubIndex:
    """An index: settings, mappings, documents by shard."""

    def __init__(self, body: Json, template: Json) -> None:
        self.settings: Json = {"uuid": "uuid", **as_settings({**template, **body["settings"]})}
        self.mappings: Json = body["mappings"]
        self.shards: list[dict[str, Json]] = [
            {} for _ in range(body["settings"]["number_of_shards"])
        ]
        self.operations = [-1 for _ in self.shards]  # the number of the last one of each shard
        self.lost: set[int] = set()  # shards that are on no node
        self.deleted = [0 for _ in self.shards]  # documents that are not merged away
        self.kept = False  # whether a lease keeps these
        self.problem: Answer | None = None  # what each request for its description gets

    def number_of(self, routing: str) -> int:
        return sum(routing.encode()) % len(self.shards)

    def create(self, doc_id: str, document: Json) -> int:
        """Create a document and return the status."""
        number = self.number_of(doc_id)
        if doc_id in self.shards[number]:
            return 409
        self.shards[number][doc_id] = document
        self.operations[number] += 1
        return 201

    def delete(self, doc_id: str) -> int:
        """Delete a document and return the status."""
        number = self.number_of(doc_id)
        if doc_id not in self.shards[number]:
            return 404
        del self.shards[number][doc_id]
        self.deleted[number] += 1
        self.operations[number] += 1
        return 200

    def merge(self) -> None:
        if not self.kept:
            self.deleted = [0 for _ in self.shards]

    def documents(self) -> list[Json]:
        return [document for shard in self.shards for document in shard.values()]

    def described(self) -> Json:
        return {"settings": {"index": self.settings}, "mappings": self.mappings}

    def stats(self) -> Json:
        copies = {
            str(number): [
                {
                    "docs": {"count": len(shard), "deleted": self.deleted[number]},
                    "seq_no": {"max_seq_no": self.operations[number]},
                    "store": {"size_in_bytes": 100 * len(shard)},
                    "merges": {"current": 0},
                    "retention_leases": {
                        "leases": [
                            {"id": "peer/1", "retaining_seq_no": 0, "source": "peer recovery"},
                            {"id": "peer/2", "retaining_seq_no": 7, "source": "peer recovery"},
                        ]
                    },
                    "routing": {"node": "node-id"},
                }
            ]
            for number, shard in enumerate(self.shards)
            if number not in self.lost
        }
        return {"shards": copies}

    def search(self, body: Json) -> Json:
        if not body["size"]:
            counted: Json = {"hits": []}
            if body["track_total_hits"]:
                counted["total"] = {"value": len(self.documents())}
            return {"hits": counted}
        asked = body["query"]["bool"]
        kept = asked["filter"]["ids"]["values"] if "filter" in asked else None
        hits = []
        for document in self.documents():
            if kept is not None and document["id"] not in kept:
                continue
            leaves = [
                {
                    "description": f"weight({field}:{term['value']} in 0) [similarity], ",
                    "value": term["boost"],
                    "details": [],
                }
                for clause in asked["should"]
                for field, term in clause["term"].items()
                if term["value"] in document.get(field, "").split()
            ]
            if leaves:
                hit = {
                    "fields": {"id": [document["id"]]},
                    "_score": sum(x["value"] for x in leaves),
                }
                explanation = {"description": "sum of:", "value": 0, "details": leaves}
                hits.append({**hit, "_explanation": explanation} if body.get("explain") else hit)
        hits.sort(key=lambda hit: -hit["_score"])
        return {"hits": {"hits": hits[: body["size"]]}}

    def term_vectors(self, asked: Json) -> Json:
        number = self.number_of(asked["routing"])
        vectors: Json = {"_routing": {"terms": {}}}
        for field, text in asked["doc"].items():
            held = [document.get(field, "").split() for document in self.shards[number].values()]
            terms: Json = {}
            for term in text.split():
                count = sum(term in words for words in held)
                terms[term] = {"doc_freq": count} if count else {}
            vectors[field] = {"terms": terms}
        return {"term_vectors": vectors}


class StubCluster:
    """All indexes. A test may change whatever it likes."""

    def __init__(self) -> None:
        self.indexes: dict[str, StubIndex] = {}
        self.template: Json = {}  # settings that each new index gets
        self.free = 10**12  # bytes, of its node
        self.bulk_status: list[int] = []  # of the next documents, in place of creating them
        self.proxy: Proxy

    def answer(self, asked: Asked) -> Answer:
        url = urlsplit(asked.path)
        name, _, action = url.path.strip("/").partition("/")
        if not name:
            return answered({"version": {"distribution": "opensearch", "number": "3.4.0"}})
        if name == "_resolve":
            return answered({"indices": [{"name": index} for index in self.indexes]})
        if name == "_nodes":
            node = {"name": "node-1", "fs": {"total": {"available_in_bytes": self.free}}}
            return answered({"nodes": {"node-id": node}})
        if name == "_cluster":
            index = self.indexes[action.removeprefix("health/")]
            missing = len(index.shards) * int(index.settings["number_of_replicas"])
            health = {"initializing_shards": 0, "unassigned_shards": missing}
            return answered(health, 408 if missing else 200)
        if action == "_bulk" and "require_alias=true" in url.query:
            return self._bulk(name.removesuffix(".load"), asked.body.decode())
        body = json.loads(asked.body) if asked.body else {}
        if asked.method == "PUT" and not action:
            self.indexes[name] = StubIndex(body, self.template)
            return answered({"acknowledged": True})
        if name == "_mtermvectors":
            vectors = [self.indexes[each["_index"]].term_vectors(each) for each in body["docs"]]
            return answered({"docs": vectors})
        if asked.method == "GET" and name.endswith("*"):
            matching = fnmatch.filter(self.indexes, name)
            return answered({index: self.indexes[index].described() for index in matching})
        if name not in self.indexes:
            return failed(404, "index_not_found_exception", f"no such index [{name}]")
        if action.startswith("_clone/"):
            return self._clone(self.indexes[name], action.removeprefix("_clone/"))
        return self._of_index(name, action, asked.method, body, parse_qs(url.query))

    def _clone(self, source: StubIndex, target: str) -> Answer:
        if source.settings.get("index.blocks.write") != "true":
            return failed(400, "illegal_state_exception", "index must be read-only to resize")
        copied = self.indexes[target] = copy.deepcopy(source)
        copied.settings |= {"uuid": f"uuid of {target}", "index.blocks.write": "false"}
        return answered({"acknowledged": True})

    def _of_index(
        self, name: str, action: str, method: str, body: Json, query: dict[str, list[str]]
    ) -> Answer:
        index = self.indexes[name]
        if method == "DELETE":
            del self.indexes[name]
        elif not action and index.problem:
            return index.problem
        elif method == "GET" and action in ("", "_settings"):
            return answered({name: index.described()})
        elif action == "_settings":
            index.settings.update(as_settings(body))
        elif action == "_mapping":
            index.mappings["_meta"] = body["_meta"]
        elif action.startswith("_stats"):
            return answered({"indices": {name: index.stats()}})
        elif action == "_forcemerge":
            index.merge()
        elif action == "_search":
            return answered(index.search(body))
        elif action == "_search_shards":
            number = index.number_of(query["routing"][0])
            return answered({"shards": [[{"shard": number}]]})
        return answered({"acknowledged": True})

    def _bulk(self, name: str, body: str) -> Answer:
        lines = iter(re.sub(r"\n\Z", "", body).split("\n"))
        items: list[Json] = []
        for line in lines:
            ((kind, action),) = json.loads(line).items()
            if kind == "delete":
                status = self.indexes[name].delete(action["_id"])
                items.append({kind: {"status": status}})
                continue
            document = next(lines)
            if self.bulk_status:
                status = self.bulk_status.pop()
            else:
                status = self.indexes[name].create(action["_id"], json.loads(document))
            items.append({kind: {"status": status, "error": {"reason": "the queue is full"}}})
        return answered({"items": items})


@contextmanager
def stub_cluster() -> Iterator[StubCluster]:
    """Run such a cluster on a free port; `proxy` has its URL and its requests."""
    cluster = StubCluster()
    with proxy("http://127.0.0.1:1") as running:
        running.fault = cluster.answer
        cluster.proxy = running
        yield cluster
