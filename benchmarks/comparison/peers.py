"""Indexing and searching beside other BM25 engines, on the same terms and with the same topics.

A document has one field: the terms of an answer's prose and of its formulas. A query has every
distinct term of a topic once, because not every engine weighs terms. Each engine is called as
engines.py says, and indexes and searches in processes of its own; the peers run in an environment
of their own, .venv-bench (`make bench` sets it up). Agreement is the share of this system's first
ten that is among a peer's first ten, averaged over the topics. Formulas of BM25 differ: Lucene and
Tantivy keep the length of a document in one byte, the others as it is; Terrier's weight of a term
that is in more than half of the documents is negative; and each has its own order of ties.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.engines.lucene.jvm import java_home
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.document_fields import document_fields
from comparison.children import ChildError, run_module
from comparison.engines import DEPTH, ENGINES, K1, NOT_INSTALLED, OURS, B
from comparison.results import Part, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.collection.layout import Layout
    from comparison.results import Value

VENV: Final = Path(__file__).parents[2] / ".venv-bench"
TERRIER: Final = {"TERRIER_VERSION": "5.11", "TERRIER_HELPER_VERSION": "0.0.8"}
_TOP: Final = 10
_COLUMNS: Final = (
    "documents/s", "MB to index", "bytes/document", "ms/query, first", "ms/query", "MB to search",
    f"overlap@{_TOP}",
)  # fmt: skip


def beside_peers(layouts: Sequence[Layout], work: Path, repeats: int, venv: Path) -> Part:
    """Index and search every collection with every engine; figures are medians of `repeats`."""
    return Part([_table(layout, work / layout.name, repeats, venv) for layout in layouts], [])


def _table(layout: Layout, work: Path, repeats: int, venv: Path) -> Table:
    count = _write_documents(layout, work)
    topics = _write_queries(layout, work / "queries.json")
    rows: list[dict[str, Value]] = []
    notes = [
        f"{count:,} answers of {layout.name} in one field, {topics} topics, k = {DEPTH:,}, "
        f"k1 = {K1}, b = {B}; one thread searches."
    ]
    rankings: dict[str, list[list[str]]] = {}
    for name in ENGINES:
        try:
            measured = _measure(name, work, repeats, venv)
        except ChildError as error:
            if name == OURS:
                raise
            absent = error.status == NOT_INSTALLED
            notes.append(f"{name}: {'not installed' if absent else error.reason}.")
            rows.append({"engine": name, **dict.fromkeys(_COLUMNS)})
            continue
        rankings[name] = json.loads((work / "rankings.json").read_text(encoding="utf-8"))
        index, search = measured["index"], measured["search"]
        rows.append({
            "engine": f"{name} {search['version']}",
            "documents/s": count / index["seconds"],
            "MB to index": index["peak"] / 1e6,
            "bytes/document": index["size"] / count,
            "ms/query, first": 1000 * search["first"] / topics,
            "ms/query": 1000 * median(search["seconds"]) / topics,
            "MB to search": search["peak"] / 1e6,
            f"overlap@{_TOP}": overlap(rankings[OURS], rankings[name]),
        })  # fmt: skip
    shutil.rmtree(work)
    return Table(f"Engines on {layout.name}", rows, " ".join(notes))


def _write_documents(layout: Layout, work: Path) -> int:
    """Write documents to work/documents, in as many files as the package; return their number."""
    run_module("comparison.pipelines", "package", layout.data, work / "fields")
    (work / "documents").mkdir()
    count = 0
    for path in (work / "fields" / "documents").glob("*.jsonl"):
        with (
            path.open(encoding="utf-8") as lines,
            (work / "documents" / path.name).open("w", encoding="utf-8") as file,
        ):
            for document in map(json.loads, lines):
                terms = f"{document['contents']} {document['body_math']}"
                one_field = {"id": document["id"], "contents": terms}
                file.write(json.dumps(one_field, ensure_ascii=False) + "\n")
                count += 1
    shutil.rmtree(work / "fields")
    return count


def _write_queries(layout: Layout, path: Path) -> int:
    """Write the terms of the topics of the last available year; return the number of topics."""
    analyzer = Analyzer(configured("task1").settings.analysis)
    queries = []
    for topic in read_topics(layout.topics("task1", layout.years("task1")[-1])):
        title = analyzer(read_title(topic.title))
        question = analyzer(read_body(topic.question))
        fields = document_fields(title, question, topic.tags, analyzer)
        queries.append(list(dict.fromkeys(" ".join(bag.terms for bag in fields.values()).split())))
    path.write_text(json.dumps(queries), encoding="utf-8")
    return len(queries)


def _measure(name: str, work: Path, repeats: int, venv: Path) -> dict[str, Any]:
    """Index `repeats` times, then search; the rankings are in work/rankings.json."""
    python = Path(sys.executable) if name == OURS else venv / "bin" / "python"
    if not python.exists():
        raise ChildError(NOT_INSTALLED, "")
    index = work / "index"

    def run(*arguments: object) -> dict[str, Any]:
        environment = {
            "JAVA_HOME": str(java_home()), "PYTERRIER_HOME": str(venv / "terrier"), **TERRIER,
        }  # fmt: skip
        program = "comparison.engines"
        done = run_module(program, name, *arguments, python=python, environment=environment)
        return dict(done)

    made = []
    for _ in range(repeats):
        shutil.rmtree(index, ignore_errors=True)
        made.append(run("index", work / "documents", index))
    size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    rankings = work / "rankings.json"
    found = run("search", work / "queries.json", index, rankings, "--rounds", repeats)
    medians = {key: median(of[key] for of in made) for key in ("seconds", "peak")}
    return {"index": {**medians, "size": size}, "search": found}


def overlap(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> float:
    """Return the mean share of our first ten that is among theirs."""
    shares = [
        len(set(one[:_TOP]) & set(other[:_TOP])) / len(one[:_TOP])
        for one, other in zip(ours, theirs, strict=True)
        if one
    ]
    return sum(shares) / len(shares)
