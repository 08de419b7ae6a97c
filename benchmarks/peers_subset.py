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
from rich.console import Console
from subset import subset

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.engines.lucene.jvm import anserini_jar, java_home
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.rankings import read_rankings
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.reproduction.book import book_of

TOLERANCE = 0.0001


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
    collection = Collection(data)
    table = book_of(collection).tables["task1"]
    as_expected = True
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        write_texts(collection, list(table.sets), work)
        environment = {
            "JAVA_HOME": str(java_home()), "PATH": f"{java_home()}/bin:/usr/bin:/bin",
            "PYTERRIER_HOME": str(VENV / "terrier"), **TERRIER,
        }  # fmt: skip
        for program in ("terrier", "bm25s", "anserini"):
            further = {"anserini": [anserini_jar()], "bm25s": [Path(Stemmer.__file__).parent]}
            files = (work / "documents", work / "queries.tsv", work, *further.get(program, []))
            used = run_module(
                "comparison.rankers", program, *files, python=VENV / "bin" / "python",
                environment=environment,
            )  # fmt: skip
            console.print(f"{program}: {used['cpu']:.1f} s of the CPU")
        for path in sorted(work.glob("*.trec")):
            ranked = read_rankings(path).topics
            for year, file in table.sets.items():
                qrels = read_qrels(data / str(file))
                judged = {t: docs for t, docs in qrels.items() if max(docs.values()) >= 2}
                found = score(ranked, judged).averages()
                made = [round(found[key], 5) for key in table.measures]
                expected = table.rows[path.stem].scores[year]
                same = all(
                    abs(m - (e or 0)) <= TOLERANCE for m, e in zip(made, expected, strict=True)
                )
                as_expected &= same
                console.print(
                    f"{'✓' if same else '✗'} {path.stem} {year}: {made}, {list(expected)}"
                )
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main(subset()))
