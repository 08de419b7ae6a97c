"""Runs and judgments as pandas frames, with the columns of PyTerrier: read, written, scored.

A frame means the same as a run file with its rows: only scores decide the order, and equal scores
are ordered as the labs' scripts do. Values for a whole frame are in its `attrs`. Callers may also
pass other tables than frames, and columns with the names of ir_measures and ranx (`table`).
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, TypeAlias, Union, get_args, overload

import numpy as np

from arqmath_bm25.collection.row_names import DOC_IDS, QUERY_IDS, TEXTS
from arqmath_bm25.core.errors import InputError, ScoreWarning
from arqmath_bm25.core.guesses import showing_its_arguments
from arqmath_bm25.core.labs import MAX_DEPTH, RunTask, known_year, official_stem
from arqmath_bm25.core.lazy import pd
from arqmath_bm25.core.records import Hit
from arqmath_bm25.evaluation import qrels as qrels_files
from arqmath_bm25.evaluation.comparing import compare_runs
from arqmath_bm25.evaluation.evaluator import ScoredRun, score_run
from arqmath_bm25.evaluation.measures import Measure, key_of, named_measures, split_names
from arqmath_bm25.evaluation.qrels import (
    Judgments,
    Qrels,
    level_notes,
    read_grade,
)
from arqmath_bm25.evaluation.result import Evaluation
from arqmath_bm25.runs import run_writing
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.fusion import RRF_K, Method, check_weights, fuse_runs
from arqmath_bm25.runs.rows import RunRow
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES, AnswerRules, DocumentRules, FormulaRules
from arqmath_bm25.version import __version__

# A union by its class, since pandas is not loaded yet: users may write `Table | None`.
Table: TypeAlias = Union["pd.DataFrame", Mapping[str, Mapping[str, float]], Iterable[Any]]

# Columns of PyTerrier → their names elsewhere; ranx has q_id.
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "qid": (*QUERY_IDS, "q_id"),
    "docno": DOC_IDS,
    "label": ("relevance", "rel", "grade"),
    "query": TEXTS,
}
_RANKED = ("qid", "docno", "score", "rank")
# What the further columns of a run hold of a hit.
_FURTHER = {
    "post_id": attrgetter("post_id"),
    "visual_id": attrgetter("visual_id"),
    "answer": attrgetter("text"),
}


@overload
def evaluate(
    run: Table,
    qrels: Table,
    *,
    per_topic: Literal[False] = False,
    measures: str | Sequence[object] | None = None,
    task: RunTask | None = None,
    relevant: int | None = None,
) -> Evaluation: ...


@overload
def evaluate(
    run: Table,
    qrels: Table,
    *,
    per_topic: Literal[True],
    measures: str | Sequence[object] | None = None,
    task: RunTask | None = None,
    relevant: int | None = None,
) -> pd.DataFrame: ...


@showing_its_arguments
def evaluate(
    run: Table,
    qrels: Table,
    *,
    per_topic: bool = False,
    measures: str | Sequence[object] | None = None,
    task: RunTask | None = None,
    relevant: int | None = None,
) -> Evaluation | pd.DataFrame:
    """Score a run by judgments, as the command `eval` does.

    `run` has the columns qid, docno and score, `qrels` qid, docno and label (a grade); both may be
    frames, lists of dicts, or dicts topic → document → value. `measures` is one name or several,
    as the command `eval` takes them, or objects of ir_measures; by default the task's own.
    `task` is by default taken from the `attrs` of the judgments (`Collection.qrels`) or of the run,
    else from the topics: the labs' own or others. `relevant` is the lowest relevant grade, by
    default 2 for the labs' tasks, else 1.

    Returns averages over all judged topics, from 0 to 1, by the names of the measures, with
    numbers of topics and rows as attributes (`Evaluation`); with `per_topic` a frame with a row for
    each judged topic and a column for each measure. Warnings are ScoreWarnings. Raises InputError
    if run and judgments do not fit each other, and for a label that is not from -9 to 9.
    """
    names = []
    if isinstance(measures, str):
        names = split_names(measures)
    elif isinstance(measures, Iterable):
        names = list(map(str, measures))
    elif measures is not None:
        names = [str(measures)]

    scored = _score("run", run, qrels, task, named_measures(*names), relevant)
    score = scored.score
    _warn(score.warnings)

    keys = list(map(key_of, names))
    for name, key in zip(names, keys, strict=True):
        if key not in score.keys:
            known = ", ".join(score.keys)
            raise InputError(f"measures: {name}: runs of this task have {known}")
    if not per_topic:
        return Evaluation.of(scored, keys)

    table = pd.DataFrame.from_dict(score.values, orient="index")
    table = table.rename_axis("qid")
    if measures is None:
        return table
    return table[keys].set_axis(names, axis="columns")


@showing_its_arguments
def compare(
    runs: Mapping[str, Table] | Sequence[Table],
    qrels: Table,
    measure: object | None = None,
    *,
    task: RunTask | None = None,
    relevant: int | None = None,
) -> pd.DataFrame:
    """Compare every run with the first, topic by topic, as the command `compare` does.

    `runs` is a dict of runs by name, or a list of runs, which are named by their `attrs`; see
    `evaluate` for their columns, `task` and `relevant`. `measure` is by default the first measure
    of the task. Returns a frame with a row for each run but the first: means, difference with its
    95 % interval, wins, ties and losses (numbers of topics), p-values of the t-test and the
    randomization test, plain and corrected by Holm. `attrs` has the `measure` and the `warnings`,
    which are also raised as ScoreWarnings. Raises InputError for fewer than two runs or topics, and
    if the runs are not scored on the same topics.
    """
    if isinstance(measure, pd.DataFrame | Mapping):
        raise InputError(
            f"measure: got {_kind(measure)}; expected a name. Several runs are given as one list: "
            "compare([run, other], qrels)"
        )

    names = [] if measure is None else [str(measure)]
    further = named_measures(*names)
    scored = []
    for run_name, run in _frames_by_name(runs).items():
        scored.append(_score(run_name, run, qrels, task, further, relevant))

    result = compare_runs(scored, *names)
    _warn(result.warnings)
    frame = pd.DataFrame(map(asdict, result.comparisons))
    frame.attrs.update(measure=result.measure, warnings=result.warnings)
    return frame


@showing_its_arguments
def fuse(
    runs: Mapping[str, Table] | Sequence[Table],
    method: Method = "rrf",
    *,
    weights: Sequence[float] | None = None,
    k: int = RRF_K,
    depth: int = MAX_DEPTH,
) -> pd.DataFrame:
    """Fuse runs of one task into one, as the command `fuse` does.

    `method` is "rrf", reciprocal rank fusion with the constant `k` (Cormack, Clarke and Büttcher,
    SIGIR 2009), or "weighted", the sum of scores that are scaled to 0 … 1 in each topic (Fox and
    Shaw, TREC-2, 1994). `weights` has a number for each run, by default 1. Returns the `depth` best
    documents of each topic, with the columns of `Index.run`. Raises InputError for a single run,
    runs of several tasks or without a common topic, and for weights that are negative, all 0, or
    not one for each run.
    """
    if not isinstance(method, str) or method not in get_args(Method):
        methods = " or ".join(get_args(Method))
        if isinstance(method, str):
            raise InputError(f"method {method!r}: expected {methods}")
        raise InputError(
            f"method: got {_kind(method)}; expected {methods}. Several runs are given as one list: "
            "fuse([run, other])"
        )

    frames = _frames_by_name(runs)
    if len(frames) == 1:
        raise InputError("runs: one run alone; fusion takes two or more")

    tasks = {name: _task_of(run) for name, run in frames.items()}
    task = next(iter(tasks.values()), AnswerRules.task)
    RULES[task].require("fuse", next(iter(frames), ""))
    for name, other in tasks.items():
        if other != task:
            raise InputError(f"{name}: a run of {other}; fuse runs of {task} only")

    factors = check_weights("weights", weights, len(frames))
    parsed = []
    has_posts = True
    visual_ids = dict[str, str]()
    for name, run in frames.items():
        parsed.append(Run(Path(name), task, _rows(run)))
        has_posts = has_posts and "post_id" in run
        if "visual_id" in run:
            visual = run["visual_id"].astype(str)
            visual_ids.update(zip(run["docno"], visual, strict=True))

    fused = fuse_runs(parsed, factors, method, k, depth, has_posts)
    frame = run_frame(fused.items(), task)
    if "visual_id" in frame:
        frame["visual_id"] = [visual_ids.get(doc, "") for doc in frame["docno"]]
    frame.attrs["task"] = task
    return frame


def _score(
    name: str,
    run: Table,
    qrels: Table,
    task: RunTask | None,
    measures: Sequence[Measure],
    relevant: int | None,
) -> ScoredRun:
    """Score one run, which messages call `name`."""
    run = table(run, "run", "qid", "docno", "score")
    qrels = table(qrels, "qrels", "qid", "docno", "label")
    grades: Qrels = {}
    rows = zip(qrels["qid"], qrels["docno"], qrels["label"], strict=True)
    for number, (qid, doc, label) in enumerate(rows):
        grade = read_grade(f"qrels: row {number}", doc, str(label))
        grades.setdefault(qid, {})[doc] = grade

    task = task or qrels.attrs.get("task") or _task_of(run)
    if task not in RULES:
        raise InputError(f"task {task!r}: expected one of {', '.join(RULES)}")

    relevant = relevant or RULES[task].relevant
    judgments = Judgments(
        Path("qrels"),
        grades,
        ids=qrels.attrs.get("ids"),
        notes=(*qrels.attrs.get("notes", ()), *level_notes(grades, relevant)),
        relevant=relevant,
    )

    parsed = Run(Path(name), task, _rows(run), partial(_open_ids, run, qrels))
    scored = score_run(parsed, judgments, measures)
    return replace(scored, run=name)


def _open_ids(run: pd.DataFrame, qrels: pd.DataFrame) -> FormulaIds:
    """Return the formula index that judgments of Task 2 belong to."""
    if "formulas" in qrels.attrs:
        formulas = Path(qrels.attrs["formulas"])
        tables = Path(qrels.attrs["tables"])
        return _load_ids(formulas, tables)

    # Selections, merges and CSV files lose attrs, but the run itself may have the visual ids.
    # The judgments of 2021 have the visual ids of v2, which runs do not have.
    is_v2 = known_year(map(str, qrels["qid"])) == "2021"
    if is_v2 or not {"visual_id", "post_id"} <= set(run):
        raise InputError(
            "qrels: their attrs are lost, which say what the visual ids are; set qrels.attrs to "
            f"those of Collection.qrels({FormulaRules.task!r}, …)"
        )

    formulas_once = run.drop_duplicates("docno")
    rows = formulas_once[["docno", "visual_id", "post_id"]].to_numpy()
    return FormulaIds.from_rows(rows)


def _frames_by_name(runs: Mapping[str, Table] | Sequence[Table]) -> dict[str, pd.DataFrame]:
    """Return the frames of several runs by their names; InputError if only one run is given."""
    if isinstance(runs, pd.DataFrame | str) or not isinstance(runs, Iterable):
        raise InputError(
            f"runs: got {_kind(runs)}; expected several runs: [run, other] or "
            '{"name": run, "other": other}'
        )

    columns = ("qid", "docno", "score")
    by_name = {}
    if isinstance(runs, Mapping):
        return {str(name): table(run, str(name), *columns) for name, run in runs.items()}

    frames = [table(run, f"run {number}", *columns) for number, run in enumerate(runs, 1)]
    names = [str(frame.attrs.get("name", "run")) for frame in frames]
    for number, (name, frame) in enumerate(zip(names, frames, strict=True), 1):
        if names.count(name) > 1:
            name = f"{name} {number}"
        by_name[name] = frame

    return by_name


def _warn(notes: Iterable[str]) -> None:
    """Raise notes as warnings in the line that called the library."""
    for note in notes:
        warnings.warn(note, ScoreWarning, stacklevel=4)


@showing_its_arguments
def read_run(path: str | Path) -> pd.DataFrame:
    """Read a run file of any task, in the lab's form or TREC's, plain or compressed by gzip.

    Returns a frame with the columns of `Index.run` except visual_id, with rows and ranks as in the
    file; `attrs` has its task, its `name` (the tag) and its manifest, if there is one. Runs of NLPS
    have no scores; their rows get 1 / rank. Raises InputError for any other file.
    """
    path = Path(path)
    run = Run.read(path)
    further = run.rules.hit_columns[:1]
    frame = pd.DataFrame(sorted(run.rows), columns=RunRow._fields)
    frame = frame.rename(columns={"topic_id": "qid", "doc_id": "docno"})
    frame = frame[[*_RANKED, *further]]

    frame.attrs["task"] = run.task
    if run.tag:
        frame.attrs["name"] = run.tag
    if run.manifest:
        frame.attrs["manifest"] = run.manifest
    return frame


@showing_its_arguments
def read_qrels(path: str | Path) -> pd.DataFrame:
    """Read judgments of documents in TREC's form or BEIR's; `Collection.qrels` reads the labs'.

    Returns a frame with the columns qid, docno and label (a grade from -9 to 9). Raises InputError
    if the file is not a qrels file.
    """
    return triples(qrels_files.read_qrels(Path(path)), "label")


def triples(nested: Mapping[str, Mapping[str, Any]], column: str) -> pd.DataFrame:
    """Return topic → document → value as a frame."""
    rows = []
    for qid, values in nested.items():
        rows += [(qid, doc, value) for doc, value in values.items()]
    return pd.DataFrame(rows, columns=["qid", "docno", column])


@showing_its_arguments
def write_run(
    run: Table, path: str | Path, name: str | None = None, form: run_writing.RunForm = "lab"
) -> None:
    """Write a run file in the labs' form, or in TREC's; every row has the tag `name`.

    `run` has the columns qid, docno and score; rank is not needed. Rows are sorted by score, and
    equal scores are lowered by the smallest step that leaves no tie, so that the file gets the same
    measures as the run; rows that repeat a document are left out. The manifest of a run that was
    made by an index or read from a file is written next to it (from `attrs`, which `assign` and
    selections keep); under another name it becomes the source of the new manifest. Raises
    InputError if the file cannot be written.
    """
    run = table(run, "run", "qid", "docno", "score")
    path = Path(path)
    parsed = Run(path, _task_of(run), _rows(run))
    name = name or run.attrs.get("name") or official_stem(path)
    manifest = run.attrs.get("manifest")
    if manifest and manifest.get("tag") != name:
        manifest = {
            "version": __version__,
            "tag": name,
            "data": manifest.get("data"),
            "made from": manifest,
        }

    hits = run_writing.hits_of(parsed)
    run_writing.write_run(path, hits, name, parsed.task, form, manifest, by_user=True, as_read=True)


def run_frame(ranked: Iterable[tuple[str, Sequence[Hit]]], task: RunTask) -> pd.DataFrame:
    """Return the hits of every topic as a run of the task, with the columns of `Index.run`."""
    qids = []
    docnos = []
    scores = array("d")
    ranks = array("q")
    further: dict[str, list[str]] = {name: [] for name in RULES[task].hit_columns}
    for qid, hits in ranked:
        qids += [qid] * len(hits)
        docnos += [hit.doc_id for hit in hits]
        scores.extend(run_writing.separated([hit.score for hit in hits]))
        ranks.extend(range(1, len(hits) + 1))
        for name, values in further.items():
            values += map(_FURTHER[name], hits)

    # Without hits, pandas would take the columns for numbers, and join them with no topics.
    frame = pd.DataFrame({"qid": qids, "docno": docnos, **further}, dtype=str)
    # pandas takes half of the time for these arrays that it takes for lists of numbers.
    frame.insert(2, "score", np.asarray(scores))
    frame.insert(3, "rank", np.asarray(ranks))
    return frame


def rows_of(rows: object, what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame (pandas, polars), or of an iterable of dicts or named tuples.

    Missing values of a frame become None. `what` names the table in messages. Raises InputError for
    anything else.
    """
    if isinstance(rows, pd.DataFrame):
        objects = rows.astype(object)
        rows = objects.where(rows.notna(), None).to_dict("records")
    elif hasattr(rows, "iter_rows"):
        # Frames of polars have this method.
        rows = rows.iter_rows(named=True)
    elif hasattr(rows, "to_pylist"):
        # Tables of pyarrow have this one.
        rows = rows.to_pylist()

    if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
        raise _unusable(what, rows)

    for row in rows:
        if hasattr(row, "_asdict"):
            row = row._asdict()
        if not isinstance(row, Mapping):
            raise _unusable(what, row, f"{_kind(rows)} with ")
        yield {str(name): value for name, value in row.items()}


def texts_as_rows(texts: object, id_column: str, text_column: str) -> Any:
    """Return a list of texts, or a dict of texts by id, as rows; any other table is returned as is.

    The texts of a list get the ids "1", "2", …. The values of a dict may be dicts, as in BEIR.
    """
    if isinstance(texts, list | tuple):
        texts_by_id = {str(number): text for number, text in enumerate(texts, 1)}
    elif isinstance(texts, Mapping):
        texts_by_id = dict(texts)
    else:
        return texts

    rows = []
    for name, text in texts_by_id.items():
        if isinstance(text, str):
            rows.append({id_column: name, text_column: text})
        elif isinstance(text, Mapping) and isinstance(texts, Mapping):
            rows.append({id_column: name, **text})

    if not rows or len(rows) < len(texts_by_id):
        return texts
    return rows


def table(rows: Table, what: str, *columns: str) -> pd.DataFrame:
    """Return rows as a frame that has the given columns; ids become strings.

    Nested dicts are topic → document → the last of the columns. `what` names the table in messages.
    Raises InputError for anything else, and for a missing column or value.
    """
    for name in ("run_data", "qrels_data"):  # of trectools
        data = getattr(rows, name, None)
        if isinstance(data, pd.DataFrame):
            rows = data
    if type(rows).__module__.startswith("ranx."):
        rows = rows.to_dict()  # type: ignore[union-attr]

    if isinstance(rows, pd.DataFrame):
        frame = rows
    elif isinstance(rows, Mapping) and all(isinstance(row, Mapping) for row in rows.values()):
        frame = triples(rows, columns[-1])
    else:
        frame = pd.DataFrame(list(rows_of(rows, what)))

    # In trectools, "query" is the id of a query; in PyTerrier, "docid" is a number of the index.
    if {"query", "docid"} <= set(frame) and "qid" not in frame:
        frame = frame.rename(columns={"query": "qid", "docid": "docno"})
    # In BEIR, the score of a judgment is its grade; a score beside other names is a run's.
    if "corpus-id" in frame and "label" in columns:
        frame = frame.rename(columns={"score": "label"})
    for name in columns:
        if name not in frame:
            others = [other for other in _OTHER_NAMES.get(name, ()) if other in frame]
            frame = frame.rename(columns=dict.fromkeys(others[:1], name))

    missing = [name for name in columns if name not in frame]
    if missing:
        has = ", ".join(map(str, frame.columns)) or "none"
        raise InputError(f"{what}: no column {' and no '.join(missing)}; it has {has}")

    for name in columns:
        is_missing = frame[name].isna().to_numpy()
        if is_missing.any():
            raise InputError(f"{what}: no {name} in row {is_missing.argmax()}")

    ids = [name for name in ("qid", "docno") if name in columns]
    return frame.astype(dict.fromkeys(ids, str))


def _unusable(what: str, given: object, inside: str = "") -> InputError:
    """Return the error of a value that is not a table, with advice where a mistake is likely."""
    advice = ""
    if isinstance(given, str | Path) and what in ("run", "qrels"):
        advice = f"; read_{what}(path) reads a file"
    elif isinstance(given, str | Path) and what == "documents" and not inside:
        advice = "; Collection(path) reads files"
    elif what in ("documents", "topics"):
        advice = ", or a list of texts"
    elif what == "run" and isinstance(given, Mapping | pd.DataFrame):
        advice = "; several runs are for compare"
    return InputError(
        f"{what}: got {inside}{_kind(given)}; expected a frame (pandas, polars) or dicts{advice}"
    )


def _kind(value: object) -> str:
    """Return the type of a value with its package, as messages say it."""
    kind = type(value)
    module, _, _ = kind.__module__.partition(".")
    if module == "builtins":
        return f"a {kind.__name__}"
    return f"a {module} {kind.__name__}"


def _task_of(run: pd.DataFrame) -> RunTask:
    """Return the task of a run, by its attrs, its columns or its first topic."""
    task: RunTask | None = run.attrs.get("task")
    if task:
        return task

    for rules in RULES.values():
        if rules.hit_columns and rules.hit_columns[0] in run:
            return rules.task

    if run.empty or known_year(run["qid"].head(1).astype(str)):
        return AnswerRules.task
    return DocumentRules.task


def _rows(run: pd.DataFrame) -> Iterator[RunRow]:
    """Yield the rows of a run as a file of them would be read."""
    defaults: dict[str, Any] = {"rank": 0, "post_id": "", "answer": ""}
    missing = {name: value for name, value in defaults.items() if name not in run}
    frame = run.assign(**missing)[["qid", "docno", "rank", "score", "post_id", "answer"]]
    for line, row in enumerate(frame.itertuples(index=False), 1):
        qid, doc, rank, score, post, answer = row
        numbers = int(rank), float(score)
        yield RunRow(line, str(qid), str(doc), *numbers, "", str(post), answer=str(answer))


_load_ids = cache(FormulaIds.load)
