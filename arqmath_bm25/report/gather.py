"""Everything that a report shows, gathered from runs, judgments, topics and collection.

The runs of one report are of one task. Judgments are those given, else the official ones of the
topics' year; without either, a report shows what the runs returned and no scores.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.collection.formula_topics import read_formula_topics
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.posts import POST_TABLE, PostTable
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation.annotation import Question
from arqmath_bm25.evaluation.evaluator import Evaluator, detect_task, year_of
from arqmath_bm25.evaluation.measures import trec_measures
from arqmath_bm25.evaluation.qrels import Qrels, read_qrels
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.visual import VisualIds, by_visual_id
from arqmath_bm25.lucene.index import InputFile, read_manifest
from arqmath_bm25.report.rankings import Topics, answer_hits, formula_hits, text_hits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.evaluation.run_form import LabTask

RECALL_LEVELS: Final = tuple(f"{n / 10:.2f}" for n in range(11))
_PRECISIONS: Final = [trec_measures(f"iprec_at_recall_{level}")[1] for level in RECALL_LEVELS]


@dataclass(frozen=True)
class Run:
    """A run with its score."""

    name: str  # unlike that of any other run of the report
    topics: Topics
    score: RunScore | None
    manifest: dict[str, Any] | None  # what lies beside the run file


@dataclass(frozen=True)
class Gathered:
    """What a report shows."""

    task: LabTask
    collection: str  # name of DATA
    runs: list[Run]
    questions: dict[str, Question]  # of every topic of the runs, in the order of the topic files
    posts: PostTable
    depth: int  # hits of a topic that are shown
    qrels_file: Path | None  # None: there are no judgments
    qrels: Qrels
    latex: dict[str, str]  # of the formulas that are shown
    indexes: dict[str, Any]  # name -> manifest


def gather(
    files: Sequence[Path],
    where: Layout,
    indexes: Path,
    *,
    task: LabTask | None = None,
    qrels: Path | None = None,
    topics: Path | None = None,
    depth: int = 20,
    status: Callable[[str], None] = lambda _: None,
) -> Gathered:
    """Read all that a report of the run `files` shows; `topics` is their topic file.

    Without `task`, the files tell it; without `topics`, all topic files of DATA are read.

    `indexes` is the directory of the collection's indexes, which hold the places of its posts;
    without an index these are looked for anew. `status` is told what is being done.

    Raises InputError for whatever cannot be read or does not belong together: runs of several
    tasks, topics that no topic file has, posts that DATA does not have.
    """
    task = task or _task(files)
    if task == "task3" and qrels is not None:
        raise InputError(
            f"{qrels}: answers of Task 3 are judged under ids of their own, which pages do not "
            "know; leave out --qrels, and score them with `arqmath-bm25 eval --answer-map`"
        )
    status("Reading runs")
    ids = None
    if task == "task2":
        ids = VisualIds.cached(where.formulas(), indexes)
    rankings = [_read(file, task, ids) for file in files]
    questions = _questions(task, topics, where, files, rankings)
    chosen = qrels or _official(task, where, questions)
    judged: Qrels = {}
    scores: list[RunScore | None] = [None] * len(files)
    if chosen is not None:
        status("Scoring")
        judged = read_qrels(chosen)
        if ids is not None:
            judged = by_visual_id(judged, ids).qrels
        evaluator = Evaluator(where.data, indexes, qrels=chosen, measures=_PRECISIONS)
        scores = [_score(evaluator, file, task) for file in files]
    status("Looking for posts")
    manifests = map(_manifest, files)
    gathered = Gathered(
        task=task,
        collection=where.name,
        runs=list(map(Run, _names(files), rankings, scores, manifests)),
        questions=questions,
        posts=open_posts(where, indexes),
        depth=depth,
        qrels_file=chosen,
        qrels=judged,
        latex=_latex(where, rankings, depth) if task == "task2" else {},
        indexes=_index_manifests(indexes),
    )
    _check_posts(gathered)
    return gathered


def _task(files: Sequence[Path]) -> LabTask:
    tasks: list[LabTask] = []
    for file in files:
        task = detect_task(file)
        if task == "nlps":
            raise InputError(f"{file}: premises have no pages; a report shows Tasks 1, 2 and 3")
        tasks.append(task)
        if task != tasks[0]:
            raise InputError(
                f"{file}: a run of {task}, {files[0]} of {tasks[0]}; report one task at once"
            )
    return tasks[0]


def _read(file: Path, task: LabTask, ids: VisualIds | None) -> Topics:
    if ids is not None:
        found = formula_hits(file, ids)
        if not any(found.values()):
            raise InputError(
                f"{file}: none of its formulas is in the formula index of DATA; are run and DATA "
                "of the same collection? `arqmath-bm25 validate` says more"
            )
        return found
    return text_hits(file) if task == "task3" else answer_hits(file)


def _questions(
    task: LabTask, topics: Path | None, where: Layout, files: Sequence[Path],
    rankings: Sequence[Topics],
) -> dict[str, Question]:  # fmt: skip
    """Read the topics that the runs have; InputError for one that no topic file has."""
    paths = [topics] if topics else []
    if not paths:
        years = where.task2_years() if task == "task2" else where.task1_years()
        of_year = where.task2_topics if task == "task2" else where.task1_topics
        paths = [of_year(year) for year in years or ("2020",)]  # the last says what is missing
    known: dict[str, Question] = {}
    for path in paths:
        if task == "task2":
            known |= {t.topic_id: Question(t, x, f) for t, f, x in read_formula_topics(path)}
        else:
            known |= {topic.topic_id: Question(topic) for topic in read_topics(path)}
    for file, ranking in zip(files, rankings, strict=True):
        for topic in ranking:
            if topic not in known:
                raise InputError(
                    f"{file}: topic {topic!r} is in none of the topic files "
                    f"({', '.join(path.name for path in paths)}); give its own with --topics FILE"
                )
    return {topic: q for topic, q in known.items() if any(topic in r for r in rankings)}


def _official(task: LabTask, where: Layout, topics: dict[str, Question]) -> Path | None:
    """Return the official judgments of the topics; None where there are none."""
    if task == "task3":
        return None
    try:
        year = year_of(topics)
    except InputError:  # topics of one's own, or of several years
        return None
    if task == "task2":
        return where.task2_qrels(year) if year in where.judged_task2_years() else None
    return where.task1_qrels(year) if year in where.judged_years() else None


def _score(evaluator: Evaluator, file: Path, task: LabTask) -> RunScore | None:
    score = evaluator.score(file, task).score
    return score if isinstance(score, RunScore) else None


def _names(files: Sequence[Path]) -> list[str]:
    """Name runs by their files, by the whole path where that does not tell them apart."""
    stems = [file.name.rsplit(".", 1)[0] for file in files]
    names = [
        stem if stems.count(stem) == 1 else str(file)
        for stem, file in zip(stems, files, strict=True)
    ]
    for name, file in zip(names, files, strict=True):
        if names.count(name) > 1:
            raise InputError(f"{file}: this run was given twice")
    return ["".join(c if c.isprintable() else "�" for c in name) for name in names]


def _manifest(run: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(run.with_suffix(".manifest.json").read_bytes())
    except (OSError, ValueError):  # runs of other systems have none, or something else there
        return None
    return found if isinstance(found, dict) else None


def open_posts(where: Layout, indexes: Path) -> PostTable:
    """Open the posts of DATA: by the table of an index of the same file, else by reading it all."""
    posts = where.posts()
    for table in sorted(indexes.glob(f"*/{POST_TABLE}")):
        manifest = read_manifest(table.parent)
        if manifest is not None and InputFile.of(posts) in manifest.inputs:
            return PostTable.load(table, posts)
    return PostTable.scan(posts)


def _latex(where: Layout, rankings: Sequence[Topics], depth: int) -> dict[str, str]:
    shown = {hit.formula_id for r in rankings for hits in r.values() for hit in hits[:depth]}
    rows = read_formulas(where.formulas())
    return {row.formula_id: row.latex for row in rows if row.formula_id in shown}


def _index_manifests(indexes: Path) -> dict[str, Any]:
    return {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(indexes.glob("*/manifest.json"))
    }


def _check_posts(gathered: Gathered) -> None:
    """Raise InputError if no post that would be shown is in DATA."""
    shown = [
        hit.post_id
        for run in gathered.runs
        for hits in run.topics.values()
        for hit in hits[: gathered.depth]
        if hit.post_id
    ]
    if shown and not any(gathered.posts.read(post) for post in shown):
        raise InputError(
            f"{gathered.posts.path}: none of the {len(set(shown)):,} posts that the runs return is "
            "in it; are runs and DATA of the same collection?"
        )
