"""Everything that a report shows, gathered from runs, judgments, topics and collection.

The runs of one report are of one task. Judgments are those given, else the official ones of the
year of each run; without either, a report shows what the runs returned and no scores.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import LAB_TASKS, year_of
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.measures import trec_measures
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.pages.report.returned import Topics, returned
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.provenance import run_manifest
from arqmath_bm25.runs.rows import detect_task
from arqmath_bm25.runs.run import Run as ReadRun
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.core.labs import LabTask
    from arqmath_bm25.core.records import Topic
    from arqmath_bm25.evaluation.qrels import Qrels

RECALL_LEVELS: Final = tuple(f"{n / 10:.2f}" for n in range(11))
_PRECISIONS: Final = [trec_measures(f"iprec_at_recall_{level}")[1] for level in RECALL_LEVELS]

_WORD: Final = re.compile(r"[^-_./ ]*[-_./ ]+|[^-_./ ]+")  # of a name, with what ends it


@dataclass(frozen=True)
class Run:
    """A run with its score."""

    name: str  # short, and unlike that of any other run of the report
    file: str  # the whole name
    topics: Topics
    score: RunScore | None
    manifest: dict[str, Any] | None  # what lies beside the run file


@dataclass(frozen=True)
class Gathered:
    """What a report shows."""

    task: LabTask
    collection: Collection
    runs: list[Run]
    questions: dict[str, Topic]  # of every topic of the runs, in the order of the topic files
    depth: int  # hits of a topic that are shown
    qrels_files: tuple[Path, ...]  # one for each year of the runs; none: there are no judgments
    qrels: Qrels
    latex: dict[str, str]  # of the formulas that are shown
    ids: Callable[[], FormulaIds]  # the formula index of Task 2


def gather(
    files: Sequence[Path],
    collection: Collection,
    *,
    task: LabTask | None = None,
    qrels: Path | None = None,
    topics: Path | None = None,
    depth: int = 20,
    status: Callable[[str], None] = lambda _: None,
) -> Gathered:
    """Read all that a report of the run `files` shows; `topics` is their topic file.

    Without `task`, the files tell it; without `topics`, all topic files of DATA are read.

    `status` is told what is being done.

    Raises InputError for whatever cannot be read or does not belong together: runs of several
    tasks, topics that no topic file has, posts that DATA does not have.
    """
    task = task or _task(files)
    if RULES[task].judged == "answers" and qrels is not None:
        raise InputError(
            f"{qrels}: answers of Task 3 are judged under ids of their own, which pages do not "
            "know; leave out --qrels, and score them with `arqmath-bm25 eval --answer-map`"
        )
    where = collection.layout
    ids = cache(lambda: FormulaIds.of(collection))
    evaluators: dict[Path, Evaluator] = {}
    judged: Qrels = {}
    scores: list[RunScore | None] = []
    read: list[ReadRun] = []
    for file in files:
        status("Reading runs")
        run = ReadRun.read(file, task, ids)
        judgments = qrels or _official(task, where, run.topics)
        read.append(run)
        if judgments is None:
            scores.append(None)
            continue
        status("Scoring")
        if judgments not in evaluators:
            evaluators[judgments] = Evaluator(collection, qrels=judgments, measures=_PRECISIONS)
        found = evaluators[judgments].judged(run)
        judged |= found.judged.qrels
        score = evaluators[judgments].score_judged(found).score
        scores.append(score if isinstance(score, RunScore) else None)
    rankings = [returned(run) for run in read]
    _check_formulas(read)
    questions = _questions(task, topics, collection, files, rankings)
    status("Looking for posts")
    names, manifests = _names(files), map(run_manifest, files)
    gathered = Gathered(
        task=task,
        collection=collection,
        runs=list(map(Run, _short(names), names, rankings, scores, manifests)),
        questions=questions,
        depth=depth,
        qrels_files=tuple(evaluators),
        qrels=judged,
        latex=_latex(where, rankings, depth) if RULES[task].by_formula else {},
        ids=ids,
    )
    _check_posts(gathered)
    return gathered


def _task(files: Sequence[Path]) -> LabTask:
    tasks: list[LabTask] = []
    for file in files:
        task = detect_task(file)
        if task not in LAB_TASKS:
            raise InputError(f"{file}: premises have no pages; a report shows Tasks 1, 2 and 3")
        tasks.append(task)
        if task != tasks[0]:
            raise InputError(
                f"{file}: a run of {task}, {files[0]} of {tasks[0]}; report one task at once"
            )
    return tasks[0]


def _check_formulas(runs: Sequence[ReadRun]) -> None:
    for run in runs:
        if run.rules.by_formula and not any(run.rankings().topics.values()):
            raise InputError(
                f"{run.path}: none of its formulas is in the formula index of DATA; are run and "
                "DATA of the same collection? `arqmath-bm25 validate` says more"
            )


def _questions(
    task: LabTask, topics: Path | None, collection: Collection, files: Sequence[Path],
    rankings: Sequence[Topics],
) -> dict[str, Topic]:  # fmt: skip
    """Read the topics that the runs have; InputError for one that no topic file has."""
    paths = [topics] if topics else [path for _, path in collection.layout.topic_files(task)]
    known = {topic.topic_id: topic for path in paths for topic in read_topics(path)}
    for file, ranking in zip(files, rankings, strict=True):
        for topic in ranking:
            if topic not in known:
                data = "DATA" if collection.on_site else "the bundled sample: give --data DATA"
                raise InputError(
                    f"{file}: topic {shown(topic)} is in none of the topic files "
                    f"({', '.join(path.name for path in paths)}) of {data}, or name its own with "
                    "--topics FILE"
                )
    return {topic: q for topic, q in known.items() if any(topic in r for r in rankings)}


def _official(task: LabTask, where: Layout, topics: Iterable[str]) -> Path | None:
    """Return the official judgments of the topics of a run; None where there are none."""
    try:
        year = year_of(topics)
    except InputError:  # topics of one's own, or of several years
        return None
    return where.qrels(task, year) if year in where.judged_years(task) else None


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

    def alike(at: range) -> int:
        return next((abs(n) for n in at if len({one[n] for one in words}) > 1), most)

    first = alike(range(most))
    last = min(alike(range(-1, -most - 1, -1)) - 1 if most else 0, most - first)
    short = ["".join(one[first : len(one) - last]).strip("-_./ ") for one in words]
    return short if len(names) > 1 and len(set(short) - {""}) == len(names) else list(names)


def _latex(where: Layout, rankings: Sequence[Topics], depth: int) -> dict[str, str]:
    shown = {hit.formula_id for r in rankings for hits in r.values() for hit in hits[:depth]}
    rows = read_formulas(where.formulas())
    return {row.formula_id: row.latex for row in rows if row.formula_id in shown}


def _check_posts(gathered: Gathered) -> None:
    """Raise InputError if no post that would be shown is in DATA."""
    shown = [
        hit.post_id
        for run in gathered.runs
        for hits in run.topics.values()
        for hit in hits[: gathered.depth]
        if hit.post_id
    ]
    posts = gathered.collection.posts
    if shown and not any(map(posts.read, shown)):
        raise InputError(
            f"{posts.path}: none of the {len(set(shown)):,} posts that the runs return is "
            "in it; are runs and DATA of the same collection?"
        )
