"""Scores run files: finds their task and year, and with these the judgments.

The official file name, or else the columns, show the task of a run. The topic ids show the year:
A.1-100 in 2020, A.201-300 in 2021, A.301-400 in 2022.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arqmath_bm25.collection.own_documents import QRELS, corpus_in
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import (
    MAX_DEPTH,
    SPLITS,
    YEARS,
    RunTask,
    Year,
    known_year,
    official_stem,
    year_of,
)
from arqmath_bm25.evaluation import score as scores
from arqmath_bm25.evaluation.measures import Measure
from arqmath_bm25.evaluation.qrels import (
    IdKind,
    Judgments,
    Qrels,
    by_visual_id,
    coverage_note,
    least_relevant,
    read_qrels,
)
from arqmath_bm25.evaluation.score import OF_POSTS, Score
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run import NO_ROWS, Rankings, Run
from arqmath_bm25.runs.task_rules import POST, RULES, DocumentRules, TextRules, detect_task

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import Collection

_NO_DATA = "give --data DATA, since without it DATA is the bundled sample"


@dataclass(frozen=True, slots=True)
class Scored:
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
        return {
            "run": self.run,
            "file": str(self.file),
            "task": self.task,
            "year": self.year,
            "qrels": str(self.judgments.file),
            **({"ids": self.judgments.ids} if self.judgments.ids else {}),
            **self.score.to_json(),
        }


def score_run(ranked: Rankings, judgments: Judgments, measures: Iterable[Measure] = ()) -> Scored:
    """Score a run of any task, by `measures` on top of those of its task.

    `ranked` is a run as these judgments rank it (`Run.ranked_by`). Raises InputError if it does not
    fit them.
    """
    run = ranked.run
    result: Score
    if not run.topics:
        judgments = judgments._replace(notes=(*judgments.notes, NO_ROWS))
    judged = judgments.qrels, judgments.relevant, judgments.notes
    with _about(run.path):
        match run.rules.judged:
            case "documents":
                result = scores.score(
                    ranked.topics, judgments.qrels, run.rules, measures, judgments.relevant,
                    (*judgments.notes, *ranked.notes),
                )  # fmt: skip
            case "answers":
                answers = {topic: next(iter(docs)) for topic, docs in ranked.topics.items()}
                result = scores.score_answers(answers, *judged)
            case _:
                result = scores.score_premises(ranked.topics, judgments.qrels)
    return Scored(_name(run.path), run.path, run.task, judgments, result, ranked)


def judged_years(collection: Collection, task: RunTask) -> tuple[str, ...]:
    """Return the years, or sets of statements, whose judgments a collection has."""
    if RULES[task].judged == "premises":  # those of the test set are masked
        return tuple(split for split in collection.premises.splits() if split in SPLITS[:1])
    return collection.layout.years(RULES[task].qrels_of, "qrels")


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
        if self.own_documents and (judged := self.own_documents.parent / QRELS).is_file():
            self.qrels = self.qrels or judged
        self.measures = tuple(dict.fromkeys(self.measures))
        self.judgments = cache(self._read_judgments)
        self.open_ids = cache(partial(FormulaIds.of, self.collection))

    def score(self, path: Path, task: RunTask | None = None, year: Year | None = None) -> Scored:
        """Score one run; a Task 1 run scored as `task3` stands for the answers at its top.

        Raises InputError for a file that cannot be read or does not fit its judgments.
        """
        own = DocumentRules.task if self.own_documents else None
        return self.score_run(Run.read(path, task or own, self.open_ids), year)

    def score_run(self, run: Run, year: Year | None = None) -> Scored:
        """Score a run that was read with `open_ids`; raises InputError as `score` does."""
        if run.rules.judged == "answers":
            return self._score_answers(run, year)
        judgments = self.judgments(run.task, self._file_of(run, year))
        depth = MAX_DEPTH if self.cut else None
        ranked = run.ranked_by(judgments.ids, judgments.qrels, depth)
        self._refuse_strangers(ranked, judgments.qrels)
        return score_run(ranked, judgments, self.measures)

    def lacks(self, path: Path, folder: str) -> str | None:
        """Return what a run of a year or of a set lacks to be scored; None if nothing."""
        task = detect_task(path)
        if RULES[task].judged == "answers" and not _of_posts(Run.read(path, task)):
            return "it needs --qrels and --answer-map"
        if self.own_documents:
            return None if self.qrels else f"there is no {QRELS} beside the documents"
        judged = folder in judged_years(self.collection, task)
        return None if judged else f"there are no judgments of {task} {folder}"

    def score_answer_map(self) -> list[Scored]:
        """Score every run of the answer map of Task 3."""
        answer_map, judgments = self._answer_files()
        scored = []
        for name, answers in scores.read_answer_map(answer_map).items():
            with _about(f"{answer_map}: {name}"):
                result = scores.score_answers(answers, judgments.qrels, judgments.relevant)
            scored.append(Scored(name, answer_map, TextRules.task, judgments, result))
        return scored

    def _refuse_strangers(self, ranked: Rankings, qrels: Qrels) -> None:
        """Raise InputError for a run of another collection, where DATA was not given."""
        run, rankings, counts = ranked.run, ranked.topics, ranked.counts
        if self.collection.on_site or run.rules.judged != "documents":
            return
        if counts["unknown"] > len(run) // 2:
            raise InputError(
                f"{run.path}: {counts['unknown']:,} of its {len(run):,} formulas are not in "
                f"the formula index of DATA; {_NO_DATA}"
            )
        judged = any(qrels.get(t, {}).keys() & docs.keys() for t, docs in rankings.items())
        if self.qrels is None and not judged and qrels.keys() & rankings.keys():
            raise InputError(
                f"{run.path}: DATA has no judgment of any of its documents; {_NO_DATA}, or name "
                "the judgments with --qrels FILE"
            )

    def _file_of(self, run: Run, year: Year | None) -> Path:
        """Return the file of the judgments of a run."""
        if self.qrels is not None:
            return self.qrels
        if run.rules.judged != "premises":
            if not run.topics:  # it lies in the folder of its year
                year = year or next((y for y in YEARS if y == run.path.resolve().parent.name), None)
            with _about(run.path):
                return self.collection.layout.qrels(run.rules.qrels_of, year or year_of(run.topics))
        files = self.collection.premises  # a run lies in the folder of its split, as in dev/
        for split in files.splits():
            if run.path.resolve().parent.name == split:
                return files.statements(split)
        raise InputError(
            f"{run.path}: give the relevant premises with --qrels FILE, as dev_set.json"
        )

    def _score_answers(self, run: Run, year: Year | None) -> Scored:
        of_posts = _of_posts(run)
        if run.columns != run.task or (of_posts and self.answer_map is None):
            judgments = self.judgments(run.task, self._file_of(run, year))
            notes = (OF_POSTS,) if of_posts else ()
            return score_run(run.rankings(), judgments._replace(notes=notes))
        with _about(run.path):
            answer_map, judgments = self._answer_files()
        runs = scores.read_answer_map(answer_map)
        names = (_name(run.path), official_stem(run.path), run.name)
        answers = next((runs[name] for name in names if name in runs), None)
        if answers is None:
            raise InputError(
                f"{answer_map}: no answers of a run {names[0]} or {names[2]}; there are "
                f"{', '.join(runs)}"
            )
        with _about(run.path):
            result = scores.score_answers(answers, judgments.qrels, judgments.relevant)
        return Scored(names[0], run.path, run.task, judgments, result)

    def _answer_files(self) -> tuple[Path, Judgments]:
        if self.answer_map is None or self.qrels is None:
            raise InputError(
                "the answers of Task 3 runs are judged under ids of their own: give both --qrels "
                "FILE and --answer-map FILE (rows run, topic, d_N). A Task 1 run can be scored "
                "as answers without them: eval RUN --task task3"
            )
        return self.answer_map, self.judgments(TextRules.task, self.qrels)

    def _read_judgments(self, task: RunTask, file: Path) -> Judgments:
        rules, on_site = RULES[task], self.collection.on_site
        if rules.judged == "premises":
            return Judgments(file, scores.read_gold(file), relevant=rules.relevant)
        qrels = {t: g for t, g in read_qrels(file).items() if max(g.values()) >= self.least_grade}
        if not qrels:
            raise InputError(f"{file}: no topic has a grade of {self.least_grade} or more")
        relevant = least_relevant(rules, qrels) if self.relevant is None else self.relevant
        judgments, lacking = Judgments(file, qrels), None
        if rules.by_formula:
            ids = self.open_ids()
            judgments = by_visual_id(qrels, ids, file, self.ids)
            holds = ids.has if judgments.ids == "formula" else ids.is_visual
            lacking = coverage_note(qrels, holds) if on_site else None
        elif rules.by_post and on_site and (posts := self.collection.posts_if_known):
            lacking = coverage_note(qrels, lambda docs: posts.find(docs.astype(np.int64)) >= 0)
        notes = (*judgments.notes, *filter(None, [lacking]))
        return judgments._replace(notes=notes, relevant=relevant)


@contextmanager
def _about(source: object) -> Iterator[None]:
    """Begin the message of an InputError with the name of the run."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _of_posts(run: Run) -> bool:
    """Return whether every answer of a run names the post that it is taken from."""
    return all(row.sources.startswith(POST) for row in run.rows)


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]
