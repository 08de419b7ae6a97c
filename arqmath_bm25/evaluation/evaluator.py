"""Scores run files: finds out their task and year, and with them the judgments.

The task is told by the official file name, else by the columns; the year by the topics, which
are numbered through the labs: A.1-100 in 2020, A.201-300 in 2021, A.301-400 in 2022.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation.answers import (
    AnswerScore,
    read_answer_map,
    read_top_answers,
    score_answers,
)
from arqmath_bm25.evaluation.measures import MEASURES, Measure
from arqmath_bm25.evaluation.nlps import PremiseScore, read_gold, read_predictions, score_premises
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.rankings import read_rankings
from arqmath_bm25.evaluation.run_form import official_stem, task_of
from arqmath_bm25.evaluation.score import RunScore, score
from arqmath_bm25.evaluation.visual import VisualIds, by_visual_id, read_formula_rankings
from arqmath_bm25.runs import parse_run_name, read_answers, read_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from arqmath_bm25.collection.layout import Year
    from arqmath_bm25.collection.premises import PremiseFiles
    from arqmath_bm25.evaluation.answers import Answers
    from arqmath_bm25.evaluation.visual import VisualQrels
    from arqmath_bm25.runs import Task

_TOPIC: Final = re.compile(r"[AB]\.([1-9][0-9]{0,2})")
_HUNDREDS: Final[dict[int, Year]] = {0: "2020", 2: "2021", 3: "2022"}
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Scored:
    """A run with its score."""

    run: str  # file name without ending, or the run's name in the answer map
    file: Path
    task: Task
    qrels: Path
    score: RunScore | AnswerScore | PremiseScore

    def to_json(self) -> dict[str, Any]:
        """Return the object of `eval --json`."""
        return {
            "run": self.run,
            "file": str(self.file),
            "task": self.task,
            "qrels": str(self.qrels),
            **self.score.to_json(),
        }


class Evaluator:
    """Scores one run file after the other; judgments and formula ids are read once."""

    def __init__(
        self,
        data: Path,
        id_cache: Path,
        *,
        qrels: Path | None = None,
        formulas: Path | None = None,
        answer_map: Path | None = None,
        premise_files: PremiseFiles | None = None,
        measures: Iterable[Measure] = (),
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`data` holds official judgments and formulas; `qrels` and `formulas` take their place.

        `id_cache` is the directory that keeps the visual ids, `answer_map` names the answers of
        Task 3, `premise_files` hold the statements of NLPS, `measures` come on top of the usual.
        """
        self._layout = Layout(data)
        self._id_cache = id_cache
        self._qrels_file = qrels
        self._formulas = formulas
        self._answer_map = answer_map
        self._premise_files = premise_files
        self._measures = (*MEASURES, *measures)
        self._progress = progress
        self._qrels = cache(read_qrels)
        self._visual_qrels = cache(self._read_visual_qrels)

    def score(self, path: Path, task: Task | None = None, year: Year | None = None) -> Scored:
        """Score one run; a Task 1 run scored as `task3` is taken as the answers at its top.

        Raises InputError for whatever file cannot be read or does not fit its judgments.
        """
        found = detect_task(path) if task in (None, "task3") else task
        match task or found:
            case "task1":
                return self._task1(path, year)
            case "task2":
                return self._task2(path, year)
            case "task3":
                return self._answers(path) if found == "task3" else self._top_answers(path, year)
            case _:
                return self._premises(path)

    def score_answer_map(self) -> list[Scored]:
        """Score every run of the answer map of Task 3."""
        answer_map, qrels = self._answer_files()
        judgments = self._qrels(qrels)
        scored = []
        for run, answers in read_answer_map(answer_map).items():
            with _about(f"{answer_map}: {run}"):
                result = score_answers(answers, judgments)
            scored.append(Scored(run, answer_map, "task3", qrels, result))
        return scored

    def _task1(self, path: Path, year: Year | None) -> Scored:
        rankings = read_rankings(path)
        qrels = self._judgments(path, rankings.topics, year, self._layout.task1_qrels)
        judgments = self._qrels(qrels)
        with _about(path):
            result = score(rankings.topics, judgments, self._measures, rankings.notes())
        return Scored(_name(path), path, "task1", qrels, result)

    def _task2(self, path: Path, year: Year | None) -> Scored:
        rankings = read_formula_rankings(path, self._ids)
        qrels = self._judgments(path, rankings.topics, year, self._layout.task2_qrels)
        judgments = self._visual_qrels(qrels)
        notes = (*judgments.notes, *rankings.notes())
        with _about(path):
            result = score(rankings.topics, judgments.qrels, self._measures, notes)
        return Scored(_name(path), path, "task2", qrels, result)

    def _judgments(
        self,
        path: Path,
        topics: Iterable[str],
        year: Year | None,
        official: Callable[[Year], Path],
    ) -> Path:
        if self._qrels_file is not None:
            return self._qrels_file
        with _about(path):
            return official(year or year_of(topics))

    def _top_answers(self, path: Path, year: Year | None) -> Scored:
        answers = read_top_answers(path)
        qrels = self._judgments(path, answers, year, self._layout.task1_qrels)
        return self._score_answers(path, answers, qrels)

    def _answers(self, path: Path) -> Scored:
        answer_map, qrels = self._answer_files()
        runs = read_answer_map(answer_map)
        names = (_name(path), official_stem(path), next(read_answers(path)).run_id)
        answers = next((runs[name] for name in names if name in runs), None)
        if answers is None:
            raise InputError(
                f"{answer_map}: no answers of a run {names[0]} or {names[2]}; there are "
                f"{', '.join(runs)}"
            )
        return self._score_answers(path, answers, qrels)

    def _score_answers(self, path: Path, answers: Answers, qrels: Path) -> Scored:
        judgments = self._qrels(qrels)
        with _about(path):
            result = score_answers(answers, judgments)
        return Scored(_name(path), path, "task3", qrels, result)

    def _answer_files(self) -> tuple[Path, Path]:
        if self._answer_map is None or self._qrels_file is None:
            raise InputError(
                "the answers of Task 3 runs are judged under ids of their own: give both --qrels "
                "FILE and --answer-map FILE (rows run, topic, d_N). A Task 1 run can be scored "
                "as answers without them: eval RUN --task task3"
            )
        return self._answer_map, self._qrels_file

    def _premises(self, path: Path) -> Scored:
        gold_file = self._qrels_file or self._gold_of(path)
        predicted, gold = read_predictions(path), read_gold(gold_file)
        with _about(path):
            result = score_premises(predicted, gold)
        return Scored(_name(path), path, "nlps", gold_file, result)

    def _gold_of(self, path: Path) -> Path:
        """Return the statements of a run that lies in the folder of their split, as in dev/."""
        files = self._premise_files
        for split in files.splits() if files else ():
            if files and path.resolve().parent.name == split:
                return files.statements(split)
        raise InputError(f"{path}: give the relevant premises with --qrels FILE, as dev_set.json")

    @cached_property
    def _ids(self) -> VisualIds:
        formulas = self._formulas or self._layout.formulas()
        return VisualIds.cached(formulas, self._id_cache, self._progress)

    def _read_visual_qrels(self, path: Path) -> VisualQrels:
        return by_visual_id(self._qrels(path), self._ids)


@contextmanager
def _about(source: object) -> Iterator[None]:
    """Begin the message of an InputError with the run that it is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def detect_task(path: Path) -> Task:
    """Tell the task of a run from its official name, else from the columns of its first row.

    Raises InputError if neither tells it.
    """
    name = parse_run_name(official_stem(path))
    if name is not None:
        return name.task
    _, columns = next(read_columns(path, "run"))
    if len(columns) == 2:
        return "nlps"
    if len(columns) == 6 and not all(map(_NUMBER.fullmatch, columns[3:5])):
        return "task3"
    return task_of(path)


def year_of(topics: Iterable[str]) -> Year:
    """Tell the lab's year from topic ids; InputError unless all are of one year."""
    years: dict[Year, str] = {}
    for topic in topics:
        match = _TOPIC.fullmatch(topic)
        year = _HUNDREDS.get((int(match[1]) - 1) // 100) if match else None
        if year is None:
            raise InputError(
                f"topic {topic!r} is of none of the labs (A.1-100, A.201-300, A.301-400, or B): "
                "say with --qrels FILE which judgments to use"
            )
        years.setdefault(year, topic)
    if len(years) > 1:
        found = " and ".join(f"{topic} ({year})" for year, topic in sorted(years.items()))
        raise InputError(f"topics of more than one year, {found}: choose one with --topics YEAR")
    return next(iter(years))


def _name(path: Path) -> str:
    return path.name.rsplit(".", 1)[0]
