"""Sets of ir_datasets as documents of one's own; ir_datasets is installed, or in .venv-bench."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from program import arqmath, printed
from serving import running

import arqmath_bm25 as arq
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.pages.web.search_pages import SearchPages
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
NAME = "bright/small"  # a label of -100 excludes, as in its real sets
DOCS = {
    "thm/1": r"In a right triangle \(a^2+b^2=c^2\).",
    "2": "No formula, a triangle only.",
    "η3": "Euler found $e^{i\\pi}+1=0$.",
    "excluded": "A triangle and a triangle.",
}
JUDGED = {
    ("q1", "thm/1"): 2, ("q1", "2"): 0, ("q1", "η3"): -1, ("q1", "excluded"): -100, ("q2", "2"): 1,
}  # fmt: skip


@pytest.fixture(params=[NAME])
def small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[str]:
    """Register a set with documents, queries and judgments."""
    places = map(str, ROOT.glob(".venv-bench/lib/python*/site-packages"))
    monkeypatch.setattr(sys, "path", [*sys.path, *places])
    if not find_spec("ir_datasets"):
        pytest.skip("ir_datasets is not installed: make .venv-bench/.ready")
    import ir_datasets
    from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    def local(name: str, *rows: str) -> LocalDownload:
        path = tmp_path / name
        path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        return LocalDownload(path)

    dataset = ir_datasets.Dataset(
        TsvDocs(local("docs.tsv", *("\t".join(row) for row in DOCS.items()))),
        TsvQueries(local("queries.tsv", "q1\ttriangle $x^2+y^2=z^2$", "q2\ttriangle")),
        TrecQrels(local("qrels", *(f"{q} 0 {d} {g}" for (q, d), g in JUDGED.items())), {}),
    )
    ir_datasets.registry.register(request.param, dataset)
    yield f"irds:{request.param}"
    del ir_datasets.registry._registered[request.param]


def test_index_run_and_eval(small: str, tmp_path: Path) -> None:
    where = ("--data", small, "--indexes", tmp_path / "indexes")
    assert "4 documents indexed" in printed("index", "docs", *where)
    said = printed("run", "docs", *where, "--runs", tmp_path / "runs", "--variant", "both")
    assert "2 queries, 6 rows" in said
    (run,) = (tmp_path / "runs").rglob("both.trec")
    rows = [line.split("\t")[:4] for line in run.read_text(encoding="utf-8").splitlines()]
    assert next(row[2] for row in rows if row[0] == "q1") == "thm/1"
    assert {row[2] for row in rows if row[0] == "q1"} == {"thm/1", "2", "η3"}
    assert {row[2] for row in rows if row[0] == "q2"} == {"thm/1", "2", "excluded"}
    arqmath("eval", run, "--json", tmp_path / "scores.json", *where)
    (scores,) = json.loads((tmp_path / "scores.json").read_text())
    ranks = {row[2]: int(row[3]) for row in rows if row[0] == "q2"}
    assert scores["R(rel=1)@100"] == 1
    gain = {1: 1, 2: 0.6309297535714575, 3: 0.5}[ranks["2"]]  # 1 / log2(rank + 1)
    assert scores["nDCG@10"] == pytest.approx((1 + gain) / 2, abs=1e-4)


@pytest.mark.parametrize("small", ["arqmath-test/small"], indirect=True)
def test_a_label_below_zero_is_a_judgment_where_the_set_excludes_none(
    small: str, tmp_path: Path
) -> None:
    """Junk, spam, not relevant: it is ranked, for a run must not depend on judgments."""
    collection = arq.Collection(small, tmp_path / "indexes")
    index = collection.index("docs", engine="flat")
    topics = collection.topics("docs", collection.path / "queries.jsonl")
    run = index.run(topics)
    assert "excluded" not in topics
    assert set(run["docno"][run["qid"] == "q1"]) == {"thm/1", "2", "η3", "excluded"}


def test_serve_and_the_library(small: str, tmp_path: Path) -> None:
    collection = arq.Collection(small, tmp_path / "indexes")
    index = collection.index("docs", engine="flat")
    found = index.document("η3")
    assert found["text"] == r"Euler found $e^{i\pi}+1=0$."
    assert (found["docno"], found["title"]) == ("η3", "")
    with pytest.raises(InputError, match="has no document 'no'"):
        index.document("no")
    opened = CollectionFiles(small, tmp_path / "indexes")
    site = SearchPages({"docs": OpenIndex.open(opened, "docs")}, threads=1)
    with running(site) as address:
        page = urlopen(f"{address}/?q=Euler&task=docs").read().decode()  # noqa: S310
        answer = json.load(urlopen(f"{address}/api/search?q=Euler&task=docs"))  # noqa: S310
        with pytest.raises(HTTPError) as refused:
            urlopen(f"{address}/api/search?q=Euler&task=docs&year=2013")  # noqa: S310
        assert refused.value.code == 422
    assert "<math" in page
    assert "· η3 ·" in page  # its id; it has neither a year nor tags
    assert 'name="year"' not in page
    assert [hit["doc_id"] for hit in answer["results"]] == ["η3"]


@pytest.mark.slow
def test_a_retriever_of_pyterrier(small: str, tmp_path: Path) -> None:
    """In a process of its own: PyTerrier decides which Java a process has."""
    collection = arq.Collection(small, tmp_path / "indexes")
    collection.index("docs", engine="flat")
    places = map(str, ROOT.glob(".venv-bench/lib/python*/site-packages"))
    if not find_spec("pyterrier"):
        pytest.skip("python-terrier is not installed: make .venv-bench/.ready")
    command = [sys.executable, "-c", RETRIEVE, collection.path, tmp_path / "indexes", *places]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [["7", "η3"], ["8", "thm/1"]]


RETRIEVE = """
import json, sys
sys.path += sys.argv[3:]
import arqmath_bm25 as arq
from arqmath_bm25.pyterrier import Retriever
index = arq.Collection(sys.argv[1], sys.argv[2]).index("docs", engine="flat")
queries = [{"qid": "7", "query": "Euler"}, {"qid": "8", "query": "$x^2+y^2=z^2$"}]
import pandas as pd
found = (Retriever(index) % 1)(pd.DataFrame(queries))
print(json.dumps(found[["qid", "docno"]].values.tolist()))
"""


def test_names_that_do_not_serve(small: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="irds:no/such: ir_datasets has no set of this name"):
        arq.Collection("irds:no/such", tmp_path / "indexes").index("docs")
    assert not [path for path in (tmp_path / "indexes").rglob("*") if path.is_file()]
