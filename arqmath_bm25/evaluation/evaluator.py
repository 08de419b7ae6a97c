"""Scores run files: finds out their task and year, and with them the judgments.

The task is told by the official file name, else by the columns; the year by the topics, which
are numbered through the labs: A.1-100 in 2020, A.201-300 in 2021, A.301-400 in 2022.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from arqmath_bm25.collection.own_documents import QRELS, corpus_in
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import SPLITS, official_stem, year_of
from arqmath_bm25.evaluation.answers import OF_POSTS, AnswerScore, read_answer_map, score_answers
from arqmath_bm25.evaluation.measure_names import OF_DOCUMENTS, named_measures
from arqmath_bm25.evaluation.measures import MEASURES, Measure
from arqmath_bm25.evaluation.nlps import PremiseScore, read_gold, score_premises
from arqmath_bm25.evaluation.qrels import coverage_note, read_qrels
from arqmath_bm25.evaluation.sampled_pools import (
    XINFAP,
    is_sampled,
    judged_part,
    read_sampled_qrels,
    xinfap_by_topic,
)
from arqmath_bm25.evaluation.score import RunScore, score
from arqmath_bm25.evaluation.visual_qrels import by_visual_id
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.rows import POST, detect_task
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.core.labs import LabTask, Task, Year
    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.evaluation.visual_qrels import IdKind, VisualQrels
    from arqmath_bm25.runs.run import Ranking

_NO_DATA = "give --data DATA, since without it DATA is the bundled sample"


@dataclass(frozen=True, slots=True)
class Scored:
    """A run with its score."""

    run: str  # file name without ending, or the run's name in the answer map
    file: Path
    task: Task
    qrels: Path
    score: RunScore | AnswerScore | PremiseScore
    ids: IdKind | None = None  # of the judgments of Task 2, and so of the ranking
    rankings: dict[str, Ranking] = field(default_factory=dict)  # of Tasks 1 and 2
    judged: Qrels = field(default_factory=dict)

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

    run: Run
    judged: Judgments
    rankings: dict[str, Ranking]  # of answers, or of visual ids
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
        least_grade: int = 0,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """The collection has judgments and formulas; `qrels` and `formulas` take their place.

        Judgments of a part of a pool (`sampled_qrels`) may stand in for these: they add xinfAP.
        `ids` are those of the judgments of Task 2, if their file does not say it; without `cut` all
        rows of a topic count, not the best 1,000. `answer_map` names the answers of Task 3,
        `measures` come on top of the usual; topics without a grade of `least_grade` do not count.
        """
        self.collection = collection
        self._layout = collection.layout
        if corpus := corpus_in(self._layout.data):  # documents of one's own, as BEIR scores them
            measures = (*measures, *(one for name in OF_DOCUMENTS for one in named_measures(name)))
            judged = corpus.parent / QRELS
            qrels = qrels or (judged if judged.is_file() else None)
        self._qrels_file = qrels
        self._formulas = formulas
        self._kind = ids
        self._cut = cut
        self._answer_map = answer_map
        self.further = tuple(dict.fromkeys(measures))  # measures on top of the usual
        self._measures = (*MEASURES, *self.further)
        self._least_grade = least_grade
        self._progress = progress
        self._qrels = cache(self._read_judgments)
        self._visual_qrels = cache(self._read_visual_qrels)
        self._answer_notes = cache(self._find_answer_notes)

    def score(self, path: Path, task: Task | None = None, year: Year | None = None) -> Scored:
        """Score one run; a Task 1 run scored as `task3` is taken as the answers at its top.

        Raises InputError for whatever file cannot be read or does not fit its judgments.
        """
        run = Run.read(path, task, self._open_ids)
        match run.rules.judged:
            case "documents":
                return self.score_judged(self.judged(run, year))
            case "answers":
                return self._answers(run, year)
            case _:
                return self._premises(run)

    def lacks(self, path: Path, folder: str) -> str | None:
        """Say what is missing to score a run of a year, or a set of statements; None if nothing."""
        task = detect_task(path)
        rules = RULES[task]
        if rules.judged == "premises":
            judged: Sequence[str] = SPLITS[:1]  # the premises of the test set are masked
        else:
            judged = self._layout.judged_years(rules.qrels_of)
        if rules.judged == "answers" and not _of_posts(Run.read(path, task)):
            return "it needs --qrels and --answer-map"
        return None if folder in judged else f"there are no judgments of {task} {folder}"

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

    def read(self, path: Path, task: Task | None = None, year: Year | None = None) -> JudgedRun:
        """Read a run of Task 1 or Task 2 with its judgments; raises InputError as `score` does."""
        return self.judged(Run.read(path, task, self._open_ids), year)

    def judgments(self, task: LabTask, file: Path) -> Judgments:
        """Read judgments of Task 1 (or 3) or Task 2."""
        if RULES[task].by_formula:
            judged = self._visual_qrels(file)
            return Judgments(file, judged.qrels, judged.kind, judged.notes)
        return Judgments(file, self._qrels(file), None, self._answer_notes(file))

    def score_judged(self, judged: JudgedRun) -> Scored:
        """Score a run that was read with its judgments."""
        run, (file, qrels, ids, _), rankings, notes = judged
        with _about(run.path):
            result = score(rankings, qrels, self._measures, notes)
        if is_sampled(file):
            result = result.adding(XINFAP, xinfap_by_topic(rankings, read_sampled_qrels(file)))
        return Scored(_name(run.path), run.path, run.task, file, result, ids, rankings, qrels)

    def judged(self, run: Run, year: Year | None = None) -> JudgedRun:
        """Return a run of Task 1 or 2 with its judgments; raises InputError as `score` does."""
        judged = self.judgments(run.rules.qrels_of, self._judgments(run, year))
        run.rank_by(judged.ids, judged.qrels)
        found = run.rankings() if self._cut else run.rankings(None)
        self._refuse_strangers(run, judged.qrels)
        return JudgedRun(run, judged, found.topics, (*judged.notes, *found.notes))

    def _refuse_strangers(self, run: Run, qrels: Qrels) -> None:
        """Raise InputError for a run of another collection, where DATA was not given."""
        if self.collection.on_site:
            return
        found = run.rankings()
        if self._formulas is None and found.counts["unknown"] > len(run) // 2:
            raise InputError(
                f"{run.path}: {found.counts['unknown']:,} of its {len(run):,} formulas are not in "
                f"the formula index of DATA; {_NO_DATA}"
            )
        judged = any(qrels.get(t, {}).keys() & docs.keys() for t, docs in found.topics.items())
        if self._qrels_file is None and not judged and qrels.keys() & found.topics.keys():
            raise InputError(
                f"{run.path}: DATA has no judgment of any of its documents; {_NO_DATA}, or name "
                "the judgments with --qrels FILE"
            )

    def _judgments(self, run: Run, year: Year | None) -> Path:
        if self._qrels_file is not None:
            return self._qrels_file
        with _about(run.path):
            return self._layout.qrels(run.rules.qrels_of, year or year_of(run.topics))

    def _answers(self, run: Run, year: Year | None) -> Scored:
        answers = {topic: next(iter(docs)) for topic, docs in run.rankings().topics.items()}
        of_posts = _of_posts(run)
        if run.columns != run.task or (of_posts and self._answer_map is None):
            note = OF_POSTS if of_posts else ""
            return self._score_answers(run, answers, self._judgments(run, year), note)
        with _about(run.path):
            answer_map, qrels = self._answer_files()
        runs = read_answer_map(answer_map)
        names = (_name(run.path), official_stem(run.path), run.name)
        found = next((runs[name] for name in names if name in runs), None)
        if found is None:
            raise InputError(
                f"{answer_map}: no answers of a run {names[0]} or {names[2]}; there are "
                f"{', '.join(runs)}"
            )
        return self._score_answers(run, found, qrels)

    def _score_answers(
        self, run: Run, answers: dict[str, str], qrels: Path, note: str = ""
    ) -> Scored:
        judgments = self._qrels(qrels)
        with _about(run.path):
            result = replace(score_answers(answers, judgments), note=note)
        return Scored(_name(run.path), run.path, run.task, qrels, result)

    def _answer_files(self) -> tuple[Path, Path]:
        if self._answer_map is None or self._qrels_file is None:
            raise InputError(
                "the answers of Task 3 runs are judged under ids of their own: give both --qrels "
                "FILE and --answer-map FILE (rows run, topic, d_N). A Task 1 run can be scored "
                "as answers without them: eval RUN --task task3"
            )
        return self._answer_map, self._qrels_file

    def _premises(self, run: Run) -> Scored:
        gold_file = self._qrels_file or self._gold_of(run.path)
        gold = read_gold(gold_file)
        with _about(run.path):
            result = score_premises(run.rankings().topics, gold)
        return Scored(_name(run.path), run.path, run.task, gold_file, result)

    def _gold_of(self, path: Path) -> Path:
        """Return the statements of a run that lies in the folder of their split, as in dev/."""
        files = self.collection.premises
        for split in files.splits():
            if path.resolve().parent.name == split:
                return files.statements(split)
        raise InputError(f"{path}: give the relevant premises with --qrels FILE, as dev_set.json")

    @cached_property
    def _ids(self) -> FormulaIds:
        if self._formulas is None:
            return FormulaIds.of(self.collection, self._progress)
        return FormulaIds.cached(self._formulas, self.collection.directory, self._progress)

    def _open_ids(self) -> FormulaIds:
        return self._ids

    def _read_judgments(self, path: Path) -> Qrels:
        qrels = judged_part(read_sampled_qrels(path)) if is_sampled(path) else read_qrels(path)
        kept = {
            t: grades for t, grades in qrels.items() if max(grades.values()) >= self._least_grade
        }
        if not kept:
            raise InputError(f"{path}: no topic has a grade of {self._least_grade} or more")
        return kept

    def _read_visual_qrels(self, path: Path) -> VisualQrels:
        qrels, ids = self._qrels(path), self._ids
        judgments = by_visual_id(qrels, ids, path, self._kind)
        if not self.collection.on_site:
            return judgments
        lacking = coverage_note(
            qrels,
            lambda docs: int(
                (ids.find(docs) >= 0 if judgments.kind == "formula" else ids.is_visual(docs)).sum()
            ),
        )
        return judgments._replace(notes=(*judgments.notes, *filter(None, [lacking])))

    def _find_answer_notes(self, path: Path) -> tuple[str, ...]:
        """Say of Task 1 judgments if the collection lacks most of the posts."""
        posts = self.collection.posts_if_known if self.collection.on_site else None
        lacking = posts and coverage_note(self._qrels(path), lambda ids: len(posts.subset(ids)))
        return (lacking,) if lacking else ()


@contextmanager
def _about(source: object) -> Iterator[None]:
    """Begin the message of an InputError with the run that it is about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _of_posts(run: Run) -> bool:
    """Tell whether all answers of a run say from which posts they are taken."""
    return all(row.sources.startswith(POST) for rows in run.topics.values() for row in rows)


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
