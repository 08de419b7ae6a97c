"""Own documents timed from JSON lines to a report, benchmarks/documents.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from documents import write_data

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.own_documents import QRELS, read_documents
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "documents.py"


def test_answers_are_documents_and_titles_of_questions_queries(tmp_path: Path) -> None:
    write_data(Collection(SAMPLE), tmp_path / "data", 30, 3)
    documents = [document for document, _ in read_documents(tmp_path / "data" / "corpus.jsonl")]
    queries = [query for query, _ in read_documents(tmp_path / "data" / "queries.jsonl")]
    assert (len(documents), len(queries)) == (30, 3)
    judged = read_qrels(tmp_path / "data" / QRELS[0])
    assert list(judged) == [query.doc_id for query in queries]
    assert {doc for of in judged.values() for doc in of} <= {each.doc_id for each in documents}
    first = json.loads((tmp_path / "data" / "queries.jsonl").read_text().splitlines()[0])
    assert "$" in first["text"]


@pytest.mark.slow
def test_every_step_is_timed(tmp_path: Path) -> None:
    options = ["--make", str(SAMPLE), "--documents", "50", "--queries", "5"]
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "data", *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for step in ("index", "run, every variant", "eval", "report", "both"):
        assert step in done.stdout
