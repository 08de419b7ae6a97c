"""The command `eval`: what runs score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arqmath_bm25.cli.shared import options, score_tables, scoring
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import LAB_TASKS, SPLITS, YEARS, Task, Year
from arqmath_bm25.core.progress import console, status
from arqmath_bm25.evaluation.evaluator import Evaluator, Scored
from arqmath_bm25.evaluation.leave_out import leave_out, team_of
from arqmath_bm25.evaluation.measure_names import named_measures
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.topic_sets import official_topic_info, read_topic_info
from arqmath_bm25.runs.rows import detect_task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENDINGS: Final = {".tsv", ".trec", ".txt"}  # of NLPS: .txt

RunFiles = Annotated[list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run files.")]


def evaluate(
    runs: RunFiles = None,
    task: scoring.TaskName = "all",
    qrels: scoring.QrelsFile = None,
    data: options.Data = None,
    topics: scoring.YearNames = None,
    formulas: scoring.Formulas = None,
    answer_map: scoring.AnswerMap = None,
    run_folder: options.Runs = options.RUNS,
    indexes: options.Indexes = options.INDEXES,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="A measure of ir_measures, as 'nDCG(judged_only=True)@10', or of trec_eval, as "
            "infAP; repeatable.",
        ),
    ] = None,
    ids: scoring.Ids = None,
    no_cut: Annotated[
        bool,
        typer.Option("--no-cut", help="Score all instances of a Task 2 run, not the best 1,000."),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Scores by Dependency, Difficulty or Category of the topics."),
    ] = None,
    topic_info: scoring.TopicInfo = None,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Between which values unjudged hits leave each score.")
    ] = False,
    left_out: Annotated[
        bool,
        typer.Option("--leave-out", help="Scores without what only one team brought to the pool."),
    ] = False,
    pool_depth: Annotated[
        int,
        typer.Option("--pool-depth", min=1, help="With --leave-out: how deep runs were pooled."),
    ] = 50,
    json_file: scoring.JsonFile = None,
    per_topic: scoring.PerTopic = None,
) -> None:
    """Score runs as the labs do.

    Without RUN every run in RUNS/COLLECTION/YEAR (of NLPS: in dev) is scored against the official
    judgments. Scores are averages over every judged topic; a topic that the run lacks counts 0.

    Example: arqmath-bm25 eval myrun.tsv --qrels qrel_official_task1 --measure ndcg_cut_10
    """
    collection = Collection(scoring.data_of(runs, data), indexes)
    years = scoring.chosen_years(topics)
    extra = [one for name in measure or () for one in named_measures(name)]
    with status("Scoring") as say:
        evaluator = Evaluator(
            collection, qrels=qrels, formulas=formulas, ids=ids, cut=not no_cut,
            answer_map=answer_map, measures=extra,
            progress=lambda rows: say(f"Reading visual ids, once: {rows:,} formulas"),
        )  # fmt: skip
        if runs:
            scored = list(scoring.score_runs(evaluator, runs, scoring.chosen_task(task), years))
        elif answer_map is not None:
            scored = evaluator.score_answer_map()
        else:
            scored = list(
                _score_folder(evaluator, run_folder, collection, scoring.chosen_task(task), years)
            )
    if json_file is not None:
        options.write(json_file, json.dumps([one.to_json() for one in scored], indent=1) + "\n")
    if per_topic is not None:
        options.write(per_topic, scoring.per_topic_csv(scored))
    if str(json_file) != "-":
        score_tables.print_scores(scored, [one.key for one in extra])
        if by is not None:
            info = read_topic_info(*(topic_info or official_topic_info(collection.layout.data)))
            score_tables.print_topic_sets(scored, info, by)
        judged = [one for one in scored if isinstance(one.score, RunScore)]
        if bounds:
            score_tables.print_bounds(judged)
        if left_out:
            if any(one.judged != judged[0].judged for one in judged):
                raise InputError("--leave-out takes runs of the same judgments: name their files")
            rankings = {one.run: one.rankings for one in judged}
            teams = {one.run: team_of(one.file) for one in judged}
            score_tables.print_left_out(leave_out(rankings, teams, judged[0].judged, pool_depth))


def _score_folder(
    evaluator: Evaluator,
    folder: Path,
    collection: Collection,
    task: Task | None,
    years: Sequence[Year],
) -> Iterator[Scored]:
    """Score every run of the collection that has official judgments; say what is left out."""
    judged: dict[Task, Sequence[str]] = {
        **{name: collection.layout.judged_years(name) for name in LAB_TASKS},
        "task3": collection.layout.judged_years("task1"),
        "nlps": SPLITS[:1],  # the premises of the test set are masked
    }
    parts = [(folder / collection.name / year, year) for year in years or YEARS]
    splits = [folder / collection.premises.name / split for split in SPLITS if not years]
    found = False
    for part, year in [*parts, *((split, None) for split in splits)]:
        for path in sorted(part.glob("*")):
            if path.suffix not in _ENDINGS or task not in (None, detected := detect_task(path)):
                continue
            found = True
            known = evaluator.can_score(path, detected)
            if known and part.name in judged[detected]:
                yield evaluator.score(path, detected, year)
            else:
                lacking = (
                    "it needs --qrels and --answer-map"
                    if not known
                    else f"there are no judgments of {detected} {part.name}"
                )
                console.print(f"left out: {path}: {lacking}", soft_wrap=True)
    if not found:
        name = task or "all"
        data = collection.layout.data if collection.on_site else None
        run_it = options.command("run", name, data=data, runs=folder)
        raise InputError(
            f"no runs of {name} in {folder / collection.name}: write them with "
            f"`{run_it}`, or name run files: eval RUN --qrels FILE"
        )
