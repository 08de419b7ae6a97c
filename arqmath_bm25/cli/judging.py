"""The commands `pool` and `judge`: from runs to a batch for annotation to judgments."""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import Place, out, task_of_runs
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RankingTask
from arqmath_bm25.core.progress import counted
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.writing import together
from arqmath_bm25.evaluation.judging import judge as judging
from arqmath_bm25.evaluation.judging.pool import Depths, Pool, shuffle_for_assessors
from arqmath_bm25.evaluation.judging.pool import pool as make_pool
from arqmath_bm25.evaluation.qrels import write_qrels
from arqmath_bm25.pages.judging.annotation import write_batch
from arqmath_bm25.pages.post_html import latex_of
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_writing import topics_of
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import configured

# The time that an assessor takes for a hit, an estimate.
_SECONDS = 60


@command
def pool(
    runs: list[Path],
    output: Path,
    place: Place,
    depth: int = 10,
    primary_depth: int | None = None,
    task: RankingTask | None = None,
    topics: str | None = None,
    seed: int = 0,
    assessors: int = 1,
    comments: bool = False,
    thread_pages: str = "",
) -> None:
    """Pool runs for judging, as the labs do, into a CSV batch for the annotation tool Turkle.

    Task 1 takes the best answers of each run, `docs` the best documents, Task 2 the best distinct
    formulas, each shown in at most five posts. `judge` turns the annotations into qrels.

    Example: arqmath-bm25 pool runs/*/2021/*-task1-*.tsv --primary-depth 20 -o batch.csv
    """
    made_of = place.provenance(runs)
    collection = place.collection
    own = collection.run_task
    task = task or own or task_of_runs(runs, "pool")

    topic_task = own or RULES[task].topic_task
    topic_files = topics_of(made_of)
    if topics:
        topic_files = [topics]
    questions = configured(topic_task).asked(collection, topic_files)

    depths = Depths(primary=primary_depth or depth, other=depth)
    pooled = _pool(runs, task, collection, depths, seed)
    items = pooled.items
    formulas = set[str]()
    for item in items:
        formulas.update(hit.formula_id for hit in item.hits)
    latex = latex_of(collection, formulas)

    batches = {output: items}
    if assessors > 1:
        batches = {}
        for number, batch in enumerate(shuffle_for_assessors(items, assessors, seed), 1):
            path = output.with_stem(f"{output.stem}-{number}")
            batches[path] = batch

    with together() as outputs:
        for path, batch in batches.items():
            write_batch(
                outputs,
                path,
                batch,
                questions,
                collection,
                latex,
                comments=comments,
                threads=thread_pages,
                by_user=path == output,
            )

    for path in batches:
        _report(pooled, path)


def _pool(
    runs: Sequence[Path], task: RankingTask, collection: CollectionFiles, depths: Depths, seed: int
) -> Pool:
    """Pool runs; InputError if nothing is left to judge."""
    ids = cache(partial(FormulaIds.from_collection, collection))
    rules = RULES[task]
    parsed = (Run.read(run, task, ids) for run in runs)
    eligible = rules.eligible(collection, ids)
    pooled = make_pool(parsed, depths, eligible, seed, rules.thread_of(collection))
    if not pooled.items:
        raise InputError(
            f"{runs[0]}: no hit of the runs may be judged; `arqmath-bm25 validate --data` says why"
        )

    return pooled


def _report(pooled: Pool, output: Path) -> None:
    """Print the size of a batch and the work that it takes."""
    rows = len(pooled.items)
    topics = len({item.topic_id for item in pooled.items})
    hits = sum(len(item.hits) for item in pooled.items)
    size = f"{counted(topics, 'topics')}, {counted(rows, 'rows')}"
    hours = hits * _SECONDS / 3600
    out.print(
        f"{output}: {size}, {counted(hits, 'hits')} to judge (about {hours:,.1f} hours at "
        f"{_SECONDS} seconds each)"
    )
    out.print(f"{output.with_suffix('.html')}: the template")
    for rule, count in sorted(pooled.left_out.items()):
        out.print(f"  left out: {counted(count, 'hits')}, {rule}", style="yellow")


@command
def judge(
    results: list[Path] | None = None,
    output: Path | None = None,
    serve: Path | None = None,
    port: int = 8000,
    rule: judging.Rule = "agreed",
    adjudicated: Path | None = None,
    disagreements: Path | None = None,
) -> None:
    """Turn annotations into qrels; print Cohen's kappa of assessors who judged the same hits.

    A formula gets the highest grade of its instances. "System failure" and "Do not know" are left
    out and counted.

    With --serve, hits are judged one after another in a browser on this machine, and the labels are
    saved as results. Ctrl-C ends it; the next call resumes after the last label.

    Example: arqmath-bm25 judge one.csv two.csv --disagreements disputes.csv --rule highest -o q.tsv
    """
    if serve is not None:
        if results:
            raise InputError(f"--serve {serve} judges one batch; leave out {results[0]}")
        saved = output or serve.with_suffix(".results.csv")
        if output is not None and output.is_symlink():  # of a link the target is written
            saved = output.resolve()
        _serve(serve, saved, port)
        return

    if not results or output is None:
        raise InputError("judge needs RESULTS.csv and -o QRELS.tsv, or --serve BATCH.csv")

    annotations = judging.read_annotations(results)
    for pair in judging.agreements(annotations):
        out.print(
            f"{' and '.join(pair.assessors)}: {counted(pair.hits, 'hits')}, kappa {pair.kappa:.3f} "
            f"graded, {pair.quadratic:.3f} weighted, {pair.binary:.3f} binary",
        )

    if disagreements is not None:
        count = judging.write_disagreements(disagreements, annotations)
        out.print(f"{disagreements}: {counted(count, 'hits')} with different labels")

    labels = {}
    if adjudicated:
        labels = judging.read_adjudication(adjudicated)
    judged = judging.judge(annotations, rule, labels)
    if not judged.qrels:
        raise InputError(f"{results[0]}: no hit was given a grade; there is nothing to write")

    write_qrels(output, judged.qrels)
    if judged.settled:
        out.print(
            f"{counted(judged.settled, 'hits')} with different labels: {rule}, or as adjudicated"
        )

    documents = sum(map(len, judged.qrels.values()))
    out.print(
        f"{output}: {counted(len(judged.qrels), 'topics')}, {counted(documents, 'judgments')}"
    )
    for label, count in judged.labels.items():
        out.print(f"  {counted(count, 'hits')}: {label}")
    if judged.without_grade:
        out.print(f"  left out: {counted(judged.without_grade, 'documents')} without any grade")


def _serve(batch: Path, results: Path, port: int) -> None:
    with needed_by("--serve", "web"):
        from arqmath_bm25.pages.judging.judging_site import judging_site
        from arqmath_bm25.pages.web.server import listen, own_names, server

    with judging_site(batch, results) as site, listen("127.0.0.1", port) as listening:
        judged, hits = site.progress
        address = f"http://127.0.0.1:{listening.getsockname()[1]}{site.path}"
        out.print(f"{address}: {judged:,} of {hits:,} hits judged, in {results}; Ctrl-C ends it")
        server(site.app(own_names("127.0.0.1", listening))).run(sockets=[listening])
