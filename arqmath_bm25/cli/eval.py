"""The command `eval`: what runs score."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from arqmath_bm25.cli.shared import score_tables
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import RUNS, command_line
from arqmath_bm25.cli.shared.scoring import Scoring
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, Year
from arqmath_bm25.core.progress import console, status
from arqmath_bm25.evaluation import unjudged
from arqmath_bm25.evaluation.evaluator import Evaluator, Scored
from arqmath_bm25.evaluation.measures import named_measures
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.topic_sets import (
    TopicSet,
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
    bounds: bool = False,
    leave_out: bool = False,
    pool_depth: int = 50,
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
    sets = _topic_sets(by, scoring, evaluator, scored) if by else {}
    if scoring.write(scored, lambda: json.dumps([run.to_json() for run in scored], indent=1)):
        score_tables.print_scores(scored, [each.key for each in evaluator.measures])
        score_tables.print_topic_sets(scored, sets, by or "")
        judged = [run for run in scored if run.rankings]
        if bounds:
            score_tables.print_bounds(judged)
        if leave_out:
            score_tables.print_left_out(_left_out(judged, pool_depth))


def _topic_sets(
    by: str, scoring: Scoring, evaluator: Evaluator, scored: Sequence[Scored]
) -> dict[str, list[TopicSet]]:
    """Return the topics of each run by their labels in a column."""
    files = scoring.topic_info or official_topic_info(evaluator.collection.layout.data)
    if not files:
        raise InputError(
            f"--by {by}: DATA has no labels of topics; give them with --topic-info FILE"
        )
    info, ranked = (
        read_topic_info(*files),
        [run for run in scored if isinstance(run.score, RunScore)],
    )
    return {run.run: topic_sets(run.score.values, info, [by]) for run in ranked}


def _left_out(judged: Sequence[Scored], depth: int) -> list[unjudged.LeftOut]:
    """Score runs without what each team alone brought to the pool."""
    if any(run.judgments.qrels != judged[0].judgments.qrels for run in judged):
        raise InputError("--leave-out takes runs of the same judgments: name their files")
    teams = {run.run: unjudged.team_of(run.file) for run in judged}
    if len(set(teams.values())) < 2:
        raise InputError(
            f"--leave-out: all runs are of one team, {next(iter(teams.values()), 'none')}; what it "
            "alone brought to the pool shows only beside runs of other teams: name these as well"
        )
    rankings = {run.run: run.rankings for run in judged}
    return unjudged.leave_out(rankings, teams, judged[0].judgments.qrels, depth)


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
