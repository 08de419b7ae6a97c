"""Task 1 on the subset `arqmath-lite`: what each choice of configs/task1.yaml is worth.

    python benchmarks/task1_subset.py [DATA]

DATA (default: data/arqmath-lite below ARQMATH_SHARED) is a real subset of the collection in the
official layout, with `qrels_lite/`: the official judgments, cut to its posts. So few of its posts
are judged that prime scores are near their ceiling; variants are compared by nDCG and MAP over the
whole subset, with unjudged answers as not relevant, on topics with an answer of grade 2 or more.
The scores are NOT comparable to published ones. One configuration serves all years.

Peers, measured on the same data by the same rules, are in README.md. Takes about two minutes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.layout import Layout, Year
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.config import Task1Settings, load_task1
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.retrieval.task1 import Task1, build_index

if TYPE_CHECKING:
    from arqmath_bm25.evaluation.qrels import Qrels

YEARS: tuple[Year, ...] = ("2020", "2021")


def changed(settings: Task1Settings, **changes: Any) -> Task1Settings:
    """Return the settings with `changes`, a__b=x for the key a.b."""
    raw = settings.model_dump()
    for key, value in changes.items():
        *path, last = key.split("__")
        place = raw
        for step in path:
            place = place[step]
        place[last] = value
    return Task1Settings.model_validate(raw)


def reweighed(settings: Task1Settings, **weights: float) -> Task1Settings:
    """Return the settings with other weights of fields in the variant `both`."""
    return changed(settings, variants__both={**settings.weights("both"), **weights})


def conditions(default: Task1Settings) -> list[tuple[str, Task1Settings]]:
    """Name the settings to compare; of each the variant `both` is run."""
    weights = {name: default.weights(name) for name in default.variants}
    no_context = {"contents": 1, "answer_math": weights["both"]["answer_math"]}
    return [
        ("both (default)", default),
        ("text", changed(default, variants__both=weights["text"])),
        ("math", changed(default, variants__both=weights["math"])),
        ("both, answer alone", changed(default, variants__both=no_context)),
        ("both, no linked titles", reweighed(default, linked_text=0, linked_math=0)),
        ("both, no tags", reweighed(default, tags=0)),
        ("both, math x 2", changed(default, variants__both={
            field: weight * (2 if field.endswith("_math") else 1)
            for field, weight in weights["both"].items()
        })),
        ("k1 = 0.9, b = 0.4", changed(default, bm25={"k1": 0.9, "b": 0.4})),
        ("saturation 8", changed(default, query__saturation=8)),
        ("single tokens", changed(default, analysis__latex__ngrams=(1, 1))),
        ("1-2-grams", changed(default, analysis__latex__ngrams=(1, 2))),
        ("1-4-grams", changed(default, analysis__latex__ngrams=(1, 4))),
        ("no stemming", changed(default, analysis__text__stemmer="none")),
    ]  # fmt: skip


def full_scores(task: Task1, layout: Layout, year: Year, qrels: Qrels) -> dict[str, float]:
    """Score the variant `both` on the topics with a grade of 2 or more."""
    qrels = {topic: judged for topic, judged in qrels.items() if max(judged.values()) >= 2}
    topics = [t for t in read_topics(layout.task1_topics(year)) if t.topic_id in qrels]
    ranked = task.rank(topics, "both", depth=1000, threads=os.cpu_count() or 1)
    rankings = {topic.topic_id: {hit.doc_id: hit.score for hit in hits} for topic, hits in ranked}
    return score(rankings, qrels).averages()


def main(data: Path) -> None:
    """Print the table."""
    layout, default = Layout(data), load_task1()
    qrels = {year: read_qrels(data / "qrels_lite" / f"{year}_t1.tsv") for year in YEARS}
    table = Table(
        "", title=f"Task 1 on {layout.name}: full nDCG / MAP, in brackets nDCG' (judged@10)"
    )
    for year in YEARS:
        table.add_column(year, justify="right")
    with tempfile.TemporaryDirectory() as directory:
        built: dict[str, Path] = {}
        for name, settings in conditions(default):
            index = built.setdefault(
                settings.analysis.fingerprint, Path(directory) / settings.analysis.fingerprint
            )
            if not index.exists():
                build_index(
                    layout.posts(), layout.post_links(), index, settings, os.cpu_count() or 1
                )
            task = Task1(index, settings, layout.posts(), layout.post_links())
            cells = []
            for year in YEARS:
                s = full_scores(task, layout, year, qrels[year])
                prime = f"({s['ndcg_prime']:.3f}, {s['judged_at_10']:.2f})"
                cells.append(f"{s['ndcg']:.3f} / {s['map']:.3f} {prime}")
            table.add_row(name, *cells)
    Console(width=110).print(table)


if __name__ == "__main__":
    shared = Path(os.environ.get("ARQMATH_SHARED", "../shared"))
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else shared / "data" / "arqmath-lite")
