"""The command `eval`: what runs score."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from arqmath_bm25.cli.shared import score_tables
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import RUNS, command_line
from arqmath_bm25.cli.shared.scoring import Scoring
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, Year
from arqmath_bm25.core.progress import console, status
from arqmath_bm25.evaluation.evaluator import Evaluator, Scored
from arqmath_bm25.evaluation.measures import named_measures
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.topic_sets import (
    TopicInfo,
    official_topic_info,
    read_topic_info,
    topic_sets,
)
from arqmath_bm25.runs.rows import detect_task

_ENDINGS: Final = {".tsv", ".trec", ".txt"}  # of NLPS: .txt


@command
def evaluate(
    scoring: Scoring,
    runs: list[Path] | None = None,
    run_folder: Path = RUNS,
    measure: list[str] | None = None,
    by: str | None = None,
    topic_info: list[Path] | None = None,
) -> None:
    """Score runs as the labs do.

    Without RUN every run in RUNS/COLLECTION/YEAR (of NLPS: in dev) is scored against the official
    judgments. Scores are averages over every judged topic; a topic that the run lacks counts 0.

    Example: arqmath-bm25 eval myrun.tsv --qrels qrel_official_task1 --measure nDCG@10
    """
    with status("Scoring") as say:
        evaluator = scoring.evaluator(
            runs, named_measures(*measure or ()),
            lambda rows: say(f"Reading visual ids, once: {rows:,} formulas"),
        )  # fmt: skip
        if runs:
            scored = scoring.score(evaluator, runs)
        elif scoring.answer_map is not None:
            scored = evaluator.score_answer_map()
        else:
            scored = list(_score_folder(evaluator, run_folder, scoring))
    info = _topic_info(by, topic_info, evaluator.collection) if by else {}
    ranked = [run for run in scored if by and isinstance(run.score, RunScore)]
    sets = [topic_sets(run.score.values, info, by or "") for run in ranked]
    if scoring.write(scored, lambda: json.dumps([run.to_json() for run in scored], indent=1)):
        score_tables.print_scores(scored, [each.key for each in evaluator.measures])
        for run, of_run in zip(ranked, sets, strict=True):
            score_tables.print_topic_sets(run, of_run, f"{run.run} by {by}")


def _topic_info(by: str, files: list[Path] | None, collection: Collection) -> TopicInfo:
    files = files or official_topic_info(collection.layout.data)
    if not files:
        raise InputError(
            f"--by {by}: DATA has no labels of topics; give them with --topic-info FILE"
        )
    return read_topic_info(*files)


def _score_folder(evaluator: Evaluator, folder: Path, scoring: Scoring) -> Iterator[Scored]:
    """Score every run of the collection that has official judgments; say what is left out."""
    collection, task = evaluator.collection, scoring.chosen_task
    folders: dict[Path, Year | None] = {
        folder / collection.name / year: year for year in scoring.years or YEARS
    }
    if not scoring.years:
        files = collection.premises
        folders |= {folder / files.name / split: None for split in files.splits()}
    paths = [
        (path, year)
        for part, year in folders.items()
        for path in sorted(part.glob("*"))
        if path.suffix in _ENDINGS and task in (None, detect_task(path))
    ]
    if not paths:
        name = task or "all"
        data = collection.layout.data if collection.on_site else None
        run_it = command_line("run", name, data=data, runs=folder)
        raise InputError(
            f"no runs of {name} in {folder / collection.name}: write them with "
            f"`{run_it}`, or name run files: eval RUN --qrels FILE"
        )
    for path, year in paths:
        if lacking := evaluator.lacks(path, path.parent.name):
            console.print(f"left out: {path}: {lacking}", soft_wrap=True)
        else:
            yield evaluator.score(path, year=year)
