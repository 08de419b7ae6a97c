"""The protocol of search engines.

All engines compute one ranking: BM25 over fields in Lucene's 32-bit arithmetic, the scores of terms
added in 64 bits, ties by descending id. Lucene's index is the reference. Flat postings (flat.py)
are built without Lucene, and a cluster (opensearch/) may hold the same documents.
"""

import os
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import numpy.typing as npt

from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.records import Hit, HitLists, Json

DocIds = Sequence[bytes]  # in UTF-8
Scores = npt.NDArray[np.float32]
Query = Mapping[str, Mapping[str, float]]  # field → term → weight of the term
TermScores = dict[str, dict[str, float]]  # field → term → what it gives to a score
TermsOfFields = Mapping[str, Iterable[str]]  # field → terms
DocumentCounts = dict[str, dict[str, int]]  # field → term → how many documents hold it

LocalName = Literal["lucene", "flat"]
EngineName = Literal["auto", LocalName, "opensearch"]
# Up to this number of terms it pays to skip documents that cannot be among the best.
FEW = 64
# At first so many hits beyond k are requested; few ties are longer.
_MARGIN = 50
_TERM = re.compile(r"\Aweight\(([^:]+):(.+) in \d+\) \[", re.DOTALL)
_NO_FIELDS: dict[str, Bag] = {}


class Bm25(NamedTuple):
    """Parameters of BM25, some fields with their own."""

    k1: float = 1.2
    b: float = 0.75
    by_field: Mapping[str, tuple[float, float]] = MappingProxyType({})

    def of(self, field: str) -> tuple[float, float]:
        """Return k1 and b of a field."""
        return self.by_field.get(field, (self.k1, self.b))


class Document(NamedTuple):
    """A document by its fields; a field is either `own` or `shared` in all documents."""

    doc_id: str
    own: Mapping[str, Bag]
    # Fields of the documents before and after it as well: one object for all of them.
    shared: Mapping[str, Bag] = _NO_FIELDS
    words: Collection[str] = ()  # as they were written, each once, if the index keeps them


class Engine(NamedTuple):
    """An engine and where it runs: on hosts, else in a directory of this machine."""

    name: EngineName = "auto"
    hosts: tuple[str, ...] = ()  # URLs of an OpenSearch cluster
    shards: int = 1
    replicas: int = 0


AUTO = Engine()


def chosen_engine(
    name: str,
    hosts: str | None = None,
    shards: int = 1,
    replicas: int = 0,
) -> Engine:
    """Return an engine by its name; `hosts` are URLs separated by commas.

    The hosts of a cluster are taken from the environment by default. Raises InputError for an
    unknown name, for a cluster without hosts, and for hosts of another engine.
    """
    names = get_args(EngineName)
    if name not in names:
        raise InputError(f"engine {shown(name)}: expected one of {', '.join(names)}")

    if name == "opensearch":
        hosts = hosts or os.environ.get("ARQMATH_OPENSEARCH_HOSTS")
    if (name == "opensearch") != bool(hosts):
        raise InputError(
            "the engine opensearch and hosts belong together; expected hosts as "
            "https://HOST:9200, or several with commas between, or ARQMATH_OPENSEARCH_HOSTS with "
            "them"
        )

    urls: tuple[str, ...] = ()
    if hosts:
        urls = tuple(hosts.split(","))
    return Engine(cast("EngineName", name), urls, shards, replicas)


class Searcher(ABC):
    """An open index. Thread-safe."""

    count: int  # of documents
    threads: int = 1  # queries that are searched for at a time
    origin: str | None = None  # of an index in a cluster: its name and its id there

    @abstractmethod
    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""

    def search_many(self, queries: Sequence[Query], k: int) -> HitLists:
        """Search for all queries; results come in the order of queries."""
        search = partial(self.search, k=k)
        if self.threads == 1 or len(queries) == 1:
            yield from map(search, queries)
            return

        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(search, queries)

    def score(self, query: Query, doc_ids: Sequence[str]) -> list[Hit]:
        """Score given documents, best first; 0 for a document without any of the terms.

        Raises InputError that names the ids of no document.
        """
        explained = self.explain(query, doc_ids)
        scores = {}
        for doc_id, fields in zip(doc_ids, explained, strict=True):
            scores[doc_id] = sum(sum(terms.values()) for terms in fields.values())
        return best_first(scores)

    @abstractmethod
    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return the share of each term in the scores of documents.

        The shares are 32-bit numbers. Raises InputError that names the ids of no document.
        """

    def check_ids(self, doc_ids: Sequence[str]) -> None:
        """Raise InputError that names the ids of no document, if there are any."""
        self.explain({}, doc_ids)  # which looks up all ids, and then has nothing to explain

    @abstractmethod
    def document_counts(self, terms: TermsOfFields) -> DocumentCounts:
        """Return field → term → the number of documents that hold it, if any do."""

    @abstractmethod
    def close(self) -> None:
        """Close the index."""


def best_first(scores: Mapping[str, float]) -> list[Hit]:
    """Return documents with their 32-bit scores, never -0.0; ties by descending id."""
    hits = []
    for doc_id, score in scores.items():
        rounded = float(np.float32(score))
        hits.append(Hit(doc_id, rounded + 0.0))
    return sorted(hits, key=lambda hit: (hit.score, hit.doc_id), reverse=True)


def best_hits(ids: DocIds, scores: Scores, k: int) -> list[Hit]:
    """Return the k best of some documents; ties by descending id."""
    best = sorted(zip(scores.tolist(), ids, strict=True), reverse=True)[:k]
    best_ids = [doc_id.decode() for _, doc_id in best]
    best_scores = [score for score, _ in best]
    return list(map(Hit, best_ids, best_scores))  # half of the time of a loop


def with_ties(best: Callable[[int], tuple[DocIds, Scores]], k: int) -> list[Hit]:
    """Return the k best documents, ties by descending id.

    `best` returns the given number of documents, best first, and may cut a tie. So more than k are
    requested, until no tie with document k is cut.
    """
    wanted = k + _MARGIN
    ids, scores = best(wanted)
    while len(scores) == wanted and scores[-1] == scores[k - 1]:
        wanted *= 4
        ids, scores = best(wanted)
    return best_hits(ids, scores, k)


def term_scores(explanation: Json) -> TermScores:
    """Return each term's share of a score: the leaves of Lucene's explanation.

    Lucene and OpenSearch name terms alike: `weight(FIELD:TERM in NUMBER) [SIMILARITY], …`.
    """
    scores: TermScores = defaultdict(dict)
    nodes = [explanation]
    for node in nodes:  # The list grows during the loop.
        match = _TERM.match(node["description"])
        if match is None:
            nodes += node["details"]
        else:
            field, term = match.groups()
            scores[field][term] = float(np.float32(node["value"]))
    return dict(scores)


def flat_directory(index: Path) -> Path:
    """Return the directory of the flat postings of an index, which need not exist."""
    return index.with_name(f"{index.name}.flat")
