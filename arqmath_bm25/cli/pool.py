"""The command `pool`: from runs to a batch for annotation."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.options import out
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, RankingTask
from arqmath_bm25.evaluation.judging.pool import Depths, Pool, for_assessors
from arqmath_bm25.evaluation.judging.pool import pool as make_pool
from arqmath_bm25.evaluation.sampled_pools import draw, parse_strata, write_sampled_qrels
from arqmath_bm25.pages.judging.annotation import require, write_batch
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from arqmath_bm25.collection.posts import PostTable


def pool(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs of one task.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="BATCH.csv", help="The batch; its template goes beside it."
        ),
    ],
    depth: Annotated[
        int, typer.Option(min=1, help="Hits of a run for each topic (Task 2: distinct formulas).")
    ] = 50,
    primary_depth: Annotated[
        int | None,
        typer.Option(min=1, help="The same for primary and manual runs. Default: as --depth."),
    ] = None,
    task: Annotated[RankingTask | None, typer.Option(help="Default: what the runs say.")] = None,
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    topics: Annotated[
        str | None,
        typer.Option(help="2020, 2021 or 2022 (in DATA) or a topic file. Default: all in DATA."),
    ] = None,
    formulas: Annotated[
        Path | None, typer.Option(help="LaTeX formula TSVs. Default: those of DATA.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the choice and the order of what is shown.")] = 0,
    assessors: Annotated[
        int, typer.Option(min=1, help="Batches of the same items, each in an order of its own.")
    ] = 1,
    comments: Annotated[bool, typer.Option("--comments", help="A box for a comment.")] = False,
    threads: Annotated[
        str,
        typer.Option(
            "--thread-pages",
            metavar="URL",
            help="Link every hit to its page; `threads --pool` writes these pages.",
        ),
    ] = "",
    strata: Annotated[
        str | None,
        typer.Option(help="Sample the pool, as 10:1,50:0.2: all of the first 10, a fifth to 50."),
    ] = None,
    sampled: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --strata: the pool, for xinfAP.")
    ] = None,
) -> None:
    """Pool runs for judging, as the labs do, into a CSV batch for the annotation tool Turkle.

    Task 1 takes the best answers of each run, Task 2 the best distinct formulas, each shown in at
    most five posts. `judge` turns the annotations into qrels.

    Example: arqmath-bm25 pool runs/*-task1-*.tsv --depth 20 --primary-depth 45 -o batch.csv
    """
    collection = Collection(data, indexes)
    task = task or options.task_of_runs(runs, "pool")
    if (strata is None) != (sampled is None):
        raise InputError("--strata and --sampled go together: what is drawn, and where it is kept")
    parts = parse_strata(strata) if strata else ()
    depth = parts[-1].depth if parts else depth
    depths = Depths(primary=primary_depth or depth, other=depth)
    files = options.topic_files(topics, task, collection) or [
        collection.layout.topics(task, YEARS[0])  # says what is missing
    ]
    known = {topic.topic_id: topic for file in files for topic in read_topics(file)}
    posts = collection.posts
    ids = cache(
        lambda: (
            FormulaIds.cached(formulas, collection.directory)
            if formulas
            else FormulaIds.of(collection)
        )
    )
    read = (Run.read(run, task, ids) for run in runs)
    by_formula = RULES[task].by_formula
    eligible = RULES[task].eligible(collection, ids)
    pooled = make_pool(read, depths, eligible, seed, partial(_thread_of, posts))
    latex: dict[str, str] = {}
    if by_formula:
        shown = {hit.formula_id for item in pooled.items for hit in item.hits}
        known_latex = read_formulas(formulas or collection.layout.formulas())
        latex = {row.formula_id: row.latex for row in known_latex if row.formula_id in shown}
    if not pooled.items:
        raise InputError(
            f"{runs[0]}: no hit of the runs may be judged; `arqmath-bm25 validate --data` says why"
        )
    items = pooled.items
    if sampled is not None:
        sample = draw(items, pooled.ranks, parts, seed)
        write_sampled_qrels(sampled, sample.pool)
        items = sample.items
    for number, own in enumerate(for_assessors(items, assessors, seed), 1):
        each = output if assessors == 1 else output.with_stem(f"{output.stem}-{number}")
        rows = write_batch(
            each, items if assessors == 1 else own, known, posts, latex, comments=comments,
            threads=threads,
        )  # fmt: skip
        _report(pooled._replace(items=items), rows, each)


def _thread_of(posts: PostTable, post_id: str) -> str:
    """Return the question of a post: its parent, or the post itself."""
    return require(posts, post_id).parent_id or post_id


def _report(pooled: Pool, rows: int, output: Path) -> None:
    topics = len({item.topic_id for item in pooled.items})
    hits = sum(len(item.hits) for item in pooled.items)
    out.print(f"{output}: {topics:,} topics, {rows:,} rows, {hits:,} hits to judge")
    out.print(f"{output.with_suffix('.html')}: the template")
    for rule, count in sorted(pooled.left_out.items()):
        out.print(f"  left out: {count:,} hits, {rule}", style="yellow")
