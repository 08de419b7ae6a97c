"""The command `fuse`: several runs of a task → one run."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import keep_runs, out, task_of_runs
from arqmath_bm25.cli.shared.scoring import data_of
from arqmath_bm25.collection.collection import INDEXES, Collection
from arqmath_bm25.core.files import sources
from arqmath_bm25.core.labs import MAX_DEPTH, RankingTask
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.fusion import RRF_K, Method, check_weights, fuse_runs
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_files import Form, write_run
from arqmath_bm25.version import __version__


@command
def fuse(
    runs: list[Path],
    output: Path,
    method: Method = "rrf",
    weights: str | None = None,
    k: int = RRF_K,
    depth: int = MAX_DEPTH,
    form: Form = "lab",
    task: RankingTask | None = None,
    data: Path | None = None,
    indexes: Path = INDEXES,
) -> None:
    """Fuse the rankings of several runs of Task 1 or Task 2 into one run.

    Runs may be in the lab's form or TREC's. Of a run, each topic counts as it is evaluated: the
    best 1,000 in the order of scores, equal scores by id, descending; a document once. A topic
    that some of the runs lack is fused from the others.

    Example: arqmath-bm25 fuse text.tsv math.tsv -o Team-task1-rrf-auto-both-A.tsv

    Example: arqmath-bm25 fuse a.tsv b.tsv --method weighted --weights 1,0.3 -o fused.tsv
    """
    factors = _weights(weights, runs)
    keep_runs(output, runs)
    task = task or task_of_runs(runs, "fuse")
    data = data_of(runs, data)
    ids = None if data is None else cache(partial(FormulaIds.of, Collection(data, indexes)))
    read = [Run.read(run, task, ids) for run in runs]
    fused = fuse_runs(read, factors, method, k, depth, posts=form == "lab")
    manifest = {
        "version": __version__,
        "method": method,
        "k": k if method == "rrf" else None,
        "weights": factors,
        "depth": depth,
        "runs": [asdict(source) for source in sources(runs)],
    }
    rows = write_run(output, fused.items(), output.stem, task, form, manifest)
    lacking = [topic for topic in fused if any(topic not in run.topics for run in read)]
    some = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
    note = f"; {len(lacking):,} not in every run: {some}" if lacking else ""
    out.print(f"{output}: {len(fused):,} topics, {rows:,} rows, from {len(runs)} runs{note}")
    for run in read:
        if run.form == "exchanged":
            out.print(f"{run.path}: columns 2 and 3 (formula, post) are exchanged; put right")


def _weights(weights: str | None, runs: Sequence[Path]) -> list[float]:
    try:
        numbers = None if weights is None else [float(weight) for weight in weights.split(",")]
    except ValueError:
        numbers = [math.nan]
    name = str(runs[0]) if weights is None else f"--weights {weights}"
    return check_weights(name, numbers, len(runs))
