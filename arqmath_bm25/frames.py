"""Runs and judgments as pandas frames, with the columns of PyTerrier: read, written, scored.

A run is what a run file of the same rows would be: scores alone decide its order, equal ones as the
labs' scripts order them. What a frame cannot say in columns stands in its `attrs`. Callers may have
other tables than frames, and the columns of ir_measures and ranx (`table`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args, overload

from arqmath_bm25.core.errors import InputError, ScoreWarning
from arqmath_bm25.core.guesses import showing_its_arguments
from arqmath_bm25.core.labs import MAX_DEPTH, RunTask, is_official, known_year, official_stem
from arqmath_bm25.core.lazy import LazyModule
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.writing import read_manifest
from arqmath_bm25.evaluation import qrels as qrels_files
from arqmath_bm25.evaluation.comparing import compare_runs
from arqmath_bm25.evaluation.evaluator import ScoredRun, score_run
from arqmath_bm25.evaluation.measures import Measure, key_of, named_measures, split_names
from arqmath_bm25.evaluation.qrels import Judgments, Qrels, read_grade, relevance_threshold
from arqmath_bm25.runs import run_writing
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.fusion import RRF_K, Method, check_weights, fuse_runs
from arqmath_bm25.runs.rows import RunRow
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES, AnswerRules, DocumentRules, FormulaRules
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = LazyModule("pandas")  # takes half a second to load

Table: TypeAlias = "pd.DataFrame | Mapping[str, Mapping[str, float]] | Iterable[Any]"
# Columns of PyTerrier → what ir_measures, ir_datasets and ranx call them.
_CALLED: Final[Mapping[str, tuple[str, ...]]] = {
    "qid": ("query_id", "q_id"),
    "docno": ("doc_id",),
    "label": ("relevance",),
    "query": ("text",),
}
_RANKED: Final = ("qid", "docno", "score", "rank")


@overload
def evaluate(
    run: Table, qrels: Table, *, per_topic: Literal[False] = False,
    measures: str | Sequence[object] | None = None, task: RunTask | None = None,
    relevant: int | None = None,
) -> pd.Series[Any]: ...  # fmt: skip


@overload
def evaluate(
    run: Table, qrels: Table, *, per_topic: Literal[True],
    measures: str | Sequence[object] | None = None, task: RunTask | None = None,
    relevant: int | None = None,
) -> pd.DataFrame: ...  # fmt: skip


@showing_its_arguments
def evaluate(
    run: Table, qrels: Table, *, per_topic: bool = False,
    measures: str | Sequence[object] | None = None, task: RunTask | None = None,
    relevant: int | None = None,
) -> pd.Series | pd.DataFrame:  # fmt: skip  # pdoc cannot read Series[Any]
    """Score a run by judgments, as `eval` does; both may be frames, lists of dicts, nested dicts.

    Returns the numbers under the keys of `eval --json`, or with `per_topic` a row for every judged
    topic; with `measures` (one name or several as `eval --measure` takes them, keys, or objects of
    ir_measures) these alone. The task is that of the `attrs` of the judgments (`Collection.qrels`)
    or of the run, or `task`; without these the topics decide, which are the labs' or others.
    Relevant is a grade of 2 or more for topics of the labs, else of 1 or more, or as `relevant`
    says. Warnings about the scores are ScoreWarnings. Raises InputError if the two do not fit each
    other, and for a label that is not from -9 to 9.
    """
    names = _measure_names(measures)
    scored = _score("run", run, qrels, task, named_measures(*names or ()), relevant)
    score = scored.score
    _warn(score.warnings)
    table = pd.DataFrame.from_dict(score.values, orient="index").rename_axis("qid")
    numbers = pd.Series(score.to_json())

    if names is not None:
        keys = [key_of(name) for name in names]
        for name, key in zip(names, keys, strict=True):
            if key not in table:
                known = ", ".join(map(str, table))
                raise InputError(f"measures: {name}: runs of this task have {known}")
        table = table[keys].set_axis(names, axis="columns")
        numbers = numbers[keys].set_axis(names).astype(float)

    if per_topic:
        return table
    return numbers


def _measure_names(measures: str | Sequence[object] | None) -> list[str] | None:
    """Return the names of measures: of one, as a string or an object of ir_measures, or of several.

    A string may list several with commas between.
    """
    if measures is None:
        return None
    if isinstance(measures, str):
        return split_names(measures)
    if not isinstance(measures, Iterable):
        return [str(measures)]
    return [str(measure) for measure in measures]


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

    `runs` are runs by name, or in a list (then named by their `attrs`). Returns a row for
    each but the first: means, difference with its interval, wins, ties and losses, p-values of the
    t-test and the randomization test, plain and corrected by Holm. `attrs` has the `measure`
    (default: the first that the task reports) and the `warnings`, which are ScoreWarnings too.
    """
    if isinstance(measure, pd.DataFrame | Mapping):
        raise InputError(
            f"measure: got {_kind(measure)}; expected a name. Several runs are given as one list: "
            "compare([run, other], qrels)"
        )

    name = None
    further: list[Measure] = []
    if measure is not None:
        name = str(measure)
        further = named_measures(name)

    scored = []
    for run, frame in _named(runs).items():
        scored.append(_score(run, frame, qrels, task, further, relevant))
    compared = compare_runs(scored, name)
    _warn(compared.warnings)
    frame = pd.DataFrame(map(asdict, compared.comparisons))
    frame.attrs.update(measure=compared.measure, warnings=compared.warnings)
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
    """Fuse runs of one task into one, as the command `fuse` does; see `runs.fusion`.

    Raises InputError for a single run, runs of several tasks or without a common topic, and for
    weights that are no numbers from 0 on, one for each run.
    """
    if not isinstance(method, str) or method not in get_args(Method):
        methods = " or ".join(get_args(Method))
        if isinstance(method, str):
            raise InputError(f"method {method!r}: expected {methods}")
        raise InputError(
            f"method: got {_kind(method)}; expected {methods}. Several runs are given as one list: "
            "fuse([run, other])"
        )

    named = _named(runs)
    if len(named) == 1:
        raise InputError("runs: one run alone; fusion takes two or more")
    tasks = {name: _task_of(run) for name, run in named.items()}
    task = next(iter(tasks.values()), AnswerRules.task)
    RULES[task].require("fuse", next(iter(named), ""))
    for name, other in tasks.items():
        if other != task:
            raise InputError(f"{name}: a run of {other}; fuse runs of {task} only")

    factors = check_weights("weights", weights, len(named))
    read = [Run(Path(name), task, _rows(run)) for name, run in named.items()]
    visual: dict[str, str] = {}
    for run in named.values():
        if "visual_id" in run:
            visual.update(zip(run["docno"], run["visual_id"].astype(str), strict=True))

    posts = all("post_id" in run for run in named.values())
    fused = fuse_runs(read, factors, method, k, depth, posts)
    frame = run_frame(fused.items(), task)
    if "visual_id" in frame:
        frame["visual_id"] = [visual.get(doc, "") for doc in frame["docno"]]
    frame.attrs["task"] = task
    return frame


def _score(
    name: str, run: Table, qrels: Table, task: RunTask | None,
    measures: Sequence[Measure], relevant: int | None,
) -> ScoredRun:  # fmt: skip
    run = table(run, "run", "qid", "docno", "score")
    qrels = table(qrels, "qrels", "qid", "docno", "label")
    judged: Qrels = {}
    rows = zip(qrels["qid"], qrels["docno"], qrels["label"], strict=True)
    for number, (qid, doc, label) in enumerate(rows):
        judged.setdefault(qid, {})[doc] = read_grade(f"qrels: row {number}", doc, str(label))
    task = task or qrels.attrs.get("task") or _task_of(run)
    if task not in RULES:
        raise InputError(f"task {task!r}: expected one of {', '.join(RULES)}")
    least = relevance_threshold(RULES[task], judged) if relevant is None else relevant
    judgments = Judgments(
        Path("qrels"), judged, qrels.attrs.get("ids"), tuple(qrels.attrs.get("notes", ())), least
    )

    read = Run(Path(name), task, _rows(run), partial(_open_ids, run, qrels))
    return replace(score_run(read, judgments, measures), run=name)


def _open_ids(run: pd.DataFrame, qrels: pd.DataFrame) -> FormulaIds:
    """Return the formula index that judgments of Task 2 belong to."""
    if "formulas" in qrels.attrs:
        return _cached_ids(Path(qrels.attrs["formulas"]), Path(qrels.attrs["tables"]))

    # Selections, merges and CSV files lose attrs: the run itself may have the visual ids.
    of_v2 = known_year(map(str, qrels["qid"])) == "2021"  # judged by the visual ids of v2
    if of_v2 or not {"visual_id", "post_id"} <= set(run):
        raise InputError(
            "qrels: their attrs are lost, which say what the visual ids are; set qrels.attrs to "
            f"those of Collection.qrels({FormulaRules.task!r}, …)"
        )

    columns = run.drop_duplicates("docno")[["docno", "visual_id", "post_id"]].to_numpy()
    return FormulaIds.from_rows(columns)


def _named(runs: Mapping[str, Table] | Sequence[Table]) -> dict[str, pd.DataFrame]:
    """Return the frames of several runs by their names.

    Raises InputError for one run in the place of several.
    """
    several = not isinstance(runs, pd.DataFrame | str) and isinstance(runs, Iterable)
    if not several:
        raise InputError(
            f"runs: got {_kind(runs)}; expected several runs: [run, other] or "
            '{"name": run, "other": other}'
        )

    columns = "qid", "docno", "score"
    if isinstance(runs, Mapping):
        return {str(name): table(run, str(name), *columns) for name, run in runs.items()}

    frames = [table(run, f"run {number}", *columns) for number, run in enumerate(runs, 1)]
    names = [str(run.attrs.get("name", "run")) for run in frames]
    named = {}
    for number, (name, run) in enumerate(zip(names, frames, strict=True), 1):
        unique = name if names.count(name) == 1 else f"{name} {number}"
        named[unique] = run

    return named


def _warn(notes: Iterable[str]) -> None:
    for note in notes:
        warnings.warn(note, ScoreWarning, stacklevel=4)


@showing_its_arguments
def read_run(path: str | Path) -> pd.DataFrame:
    """Read a run file of any task, in the lab's form or TREC's, plain or packed by gzip.

    Returns the columns of `Index.run` (but for visual_id), rows and ranks as in the file; attrs
    have its `name`, and its manifest if there is one. Rows of NLPS have no scores: they get
    1 / rank. Raises InputError for any other file.
    """
    run = Run.read(Path(path))
    further = run.rules.hit_columns[:1]
    frame = pd.DataFrame(sorted(run.rows), columns=RunRow._fields)
    frame = frame.rename(columns={"topic_id": "qid", "doc_id": "docno"})
    frame = frame[[*_RANKED, *further]]
    attrs = {"name": run.tag, "manifest": read_manifest(Path(path))}
    frame.attrs.update(task=run.task, **{key: value for key, value in attrs.items() if value})
    return frame


@showing_its_arguments
def read_qrels(path: str | Path) -> pd.DataFrame:
    """Read judgments of documents in TREC's form or BEIR's; see `Collection.qrels` for the labs'.

    Returns qid, docno and label. Raises InputError for any other file.
    """
    return qrels_frame(qrels_files.read_qrels(Path(path)))


def qrels_frame(qrels: Qrels) -> pd.DataFrame:
    """Return judgments as a frame."""
    rows = [(qid, doc, label) for qid in qrels for doc, label in qrels[qid].items()]
    return pd.DataFrame(rows, columns=["qid", "docno", "label"])


@showing_its_arguments
def write_run(
    run: Table, path: str | Path, name: str | None = None, form: run_writing.RunForm = "lab"
) -> None:
    """Write a run as the labs, or TREC, want it; every row has `name`.

    Rows are put in the order of their scores, and equal scores are lowered by the least that
    leaves no tie, so that the file scores what the run does; rows that repeat a document are left
    out. The manifest of a run that an index made, or that was read, goes with it (in `attrs`, which
    `assign` and selections keep): a run of another name was made from that one. Raises InputError
    if it cannot be written.
    """
    run = table(run, "run", "qid", "docno", "score")
    path = Path(path)
    read = Run(path, _task_of(run), _rows(run))
    name = name or run.attrs.get("name") or official_stem(path)
    manifest = run.attrs.get("manifest")
    if manifest and manifest.get("tag") != name:
        data = manifest.get("data")
        manifest = {"version": __version__, "tag": name, "data": data, "made from": manifest}

    hits = run_writing.hits_of(read)
    run_writing.write_run(path, hits, name, read.task, form, manifest, by_user=True)


def run_frame(ranked: Iterable[tuple[str, Sequence[Hit]]], task: RunTask) -> pd.DataFrame:
    """Return the hits of every topic as a run of the task."""
    rows = []
    for qid, hits in ranked:
        scores = run_writing.separated([hit.score for hit in hits])
        for rank, (hit, score) in enumerate(zip(hits, scores, strict=True), 1):
            rows.append((qid, hit.doc_id, score, rank, hit.post_id, hit.visual_id, hit.text))

    frame = pd.DataFrame(rows, columns=[*_RANKED, "post_id", "visual_id", "answer"])
    frame = frame.astype({"score": float, "rank": int})
    return frame[[*_RANKED, *RULES[task].hit_columns]]


def rows_of(rows: object, what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame (pandas, polars), or of an iterable of dicts or named tuples.

    What a frame has no value for is None. Raises InputError for anything else.
    """
    if isinstance(rows, pd.DataFrame):
        rows = rows.astype(object).where(rows.notna(), None).to_dict("records")
    elif hasattr(rows, "iter_rows"):  # of polars
        rows = rows.iter_rows(named=True)

    if isinstance(rows, str | Mapping) or not isinstance(rows, Iterable):
        raise _other(what, rows)

    for row in rows:
        fields = row._asdict() if hasattr(row, "_asdict") else row
        if not isinstance(fields, Mapping):
            raise _other(what, fields, f"{_kind(rows)} with ")
        yield {str(name): value for name, value in fields.items()}


def texts_as_rows(texts: object, id_column: str, text_column: str) -> Any:
    """Return texts, in a list or by their ids, as rows; any other table as it is.

    The texts of a list have the ids "1", "2", ….
    """
    if isinstance(texts, list | tuple):
        texts_by_id = {str(number): text for number, text in enumerate(texts, 1)}
    elif isinstance(texts, Mapping):
        texts_by_id = dict(texts)
    else:
        return texts

    if not texts_by_id or not all(isinstance(text, str) for text in texts_by_id.values()):
        return texts
    return [{id_column: name, text_column: text} for name, text in texts_by_id.items()]


def table(rows: Table, what: str, *columns: str) -> pd.DataFrame:
    """Return rows as a frame that has these columns; ids are strings.

    Nested dicts are topic → document → the last of the columns. Raises InputError for anything
    else, and for a column, or a value in one, that is missing.
    """
    nested = isinstance(rows, Mapping) and all(isinstance(row, Mapping) for row in rows.values())
    if isinstance(rows, pd.DataFrame):
        frame = rows
    elif isinstance(rows, Mapping) and nested:
        triples = []
        for qid, of_topic in rows.items():
            triples += [(qid, doc, value) for doc, value in of_topic.items()]
        frame = pd.DataFrame(triples, columns=["qid", "docno", columns[-1]])
    else:
        frame = pd.DataFrame(list(rows_of(rows, what)))

    for name in columns:
        if name not in frame:
            others = [other for other in _CALLED.get(name, ()) if other in frame]
            frame = frame.rename(columns=dict.fromkeys(others[:1], name))

    missing = [name for name in columns if name not in frame]
    if missing:
        has = ", ".join(map(str, frame.columns)) or "none"
        raise InputError(f"{what}: no column {' and no '.join(missing)}; it has {has}")

    for name in columns:
        empty = frame[name].isna()
        if empty.any():
            raise InputError(f"{what}: no {name} in row {int(empty.to_numpy().argmax())}")

    return frame.astype({name: str for name in ("qid", "docno") if name in columns})


def _other(what: str, given: object, inside: str = "") -> InputError:
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
    module, name = type(value).__module__.partition(".")[0], type(value).__name__
    return f"a {name}" if module == "builtins" else f"a {module} {name}"


def _task_of(run: pd.DataFrame) -> RunTask:
    """Return the task that a frame says, by its attrs, its columns or its first topic."""
    task: RunTask | None = run.attrs.get("task")
    if task:
        return task

    for rules in RULES.values():
        if rules.hit_columns and rules.hit_columns[0] in run:
            return rules.task

    of_labs = all(map(is_official, run["qid"].head(1).astype(str)))
    return AnswerRules.task if of_labs else DocumentRules.task


def _rows(run: pd.DataFrame) -> Iterator[RunRow]:
    """Yield the rows of a run as if they stood in a file."""
    defaults: dict[str, Any] = {"rank": 0, "post_id": "", "answer": ""}
    filled = run.assign(**{name: value for name, value in defaults.items() if name not in run})
    rows = filled[["qid", "docno", "rank", "score", "post_id", "answer"]].itertuples(index=False)
    for line, (qid, doc, rank, score, post, answer) in enumerate(rows, 1):
        yield RunRow(
            line, str(qid), str(doc), int(rank), float(score), "", str(post), answer=str(answer)
        )


_cached_ids: Final = cache(FormulaIds.load)
