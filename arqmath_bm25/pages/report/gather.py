"""Everything that a report shows, gathered from runs, judgments, topics and collection.

The runs of one report are of one task. Judgments are those given, else those that DATA has of the
topics of each run; without either, a report shows what the runs returned and no scores.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.own_documents import QRELS, corpus_in
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
from arqmath_bm25.runs.task_rules import DocumentRules
from arqmath_bm25.tasks import configured, task_class

DEPTHS: Final = (1, 5, 10, 20, 50, 100, 200, 500, 1000)  # to which the share of judged is shown
RECALL_LEVELS: Final = tuple(n / 10 for n in range(11))
FEW_TOPICS: Final = 100  # of more, pages are smaller, so that all together stay small
_WORD: Final = re.compile(r"[^-_./ ]*[-_./ ]+|[^-_./ ]+")  # of a name, with what ends it


@dataclass(frozen=True)
class ReportedRun:
    """A run with its score."""

    name: str  # short, and unlike that of any other run of the report
    file: str  # the whole name
    topics: dict[str, dict[str, RunRow]]  # topic -> document, as judgments name it -> its row
    score: RunScore | None
    manifest: dict[str, Any]  # what lies beside the run file


class Gathered:
    """What a report shows."""

    def __init__(
        self,
        files: Sequence[Path],
        collection: Collection,
        *,
        task: RunTask | None = None,
        qrels: Path | None = None,
        topics: Path | None = None,
        relevant: int | None = None,
        depth: int | None = None,
        status: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Read all that a report of the run `files` shows; `topics` is their topic file.

        Without `task`, the files tell it; without `topics`, the runs' own topic files are read, or
        all of DATA.

        `status` is told what is being done.

        Raises InputError for whatever cannot be read or does not belong together: runs of several
        tasks, topics that no topic file has, posts that DATA does not have.
        """
        self.ids = cache(lambda: FormulaIds.of(collection))  # the formula index of Task 2
        corpus = corpus_in(collection.layout.data)
        status("Reading runs")
        task = task or (DocumentRules.task if corpus else None)
        runs = [ReadRun.read(file, task, self.ids) for file in files]
        _check(runs, qrels)
        self.rules = runs[0].rules
        self.task = task_class(self.rules.task).title  # what was looked for
        status("Scoring")
        self.runs, judgments = _score(runs, qrels, collection, relevant)
        self.qrels_files = list(judgments)  # one for each year of the runs
        self.qrels = {t: docs for read in judgments.values() for t, docs in read.qrels.items()}
        self.relevant = max((read.relevant for read in judgments.values()), default=1)
        scores = [run.score for run in self.runs if run.score]
        keys = scores[0].shown if scores else ()
        # Whether tables show measures over judged documents only.
        self.primed = bool(scores) and not scores[0].primed.isdisjoint(keys)
        self.words = _words(self.qrels)
        self.measures = {key: NAMES.get(key, key) for key in keys}  # the first compares the runs
        self.questions = _questions(runs, topics, collection)  # in the order of the topic files
        status("Looking for posts")
        self.collection = collection
        few = len(self.questions) <= FEW_TOPICS
        self.depth = depth or (20 if few else 10)  # hits of a topic that are shown
        rankings = [rows for run in self.runs for rows in run.topics.values()]
        places = [row.shown for rows in rankings for row in islice(rows.values(), self.depth)]
        posts = {post for post, _ in places if post}
        ids = posts | self.relevant_documents
        self.post, self.delimiters, self.macros = post_reader(collection, ids)
        self.latex = latex_of(collection, (formula for _, formula in places))
        # How many posts would be shown, if the collection had them.
        self.missing = sum(self.post(post_id) is None for post_id in posts)
        if posts and self.missing == len(posts):
            raise InputError(
                f"{corpus or collection.posts.path}: none of the {self.missing:,} posts that the "
                "runs return is in it; are runs and DATA of the same collection?"
            )

    @property
    def relevant_documents(self) -> set[str]:
        """The documents that are relevant for any topic."""
        return set[str]().union(*map(self.relevant_to, self.qrels))

    def relevant_to(self, topic: str) -> set[str]:
        """Return the documents that are relevant for a topic."""
        return {doc for doc, grade in self.qrels.get(topic, {}).items() if grade >= self.relevant}


def _score(
    runs: Sequence[ReadRun], qrels: Path | None, collection: Collection, relevant: int | None
) -> tuple[list[ReportedRun], dict[Path, Judgments]]:
    """Score runs that have judgments; return all, and the judgments that there are by file."""
    measures = _of_charts(runs[0].rules)
    evaluator = cache(
        lambda file: Evaluator(collection, qrels=file, measures=measures, relevant=relevant)
    )
    judgments: dict[Path, Judgments] = {}
    scored_runs = []
    names = _names([run.path for run in runs])
    for run, name, short in zip(runs, names, _short(names), strict=True):
        score, ranked = None, run.rankings()
        if file := qrels or _judgments(run, collection):
            scored = evaluator(file).score_run(run)
            score = scored.score if isinstance(scored.score, RunScore) else None
            judgments[file], ranked = scored.judgments, scored.ranked or ranked
        if run.rules.by_formula and run.topics and not any(ranked.topics.values()):
            raise InputError(
                f"{run.path}: none of its formulas is in the formula index of DATA; are run and "
                "DATA of the same collection? `arqmath-bm25 validate` says more"
            )
        manifest = read_manifest(run.path)
        scored_runs.append(ReportedRun(short, name, ranked.rows, score, manifest))
    return scored_runs, judgments


def _of_charts(rules: RunRules) -> list[Measure]:
    """Return the measures of the charts; primed ones if the tables show primed measures."""
    primed = any(measure.primed for measure in measures_of(rules) if measure.key in rules.shown)
    params = "rel={n},judged_only=True" if primed else "rel={n}"
    return [
        *(Measure(f"iprec_{level}", f"IPrec({params})@{level}", primed) for level in RECALL_LEVELS),
        *(Measure(f"judged_{depth}", f"Judged@{depth}") for depth in DEPTHS),
    ]


def _check(runs: Sequence[ReadRun], qrels: Path | None) -> None:
    """Raise InputError unless the runs can be compared in one report."""
    first = runs[0]
    for run in runs:
        if run.rules.judged == "premises":
            raise InputError(f"{run.path}: premises have no pages; a report shows Tasks 1, 2 and 3")
        if run.task != first.task:
            raise InputError(
                f"{run.path}: a run of {run.task}, {first.path} of {first.task}; report one task "
                "at a time"
            )
    if first.rules.judged == "answers" and qrels is not None:
        raise InputError(
            f"{qrels}: answers of Task 3 are judged under ids of their own, which pages do not "
            "know; leave out --qrels, and score them with `arqmath-bm25 eval --answer-map`"
        )


def _judgments(run: ReadRun, collection: Collection) -> Path | None:
    """Find the judgments for the topics of a run in DATA; None if there are none."""
    layout, rules = collection.layout, run.rules
    if corpus := corpus_in(layout.data):
        return file if (file := corpus.parent / QRELS).is_file() else None
    year = known_year(run.topics)
    has_some = rules.judged == "documents" and year in layout.years(rules.qrels_of, "qrels")
    return layout.qrels(rules.qrels_of, year) if year and has_some else None


def _questions(
    runs: Sequence[ReadRun], topics: Path | None, collection: Collection
) -> dict[str, Topic]:
    """Read the topics of the runs; InputError for a topic that no file has."""
    own_documents = corpus_in(collection.layout.data)
    task = configured(DocumentRules.task if own_documents else runs[0].rules.qrels_of)
    chosen = [str(topics)] if topics else topics_of(*(run.path for run in runs))
    by_id = task.asked(collection, chosen)
    for run in runs:
        for topic in run.topics:
            if topic not in by_id:
                data = "DATA" if collection.on_site else "the bundled sample: give --data DATA"
                raise InputError(
                    f"{run.path}: topic {shown(topic)} is in none of the topic files "
                    f"({', '.join(file.name for _, file in task.topic_files(collection, chosen))}) "
                    f"of {data}, or name its own with --topics FILE"
                )
    return {name: by_id[name] for name in by_id if any(name in run.topics for run in runs)}


def _words(qrels: Qrels) -> dict[int, str]:
    """Return the names of grades: those of the labs, or "Relevant" for binary judgments."""
    most = max((grade for docs in qrels.values() for grade in docs.values()), default=0)
    words = {grade: word for word, grade in GRADE_OF_LABEL.items() if grade is not None}
    if most <= 1:
        return {1: "Relevant", 0: words[0]}
    return words | dict.fromkeys(range(HIGHEST + 1, most + 1), words[HIGHEST])


def _names(files: Sequence[Path]) -> list[str]:
    """Name runs by their files, with the folders that differ where that is not enough."""
    stems = [file.name.rsplit(".", 1)[0] for file in files]
    common = os.path.commonpath([file.absolute().parent for file in files])
    names = [
        stem if stems.count(stem) == 1 else os.path.relpath(file, common)
        for stem, file in zip(stems, files, strict=True)
    ]
    for name, file in zip(names, files, strict=True):
        if names.count(name) > 1:
            raise InputError(f"{file}: this run was given twice")
    return ["".join(c if c.isprintable() else "�" for c in name) for name in names]


def _short(names: Sequence[str]) -> list[str]:
    """Leave out the words with which all names begin or end; one is left of each."""
    words = [_WORD.findall(name) for name in names]
    most = min(map(len, words)) - 1
    first = min(_common(words), most)
    last = min(_common([of_name[::-1] for of_name in words]), most - first)
    short = ["".join(of_name[first : len(of_name) - last]).strip("-_./ ") for of_name in words]
    return short if len(names) > 1 and len(set(short) - {""}) == len(names) else list(names)


def _common(words: Sequence[Sequence[str]]) -> int:
    """Count the words with which all names begin."""
    return len(list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))))
