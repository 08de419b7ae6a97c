"""Task 2 on the subset `arqmath-lite`: what each choice of configs/task2.yaml is worth.

    python benchmarks/task2_subset.py [DATA]

DATA (default: data/arqmath-lite below ARQMATH_SHARED) is a real subset of the collection in the
official layout, with `qrels_lite/`: the official judgments by visual id (v3), cut to its posts.
Rankings of visual ids are compared by nDCG and MAP over the whole subset, with unjudged formulas as
not relevant, on topics with a formula of grade 2 or more (26 and 52); nDCG' of the prime run and
judged@10 stand in brackets. The scores are NOT comparable to published ones. One configuration
serves all years; differences below .01 mean nothing with so few topics. Takes three minutes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.formula_topics import read_formula_topics
from arqmath_bm25.collection.layout import Layout, Year
from arqmath_bm25.config import Task2Settings, load_task1, load_task2
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.retrieval import task1
from arqmath_bm25.retrieval.task2 import Task2, build_index

if TYPE_CHECKING:
    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.retrieval.task1 import Task1

YEARS: tuple[Year, ...] = ("2020", "2021")
THREADS = os.cpu_count() or 1


def changed(default: Task2Settings, variant: dict[str, Any], **parts: Any) -> Task2Settings:
    """Return the settings with one variant, `both`, and other `parts`."""
    raw = default.model_dump()
    for part, keys in parts.items():
        raw[part].update(keys)
    return Task2Settings.model_validate({**raw, "variants": {"both": variant}})


def conditions(default: Task2Settings) -> list[tuple[str, Task2Settings]]:
    """Name the settings to compare; of each the variant `both` is run."""
    math, both = (default.variants[name].model_dump() for name in ("math", "both"))

    def fields(**weights: float) -> dict[str, Any]:
        return {"fields": weights}

    return [
        ("both (default, primary)", changed(default, both)),
        ("math (default)", changed(default, math)),
        ("context x 2", changed(default, {**both, "context": 2 * both["context"]})),
        ("context x 4", changed(default, {**both, "context": 4 * both["context"]})),
        ("single tokens", changed(default, fields(symbols=1))),
        ("2-3-grams", changed(default, fields(ngrams=1))),
        ("single tokens + 2-3-grams", changed(default, fields(symbols=1, ngrams=1))),
        ("layout pairs", changed(default, fields(contents=1), analysis={"layout": (2, 2)})),
        ("layout pairs and triples", changed(default, fields(contents=1))),
        ("patterns", changed(default, fields(patterns=1))),
        ("2-3-grams + layout", changed(default, fields(ngrams=1, contents=1))),
        ("2-3-grams + patterns", changed(default, fields(ngrams=1, patterns=1))),
        ("all four", changed(default, fields(symbols=1, ngrams=1, contents=1, patterns=1))),
        ("math, layout from MathML", changed(default, math, analysis={"source": "slt"})),
        ("math, layout 2-4", changed(default, math, analysis={"layout": (2, 4)})),
        ("math, patterns 3-5", changed(default, math, analysis={"patterns": (3, 5)})),
        ("math, patterns x 0.5", changed(default, fields(contents=1, patterns=0.5))),
        ("math, b = 0.4", changed(default, math, bm25={"b": 0.4})),
        ("math, b = 1", changed(default, math, bm25={"b": 1})),
        ("math, k1 = 0.6", changed(default, math, bm25={"k1": 0.6})),
        ("math, k1 = 1.2", changed(default, math, bm25={"k1": 1.2})),
    ]


def full_scores(task: Task2, layout: Layout, year: Year, qrels: Qrels) -> dict[str, float]:
    """Score the variant `both` on the topics with a grade of 2 or more."""
    qrels = {topic: judged for topic, judged in qrels.items() if max(judged.values()) >= 2}
    topics = [
        topic
        for topic in read_formula_topics(layout.task2_topics(year))
        if topic.topic.topic_id in qrels
    ]
    ranked = task.rank(topics, "both", depth=1000, threads=THREADS)
    rankings = {
        topic.topic.topic_id: {hit.visual_id: hit.score for hit in hits} for topic, hits in ranked
    }
    return score(rankings, qrels).averages()


def open_answers(layout: Layout, index: Path) -> Task1:
    """Build the index of Task 1, which the context comes from."""
    settings, posts, links = load_task1(), layout.posts(), layout.post_links()
    task1.build_index(posts, links, index, settings, THREADS)
    return task1.Task1(index, settings, posts, links)


def main(data: Path) -> None:
    """Print the table."""
    layout, default = Layout(data), load_task2()
    qrels = {year: read_qrels(data / "qrels_lite" / f"{year}_t2v3.tsv") for year in YEARS}
    table = Table(
        "", title=f"Task 2 on {layout.name}: full nDCG / MAP, in brackets nDCG' (judged@10)"
    )
    for year in YEARS:
        table.add_column(year, justify="right")
    with tempfile.TemporaryDirectory() as directory:
        answers = open_answers(layout, Path(directory) / "task1")
        for name, settings in conditions(default):
            formulas = layout.formulas(settings.analysis.source)
            index = Path(directory) / settings.fingerprint
            if not index.exists():
                build_index(formulas, index, settings, THREADS)
            task = Task2(index, settings, formulas, answers)
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
