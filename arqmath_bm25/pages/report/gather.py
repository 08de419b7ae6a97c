"""The data of a report, read from runs, judgments, topics and collection.

The runs of one report are of one task. Judgments are given as a file, or taken from DATA by the
topics of each run; without judgments, a report shows the hits of the runs and no scores.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import GRADE_OF_LABEL, HIGHEST, known_year
from arqmath_bm25.core.records import Json, Topic
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.measures import NAMES, Measure, read_measure
from arqmath_bm25.evaluation.qrels import Judgments, Qrels, grades_in
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.pages.post_html import latex_of, post_reader
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


class ReportData:
    """Everything that a report shows; templates may use each of its attributes."""

    def __init__(
        self,
        runs: Sequence[ReadRun],
        evaluator: Evaluator,
        *,
        topics: Sequence[str] | None,
        depth: int | None,
        baseline: Path | None,
        status: Callable[[str], None],
    ) -> None:
        """Read the data of a report of runs, scored with CHARTS.

        `topics` are topic files, by default all in DATA. Runs are compared with the run in the file
        `baseline`, by default the weakest run. `status` gets the name of each step.

        Raises InputError for what does not belong together: runs of several tasks, topics without a
        topic file, posts that DATA lacks.
        """
        first = runs[0]
        for run in runs:
            run.rules.require("report", run.path)
            if run.task != first.task:
                raise InputError(
                    f"{run.path}: a run of {run.task}, {first.path} of {first.task}; report one "
                    "task at a time"
                )
        if evaluator.qrels is not None:
            first.rules.require("report scores", evaluator.qrels)

        status("Scoring")
        self.collection = evaluator.collection
        self.task = task_class(first.task).title  # the kind of documents that were searched
        self.formula_ids = first.ids  # the formula index of Task 2
        self.runs, judgments = _score(runs, evaluator)
        self._read_judgments(judgments)
        # Topics in the order of their files.
        self.questions = _questions(runs, topics, self.collection)

        status("Looking for posts")
        self.depth = depth or (20 if len(self.questions) <= FEW_TOPICS else 10)
        self._read_posts()
        # Runs on the same topics are compared with it.
        self.baseline = _baseline(self.runs, runs, baseline)

    def _read_judgments(self, judgments: Mapping[Path, Judgments]) -> None:
        """Join the judgments of several files, one for each year of the runs."""
        self.qrels_files = list(judgments)
        self.qrels: Qrels = {}
        for of_file in judgments.values():
            self.qrels.update(of_file.qrels)
        self.words = _words(self.qrels)  # the names of the grades

        # The relevance level: the lowest grade that counts as relevant.
        self.relevant = max((of_file.relevant for of_file in judgments.values()), default=1)
        self.relevant_docs = {}
        for topic, grades in self.qrels.items():
            relevant = {doc for doc, grade in grades.items() if grade >= self.relevant}
            self.relevant_docs[topic] = relevant

        # Of each run that has any.
        self.scores = {run.name: run.score for run in self.runs if run.score}
        self.averages = {name: score.averages() for name, score in self.scores.items()}
        # Keys with their titles; the first compares the runs.
        self.measures: dict[str, str] = {}
        self.primed = False  # whether tables show measures over judged documents only
        for score in islice(self.scores.values(), 1):
            self.measures = {key: NAMES.get(key, key) for key in score.table_keys}
            self.primed = not score.primed.isdisjoint(self.measures)

    def _read_posts(self) -> None:
        """Find the posts and the formulas of the hits that are shown."""
        posts = set()
        formulas = set()
        for run in self.runs:
            for rows in run.topics.values():
                for row in islice(rows.values(), self.depth):
                    post, formula = row.post_and_formula
                    posts.add(post)
                    formulas.add(formula)

        posts.discard("")
        ids = posts.union(*self.relevant_docs.values())
        self.post, self.delimiters, self.macros = post_reader(self.collection, ids)
        # How many posts to show are not in the collection.
        self.missing = sum(self.post(post_id) is None for post_id in posts)
        if posts and self.missing == len(posts):
            source = self.collection.corpus or self.collection.posts.path
            raise InputError(
                f"{source}: none of the {self.missing:,} posts that the runs return is in it; are "
                "runs and DATA of the same collection?"
            )
        self.latex = latex_of(self.collection, formulas)  # by the ids of formulas


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


def _judgments(run: ReadRun, collection: CollectionFiles) -> Path | None:
    """Find the judgments for the topics of a run in DATA; None if there are none."""
    rules = run.rules
    year = known_year(run.topics)
    if year is None or collection.corpus or not rules.supports("report scores"):
        return None
    if year not in rules.judged_years(collection):
        return None
    return rules.judgments_named(collection, year)


def _questions(
    runs: Sequence[ReadRun], sources: Sequence[str] | None, collection: CollectionFiles
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
    highest = max(grades_in(qrels), default=0)
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
