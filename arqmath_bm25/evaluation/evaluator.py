"""Scores run files: finds their task and year, and with these the judgments.

The task is read from the official file name, or from the columns if the name is another one. The
topic ids tell the year: A.1-100 in 2020, A.201-300 in 2021, A.301-400 in 2022. An *answer map* is
the file of the organisers of Task 3 that gives each answer of each run its id in the judgments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arqmath_bm25.collection.own_documents import QRELS
from arqmath_bm25.core.arrays import Flags, Int32s
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import (
    MAX_DEPTH,
    RunTask,
    Year,
    known_year,
    official_stem,
    run_stem,
)
from arqmath_bm25.evaluation.measures import Measure
from arqmath_bm25.evaluation.qrels import (
    IdKind,
    Judgments,
    by_visual_id,
    coverage_notes,
    level_notes,
    read_qrels,
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
from arqmath_bm25.runs.formula_ids import FormulaIds, id_numbers
from arqmath_bm25.runs.run import NO_ROWS, UNRANKED, Rankings, Run
from arqmath_bm25.runs.run_rules import prefix_errors
from arqmath_bm25.runs.task_rules import (
    RULES,
    PremiseRules,
    TextRules,
    detect_task,
)

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import CollectionFiles


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run, the judgments by which it was scored, and its score."""

    run: str  # file name without ending, or the run's name in the answer map
    file: Path
    task: RunTask
    judgments: Judgments
    score: Score
    ranked: Rankings = UNRANKED  # what was scored; nothing for an answer map

    @property
    def year(self) -> Year | None:
        """The lab's year of the judged topics; None if there is none, or more than one."""
        return known_year(self.score.values)

    def to_json(self) -> dict[str, Any]:
        """Return the score as JSON."""
        about = {
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

    qrels = judgments.qrels
    relevant = judgments.relevant
    scored: Score
    with prefix_errors(run.path):
        # Further measures are of graded rankings, which these two tasks do not have.
        if run.task == TextRules.task:
            answers = {topic: next(iter(ranking)) for topic, ranking in ranked.topics.items()}
            scored = score_answers(answers, qrels, relevant, judgments.notes)
        elif run.task == PremiseRules.task:
            scored = score_premises(ranked.topics, qrels)
        else:
            notes = (*judgments.notes, *ranked.notes)
            scored = score(ranked.topics, qrels, run.rules, measures, relevant, notes)
    return ScoredRun(run_stem(run.path), run.path, run.task, judgments, scored, ranked)


@dataclass(kw_only=True)
class Evaluator:
    """Scores one run file after the other; judgments and formula ids are read once.

    `qrels` take the place of the judgments of the collection.
    """

    collection: CollectionFiles = field(kw_only=False)
    qrels: Path | None = None

    # The kind of ids in judgments of Task 2; by default their file decides.
    ids: IdKind | None = None

    # How many documents of a topic count; None: all.
    depth: int | None = MAX_DEPTH

    # The answer map of Task 3: run, topic, and the id of the answer in the judgments.
    answer_map: Path | None = None

    # Measures in addition to those of the task.
    measures: Iterable[Measure] = ()

    # Topics without a document of this grade or a higher one do not count.
    least_grade: int = 0

    # The lowest grade that counts as relevant; by default the task decides.
    relevant: int | None = None

    def __post_init__(self) -> None:
        self.qrels = self.qrels or self.collection.judgments
        self.measures = tuple(dict.fromkeys(self.measures))
        self.judgments = cache(self._read_judgments)
        self.open_ids = cache(partial(FormulaIds.from_collection, self.collection))

    def score(self, path: Path, task: RunTask | None = None, year: Year | None = None) -> ScoredRun:
        """Score one run file.

        As `task3`, a run of Task 1 is scored by the first answer of each topic. Raises InputError
        for a file that cannot be read or does not fit its judgments.
        """
        run = Run.read(path, task or self.collection.run_task, self.open_ids)
        in_map = self.answer_map is not None and run.columns == TextRules.task
        if not (in_map or run.judged_apart):
            file = self.qrels
            if file is None:
                file = run.rules.judgments_for(self.collection, run.path, run.topics, year)
            scored = self.score_run(run, file)
            if self.qrels is None and not self.collection.on_site:
                _check_judgments(scored)
            return scored

        # The answer map has the ids by which its answers are judged.
        with prefix_errors(run.path):
            answer_map, judgments = self._answer_files()
        runs = read_answer_map(answer_map)
        name = run_stem(run.path)
        for known in (name, official_stem(run.path), run.tag):
            if known in runs:
                with prefix_errors(run.path):
                    result = score_answers(runs[known], judgments.qrels, judgments.relevant)
                return ScoredRun(name, run.path, run.task, judgments, result)
        raise InputError(
            f"{answer_map}: no answers of a run {name} or {run.tag}; there are {', '.join(runs)}"
        )

    def score_run(self, run: Run, file: Path) -> ScoredRun:
        """Score a run by a file of judgments; raises InputError as `score` does."""
        judgments = self.judgments(run.task, file)
        if run.columns == TextRules.task:
            judgments = judgments._replace(notes=(OF_POSTS, *judgments.notes))
        scored = score_run(run, judgments, self.measures, self.depth)
        unknown = scored.ranked.counts["unknown"]
        if unknown > len(run) // 2 and not self.collection.on_site:
            raise InputError(
                f"{run.path}: {unknown:,} of its {len(run):,} formulas are not in "
                "the formula index of the bundled sample",
                data="DATA",
            )
        return scored

    def reason_against(self, path: Path) -> str | None:
        """Return why a run cannot be scored; None if it can."""
        task = detect_task(path)
        rules = RULES[task]
        if rules.judged_apart(rules.read(path)):
            return "it needs qrels and an answer map"

        if self.collection.corpus and not self.qrels:
            return f"there is no {QRELS[0]} beside the documents"
        folder = path.parent.name  # a year, or the name of a file of queries
        if not self.collection.corpus and folder not in rules.judged_years(self.collection):
            return f"there are no judgments of {task} {folder}"
        return None

    def score_answer_map(self) -> list[ScoredRun]:
        """Score every run of the answer map of Task 3."""
        answer_map, judgments = self._answer_files()
        scored = []
        for name, answers in read_answer_map(answer_map).items():
            with prefix_errors(f"{answer_map}: {name}"):
                result = score_answers(answers, judgments.qrels, judgments.relevant)
            run = ScoredRun(name, answer_map, TextRules.task, judgments, result)
            scored.append(run)
        return scored

    def _answer_files(self) -> tuple[Path, Judgments]:
        if self.answer_map is None or self.qrels is None:
            raise InputError(
                "the answers of Task 3 runs are judged under ids of their own, which rows of run, "
                "topic and d_N tell (a Task 1 run is scored as answers without, as task3)",
                qrels="FILE",
                answer_map="FILE",
            )
        return self.answer_map, self.judgments(TextRules.task, self.qrels)

    def _read_judgments(self, task: RunTask, file: Path) -> Judgments:
        rules = RULES[task]
        read = read_qrels
        if task == PremiseRules.task:
            read = read_gold
        qrels = {}
        for topic, grades in read(file).items():
            if max(grades.values(), default=0) >= self.least_grade:
                qrels[topic] = grades
        if not qrels:
            raise InputError(f"{file}: no topic has a grade of {self.least_grade} or more")

        relevant = self.relevant or rules.relevant
        judgments = Judgments(file, qrels)
        holds = rules.holds(self.collection)
        if rules.has_posts:
            ids = self.open_ids()
            judgments = by_visual_id(qrels, ids, file, self.ids)
            if judgments.ids == "formula":
                holds = partial(_hold_numbers, ids.has)
            else:
                holds = partial(_hold_numbers, ids.is_visual)

        notes = (*judgments.notes, *level_notes(qrels, relevant))
        if self.collection.on_site and holds is not None:
            notes = (*notes, *coverage_notes(qrels, holds))
        return judgments._replace(notes=notes, relevant=relevant)


def _check_judgments(scored: ScoredRun) -> None:
    """Raise InputError for a run of another collection than the bundled sample.

    Whoever forgets DATA would otherwise see a score of 0.
    """
    qrels = scored.judgments.qrels
    ranked = scored.ranked.topics
    common = qrels.keys() & ranked.keys()
    if common and all(qrels[topic].keys().isdisjoint(ranked[topic]) for topic in common):
        raise InputError(
            f"{scored.file}: the bundled sample has no judgment of any of its documents; name its "
            "collection or its judgments",
            data="DATA",
            qrels="FILE",
        )


def _hold_numbers(holds: Callable[[Int32s], Flags], names: Sequence[str]) -> Flags:
    """Return which ids a collection has whose ids are numbers."""
    return holds(id_numbers(names))
