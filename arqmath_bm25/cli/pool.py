"""The command `pool`: from runs to a batch for annotation."""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import Place, out, task_of_runs, topic_files
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, RankingTask
from arqmath_bm25.core.records import Topic
from arqmath_bm25.evaluation.judging.pool import Depths, Pool, for_assessors
from arqmath_bm25.evaluation.judging.pool import pool as make_pool
from arqmath_bm25.evaluation.sampled_pools import draw, parse_strata, write_sampled_qrels
from arqmath_bm25.pages.judging.annotation import write_batch
from arqmath_bm25.pages.posts import latex_of
from arqmath_bm25.runs.eligible import eligible
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES


@command
def pool(
    runs: list[Path],
    output: Path,
    place: Place,
    depth: int = 50,
    primary_depth: int | None = None,
    task: RankingTask | None = None,
    topics: str | None = None,
    seed: int = 0,
    assessors: int = 1,
    comments: bool = False,
    thread_pages: str = "",
    strata: str | None = None,
    sampled: Path | None = None,
) -> None:
    """Pool runs for judging, as the labs do, into a CSV batch for the annotation tool Turkle.

    Task 1 takes the best answers of each run, Task 2 the best distinct formulas, each shown in at
    most five posts. `judge` turns the annotations into qrels.

    Example: arqmath-bm25 pool runs/*-task1-*.tsv --depth 20 --primary-depth 45 -o batch.csv
    """
    if (strata is None) != (sampled is None):
        raise InputError("--strata and --sampled go together: what is drawn, and where it is kept")
    task, collection = task or task_of_runs(runs, "pool"), place.collection
    parts = parse_strata(strata) if strata else ()
    depth = parts[-1].depth if parts else depth
    depths = Depths(primary=primary_depth or depth, other=depth)
    asked = _topics(topics, task, collection)
    pooled = _pool(runs, task, collection, depths, seed)
    items = pooled.items
    latex = latex_of(collection, (hit.formula_id for item in items for hit in item.hits))
    if sampled is not None:
        sample = draw(items, pooled.ranks, parts, seed)
        write_sampled_qrels(sampled, sample.pool)
        items = sample.items
    batches = {output: items}
    if assessors > 1:
        shuffled = enumerate(for_assessors(items, assessors, seed), 1)
        batches = {output.with_stem(f"{output.stem}-{n}"): batch for n, batch in shuffled}
    for path, batch in batches.items():
        rows = write_batch(
            path, batch, asked, collection, latex, comments=comments, threads=thread_pages
        )
        _report(pooled._replace(items=batch), rows, path)


def _topics(chosen: str | None, task: RankingTask, collection: Collection) -> dict[str, Topic]:
    files = topic_files(chosen, task, collection)
    files = files or [collection.layout.topics(task, YEARS[0])]  # says what is missing
    return {topic.topic_id: topic for file in files for topic in read_topics(file)}


def _pool(
    runs: Sequence[Path], task: RankingTask, collection: Collection, depths: Depths, seed: int
) -> Pool:
    ids = cache(partial(FormulaIds.of, collection))

    def thread_of(post_id: str) -> str:
        return collection.post(post_id).parent_id or post_id

    read = (Run.read(run, task, ids) for run in runs)
    pooled = make_pool(read, depths, eligible(RULES[task], collection, ids), seed, thread_of)
    if not pooled.items:
        raise InputError(
            f"{runs[0]}: no hit of the runs may be judged; `arqmath-bm25 validate --data` says why"
        )
    return pooled


def _report(pooled: Pool, rows: int, output: Path) -> None:
    topics = len({item.topic_id for item in pooled.items})
    hits = sum(len(item.hits) for item in pooled.items)
    out.print(f"{output}: {topics:,} topics, {rows:,} rows, {hits:,} hits to judge")
    out.print(f"{output.with_suffix('.html')}: the template")
    for rule, count in sorted(pooled.left_out.items()):
        out.print(f"  left out: {count:,} hits, {rule}", style="yellow")
