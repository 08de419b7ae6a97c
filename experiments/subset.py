"""A grid of settings on the subset `arqmath-lite`: for task1_subset.py and peers.

Scores are full nDCG / MAP (unjudged documents count as not relevant) over the topics with a grade
of 2 or more, and in brackets nDCG′ and judged@10. Beside each row stands the p-value of a paired
randomization test of its nDCG, topic by topic over both years, against the first row.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.evaluation.comparing import compare
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import Index
from experiments.results.runner import with_relevant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.evaluation.score import RunScore
    from arqmath_bm25.tasks.task import Task

YEARS = ("2020", "2021")
THREADS = os.cpu_count() or 1


def opened(task: Task[Any], data: Path, work: Path) -> Index:
    """Open the index of a task, which is built once for all settings that give the same."""
    owner = task.index_task
    recipe = json.dumps(owner.recipe, sort_keys=True).encode()
    collection = Collection(data, work / hashlib.sha256(recipe).hexdigest()[:16])
    for indexed in (owner, *owner.needed(collection)):
        ensure(IndexContent.of(indexed, collection), Processes(THREADS))
    return Index.of(task, collection)


def full_scores(index: Index, variant: str, year: str, qrels: Qrels) -> RunScore:
    """Score a variant on the topics with a grade of 2 or more."""
    qrels = with_relevant(qrels)
    ((folder, path),) = index.task.topic_files(index.collection, [year])
    topics = index.task.read(index.collection, folder, path).topics
    topics = [topic for topic in topics if topic.topic_id in qrels]
    ranked = index.rank(topics, variant, MAX_DEPTH, THREADS)
    rankings = {
        topic.topic_id: {hit.visual_id or hit.doc_id: hit.score for hit in hits}
        for topic, hits in zip(topics, ranked, strict=True)
    }
    return score(rankings, qrels)


def grid(
    title: str, conditions: Iterable[tuple[str, Task[Any], str]], judgments: str, data: Path
) -> None:
    """Print the scores of settings: name, task with its settings, variant.

    `judgments` are the ending of the files in qrels_lite.
    """
    table = Table(
        "", title=f"{title} on {data.name}: full nDCG / MAP, in brackets nDCG' (judged@10)"
    )
    for year in (*YEARS, "p"):
        table.add_column(year, justify="right")
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as work:
        for name, task, variant in conditions:
            index = opened(task, data, Path(work))
            cells, values = [], dict[str, float]()
            for year in YEARS:
                qrels = read_qrels(data / "qrels_lite" / f"{year}_{judgments}.tsv")
                scored = full_scores(index, variant, year, qrels)
                s = scored.averages()
                prime = f"({s['ndcg_prime']:.3f}, {s['judged_at_10']:.2f})"
                cells.append(f"{s['ndcg']:.3f} / {s['map']:.3f} {prime}")
                values |= {topic: found["ndcg"] for topic, found in scored.values.items()}
            first = first or values
            (against,) = compare({"first": first, "this": values})
            p = "" if values is first else f"{against.randomization_p:.3f}"
            table.add_row(name, *cells, p)
    Console(width=120).print(table)


def subset() -> Path:
    """Return the directory that the command line names, without one the shared subset."""
    shared = Path(os.environ.get("ARQMATH_SHARED", "../shared"))
    return Path(sys.argv[1]) if len(sys.argv) > 1 else shared / "data" / "arqmath-lite"
