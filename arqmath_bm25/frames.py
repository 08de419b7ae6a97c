"""Runs and judgments as pandas frames, with the columns of PyTerrier: read, written, scored.

A run is what a run file of the same rows would be: scores alone decide its order, equal ones as the
labs' scripts order them. What a frame cannot say in columns stands in its `attrs`.
"""

from __future__ import annotations

from functools import cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import pandas as pd

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import official_stem
from arqmath_bm25.evaluation.answers import AnswerScore, score_answers
from arqmath_bm25.evaluation.nlps import PremiseScore, score_premises
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.score import score as score_rankings
from arqmath_bm25.runs import run_files
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.rows import Row
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from arqmath_bm25.core.labs import Task
    from arqmath_bm25.core.records import Hit

_RANKED: Final = ("qid", "docno", "score", "rank")
_FURTHER: Final[Mapping[Task, tuple[str, ...]]] = {
    "task2": ("post_id", "visual_id"), "task3": ("answer",),
}  # fmt: skip


@overload
def evaluate(
    run: pd.DataFrame, qrels: pd.DataFrame, per_topic: Literal[False] = False
) -> pd.Series[Any]: ...
@overload
def evaluate(run: pd.DataFrame, qrels: pd.DataFrame, per_topic: Literal[True]) -> pd.DataFrame: ...
def evaluate(
    run: pd.DataFrame, qrels: pd.DataFrame, per_topic: bool = False
) -> pd.Series[Any] | pd.DataFrame:
    """Score a run by judgments that `Collection.qrels` returned, as `eval` does.

    Returns the numbers under the keys of `eval --json`, or with `per_topic` a row for every judged
    topic. Judgments without `attrs` are taken as those of Task 1. Raises InputError if the two do
    not fit each other.
    """
    need(run, "run", "qid", "docno", "score")
    need(qrels, "qrels", "qid", "docno", "label")
    judged: dict[str, dict[str, int]] = {}
    for qid, doc, label in zip(qrels["qid"], qrels["docno"], qrels["label"], strict=True):
        judged.setdefault(str(qid), {})[str(doc)] = int(label)
    known = qrels.attrs
    task: Task = known.get("task", "task1")
    ids = (lambda: _visual_ids(known)) if RULES[task].by_formula else None
    read = Run(Path("run"), task, _rows(run), ids).put_right()
    rankings = read.rankings()
    found: RunScore | AnswerScore | PremiseScore
    match read.rules.judged:
        case "premises":
            found = score_premises(rankings.topics, {qid: tuple(d) for qid, d in judged.items()})
        case "answers":
            answers = {topic: next(iter(docs)) for topic, docs in rankings.topics.items()}
            found = score_answers(answers, judged)
        case _:
            notes = (*known.get("notes", ()), *rankings.notes)
            found = score_rankings(rankings.topics, judged, notes=notes)
    if per_topic:
        return pd.DataFrame.from_dict(found.values, orient="index").rename_axis("qid")
    return pd.Series(found.to_json())


def read_run(path: str | Path) -> pd.DataFrame:
    """Read a run file of any task, in the lab's form or TREC's, plain or packed by gzip.

    Returns the columns of `Index.run` (but for visual_id), rows and ranks as in the file; attrs
    have its `name`. Rows of NLPS have no scores: they get 1 / rank. Raises InputError for what is
    no run.
    """
    run = Run.read(Path(path))
    return _frame(run, sorted(row for rows in run.topics.values() for row in rows))


def _frame(run: Run, rows: Iterable[Row]) -> pd.DataFrame:
    further = _FURTHER.get(run.task, ())[:1]
    frame = pd.DataFrame(
        [
            (row.topic_id, row.doc_id, row.score, row.rank, *(getattr(row, f) for f in further))
            for row in rows
        ],
        columns=[*_RANKED, *further],
    )
    frame.attrs.update(task=run.task, **({"name": run.name} if run.name else {}))
    return frame


def write_run(
    run: pd.DataFrame, path: str | Path, name: str | None = None, form: run_files.Form = "lab"
) -> None:
    """Write a run as the labs, or TREC, want it; `name` stands in every row.

    Rows are put in the order of their scores, and equal scores are lowered by the least that
    leaves no tie, so that the file scores what the run does; rows that repeat a document are left
    out. Raises InputError if it cannot be written.
    """
    path = Path(path)
    need(run, "run", "qid", "docno", "score")
    read = Run(path, _task_of(run), _rows(run))
    name = name or run.attrs.get("name") or official_stem(path)
    run_files.write_run(path, run_files.hits_of(read), name, read.task, form)


def run_frame(ranked: Iterable[tuple[str, Sequence[Hit]]], task: Task) -> pd.DataFrame:
    """Return the hits of every topic as a run of the task."""
    rows = [
        (qid, hit.doc_id, score, rank, hit.post_id, hit.visual_id, hit.text)
        for qid, hits in ranked
        for rank, (hit, score) in enumerate(
            zip(hits, run_files.separated([hit.score for hit in hits]), strict=True), 1
        )
    ]
    frame = pd.DataFrame(rows, columns=[*_RANKED, "post_id", "visual_id", "answer"])
    frame = frame.astype({"score": float, "rank": int})
    return frame[[*_RANKED, *_FURTHER.get(task, ())]]


def need(frame: pd.DataFrame, what: str, *columns: str) -> None:
    """Raise InputError unless a frame has the columns, and a value in every row."""
    missing = [name for name in columns if name not in frame]
    if missing:
        has = ", ".join(map(str, frame.columns))
        raise InputError(f"{what}: no column {' and no '.join(missing)}; it has {has}")
    for name in columns:
        if (empty := frame[name].isna()).any():
            raise InputError(f"{what}: no {name} in row {int(empty.to_numpy().argmax())}")


def _task_of(run: pd.DataFrame) -> Task:
    """Return the task that a frame says, by its attrs or by its columns."""
    for task, columns in _FURTHER.items():
        if columns[0] in run:
            found = task
            break
    else:
        found = "task1"
    known: Task = run.attrs.get("task", found)
    return known


def _rows(run: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of a run as if they stood in a file."""
    ranks, posts, answers = (
        run[name] if name in run else repeat(default)
        for name, default in (("rank", 0), ("post_id", ""), ("answer", ""))
    )
    columns = zip(run["qid"], run["docno"], ranks, run["score"], posts, answers, strict=False)
    for line, (qid, doc, rank, value, post, answer) in enumerate(columns, 1):
        yield Row(
            line, str(qid), str(doc), int(rank), float(value), "", str(post), answer=str(answer)
        )


@cache
def _cached_ids(formulas: Path, tables: Path, kind: str) -> FormulaIds:
    ids = FormulaIds.cached(formulas, tables)
    return ids.of_v2() if kind == "visual_v2" else ids


def _visual_ids(known: Mapping[Any, Any]) -> FormulaIds:
    """Open the visual ids that the `attrs` of judgments of Task 2 name; InputError without them."""
    if "formulas" not in known:
        raise InputError(
            "qrels: no visual ids in attrs; take those of Collection.qrels('task2', …)"
        )
    return _cached_ids(Path(known["formulas"]), Path(known["tables"]), known["ids"])
