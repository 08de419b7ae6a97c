"""The commands `eval` and `compare`: scores of runs, and whether one is better than another."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, product
from pathlib import Path
from statistics import fmean
from typing import Literal

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import (
    RUNS,
    Place,
    command_line,
    refuse_repeated,
    write,
    years_apart,
)
from arqmath_bm25.cli.shared.tables import (
    DAGGER,
    PASTED,
    MarkedNumber,
    ScoreTable,
    TableForm,
    in_terminal,
    print_tables,
)
from arqmath_bm25.collection.collection import INDEXES
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH, YEARS, RunTask, Year
from arqmath_bm25.core.progress import console, status
from arqmath_bm25.core.writing import TEXTS, refuse_endings
from arqmath_bm25.evaluation.comparing import (
    SIGNIFICANT,
    Move,
    RunComparisons,
    compare_runs,
    find_significant,
    moves,
)
from arqmath_bm25.evaluation.evaluator import Evaluator, ScoredRun
from arqmath_bm25.evaluation.measures import NAMES, Measure, named_measures
from arqmath_bm25.evaluation.qrels import IdKind
from arqmath_bm25.evaluation.score import EXPLANATION, RunScore, shared_notes
from arqmath_bm25.evaluation.topic_sets import read_topic_info, topic_sets
from arqmath_bm25.runs.short_names import short_names
from arqmath_bm25.runs.task_rules import detect_task
from arqmath_bm25.tasks import trust

# The endings of run files; NLPS has .txt.
_ENDINGS = {".tsv", ".trec", ".txt"}
_IDS = {"visual_v2": " (visual ids of v2)", "formula": " (formula ids)"}

# How many ranks --why compares, and how many causes of a move it shows.
_WHY_DEPTH = 10
_MAX_CAUSES = 5

# Scores are shown with four digits.
_ROUNDING = 5e-5
_PRIMED = "′: documents without a judgment are left out"
_TEST = "p < .05 (randomization test, corrected by Holm)"
_COMPARISON_HEADER = [
    "run",
    "mean",
    "difference",
    "95 % interval",
    "W/T/L",
    "p t-test",
    "Holm t-test",
    "p random.",
    "Holm random.",
]

# Columns that a narrow terminal leaves out, in this order.
_DISPENSABLE = ("p t-test", "p random.", "mean", "Holm t-test")


@dataclass
class Scoring:
    """Options that choose the judgments and the form in which scores are written."""

    task: Literal["all", RunTask] = "all"
    qrels: Path | None = None
    data: Path | None = None
    topics: list[str] | None = None
    json_file: Path | None = None
    per_topic: Path | None = None
    topics_with_grade: int = 0
    relevant: int | None = None
    no_cut: bool = False
    ids: IdKind | None = None
    answer_map: Path | None = None
    indexes: Path = INDEXES
    form: TableForm = "terminal"

    def evaluator(self, runs: Sequence[Path] | None, measures: Iterable[Measure]) -> Evaluator:
        """Return the evaluator of these options."""
        place = Place(self.data, self.indexes)
        if self.qrels is None and runs:
            place.provenance(runs[:1])
        return Evaluator(
            place.collection,
            qrels=self.qrels,
            ids=self.ids,
            depth=None if self.no_cut else MAX_DEPTH,
            answer_map=self.answer_map,
            measures=measures,
            least_grade=self.topics_with_grade,
            relevant=self.relevant,
        )

    def of_each_year(self, runs: Iterable[Path]) -> list[tuple[Path, Year | None]]:
        """Return runs with the years that each is scored for."""
        years: Sequence[Year | None] = self.years or [None]
        return list(product(runs, years))

    @property
    def chosen_task(self) -> RunTask | None:
        """The task of `--task`, None for all."""
        if self.task == "all":
            return None
        return self.task

    @property
    def years(self) -> list[Year]:
        """The years of `--topics`; InputError for anything else."""
        names = years_apart(self.topics)
        for name in names:
            if name not in YEARS:
                raise InputError(
                    f"--topics {name}: expected {', '.join(YEARS)}; for judgments of other topics "
                    "give --qrels FILE"
                )
        return [year for year in YEARS if year in names]

    def write(self, scored: Sequence[ScoredRun], content: object) -> bool:
        """Write the files asked for; return whether to print tables as well."""
        texts = {}
        if self.json_file is not None:
            refuse_endings(self.json_file, TEXTS - {".json"}, "--json writes JSON")
            text = json.dumps(content, indent=1, allow_nan=False)
            texts[self.json_file] = f"{text}\n"
        if self.per_topic is not None:
            # pandas takes half a second to load.
            from pandas import DataFrame

            refuse_endings(self.per_topic, TEXTS - {".csv"}, "--per-topic writes CSV")
            rows = []
            for run in scored:
                for topic, values in run.score.values.items():
                    about = {"run": run.run, "task": run.task, "topic": topic}
                    rows.append({**about, **run.score.named(values)})
            texts[self.per_topic] = DataFrame(rows).to_csv(index=False)

        write(texts)
        return str(self.json_file) != "-"


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
    if by and not topic_info:
        raise InputError(f"--by {by}: give the labels of the topics with --topic-info FILE")

    left_out = list[str]()
    with status("Scoring"):
        evaluator = scoring.evaluator(runs, named_measures(*measure or ()))
        if scoring.answer_map is not None and not runs:
            scored = evaluator.score_answer_map()
        else:
            if runs:
                task = scoring.chosen_task
                files = scoring.of_each_year(runs)
            else:
                task = None
                files, left_out = _run_files(evaluator, run_folder, scoring)
            scored = [evaluator.score(path, task, year) for path, year in files]

    tables = []
    for _, group in groupby(scored, lambda run: (run.task, run.judgments.file)):
        of_same = list(group)
        keys = [*of_same[0].score.table_keys, *(each.key for each in evaluator.measures)]
        tables.append(_score_table(of_same, list(dict.fromkeys(keys)), scoring.form))
    if by:
        info = read_topic_info(*topic_info or ())
        for run in scored:
            if isinstance(run.score, RunScore):
                keys = list(run.score.table_keys)
                rows = []
                for label, topics in topic_sets(run.score.values, info, by).items():
                    averages = run.score.averages(topics)
                    rows.append([label, len(topics), *map(averages.__getitem__, keys)])
                header = ["topics", "number", *_names(keys)]
                tables.append(ScoreTable(caption=f"{run.run} by {by}", header=header, rows=rows))

    if scoring.write(scored, [run.to_json() for run in scored]):
        print_tables(tables, scoring.form)
    for note in left_out:
        console.print(f"not scored: {note}", soft_wrap=True)


def _run_files(
    evaluator: Evaluator, folder: Path, scoring: Scoring
) -> tuple[list[tuple[Path, Year | None]], list[str]]:
    """Return the run files of the collection, each with its year, and why some are left out."""
    collection, task = evaluator.collection, scoring.chosen_task
    runs = folder / collection.name
    folders: dict[Path, Year | None] = {runs / year: year for year in scoring.years or YEARS}
    if collection.corpus:
        # Runs of own documents are in folders of their queries, not of years.
        folders = dict.fromkeys(sorted(runs.glob("*/")))
    elif not scoring.years:
        premises = collection.premises
        for split in premises.splits():
            folders[folder / premises.name / split] = None

    judged = []
    left_out = []
    for part, year in folders.items():
        for path in sorted(part.glob("*")):
            if path.suffix not in _ENDINGS or task not in (None, detect_task(path)):
                continue
            reason = evaluator.reason_against(path)
            if reason:
                left_out.append(f"{path}: {reason}")
            else:
                judged.append((path, year))

    if not (judged or left_out):
        advice = command_line("run", task or "all", data=collection.data, runs=folder)
        of_task = ""
        if task:
            of_task = f" of {task}"
        raise InputError(
            f"no run files{of_task} in {runs}: write them with `{advice}`, or name run files: "
            "eval RUN --qrels FILE"
        )
    return judged, left_out


def _names(keys: Iterable[str]) -> list[str]:
    """Return the names of measures in tables."""
    return [NAMES.get(key, key) for key in keys]


def _score_table(runs: Sequence[ScoredRun], keys: Sequence[str], form: TableForm) -> ScoreTable:
    """Return the scores of runs by the same judgments."""
    first = runs[0]
    names = _short_names([run.run for run in runs], form)

    significant = {}
    if form in PASTED:
        significant = {key: find_significant(runs, key) for key in keys}

    rows = []
    for index, run in enumerate(runs):
        topics, *parts = run.score.counts.values()
        count = str(topics)
        if parts:
            count = f"{parts[-1]} of {topics}"  # of those that are judged
        cells: list[object] = [names[index], count]
        numbers = run.score.averages()
        for key in keys:
            cells.append(numbers[key])
            if index in significant.get(key, ()):
                cells[-1] = MarkedNumber(numbers[key], DAGGER)
        rows.append(cells)

    notes = shared_notes([(run.run, _notes(run, keys)) for run in runs])
    unit = "judged topics"
    if "statements" in first.score.counts:
        unit = "statements"
        notes.append(EXPLANATION)

    titles = _names(keys)
    if form == "csv":
        titles = [first.score.names[key] for key in keys]
    header = ["run", unit, *titles]

    ids = _IDS.get(first.judgments.ids or "", "")
    parts_of_caption = [first.task, first.year, f"{first.judgments.file.name}{ids}"]
    if unit == "judged topics":
        parts_of_caption.append(f"relevant: grade {first.score.relevant} or more")
    caption = " · ".join(filter(None, parts_of_caption))
    if form in PASTED:
        caption += _explain_signs(titles, names[0], any(significant.values()))

    # A terminal has no room for the long name of a single run.
    if len(runs) == 1 and form == "terminal" and in_terminal():
        caption = f"{names[0]} · {caption}"
        header = header[1:]
        rows = [rows[0][1:]]

    return ScoreTable(
        caption=caption,
        header=header,
        rows=rows,
        notes=notes,
        dispensable=[unit],
    )


def _short_names(names: Sequence[str], form: TableForm) -> list[str]:
    """Return the names of runs in tables; CSV and pipes get the full names."""
    if form in PASTED or (form == "terminal" and in_terminal()):
        return short_names(names)
    return list(names)


def _explain_signs(names: Sequence[str], baseline: str, marked: bool) -> str:
    """Return the explanation of the signs in a pasted table, for its caption."""
    text = ""
    if any("′" in name for name in names):
        text += f" · {_PRIMED}"
    if marked:
        text += f" · {DAGGER}: differs from {baseline}, {_TEST}"
    return text


def _notes(run: ScoredRun, keys: Sequence[str]) -> list[str]:
    """Return averages over the topics of the run where they differ, and its warnings."""
    notes = []
    if isinstance(run.score, RunScore):
        averages = run.score.averages()
        run_averages = run.score.averages_of_run_topics()
        by_topics = dict[str, list[str]]()
        for key in keys:
            difference = run_averages[key] - averages[key]
            if abs(difference) > _ROUNDING:
                name = NAMES.get(key, key)
                topics = run.score.describe_run_topics(key)
                by_topics.setdefault(topics, []).append(f"{name} {run_averages[key]:.4f}")

        every = len(run.score.values)
        for topics, values in by_topics.items():
            notes.append(f"averaged over the {topics}, not all {every}: {', '.join(values)}")

    return notes + _warning_notes(run.score.warnings)


def _warning_notes(warnings: Iterable[str]) -> list[str]:
    """Return warnings as notes below a table."""
    return [f"warning: {warning}" for warning in warnings]


@command
def compare(
    scoring: Scoring,
    runs: list[Path],
    measure: str | None = None,
    why: str | None = None,
    why_indexes: list[Path] | None = None,
    config: list[Path] | None = None,
) -> None:
    """Compare runs topic by topic with the first one: wins, paired tests, intervals.

    Example: arqmath-bm25 compare a.tsv b.tsv c.tsv --qrels qrel_official_task1 --measure map_prime
    """
    refuse_repeated(runs)
    trust(config or ())
    evaluator = scoring.evaluator(runs, named_measures(*filter(None, [measure])))
    task = scoring.chosen_task
    scored = [evaluator.score(run, task, year) for run, year in scoring.of_each_year(runs)]
    compared = compare_runs(scored, measure)
    if scoring.write(scored, compared.to_json()):
        table = _comparison_table(compared, scoring.form)
        print_tables([table], scoring.form)
        if why is not None:
            indexes = why_indexes or [scoring.indexes]
            found, unexplained = moves(evaluator.collection, scored[:2], why, _WHY_DEPTH, indexes)
            table = _table_of_moves(why, found, unexplained)
            print_tables([table], scoring.form)


def _comparison_table(compared: RunComparisons, form: TableForm) -> ScoreTable:
    """Return the tests of each run against the first one, whose mean is in the caption."""
    if form == "csv":  # with all digits, under the keys of `compare --json`
        comparisons = list(map(asdict, compared.comparisons))
        values = [list(of_run.values()) for of_run in comparisons]
        notes = _warning_notes(compared.warnings)
        return ScoreTable(caption="", header=list(comparisons[0]), rows=values, notes=notes)

    (name,) = _names([compared.key])
    topics, *_ = compared.values.values()
    mean = fmean(topics.values())
    names = _short_names(list(compared.values), form)
    baseline = names[0]
    caption = f"{name} of {len(topics)} topics"
    if "rel=" not in name:
        caption += f" (relevant: grade {compared.relevant} or more)"
    caption += f", compared with {baseline} ({mean:.4f})"
    if form in PASTED:
        marked = any(run.randomization_holm < SIGNIFICANT for run in compared.comparisons)
        caption += _explain_signs([name], baseline, marked)

    rows = []
    if form in PASTED:
        rows.append([baseline, mean, *[""] * 7])
    for short, run in zip(names[1:], compared.comparisons, strict=True):
        interval = f"{run.low:+.4f} … {run.high:+.4f}"
        counts = f"{run.wins}/{run.ties}/{run.losses}"
        tests = (run.t_test_p, run.t_test_holm, run.randomization_p, run.randomization_holm)
        p_values = ["< 0.0001" if p < 0.0001 else p for p in tests]
        mean_of_run: object = run.mean
        if form in PASTED and run.randomization_holm < SIGNIFICANT:
            mean_of_run = MarkedNumber(run.mean, DAGGER)
        difference = f"{run.difference:+.4f}"
        rows.append([short, mean_of_run, difference, interval, counts, *p_values])

    return ScoreTable(
        caption=caption,
        header=_COMPARISON_HEADER,
        rows=rows,
        notes=_warning_notes(compared.warnings),
        dispensable=_DISPENSABLE,
    )


def _table_of_moves(topic: str, moved: Sequence[Move], unexplained: Sequence[str]) -> ScoreTable:
    """Return which documents moved, and the parts of their scores that changed most."""
    rows = []
    for move in moved:
        causes = []
        for name, before, after in move.causes()[:_MAX_CAUSES]:
            if before != after:
                causes.append(f"{name} {before:.1%} → {after:.1%}")

        numbers = ["–" if number is None else number for number in (move.grade, *move.ranks)]
        rows.append([move.doc_id, *numbers, ", ".join(causes)])

    parts = "what its score is made of, in shares of the best score"
    header = ["document", "grade", "from rank", "to", parts]
    caption = f"{topic}: what moved, and why"
    return ScoreTable(caption=caption, header=header, rows=rows, notes=unexplained, left=[parts])
