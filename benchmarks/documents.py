"""Own documents from JSON lines to a report, beside bm25s on the same files.

    python benchmarks/documents.py DATA [--make COLLECTION --documents 100000 --queries 1000]

DATA is a directory as BEIR has it: corpus.jsonl, queries.jsonl, qrels/test.tsv. With --make it is
written first: the answers of a collection (`benchmarks/generate.py` makes one of any size) are its
documents, titles of questions its queries, and a question's answers are relevant. Each step is a
command of the program, for the flat engine; bm25s is that of `make .venv-bench/.ready`, from the
start of Python to its hits. `compare` corrects its p-values by Holm's method.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import Stemmer
from comparison.children import cpu, watch
from comparison.peers import VENV
from rich.console import Console
from rich.table import Table

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.own_documents import CORPUS, QRELS, QUERIES, read_documents

RANKERS: Final = "comparison.rankers"
PROGRAM: Final = (sys.executable, "-m", "arqmath_bm25", "--quiet")


def main() -> None:
    """Write the documents if asked to, time every step, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--make", type=Path, metavar="COLLECTION")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1_000)
    options = parser.parse_args()
    if options.make:
        write_data(Collection(options.make), options.data, options.documents, options.queries)
    data, qrels = options.data.absolute(), options.data.absolute() / QRELS[0]
    table = Table("", "CPU, s", "seconds", "memory, MB")
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        places = "--data", data, "--indexes", work / "indexes"
        runs = [work / "runs" / data.name / "queries" / f"{name}.trec" for name in ("text", "both")]
        steps: dict[str, list[object]] = {
            "index": [*PROGRAM, "index", "docs", *places, "--engine", "flat"],
            "run, every variant": [*PROGRAM, "run", "docs", *places, "--runs", work / "runs"],
            "eval, two runs": [*PROGRAM, "eval", *runs, "--qrels", qrels],
            "report, two runs": [*PROGRAM, "report", *runs, *places, "-o", work / "report"],
        }
        if (python := VENV / "bin" / "python").is_file():
            write_texts(data, work)
            files = work / "documents", work / "queries.tsv", work, Path(Stemmer.__file__).parent
            steps["bm25s, from JSON lines to hits"] = [python, "-m", RANKERS, "bm25s", *files]
        os.environ["PYTHONPATH"] = str(Path(__file__).parent)
        for name, step in steps.items():
            before = cpu()
            seconds, peaks = watch(step)
            memory = f"{peaks.together / 1e6:,.0f}"
            table.add_row(name, f"{cpu() - before:.1f}", f"{seconds:.1f}", memory)
        Console().print(table)
        ranked = [*work.glob("bm25s.trec"), *runs]
        compared = [*PROGRAM[:-1], "compare", *ranked, "--qrels", qrels]
        subprocess.run(list(map(str, compared)), check=True)


def write_data(collection: Collection, data: Path, documents: int, queries: int) -> None:
    """Write answers as documents, titles as queries, and judgments."""
    (data / QRELS[0]).parent.mkdir(parents=True)
    written = asked = 0
    with ExitStack() as files:
        corpus, topics, qrels = (
            files.enter_context((data / name).open("w", encoding="utf-8"))
            for name in (CORPUS, QUERIES, QRELS[0])
        )
        for thread in collection.posts.threads():
            answers = thread.answers[: documents - written]
            for answer in answers:
                row = {"id": answer.post_id, "text": read_body(answer.body).text}
                corpus.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += len(answers)
            if answers and asked < queries and thread.question and thread.question.title:
                asked += 1
                title = read_title(thread.question.title).text
                topics.write(json.dumps({"id": f"q{asked}", "text": title}) + "\n")
                qrels.writelines(f"q{asked} 0 {answer.post_id} 1\n" for answer in answers)


def write_texts(data: Path, work: Path) -> None:
    """Write documents and queries in the form of the peers."""
    (work / "documents").mkdir()
    with (work / "documents" / "all.jsonl").open("w", encoding="utf-8") as file:
        for document, _ in read_documents(data / CORPUS):
            contents = f"{document.title} {document.text}".strip()
            row = {"id": document.doc_id, "contents": contents}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    with (work / "queries.tsv").open("w", encoding="utf-8") as file:
        for query, _ in read_documents(data / QUERIES):
            file.write(f"{query.doc_id}\t{' '.join(query.text.split())}\n")


if __name__ == "__main__":
    main()
