"""Everything that a report shows, gathered from runs, judgments, topics and collection.

The runs of one report are of one task. Judgments are those given, else those that DATA has of the
topics of each run; without either, a report shows what the runs returned and no scores.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.own_documents import corpus_in, judgments_beside
from arqmath_bm25.collection.posts import Post
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import GRADE_OF_LABEL, HIGHEST, RunTask, known_year
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.writing import read_manifest
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.measures import NAMES, Measure, measures_of
from arqmath_bm25.evaluation.qrels import Judgments, Qrels
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.pages.post_html import latex_of, post_reader
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.rows import RunRow
from arqmath_bm25.runs.run import Run as ReadRun
from arqmath_bm25.runs.run_rules import RunRules
from arqmath_bm25.runs.run_writing import topics_of
from arqmath_bm25.runs.short_names import short_names
from arqmath_bm25.runs.task_rules import DocumentRules
from arqmath_bm25.tasks import configured, task_class

DEPTHS: Final = (1, 5, 10, 20, 50, 100, 200, 500, 1000)  # to which the share of judged is shown
RECALL_LEVELS: Final = tuple(n / 10 for n in range(11))
FEW_TOPICS: Final = 100  # of more, pages are smaller, so that all together stay small


@dataclass(frozen=True)
class ReportedRun:
    """A run with its score."""

    name: str  # short, and unlike that of any other run of the report
    file: str  # the whole name
    topics: dict[str, dict[str, RunRow]]  # topic -> document, as judgments name it -> its row
    score: RunScore | None
    manifest: dict[str, Any]  # what lies beside the run file

    @property
    def values(self) -> Mapping[str, Mapping[str, float]]:
        """The scores of each topic by measure; nothing without judgments."""
        if self.score is None:
            return {}
        return self.score.values


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows; templates may use each of these fields."""

    collection: Collection
    rules: RunRules
    task: str  # its title: what was looked for
    formula_ids: FormulaIds | None  # of Task 2
    runs: list[ReportedRun]
    baseline: ReportedRun  # with which others on the same topics are compared
    qrels_files: list[Path]  # one for each year of the runs
    qrels: Qrels
    relevant: int  # the least grade that counts as relevant
    relevant_documents: set[str]  # relevant for any topic
    measures: dict[str, str]  # keys with their titles; the first compares the runs
    primed: bool  # whether tables show measures over judged documents only
    words: dict[int, str]  # of the grades
    questions: dict[str, Topic]  # in the order of the topic files
    depth: int  # hits of a topic that are shown
    post: Callable[[str], Post | None]
    delimiters: Delimiters
    macros: str
    latex: Mapping[str, str]  # formula id -> LaTeX
    missing: int  # posts that would be shown, if the collection had them

    def relevant_to(self, topic: str) -> set[str]:
        """Return the documents that are relevant for a topic."""
        return _relevant(self.qrels.get(topic, {}), self.relevant)


def gather(
    files: Sequence[Path],
    collection: Collection,
    *,
    task: RunTask | None = None,
    qrels: Path | None = None,
    topics: Path | None = None,
    relevant: int | None = None,
    depth: int | None = None,
    baseline: Path | None = None,
    status: Callable[[str], None] = lambda _: None,
) -> ReportData:
    """Read everything that a report of the run `files` shows.

    `task` is found from the files by default. `topics` is a topic file; by default those of the
    runs are read, or all in DATA. Runs are compared with the one in the file `baseline`, by default
    the weakest. `status` gets the name of each step.

    Raises InputError for files that cannot be read or do not belong together: runs of several
    tasks, topics without a topic file, posts that DATA lacks.
    """
    status("Reading runs")
    if task is None and corpus_in(collection.layout.data):
        task = DocumentRules.task
    open_ids = cache(lambda: FormulaIds.from_collection(collection))
    runs = [ReadRun.read(file, task, open_ids) for file in files]
    _check(runs, qrels)
    rules = runs[0].rules

    status("Scoring")
    reported, judgments = _score(runs, qrels, collection, relevant)
    compared_with = reported[_place_of_baseline(reported, files, baseline)]
    grades: Qrels = {}
    for read in judgments.values():
        grades.update(read.qrels)
    least = max((read.relevant for read in judgments.values()), default=1)
    scores = [run.score for run in reported if run.score]
    keys: Sequence[str] = ()
    if scores:
        keys = scores[0].table_keys
    questions = _questions(runs, topics, collection)

    status("Looking for posts")
    if not depth and len(questions) <= FEW_TOPICS:
        depth = 20
    depth = depth or 10
    places = _places(reported, depth)
    posts = {post for post, _ in places if post}
    relevant_documents = _relevant_documents(grades, least)
    post, delimiters, macros = post_reader(collection, posts | relevant_documents)
    missing = sum(post(post_id) is None for post_id in posts)
    if posts and missing == len(posts):
        source = corpus_in(collection.layout.data) or collection.posts.path
        raise InputError(
            f"{source}: none of the {missing:,} posts that the runs return is in it; are runs and "
            "DATA of the same collection?"
        )

    return ReportData(
        collection=collection,
        rules=rules,
        task=task_class(rules.task).title,
        formula_ids=rules.formula_ids(open_ids),
        runs=reported,
        baseline=compared_with,
        qrels_files=list(judgments),
        qrels=grades,
        relevant=least,
        relevant_documents=relevant_documents,
        measures={key: NAMES.get(key, key) for key in keys},
        primed=bool(scores) and not scores[0].primed.isdisjoint(keys),
        words=_words(grades),
        questions=questions,
        depth=depth,
        post=post,
        delimiters=delimiters,
        macros=macros,
        latex=latex_of(collection, (formula for _, formula in places)),
        missing=missing,
    )


def _place_of_baseline(
    runs: Sequence[ReportedRun], files: Sequence[Path], baseline: Path | None
) -> int:
    """Return the position of the baseline among the runs: the weakest if none is named.

    Raises InputError if the named one is not among the runs.
    """
    if baseline is not None:
        for place, file in enumerate(files):
            if file.resolve() == baseline.resolve():
                return place
        raise InputError(f"--baseline {baseline}: not among the runs of the report")

    weakest, lowest = 0, math.inf
    for place, run in enumerate(runs):
        if run.score is not None:
            mean = run.score.averages()[run.score.table_keys[0]]
            if mean < lowest:
                weakest, lowest = place, mean

    return weakest


def _places(runs: Sequence[ReportedRun], depth: int) -> list[tuple[str, str]]:
    """Return post and formula of the hits that are shown."""
    places = []
    for run in runs:
        for rows in run.topics.values():
            places += [row.shown for row in islice(rows.values(), depth)]
    return places


def _relevant(grades: Mapping[str, int], least: int) -> set[str]:
    return {doc for doc, grade in grades.items() if grade >= least}


def _relevant_documents(qrels: Qrels, least: int) -> set[str]:
    documents: set[str] = set()
    for grades in qrels.values():
        documents |= _relevant(grades, least)
    return documents


def _score(
    runs: Sequence[ReadRun], qrels: Path | None, collection: Collection, relevant: int | None
) -> tuple[list[ReportedRun], dict[Path, Judgments]]:
    """Score runs that have judgments; return all, and the judgments by file."""
    measures = _of_charts(runs[0].rules)
    evaluators: dict[Path, Evaluator] = {}
    judgments: dict[Path, Judgments] = {}
    reported = []
    names = _names([run.path for run in runs])
    for run, name, short in zip(runs, names, short_names(names), strict=True):
        score, ranked = None, run.rankings()
        file = qrels or _judgments(run, collection)
        if file is not None:
            if file not in evaluators:
                evaluators[file] = Evaluator(
                    collection, qrels=file, measures=measures, relevant=relevant
                )

            scored = evaluators[file].score_run(run)
            judgments[file] = scored.judgments
            ranked = scored.ranked or ranked
            if isinstance(scored.score, RunScore):
                score = scored.score

        if run.ids is not None and run.topics and not any(ranked.topics.values()):
            raise InputError(
                f"{run.path}: none of its formulas is in the formula index of DATA; are run and "
                "DATA of the same collection? `arqmath-bm25 validate` says more"
            )

        manifest = read_manifest(run.path)
        reported.append(ReportedRun(short, name, ranked.rows, score, manifest))

    return reported, judgments


def _of_charts(rules: RunRules) -> list[Measure]:
    """Return the measures of the charts; primed ones if the tables show primed measures."""
    primed = any(
        measure.primed for measure in measures_of(rules) if measure.key in rules.table_measures
    )
    params = "rel={n}"
    if primed:
        params += ",judged_only=True"

    measures = []
    for level in RECALL_LEVELS:
        measures.append(Measure(f"iprec_{level}", f"IPrec({params})@{level}", primed))
    for depth in DEPTHS:
        measures.append(Measure(f"judged_{depth}", f"Judged@{depth}"))
    return measures


def _check(runs: Sequence[ReadRun], qrels: Path | None) -> None:
    """Raise InputError unless the runs can be compared in one report."""
    first = runs[0]
    for run in runs:
        run.rules.require("report", run.path)
        if run.task != first.task:
            raise InputError(
                f"{run.path}: a run of {run.task}, {first.path} of {first.task}; report one task "
                "at a time"
            )

    if qrels is not None:
        first.rules.require("report scores", qrels)


def _judgments(run: ReadRun, collection: Collection) -> Path | None:
    """Find the judgments for the topics of a run in DATA; None if there are none."""
    corpus = corpus_in(collection.layout.data)
    if corpus:
        return judgments_beside(corpus)

    year, rules = known_year(run.topics), run.rules
    if year is None or not rules.supports("report scores"):
        return None
    if year not in rules.judged_years(collection):
        return None
    return rules.judgments_named(collection, year)


def _questions(
    runs: Sequence[ReadRun], topics: Path | None, collection: Collection
) -> dict[str, Topic]:
    """Read the topics of the runs; InputError for a topic that no file has."""
    asked_by = runs[0].rules.topic_task
    if corpus_in(collection.layout.data):
        asked_by = DocumentRules.task
    task = configured(asked_by)
    chosen: list[str] | None
    if topics is None:
        chosen = topics_of(*(run.path for run in runs))
    else:
        chosen = [str(topics)]
    by_id = task.asked(collection, chosen)

    asked: set[str] = set()
    for run in runs:
        asked.update(run.topics)
        for topic in run.topics:
            if topic not in by_id:
                data = "the bundled sample: give --data DATA"
                if collection.on_site:
                    data = "DATA"
                files = [file.name for _, file in task.topic_files(collection, chosen)]
                raise InputError(
                    f"{run.path}: topic {shown(topic)} is in none of the topic files "
                    f"({', '.join(files)}) of {data}, or name its own with --topics FILE"
                )

    return {name: topic for name, topic in by_id.items() if name in asked}


def _words(qrels: Qrels) -> dict[int, str]:
    """Return the names of grades: the labs' names, or "Relevant" for binary judgments."""
    most = 0
    for grades in qrels.values():
        most = max([most, *grades.values()])
    words = {grade: word for word, grade in GRADE_OF_LABEL.items() if grade is not None}
    if most <= 1:
        return {1: "Relevant", 0: words[0]}

    for grade in range(HIGHEST + 1, most + 1):
        words[grade] = words[HIGHEST]
    return words


def _names(files: Sequence[Path]) -> list[str]:
    """Name runs by their files, with the folders that differ where that is not enough."""
    stems = [file.name.rsplit(".", 1)[0] for file in files]
    common = os.path.commonpath([file.absolute().parent for file in files])
    names = []
    for stem, file in zip(stems, files, strict=True):
        if stems.count(stem) == 1:
            names.append(stem)
        else:
            names.append(os.path.relpath(file, common))

    for name, file in zip(names, files, strict=True):
        if names.count(name) > 1:
            raise InputError(f"{file}: this run was given twice")

    return [_printable(name) for name in names]


def _printable(name: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in name)
