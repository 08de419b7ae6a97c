"""The command `eval`: what runs score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arqmath_bm25.cli.shared import options, score_tables
from arqmath_bm25.cli.shared.scoring import Scoring, grouped
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.progress import console, status
from arqmath_bm25.evaluation.measure_names import named_measures
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.topic_sets import official_topic_info, read_topic_info, topic_sets
from arqmath_bm25.evaluation.unjudged import leave_out, team_of
from arqmath_bm25.runs.rows import detect_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arqmath_bm25.core.labs import Year
    from arqmath_bm25.evaluation.evaluator import Evaluator, Scored

_ENDINGS: Final = {".tsv", ".trec", ".txt"}  # of NLPS: .txt
_POOL: Final = "How far the judgments can be trusted"


@grouped
def evaluate(
    scoring: Scoring,
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run files.")
    ] = None,
    run_folder: options.Runs = options.RUNS,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="A measure of ir_measures, as 'nDCG(judged_only=True)@10', or of trec_eval, as "
            "infAP; repeatable.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", help="Scores by Dependency, Difficulty or Category of the topics."
        ),
    ] = None,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds", rich_help_panel=_POOL,
            help="Lowest and highest score each run could have if its unjudged hits were judged.",
        ),
    ] = False,
    left_out: Annotated[
        bool,
        typer.Option(
            "--leave-out", rich_help_panel=_POOL,
            help="Scores without the judgments that only one team's runs brought (Zobel 1998).",
        ),
    ] = False,
    pool_depth: Annotated[
        int,
        typer.Option(
            min=1, rich_help_panel=_POOL, help="With --leave-out: how deep runs were pooled."
        ),
    ] = 50,
) -> None:  # fmt: skip
    """Score runs as the labs do.

    Without RUN every run in RUNS/COLLECTION/YEAR (of NLPS: in dev) is scored against the official
    judgments. Scores are averages over every judged topic; a topic that the run lacks counts 0.

    Example: arqmath-bm25 eval myrun.tsv --qrels qrel_official_task1 --measure ndcg_cut_10
    """
    extra = [one for name in measure or () for one in named_measures(name)]
    with status("Scoring") as say:
        evaluator = scoring.evaluator(
            runs, extra, lambda rows: say(f"Reading visual ids, once: {rows:,} formulas")
        )
        if runs:
            scored = scoring.score(evaluator, runs)
        elif scoring.answer_map is not None:
            scored = evaluator.score_answer_map()
        else:
            scored = list(_score_folder(evaluator, run_folder, scoring))
    sets = {}
    if by is not None:
        files = scoring.topic_info or official_topic_info(evaluator.collection.layout.data)
        if not files:
            raise InputError(
                f"--by {by}: DATA has no labels of topics; give them with --topic-info FILE"
            )
        info = read_topic_info(*files)
        sets = {
            one.run: topic_sets(one.score.values, info, [by])
            for one in scored
            if isinstance(one.score, RunScore)
        }
    if scoring.write(scored, lambda: json.dumps([one.to_json() for one in scored], indent=1)):
        score_tables.print_scores(scored, [one.key for one in evaluator.further])
        score_tables.print_topic_sets(scored, sets, by or "")
        judged = [one for one in scored if one.judged]
        if bounds:
            score_tables.print_bounds(judged)
        if left_out:
            if any(one.judged != judged[0].judged for one in judged):
                raise InputError("--leave-out takes runs of the same judgments: name their files")
            teams = {one.run: team_of(one.file) for one in judged}
            if len(set(teams.values())) < 2:
                raise InputError(
                    f"--leave-out: all runs are of one team, {next(iter(teams.values()), 'none')}; "
                    "what it alone brought to the pool is told by the runs of other teams: name "
                    "these as well"
                )
            rankings = {one.run: one.rankings for one in judged}
            score_tables.print_left_out(leave_out(rankings, teams, judged[0].judged, pool_depth))


def _score_folder(evaluator: Evaluator, folder: Path, scoring: Scoring) -> Iterator[Scored]:
    """Score every run of the collection that has official judgments; say what is left out."""
    collection, task = evaluator.collection, scoring.chosen_task
    folders: dict[Path, Year | None] = {
        folder / collection.name / year: year for year in scoring.years or YEARS
    }
    if not scoring.years:
        files = collection.premises
        folders |= {folder / files.name / split: None for split in files.splits()}
    found = False
    for part, year in folders.items():
        for path in sorted(part.glob("*")):
            if path.suffix not in _ENDINGS or task not in (None, detect_task(path)):
                continue
            found = True
            lacking = evaluator.lacks(path, part.name)
            if lacking is None:
                yield evaluator.score(path, year=year)
            else:
                console.print(f"left out: {path}: {lacking}", soft_wrap=True)
    if not found:
        name = task or "all"
        data = collection.layout.data if collection.on_site else None
        run_it = options.command("run", name, data=data, runs=folder)
        raise InputError(
            f"no runs of {name} in {folder / collection.name}: write them with "
            f"`{run_it}`, or name run files: eval RUN --qrels FILE"
        )
