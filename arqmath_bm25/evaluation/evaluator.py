"""Scores run files: finds their task and year, and with these the judgments.

The official file name, or else the columns, show the task of a run. The topic ids show the year:
A.1-100 in 2020, A.201-300 in 2021, A.301-400 in 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.collection.own_documents import QRELS, corpus_in, judgments_beside
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import (
    MAX_DEPTH,
    RunTask,
    Year,
    known_year,
    official_stem,
)
from arqmath_bm25.evaluation.measures import Measure
from arqmath_bm25.evaluation.qrels import (
    IdKind,
    Judgments,
    Qrels,
    by_visual_id,
    coverage_notes,
    read_qrels,
    relevance_threshold,
)
from arqmath_bm25.evaluation.score import (
    OF_POSTS,
    Score,
    read_answer_map,
    read_gold,
    score,
    score_answers,
    score_premises,
)
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run import NO_ROWS, Rankings, Run
from arqmath_bm25.runs.run_rules import naming
from arqmath_bm25.runs.task_rules import (
    RULES,
    AnswerRules,
    DocumentRules,
    FormulaRules,
    PremiseRules,
    TextRules,
    detect_task,
)

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import Collection

_NO_DATA = "give --data DATA, since without it DATA is the bundled sample"


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run with its score."""

    run: str  # file name without ending, or the run's name in the answer map
    file: Path
    task: RunTask
    judgments: Judgments
    score: Score
    ranked: Rankings | None = None  # what counts of it; None of the answer map

    @property
    def year(self) -> Year | None:
        """The lab's year of the judged topics; None if there is none, or more than one."""
        return known_year(self.score.values)

    def to_json(self) -> dict[str, Any]:
        """Return the object of `eval --json`."""
        about: dict[str, Any] = {
            "run": self.run,
            "file": str(self.file),
            "task": self.task,
            "year": self.year,
            "qrels": str(self.judgments.file),
        }
        if self.judgments.ids:
            about["ids"] = self.judgments.ids
        return {**about, **self.score.to_json()}


def score_run(
    run: Run,
    judgments: Judgments,
    measures: Iterable[Measure] = (),
    depth: int | None = MAX_DEPTH,
) -> ScoredRun:
    """Score a run of any task, by the measures of its task and further `measures`.

    The best `depth` documents of a topic count (None: all). Raises InputError if run and judgments
    do not fit each other.
    """
    ranked = run.ranked_by(judgments.ids, judgments.qrels, depth)
    if not run.topics:
        judgments = judgments._replace(notes=(*judgments.notes, NO_ROWS))

    with naming(run.path):
        score = _SCORES[run.task](ranked, judgments, measures)
    return ScoredRun(_name(run.path), run.path, run.task, judgments, score, ranked)


def _of_documents(ranked: Rankings, judgments: Judgments, measures: Iterable[Measure]) -> Score:
    notes = (*judgments.notes, *ranked.notes)
    rules = ranked.run.rules
    return score(ranked.topics, judgments.qrels, rules, measures, judgments.relevant, notes)


def _of_answers(ranked: Rankings, judgments: Judgments, measures: Iterable[Measure]) -> Score:
    del measures  # of rankings
    answers = {topic: next(iter(docs)) for topic, docs in ranked.topics.items()}
    return score_answers(answers, judgments.qrels, judgments.relevant, judgments.notes)


def _of_premises(ranked: Rankings, judgments: Judgments, measures: Iterable[Measure]) -> Score:
    del measures  # of rankings with grades
    return score_premises(ranked.topics, judgments.qrels)


_SCORES: Final[Mapping[RunTask, Callable[..., Score]]] = {
    AnswerRules.task: _of_documents,
    FormulaRules.task: _of_documents,
    DocumentRules.task: _of_documents,
    TextRules.task: _of_answers,
    PremiseRules.task: _of_premises,
}
_READERS: Final[Mapping[RunTask, Callable[[Path], Qrels]]] = {PremiseRules.task: read_gold}


@dataclass(kw_only=True)
class Evaluator:
    """Scores one run file after the other; judgments and formula ids are read once.

    `qrels` take the place of the judgments of the collection.
    """

    collection: Collection = field(kw_only=False)
    qrels: Path | None = None
    ids: IdKind | None = None  # of the judgments of Task 2, if their file does not say it
    cut: bool = True  # the best 1,000 of a topic count, not all
    answer_map: Path | None = None  # names the answers of Task 3
    measures: Iterable[Measure] = ()  # on top of the usual
    least_grade: int = 0  # topics without it do not count
    relevant: int | None = None  # the least grade that counts as relevant, if not by the judgments

    def __post_init__(self) -> None:
        self.own_documents = corpus_in(self.collection.layout.data)
        if self.own_documents and self.qrels is None:
            self.qrels = judgments_beside(self.own_documents)

        self.measures = tuple(dict.fromkeys(self.measures))
        self.judgments = cache(self._read_judgments)
        self.open_ids = cache(partial(FormulaIds.of, self.collection))

    def score(self, path: Path, task: RunTask | None = None, year: Year | None = None) -> ScoredRun:
        """Score one run; of a Task 1 run scored as `task3` the first answer of each topic counts.

        Raises InputError for a file that cannot be read or does not fit its judgments.
        """
        if task is None and self.own_documents:
            task = DocumentRules.task
        run = Run.read(path, task, self.open_ids)

        in_map = self.answer_map is not None and run.columns == TextRules.task
        if in_map or run.judged_apart:
            return self._score_by_map(run)
        return self.score_run(run, year)

    def score_run(self, run: Run, year: Year | None = None) -> ScoredRun:
        """Score a run that was read with `open_ids`; raises InputError as `score` does."""
        file = self.qrels
        if file is None:
            file = run.rules.judgments_for(self.collection, run.path, run.topics, year)
        judgments = self.judgments(run.task, file)
        if run.columns == TextRules.task:
            judgments = judgments._replace(notes=(OF_POSTS, *judgments.notes))
        depth = MAX_DEPTH if self.cut else None
        scored = score_run(run, judgments, self.measures, depth)
        self._check_collection(scored)
        return scored

    def lacks(self, path: Path, folder: str) -> str | None:
        """Return the reason why a run of a year or of a set cannot be scored; None if it can."""
        task = detect_task(path)
        rules = RULES[task]
        if rules.judged_apart(rules.read(path)):
            return "it needs --qrels and --answer-map"
        if self.own_documents:
            return None if self.qrels else f"there is no {QRELS[0]} beside the documents"
        if folder not in rules.judged_years(self.collection):
            return f"there are no judgments of {task} {folder}"
        return None

    def score_answer_map(self) -> list[ScoredRun]:
        """Score every run of the answer map of Task 3."""
        answer_map, judgments = self._answer_files()
        scored = []
        for name, answers in read_answer_map(answer_map).items():
            with naming(f"{answer_map}: {name}"):
                result = score_answers(answers, judgments.qrels, judgments.relevant)
            scored.append(ScoredRun(name, answer_map, TextRules.task, judgments, result))
        return scored

    def _check_collection(self, scored: ScoredRun) -> None:
        """Raise InputError for a run of another collection, where DATA was not given."""
        ranked = scored.ranked
        if self.collection.on_site or ranked is None:
            return

        run, unknown = ranked.run, ranked.counts["unknown"]
        if unknown > len(run) // 2:
            raise InputError(
                f"{run.path}: {unknown:,} of its {len(run):,} formulas are not in "
                f"the formula index of DATA; {_NO_DATA}"
            )

        qrels = scored.judgments.qrels
        common = qrels.keys() & ranked.topics.keys()
        judged = any(qrels[topic].keys() & ranked.topics[topic].keys() for topic in common)
        if self.qrels is None and common and not judged:
            raise InputError(
                f"{run.path}: DATA has no judgment of any of its documents; {_NO_DATA}, or name "
                "the judgments with --qrels FILE"
            )

    def _score_by_map(self, run: Run) -> ScoredRun:
        """Score a run of Task 3 by the answer map, which names its answers."""
        with naming(run.path):
            answer_map, judgments = self._answer_files()
        runs = read_answer_map(answer_map)
        name = _name(run.path)
        known = [key for key in (name, official_stem(run.path), run.tag) if key in runs]
        if not known:
            raise InputError(
                f"{answer_map}: no answers of a run {name} or {run.tag}; there are "
                f"{', '.join(runs)}"
            )

        with naming(run.path):
            result = score_answers(runs[known[0]], judgments.qrels, judgments.relevant)
        return ScoredRun(name, run.path, run.task, judgments, result)

    def _answer_files(self) -> tuple[Path, Judgments]:
        if self.answer_map is None or self.qrels is None:
            raise InputError(
                "the answers of Task 3 runs are judged under ids of their own: give both --qrels "
                "FILE and --answer-map FILE (rows run, topic, d_N). A Task 1 run can be scored "
                "as answers without them: eval RUN --task task3"
            )
        return self.answer_map, self.judgments(TextRules.task, self.qrels)

    def _read_judgments(self, task: RunTask, file: Path) -> Judgments:
        rules = RULES[task]
        read = _READERS.get(task, read_qrels)
        qrels = self._with_grade(read(file), file)
        relevant = self.relevant
        if relevant is None:
            relevant = relevance_threshold(rules, qrels)

        judgments = Judgments(file, qrels)
        ids = rules.formula_ids(self.open_ids)
        holds = rules.holds(self.collection)
        if ids is not None:
            judgments = by_visual_id(qrels, ids, file, self.ids)
            holds = ids.has if judgments.ids == "formula" else ids.is_visual

        notes = judgments.notes
        if self.collection.on_site and holds is not None:
            notes = (*notes, *coverage_notes(qrels, holds))
        return judgments._replace(notes=notes, relevant=relevant)

    def _with_grade(self, qrels: Qrels, file: Path) -> Qrels:
        """Return the topics that have the least grade asked for; InputError if none has."""
        kept = {}
        for topic, grades in qrels.items():
            if max(grades.values(), default=0) >= self.least_grade:
                kept[topic] = grades

        if not kept:
            raise InputError(f"{file}: no topic has a grade of {self.least_grade} or more")
        return kept


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
