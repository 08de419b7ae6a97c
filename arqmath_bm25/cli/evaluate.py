"""The commands `eval` and `compare`: what runs score, and whether one is better than another."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arqmath_bm25.cli import options, score_tables
from arqmath_bm25.collection.layout import YEARS
from arqmath_bm25.collection.premises import SPLITS, PremiseFiles
from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation import answers, measures, nlps
from arqmath_bm25.evaluation.evaluator import Evaluator, Scored, detect_task
from arqmath_bm25.progress import console
from arqmath_bm25.runs import TASKS
from arqmath_bm25.sample import NLPS_SAMPLE, SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arqmath_bm25.collection.layout import Layout, Year
    from arqmath_bm25.evaluation.measures import Measure
    from arqmath_bm25.runs import Task

_ENDINGS: Final = {".tsv", ".trec", ".txt"}  # of NLPS: .txt

RunFiles = Annotated[list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run files.")]
TaskName = Annotated[
    str, typer.Option("--task", help=f"{', '.join(TASKS)} or all. Default: as each run tells.")
]
QrelsFile = Annotated[
    Path | None,
    typer.Option(
        "--qrels", help="Judgments to use instead of the official ones; for nlps the gold JSON."
    ),
]
YearNames = Annotated[
    list[str] | None,
    typer.Option("--topics", help="2020, 2021 or 2022; repeatable. Default: as the topics tell."),
]
Formulas = Annotated[
    Path | None, typer.Option("--formulas", help="Formula TSVs for Task 2. Default: those of DATA.")
]
AnswerMap = Annotated[
    Path | None,
    typer.Option("--answer-map", help="Task 3: which answer was judged; rows run, topic, d_N."),
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Write everything as JSON; - is standard output.")
]
PerTopic = Annotated[
    Path | None, typer.Option("--per-topic", help="Write the values of every topic as CSV.")
]


def evaluate(
    runs: RunFiles = None,
    task: TaskName = "all",
    qrels: QrelsFile = None,
    data: options.Data = None,
    topics: YearNames = None,
    formulas: Formulas = None,
    answer_map: AnswerMap = None,
    run_folder: options.Runs = options.RUNS,
    indexes: options.Indexes = options.INDEXES,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", help="A further measure of trec_eval, as infAP; repeatable."),
    ] = None,
    json_file: JsonFile = None,
    per_topic: PerTopic = None,
) -> None:
    """Score runs as the labs do.

    Without RUN every run in RUNS/COLLECTION/YEAR (of NLPS: in dev) is scored against the official
    judgments. Scores are averages over every judged topic; a topic that the run lacks counts 0.

    Example: arqmath-bm25 eval myrun.tsv --qrels qrel_official_task1 --measure ndcg_cut_10
    """
    where = options.layout(data)
    premises = PremiseFiles.at(data or NLPS_SAMPLE)
    years = _years(topics)
    extra = [one for name in measure or () for one in measures.trec_measures(name)]
    with console.status("Scoring") as status:
        evaluator = Evaluator(
            where.data, indexes / where.name, qrels=qrels, formulas=formulas,
            answer_map=answer_map, premise_files=premises, measures=extra,
            progress=lambda rows: status.update(f"Reading visual ids, once: {rows:,} formulas"),
        )  # fmt: skip
        if runs:
            scored = list(_score(evaluator, runs, _task(task), years))
        elif answer_map is not None:
            scored = evaluator.score_answer_map()
        else:
            scored = list(_score_folder(evaluator, run_folder, where, premises, _task(task), years))
    if json_file is not None:
        _write(json_file, json.dumps([one.to_json() for one in scored], indent=1) + "\n")
    if per_topic is not None:
        _write(per_topic, _per_topic_csv(scored))
    if str(json_file) != "-":
        score_tables.print_scores(scored, [one.key for one in extra])


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN RUN...", help="The first is compared with each of the others."),
    ],
    task: TaskName = "all",
    qrels: QrelsFile = None,
    data: options.Data = None,
    topics: YearNames = None,
    formulas: Formulas = None,
    answer_map: AnswerMap = None,
    indexes: options.Indexes = options.INDEXES,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="What to compare: a key of eval --json, or a measure of trec_eval. "
            "Default: ndcg_prime; ar for task3, map_500_official for nlps.",
        ),
    ] = None,
    topic_info: Annotated[
        Path | None,
        typer.Option(
            "--topic-info", help="CSV of topic labels (Topic, Dependency, Difficulty, Category)."
        ),
    ] = None,
    json_file: JsonFile = None,
    per_topic: PerTopic = None,
) -> None:
    """Compare runs topic by topic with the first one: wins, paired tests, intervals.

    Example: arqmath-bm25 compare a.tsv b.tsv c.tsv --qrels qrel_official_task1 --measure map_prime
    """
    from arqmath_bm25.evaluation import compare as comparing  # scipy takes a second to load

    where = options.layout(data)
    years = _years(topics)
    info = comparing.read_topic_info(topic_info) if topic_info is not None else {}
    evaluator = Evaluator(
        where.data, indexes / where.name, qrels=qrels, formulas=formulas, answer_map=answer_map,
        premise_files=PremiseFiles.at(data or NLPS_SAMPLE), measures=_further(measure),
    )  # fmt: skip
    scored = list(_score(evaluator, runs, _task(task), years))
    key, values = _values_of(scored, measure)
    comparisons = comparing.compare(values)
    categories = comparing.by_category(values, info) if info else []
    if json_file is not None:
        content = {
            "measure": key,
            "qrels": str(scored[0].qrels),
            "topics": len(next(iter(values.values()))),
            "means": {run: sum(found.values()) / len(found) for run, found in values.items()},
            "comparisons": [asdict(one) for one in comparisons],
            "categories": [asdict(one) for one in categories],
        }
        _write(json_file, json.dumps(content, indent=1) + "\n")
    if per_topic is not None:
        _write(per_topic, _per_topic_csv(scored))
    if str(json_file) != "-":
        score_tables.print_comparison(key, values, comparisons, categories)


def _task(name: str) -> Task | None:
    if name == "all":
        return None
    for task in TASKS:
        if name == task:
            return task
    raise InputError(f"unknown task {name!r}; there are: {', '.join(TASKS)}, all")


def _years(names: list[str] | None) -> list[Year]:
    for name in names or ():
        if name not in YEARS:
            raise InputError(
                f"--topics {name}: expected {', '.join(YEARS)}; for judgments of other topics give "
                "--qrels FILE"
            )
    return [year for year in YEARS if year in (names or ())]


def _score(
    evaluator: Evaluator, runs: Sequence[Path], task: Task | None, years: Sequence[Year]
) -> Iterator[Scored]:
    """Score the runs given, against each of the years given."""
    for run in runs:
        if not years:
            yield evaluator.score(run, task)
        for year in years:
            yield evaluator.score(run, task, year)


def _score_folder(
    evaluator: Evaluator,
    folder: Path,
    where: Layout,
    premises: PremiseFiles,
    task: Task | None,
    years: Sequence[Year],
) -> Iterator[Scored]:
    """Score every run of the collection that has official judgments; say what is left out."""
    judged: dict[Task, Sequence[str]] = {
        "task1": where.judged_years(),
        "task2": where.judged_task2_years(),
        "nlps": ("dev",),  # the premises of the test set are masked
    }
    parts = [(folder / where.name / year, year) for year in years or YEARS]
    splits = [folder / premises.name / split for split in SPLITS if not years]
    found = False
    for part, year in [*parts, *((split, None) for split in splits)]:
        for path in sorted(part.glob("*")):
            if path.suffix not in _ENDINGS or task not in (None, detected := detect_task(path)):
                continue
            found = True
            if part.name in judged.get(detected, ()):
                yield evaluator.score(path, detected, year)
            else:
                lacking = (
                    "it needs --qrels and --answer-map"
                    if detected == "task3"
                    else f"there are no judgments of {detected} {part.name}"
                )
                console.print(f"left out: {path}: {lacking}", soft_wrap=True)
    if not found:
        name = task or "all"
        given = "" if where.data == SAMPLE else f' DATA="{where.data}"'
        raise InputError(
            f"no runs of {name} in {folder / where.name}: write them with "
            f"`make runs TASK={name}{given}`, or name run files: eval RUN --qrels FILE"
        )


def _further(measure: str | None) -> tuple[Measure, ...]:
    """Return what must be measured beyond the usual for `measure` to be compared."""
    if measure is None or measure in (*measures.KEYS, *answers.KEYS, *nlps.KEYS):
        return ()
    return measures.trec_measures(measure.removesuffix("_prime"))


def _values_of(
    scored: Sequence[Scored], measure: str | None
) -> tuple[str, dict[str, dict[str, float]]]:
    """Return the measure and its values: run → topic → value."""
    first = scored[0]
    key = measure or next(iter(next(iter(first.score.values.values()))))
    values: dict[str, dict[str, float]] = {}
    for one in scored:
        if one.qrels != first.qrels or one.task != first.task:
            raise InputError(
                f"{one.file}: scored as {one.task} with {one.qrels}, but {first.file} as "
                f"{first.task} with {first.qrels}; runs can be compared on the same judgments only"
            )
        name = one.run if one.run not in values else str(one.file)
        values[name] = {topic: found[key] for topic, found in one.score.values.items()}
    return key, values


def _per_topic_csv(scored: Sequence[Scored]) -> str:
    keys = dict.fromkeys(
        key for one in scored for values in one.score.values.values() for key in values
    )
    text = io.StringIO()
    rows = csv.DictWriter(text, ["run", "task", "topic", *keys], lineterminator="\n")
    rows.writeheader()
    for one in scored:
        for topic, values in one.score.values.items():
            rows.writerow({"run": one.run, "task": one.task, "topic": topic, **values})
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    """Write a file, or to standard output if `path` is `-`; it appears when it is complete."""
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
