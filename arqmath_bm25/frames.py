"""Runs and judgments as pandas frames, with the columns of PyTerrier: read, written, scored.

A run is what a run file of the same rows would be: scores alone decide its order, equal ones as the
labs' scripts order them. What a frame cannot say in columns stands in its `attrs`.
"""

from __future__ import annotations

from functools import cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from arqmath_bm25.analysis.answer_text import one_line
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import official_stem
from arqmath_bm25.core.records import Hit
from arqmath_bm25.evaluation.answers import AnswerScore, score_answers, take_top_answers
from arqmath_bm25.evaluation.evaluator import detect_task
from arqmath_bm25.evaluation.nlps import PremiseScore, read_pairs, score_premises, take_premises
from arqmath_bm25.evaluation.score import RunScore
from arqmath_bm25.evaluation.score import score as score_rankings
from arqmath_bm25.runs import run_files
from arqmath_bm25.runs.rankings import take_rankings
from arqmath_bm25.runs.visual import VisualIds, take_formula_rankings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_RANKED: Final = ("qid", "docno", "score", "rank")
_FURTHER: Final[Mapping[str, tuple[str, ...]]] = {
    "task2": ("post_id", "visual_id"), "task3": ("answer",),
}  # fmt: skip


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
    known, rows = qrels.attrs, _rows(run)
    found: RunScore | AnswerScore | PremiseScore
    match known.get("task"):
        case "nlps":
            ordered = _rows(run.sort_values("score", ascending=False, kind="stable"))
            premises = take_premises((row.topic_id, row.doc_id) for row in ordered)
            found = score_premises(premises, {qid: tuple(docs) for qid, docs in judged.items()})
        case "task3":
            found = score_answers(take_top_answers(rows), judged)
        case "task2":
            formulas = take_formula_rankings(rows, _visual_ids(known))
            notes = (*known["notes"], *formulas.notes())
            found = score_rankings(formulas.topics, judged, notes=notes)
        case _:
            rankings = take_rankings(rows)
            notes = (*known.get("notes", ()), *rankings.notes())
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
    path = Path(path)
    task = detect_task(path)
    rows: list[tuple[Any, ...]] = []
    name = ""
    if task == "nlps":
        ranks: dict[str, int] = {}
        for qid, doc in read_pairs(path):
            ranks[qid] = rank = ranks.get(qid, 0) + 1
            rows.append((qid, doc, 1 / rank, rank))
    elif task == "task3":
        for one in run_files.read_answers(path):
            doc = one.sources.removeprefix("post ")
            name = name or one.run_id
            rows.append((one.topic_id, doc, one.score, one.rank, one.answer))
    else:
        for row in run_files.read_run(path, task):
            name = name or row.run_id
            rows.append((row.topic_id, row.doc_id, row.score, row.rank, row.post_id))
    columns = [*_RANKED, *_FURTHER.get(task, ())[:1]]
    frame = pd.DataFrame([row[: len(columns)] for row in rows], columns=columns)
    frame.attrs.update(task=task, **({"name": name} if name else {}))
    return frame


def write_run(
    run: pd.DataFrame, path: str | Path, name: str | None = None, form: run_files.Form = "lab"
) -> None:
    """Write a run as the labs, or TREC, want it; `name` stands in every row.

    Rows are put in the order of their scores, and equal scores are lowered by the least that
    leaves no tie, so that the file scores what the run does. Raises InputError if it cannot be
    written.
    """
    path = Path(path)
    need(run, "run", "qid", "docno", "score")
    task: Any = run.attrs.get("task") or next(
        (t for t, c in _FURTHER.items() if c[0] in run), "task1"
    )
    name = name or run.attrs.get("name") or official_stem(path)
    rankings: dict[str, list[Hit]] = {qid: [] for qid in run["qid"].astype(str)}
    if task == "task1":  # as trec_eval orders them
        known = run["score"].astype(np.float32), run["docno"].astype(str)
        run = run.iloc[np.lexsort(known[::-1])[::-1]]
    else:
        run = run.sort_values("score", ascending=False, kind="stable")
    answers = run.get("answer", repeat(""))
    for row, answer in zip(_rows(run), answers, strict=False):
        hit = Hit(row.doc_id, row.score, row.post_id, text=one_line(answer))
        rankings[row.topic_id].append(hit)
    run_files.write_run(path, rankings.items(), name, task, form)


def run_frame(ranked: Iterable[tuple[str, Sequence[Hit]]], task: str) -> pd.DataFrame:
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


def _rows(run: pd.DataFrame) -> Iterator[run_files.RunRow]:
    """Yield the rows of a run as if they stood in a file."""
    ranks = run["rank"] if "rank" in run else repeat(0)
    posts = run["post_id"] if "post_id" in run else repeat("")
    columns = zip(run["qid"], run["docno"], ranks, run["score"], posts, strict=False)
    for line, (qid, doc, rank, value, post) in enumerate(columns, 1):
        yield run_files.RunRow(line, str(qid), str(doc), int(rank), float(value), "", str(post))


@cache
def _cached_ids(formulas: Path, tables: Path, kind: str) -> VisualIds:
    ids = VisualIds.cached(formulas, tables)
    return ids.of_v2() if kind == "visual_v2" else ids


def _visual_ids(known: Mapping[Any, Any]) -> VisualIds:
    """Open the visual ids that the `attrs` of judgments of Task 2 name; InputError without them."""
    if "formulas" not in known:
        raise InputError(
            "qrels: no visual ids in attrs; take those of Collection.qrels('task2', …)"
        )
    return _cached_ids(Path(known["formulas"]), Path(known["tables"]), known["ids"])
