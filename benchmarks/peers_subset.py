"""Peers on the subset `arqmath-lite`: the rows of the book that other people's programs make.

    python benchmarks/peers_subset.py [DATA]        # after: make .venv-bench/.ready

Each system gets one text a document (title, question and answer, LaTeX kept) and one a topic (title
and question), and does the rest by its own defaults. Scores are as in the table `task1` of
configs/expected/arqmath-lite.yaml, which is what they are compared with; the exit status is 1 if
one differs. Approach Zero and MathDowsers are not run: their rows there name their source.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import Stemmer
from comparison.children import run_module
from comparison.peers import TERRIER, VENV

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.engines.lucene.jvm import anserini_jar, java_home
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.runs.run import Run
from experiments.results.book import book_of
from experiments.results.pages import SIGNS
from experiments.results.runner import TOLERANCE, with_relevant
from experiments.subset import subset


def write_texts(collection: Collection, years: list[str], work: Path) -> None:
    """Write documents/all.jsonl, and queries.tsv with the topics of all years."""
    (work / "documents").mkdir()
    with (work / "documents" / "all.jsonl").open("w", encoding="utf-8") as file:
        for thread in collection.posts.threads():
            asked = thread.question
            context = [read_title(asked.title or ""), read_body(asked.body)] if asked else []
            for answer in thread.answers:
                texts = [part.text for part in (*context, read_body(answer.body))]
                document = {"id": answer.post_id, "contents": " ".join(texts)}
                file.write(json.dumps(document, ensure_ascii=False) + "\n")
    with (work / "queries.tsv").open("w", encoding="utf-8") as file:
        for _, path in collection.layout.topic_files("task1", years):
            for topic in read_topics(path):
                text = f"{read_title(topic.title).text} {read_body(topic.question).text}"
                file.write(f"{topic.topic_id}\t{text}\n")


def main(data: Path) -> int:
    """Run and score every system; return the exit status."""
    python = VENV / "bin" / "python"
    if not python.is_file():
        print("the peers are not installed: make .venv-bench/.ready", file=sys.stderr)
        return 1
    collection = Collection(data)
    table = book_of(collection).tables["task1"]
    qrels = {y: with_relevant(read_qrels(data / str(file))) for y, file in table.sets.items()}
    same = []
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        write_texts(collection, list(table.sets), work)
        environment = {
            "JAVA_HOME": str(java_home()), "PATH": f"{java_home()}/bin:/usr/bin:/bin",
            "PYTERRIER_HOME": str(VENV / "terrier"), **TERRIER,
        }  # fmt: skip
        further = {"anserini": [anserini_jar()], "bm25s": [Path(Stemmer.__file__).parent]}
        for program in ("bm25s", "anserini", "terrier"):
            files = [work / "documents", work / "queries.tsv", work, *further.get(program, [])]
            ran: list[object] = [program, *files]
            used = run_module("comparison.rankers", *ran, python=python, environment=environment)
            print(f"{program}: {used['cpu']:.1f} s of the CPU")
            for path in sorted(work.glob(f"{program}*.trec")):
                ranked, row = Run.read(path, "task1").rankings().topics, table.rows[path.stem]
                for year, judged in qrels.items():
                    found = score(ranked, judged).averages()
                    made = [round(found[key], 5) for key in table.measures]
                    pairs = zip(made, row.scores[year], strict=True)
                    same.append(all(e is not None and abs(m - e) <= TOLERANCE for m, e in pairs))
                    print(f"{SIGNS[same[-1]]} {row.name}, {year}: {made}, {row.scores[year]}")
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main(subset()))
