"""Fusion on the subset `arqmath-lite`: what it makes of the variants of configs/task1.yaml.

    python benchmarks/fusion_subset.py [DATA]

Data, measures and their limits are those of benchmarks/task1_subset.py: nDCG and MAP over the whole
subset, with unjudged answers as not relevant, on topics with an answer of grade 2 or more. The
scores are NOT comparable to published ones. The weights are round numbers, the same for all years.

Takes about a minute.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.layout import Layout, Year
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.config import load_task1
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.retrieval.fusion import Method, fuse_rankings
from arqmath_bm25.retrieval.task1 import Task1, build_index
from arqmath_bm25.runs import MAX_DEPTH, Variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.lucene.search import Hit

YEARS: tuple[Year, ...] = ("2020", "2021")
THREADS = os.cpu_count() or 1

FUSIONS: list[tuple[Method, dict[Variant, float]]] = [
    ("rrf", {"text": 1, "math": 1}),
    ("weighted", {"text": 1, "math": 1}),
    ("rrf", {"text": 1, "math": 1, "both": 1}),
    ("weighted", {"text": 1, "math": 1, "both": 1}),
    ("rrf", {"both": 1, "text": 0.3}),
    ("weighted", {"both": 1, "text": 0.3}),
    ("rrf", {"both": 1, "math": 0.3}),
    ("weighted", {"both": 1, "math": 0.3}),
]


def described(method: Method, weights: dict[Variant, float]) -> str:
    """Name a fusion."""
    parts = [v if weight == 1 else f"{weight:g} x {v}" for v, weight in weights.items()]
    return f"{method}: {' + '.join(parts)}"


def scored(rankings: Mapping[str, Sequence[tuple[str, float]]], qrels: Qrels) -> str:
    """Return the scores of rankings as a cell of the table."""
    s = score({topic: dict(hits[:MAX_DEPTH]) for topic, hits in rankings.items()}, qrels).averages()
    prime = f"({s['ndcg_prime']:.3f}, {s['judged_at_10']:.2f})"
    return f"{s['ndcg']:.3f} / {s['map']:.3f} {prime}"


def main(data: Path) -> None:
    """Print the table."""
    layout, settings = Layout(data), load_task1()
    with tempfile.TemporaryDirectory() as directory:
        index = Path(directory) / "task1"
        build_index(layout.posts(), layout.post_links(), index, settings, THREADS)
        task = Task1(index, settings, layout.posts(), layout.post_links())
        cells: dict[str, list[str]] = {}
        for year in YEARS:
            judged = read_qrels(data / "qrels_lite" / f"{year}_t1.tsv")
            qrels = {topic: of for topic, of in judged.items() if max(of.values()) >= 2}
            topics = [t for t in read_topics(layout.task1_topics(year)) if t.topic_id in qrels]
            ranked: dict[Variant, dict[str, list[Hit]]] = {}
            for variant in settings.variants:
                hits = task.rank(topics, variant, MAX_DEPTH, THREADS)
                ranked[variant] = {topic.topic_id: of for topic, of in hits}
                name = f"{variant} (default)" if variant == settings.run.primary else variant
                cells.setdefault(name, []).append(scored(ranked[variant], qrels))
            for method, weights in FUSIONS:
                fused = {
                    topic: fuse_rankings(
                        [ranked[variant][topic] for variant in weights],
                        list(weights.values()),
                        method,
                    )
                    for topic in qrels
                }
                cells.setdefault(described(method, weights), []).append(scored(fused, qrels))
    title = f"Fusion on {layout.name}: full nDCG / MAP, in brackets nDCG' (judged@10)"
    table = Table("", title=title)
    for year in YEARS:
        table.add_column(year, justify="right")
    for name, row in cells.items():
        table.add_row(name, *row)
    Console(width=110).print(table)


if __name__ == "__main__":
    shared = Path(os.environ.get("ARQMATH_SHARED", "../shared"))
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else shared / "data" / "arqmath-lite")
