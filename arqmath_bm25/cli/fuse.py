"""The command `fuse`: several runs of a task → one run."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from arqmath_bm25.cli.shared.options import Depth, Format, keep_runs, out, task_of_runs
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import sources
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.records import Hit
from arqmath_bm25.runs.fusion import RRF_K, Method, fuse_rankings
from arqmath_bm25.runs.rankings import best, take_rankings
from arqmath_bm25.runs.run_files import read_run, write_run
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_WEIGHT = 1e6  # scores are written as 32-bit floats


def fuse(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Runs of one task.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The fused run; its run id is the name of this file."),
    ],
    method: Annotated[
        Method,
        typer.Option(
            help="rrf: sum of 1 / (K + rank). weighted: sum of scores between 0 and 1 (min-max)."
        ),
    ] = "rrf",
    weights: Annotated[
        str | None,
        typer.Option(metavar="W,W,...", help="A weight for each run. Default: all the same."),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="K of rrf.")] = RRF_K,
    depth: Depth = MAX_DEPTH,
    form: Format = "lab",
    task: Annotated[
        Literal["task1", "task2"] | None,
        typer.Option(help="Task of the runs. Default: by file name, else by the first topic."),
    ] = None,
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
    read = [_Run.read(run, task) for run in runs]
    _check_topics(read)
    topics = list(dict.fromkeys(topic for run in read for topic in run.rankings))
    posts = _posts(read) if task == "task2" and form == "lab" else {}
    fused = []
    for topic in topics:
        rankings = [run.rankings.get(topic, []) for run in read]
        ranked = fuse_rankings(rankings, factors, method, k)[:depth]
        fused.append((topic, [Hit(doc, score, posts.get(doc, "")) for doc, score in ranked]))
    manifest = {
        "version": __version__,
        "method": method,
        "k": k if method == "rrf" else None,
        "weights": factors,
        "depth": depth,
        "runs": [asdict(source) for source in sources(runs)],
    }
    rows = write_run(output, fused, output.stem, task, form, manifest)
    lacking = [topic for topic in topics if any(topic not in run.rankings for run in read)]
    some = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
    note = f"; {len(lacking):,} not in every run: {some}" if lacking else ""
    out.print(f"{output}: {len(topics):,} topics, {rows:,} rows, from {len(runs)} runs{note}")


class _Run(NamedTuple):
    """The rankings of a run file, and for Task 2 the post of each formula."""

    path: Path
    rankings: dict[str, list[tuple[str, float]]]
    posts: dict[str, str]

    @classmethod
    def read(cls, path: Path, task: Literal["task1", "task2"]) -> _Run:
        rows = list(read_run(path, task))
        return cls(
            path,
            {
                topic: [(doc, scores[doc]) for doc in best(scores, MAX_DEPTH)]
                for topic, scores in take_rankings(rows).topics.items()
            },
            {row.doc_id: row.post_id for row in reversed(rows) if row.post_id},  # the first counts
        )


def _weights(weights: str | None, runs: Sequence[Path]) -> list[float]:
    if len(runs) < 2:
        raise InputError(f"{runs[0]}: one run alone; fusion takes two or more")
    if weights is None:
        return [1.0] * len(runs)
    try:
        numbers = [float(weight) for weight in weights.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(0 <= number <= _MAX_WEIGHT for number in numbers) or not any(numbers):
        raise InputError(
            f"--weights {weights}: expected numbers from 0 to {_MAX_WEIGHT:,.0f}, not all of them "
            "0, with commas between, such as 1,0.5"
        )
    if len(numbers) != len(runs):
        raise InputError(f"--weights {weights}: {len(numbers)} weights for {len(runs)} runs")
    return numbers


def _check_topics(runs: Sequence[_Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        if not first.rankings.keys() & run.rankings.keys():
            here, there = next(iter(run.rankings)), next(iter(first.rankings))
            raise InputError(
                f"{run.path}: no topic in common with {first.path} ({here}, ... and {there}, ...); "
                "are these runs of the same year?"
            )


def _posts(runs: Sequence[_Run]) -> dict[str, str]:
    """Return the post of every formula; InputError where it is unknown or runs disagree."""
    posts: dict[str, tuple[str, Path]] = {}
    for run in runs:
        for formula, post in run.posts.items():
            known, path = posts.setdefault(formula, (post, run.path))
            if known != post:
                raise InputError(
                    f"{run.path}: formula {formula} is of post {post}, in {path} of post {known}; "
                    "`arqmath-bm25 validate --fix --data DATA` puts posts right"
                )
    for run in runs:
        for ranking in run.rankings.values():
            for formula, _ in ranking:
                if formula not in posts:
                    raise InputError(
                        f"{run.path}: no run says of which post formula {formula} is; "
                        "`--format trec` writes a run without posts"
                    )
    return {formula: post for formula, (post, _) in posts.items()}
