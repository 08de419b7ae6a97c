"""The data of a report, read from runs, judgments, topics and collection.

The runs of one report are of one task. Judgments are given as a file, or taken from DATA by the
topics of each run; without judgments, a report shows the hits of the runs and no scores.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.posts import Post
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import GRADE_OF_LABEL, HIGHEST, known_year
from arqmath_bm25.core.records import Json, Topic
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.measures import NAMES, Measure, read_measure
from arqmath_bm25.evaluation.qrels import Judgments, Qrels
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.pages.post_html import latex_of, post_reader
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.rows import RunRow
from arqmath_bm25.runs.run import Run as ReadRun
from arqmath_bm25.runs.short_names import short_names
from arqmath_bm25.tasks import configured, task_class

# Depths at which the share of judged hits is shown.
DEPTHS = (1, 5, 10, 20, 50, 100, 200, 500, 1000)
RECALL_LEVELS = tuple(n / 10 for n in range(11))

# The measures of the charts: precision at levels of recall, of judged documents only as well.
CHARTS = [
    *(Measure(f"iprec_{level}", read_measure(f"IPrec@{level}")) for level in RECALL_LEVELS),
    *(
        Measure(f"iprec_prime_{level}", read_measure(f"IPrec(judged_only=True)@{level}"))
        for level in RECALL_LEVELS
    ),
    *(Measure(f"judged_{depth}", read_measure(f"Judged@{depth}")) for depth in DEPTHS),
]

# With more topics, the page of each is smaller, so that the report stays small.
FEW_TOPICS = 100


@dataclass(frozen=True)
class ReportedRun:
    """A run with its score."""

    name: str  # a short name, unique in the report
    file: str  # the name of the file
    topics: dict[str, dict[str, RunRow]]  # topic -> id of the document in judgments -> its row
    score: RunScore | None
    manifest: Json  # says how the run was made; empty if that is not known

    @property
    def values(self) -> Mapping[str, Mapping[str, float]]:
        """The scores of each topic by measure; empty without judgments."""
        if self.score is None:
            return {}
        return self.score.values


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows; templates may use each of these fields."""

    collection: Collection
    task: str  # the title of the task: the kind of documents that were searched
    formula_ids: FormulaIds | None  # the formula index of Task 2
    runs: list[ReportedRun]
    baseline: ReportedRun  # runs on the same topics are compared with it
    qrels_files: list[Path]  # one file for each year of the runs
    qrels: Qrels
    relevant: int  # the relevance level: the lowest grade that counts as relevant
    relevant_docs: dict[str, set[str]]  # topic -> documents that are relevant for it
    measures: dict[str, str]  # keys with their titles; the first compares the runs
    primed: bool  # whether tables show measures over judged documents only
    words: dict[int, str]  # the names of the grades
    questions: dict[str, Topic]  # topics in the order of their files
    depth: int  # how many hits of a topic are shown
    post: Callable[[str], Post | None]
    delimiters: Delimiters
    macros: str
    latex: Mapping[str, str]  # formula id -> LaTeX
    missing: int  # how many posts to show are not in the collection


def gather(
    runs: Sequence[ReadRun],
    evaluator: Evaluator,
    *,
    topics: Sequence[str] | None,
    depth: int | None,
    baseline: Path | None,
    status: Callable[[str], None],
) -> ReportData:
    """Return the data of a report of runs, scored with CHARTS.

    `topics` are topic files, by default all in DATA. Runs are compared with the run in the file
    `baseline`, by default the weakest run. `status` gets the name of each step.

    Raises InputError for what does not belong together: runs of several tasks, topics without a
    topic file, posts that DATA lacks.
    """
    collection = evaluator.collection
    first = runs[0]
    _refuse_other_tasks(runs, evaluator.qrels)

    status("Scoring")
    reported, judgments = _score(runs, evaluator)
    grades, level, relevant_docs = _merge(list(judgments.values()))
    measures, primed = _measures(reported)
    questions = _questions(runs, topics, collection)

    status("Looking for posts")
    depth = depth or (20 if len(questions) <= FEW_TOPICS else 10)
    posts, formulas = _posts_and_formulas(reported, depth)
    post, delimiters, macros = post_reader(collection, posts.union(*relevant_docs.values()))
    missing = sum(post(post_id) is None for post_id in posts)
    if posts and missing == len(posts):
        source = collection.corpus or collection.posts.path
        raise InputError(
            f"{source}: none of the {missing:,} posts that the runs return is in it; are runs and "
            "DATA of the same collection?"
        )
    latex = latex_of(collection, formulas)
    return ReportData(
        collection=collection,
        task=task_class(first.task).title,
        formula_ids=first.ids,
        runs=reported,
        baseline=_baseline(reported, runs, baseline),
        qrels_files=list(judgments),
        qrels=grades,
        relevant=level,
        relevant_docs=relevant_docs,
        measures=measures,
        primed=primed,
        words=_words(grades),
        questions=questions,
        depth=depth,
        post=post,
        delimiters=delimiters,
        macros=macros,
        latex=latex,
        missing=missing,
    )


def _refuse_other_tasks(runs: Sequence[ReadRun], qrels: Path | None) -> None:
    """Raise InputError for a task without reports or scores, and for runs of several tasks."""
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


def _merge(judgments: Sequence[Judgments]) -> tuple[Qrels, int, dict[str, set[str]]]:
    """Return the judgments of several files, their relevance level and the relevant documents."""
    qrels = {}
    for of_file in judgments:
        qrels.update(of_file.qrels)
    level = max((of_file.relevant for of_file in judgments), default=1)
    relevant = {}
    for topic, grades in qrels.items():
        relevant[topic] = {doc for doc, grade in grades.items() if grade >= level}
    return qrels, level, relevant


def _measures(runs: Sequence[ReportedRun]) -> tuple[dict[str, str], bool]:
    """Return the measures of tables with their titles, and whether some are primed."""
    for run in runs:
        if run.score is not None:
            keys = run.score.table_keys
            titles = {key: NAMES.get(key, key) for key in keys}
            return titles, not run.score.primed.isdisjoint(keys)
    return {}, False


def _posts_and_formulas(runs: Sequence[ReportedRun], depth: int) -> tuple[set[str], set[str]]:
    """Return the posts and the formulas of the hits that are shown."""
    posts = set()
    formulas = set()
    for run in runs:
        for rows in run.topics.values():
            for row in islice(rows.values(), depth):
                post, formula = row.post_and_formula
                posts.add(post)
                formulas.add(formula)

    posts.discard("")
    return posts, formulas


def _baseline(
    runs: Sequence[ReportedRun], read: Sequence[ReadRun], baseline: Path | None
) -> ReportedRun:
    """Return the run of the file `baseline`, by default the weakest run.

    Raises InputError if the file is not among the runs.
    """
    if baseline is not None:
        for run, file in zip(runs, read, strict=True):
            if file.path.resolve() == baseline.resolve():
                return run
        raise InputError(f"{baseline}: not among the runs of the report")

    means = {}
    for number, run in enumerate(runs):
        if run.score is not None:
            key = run.score.table_keys[0]
            means[number] = run.score.averages()[key]
    return runs[min(means, key=means.__getitem__, default=0)]


def _score(
    runs: Sequence[ReadRun], evaluator: Evaluator
) -> tuple[list[ReportedRun], dict[Path, Judgments]]:
    """Score runs that have judgments; return all runs, and the judgments by file."""
    judgments = {}
    reported = []
    names = _names([run.path for run in runs])
    shortened = short_names(names)
    for run, name, short in zip(runs, names, shortened, strict=True):
        score = None
        file = evaluator.qrels or _judgments(run, evaluator.collection)
        if file is None:
            ranked = run.rankings()
        else:
            scored = evaluator.score_run(run, file)
            judgments[file] = scored.judgments
            ranked = scored.ranked
            if isinstance(scored.score, RunScore):
                score = scored.score

        if run.ids is not None and run.topics and not any(ranked.topics.values()):
            raise InputError(
                f"{run.path}: none of its formulas is in the formula index of DATA; are run and "
                "DATA of the same collection? `arqmath-bm25 validate` says more"
            )

        reported.append(ReportedRun(short, name, ranked.rows, score, run.manifest))

    return reported, judgments


def _judgments(run: ReadRun, collection: Collection) -> Path | None:
    """Find the judgments for the topics of a run in DATA; None if there are none."""
    rules = run.rules
    year = known_year(run.topics)
    if year is None or collection.corpus or not rules.supports("report scores"):
        return None
    if year not in rules.judged_years(collection):
        return None
    return rules.judgments_named(collection, year)


def _questions(
    runs: Sequence[ReadRun], sources: Sequence[str] | None, collection: Collection
) -> dict[str, Topic]:
    """Read the topics of the runs; InputError for a topic that no file has."""
    task = configured(collection.run_task or runs[0].rules.topic_task)
    by_id = task.asked(collection, sources)

    run_of = dict[str, Path]()
    for run in runs:
        for topic in run.topics:
            run_of.setdefault(topic, run.path)
    for topic, path in run_of.items():
        if topic not in by_id:
            data = "the bundled sample"
            settings = {"data": "DATA", "topics": "FILE"}
            if collection.on_site:
                data = settings.pop("data")
            files = [file.name for _, file in task.topic_files(collection, sources)]
            raise InputError(
                f"{path}: topic {shown(topic)} is in none of the topic files "
                f"({', '.join(files)}) of {data}",
                **settings,
            )

    return {name: topic for name, topic in by_id.items() if name in run_of}


def _words(qrels: Qrels) -> dict[int, str]:
    """Return the names of grades: the labs' names, or "Relevant" for binary judgments."""
    words = {grade: word for word, grade in GRADE_OF_LABEL.items() if grade is not None}
    highest = max(chain.from_iterable(map(dict.values, qrels.values())), default=0)
    if highest <= 1:
        return {1: "Relevant", 0: words[0]}

    for grade in range(HIGHEST + 1, highest + 1):
        words[grade] = words[HIGHEST]
    return words


def _names(files: Sequence[Path]) -> list[str]:
    """Name runs by their files, and files of the same name also by the folders that differ."""
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

    unprintable = {ord(sign): "�" for sign in "".join(names) if not sign.isprintable()}
    return [name.translate(unprintable) for name in names]
