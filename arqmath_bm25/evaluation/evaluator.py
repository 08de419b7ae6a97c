"""Scores run files: finds out their task and year, and with them the judgments.

The task is told by the official file name, else by the columns; the year by the topics, which
are numbered through the labs: A.1-100 in 2020, A.201-300 in 2021, A.301-400 in 2022.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH, official_stem, parse_run_name, year_of
from arqmath_bm25.evaluation.answers import (
    OF_POSTS,
    AnswerScore,
    read_answer_map,
    read_source_posts,
    score_answers,
    take_top_answers,
)
from arqmath_bm25.evaluation.coverage import coverage_note
from arqmath_bm25.evaluation.measures import MEASURES, Measure
from arqmath_bm25.evaluation.nlps import PremiseScore, read_gold, read_predictions, score_premises
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.sampled_qrels import is_sampled, judged_part, read_sampled_qrels
from arqmath_bm25.evaluation.score import RunScore, score
from arqmath_bm25.evaluation.visual_qrels import by_visual_id
from arqmath_bm25.evaluation.xinfap import XINFAP, xinfap_by_topic
from arqmath_bm25.runs.rankings import read_rankings
from arqmath_bm25.runs.run_files import read_answers, read_columns, read_run, task_of
from arqmath_bm25.runs.visual import VisualIds, read_formula_rankings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.core.labs import LabTask, Task, Year
    from arqmath_bm25.evaluation.answers import Answers
    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.evaluation.visual_qrels import IdKind, VisualQrels
    from arqmath_bm25.runs.rankings import Ranking, Rankings
    from arqmath_bm25.runs.visual import FormulaRankings

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Scored:
    """A run with its score."""

    run: str  # file name without ending, or the run's name in the answer map
    file: Path
    task: Task
    qrels: Path
    score: RunScore | AnswerScore | PremiseScore
    ids: IdKind | None = None  # of the judgments of Task 2, and so of the ranking

    @property
    def year(self) -> Year | None:
        """The lab's year, by the judged topics; None if they are of none or of several."""
        try:
            return year_of(self.score.values)
        except InputError:
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the object of `eval --json`."""
        return {
            "run": self.run,
            "file": str(self.file),
            "task": self.task,
            "year": self.year,
            "qrels": str(self.qrels),
            **({"ids": self.ids} if self.ids else {}),
            **self.score.to_json(),
        }


class Judgments(NamedTuple):
    """The judgments of a file, of Task 2 by visual id."""

    file: Path
    qrels: Qrels
    ids: IdKind | None  # of the file, if it is of Task 2
    notes: tuple[str, ...]


class JudgedRun(NamedTuple):
    """A run of Task 1 or Task 2 with its judgments."""

    rankings: dict[str, Ranking]  # of answers, or of visual ids
    judged: Judgments
    notes: tuple[str, ...]


class Evaluator:
    """Scores one run file after the other; judgments and formula ids are read once."""

    def __init__(
        self,
        collection: Collection,
        *,
        qrels: Path | None = None,
        formulas: Path | None = None,
        ids: IdKind | None = None,
        cut: bool = True,
        answer_map: Path | None = None,
        measures: Iterable[Measure] = (),
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """The collection has judgments and formulas; `qrels` and `formulas` take their place.

        Judgments of a part of a pool (`sampled_qrels`) may stand in for these: they add xinfAP.
        `ids` are those of the judgments of Task 2, if their file does not say it; without `cut` all
        instances of a Task 2 run count, not the best 1,000 of a topic. `answer_map` names the
        answers of Task 3, `measures` come on top of the usual.
        """
        self._collection = collection
        self._layout = collection.layout
        self._qrels_file = qrels
        self._formulas = formulas
        self._kind = ids
        self._task2_depth = MAX_DEPTH if cut else None
        self._answer_map = answer_map
        self._measures = (*MEASURES, *measures)
        self._progress = progress
        self._qrels = cache(_read_judgments)
        self._visual_qrels = cache(self._read_visual_qrels)
        self._answer_notes = cache(self._find_answer_notes)

    def score(self, path: Path, task: Task | None = None, year: Year | None = None) -> Scored:
        """Score one run; a Task 1 run scored as `task3` is taken as the answers at its top.

        Raises InputError for whatever file cannot be read or does not fit its judgments.
        """
        found = detect_task(path) if task in (None, "task3") else task
        match task or found:
            case "task1" | "task2" as ranking:
                return self._score_run(path, ranking, year)
            case "task3":
                return (
                    self._answers(path, year) if found == "task3" else self._top_answers(path, year)
                )
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

    def read(self, path: Path, task: Task, year: Year | None = None) -> JudgedRun:
        """Read a run of Task 1 or Task 2 with its judgments; raises InputError as `score` does."""
        run: Rankings | FormulaRankings
        of: LabTask = "task2" if task == "task2" else "task1"
        if of == "task1":
            run = read_rankings(path)
        else:
            run = read_formula_rankings(path, self._ids, self._task2_depth)
        judged = self.judgments(of, self._judgments(path, run.topics, year, of))
        if judged.ids == "visual_v2":
            run = read_formula_rankings(path, self._ids.of_v2(), self._task2_depth)
        return JudgedRun(run.topics, judged, (*judged.notes, *run.notes()))

    def judgments(self, task: LabTask, file: Path) -> Judgments:
        """Read judgments of Task 1 (or 3) or Task 2."""
        if task == "task2":
            judged = self._visual_qrels(file)
            return Judgments(file, judged.qrels, judged.kind, judged.notes)
        return Judgments(file, self._qrels(file), None, self._answer_notes(file))

    def _score_run(self, path: Path, task: Task, year: Year | None) -> Scored:
        run = self.read(path, task, year)
        file, qrels, ids, _ = run.judged
        with _about(path):
            result = score(run.rankings, qrels, self._measures, run.notes)
        if is_sampled(file):
            result = result.adding(XINFAP, xinfap_by_topic(run.rankings, read_sampled_qrels(file)))
        return Scored(_name(path), path, task, file, result, ids)

    def _judgments(
        self, path: Path, topics: Iterable[str], year: Year | None, task: LabTask
    ) -> Path:
        if self._qrels_file is not None:
            return self._qrels_file
        with _about(path):
            return self._layout.qrels(task, year or year_of(topics))

    def _top_answers(self, path: Path, year: Year | None) -> Scored:
        answers = take_top_answers(read_run(path))
        qrels = self._judgments(path, answers, year, "task1")
        return self._score_answers(path, answers, qrels)

    def _answers(self, path: Path, year: Year | None) -> Scored:
        if self._answer_map is None and (posts := read_source_posts(path)):
            qrels = self._judgments(path, posts, year, "task1")
            return self._score_answers(path, posts, qrels, OF_POSTS)
        with _about(path):
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

    def _score_answers(self, path: Path, answers: Answers, qrels: Path, note: str = "") -> Scored:
        judgments = self._qrels(qrels)
        with _about(path):
            result = replace(score_answers(answers, judgments), note=note)
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
        files = self._collection.premises
        for split in files.splits():
            if path.resolve().parent.name == split:
                return files.statements(split)
        raise InputError(f"{path}: give the relevant premises with --qrels FILE, as dev_set.json")

    @cached_property
    def _ids(self) -> VisualIds:
        formulas = self._formulas or self._layout.formulas()
        return VisualIds.cached(formulas, self._collection.directory, self._progress)

    def _read_visual_qrels(self, path: Path) -> VisualQrels:
        qrels, ids = self._qrels(path), self._ids
        judgments = by_visual_id(qrels, ids, path, self._kind)
        lacking = coverage_note(
            qrels,
            lambda docs: int(
                (ids.find(docs) >= 0 if judgments.kind == "formula" else ids.is_visual(docs)).sum()
            ),
        )
        return judgments._replace(notes=(*judgments.notes, *filter(None, [lacking])))

    def _find_answer_notes(self, path: Path) -> tuple[str, ...]:
        """Say of Task 1 judgments if the collection lacks most of the posts."""
        posts = self._collection.posts_if_known
        lacking = posts and coverage_note(self._qrels(path), lambda ids: len(posts.subset(ids)))
        return (lacking,) if lacking else ()


def _read_judgments(path: Path) -> Qrels:
    return judged_part(read_sampled_qrels(path)) if is_sampled(path) else read_qrels(path)


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


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
