"""A run made valid: what the lab would refuse, drop or misread is put right and accounted for.

The order of a ranking is kept as it is evaluated: trec_eval's, by score and then by id, both
descending. Nothing is invented: what cannot be understood or may not be returned is left out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import complete
from arqmath_bm25.core.labs import official_stem, parse_run_name
from arqmath_bm25.runs.findings import Findings
from arqmath_bm25.runs.rules import read_strictly
from arqmath_bm25.runs.run_files import row_writer, separated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.core.labs import Task
    from arqmath_bm25.runs.eligible import Eligible
    from arqmath_bm25.runs.rows import Row
    from arqmath_bm25.runs.run import Run

# trec_eval's 32-bit floats end at 3.4e38; there is room below for scores without ties.
_HIGHEST: Final = 3e38

_REWRITTEN: Final = {
    "line end": "CRLF made LF",
    "separator": "columns parted by single TABs",
    "TREC form": "TREC's form made the lab's",
    "byte order mark": "byte order mark removed",
    "rank form": "rank made a whole number",
    "TAB in answer": "TABs in the answer made blanks",
    "open quote": "quotes doubled",
    "swapped columns": "columns of formula and post put right",
}

Changes = Counter[str]  # what was changed -> in how many rows


def repaired_path(path: Path) -> Path:
    """Name the repaired copy: the official name if it can be told and is free, else .fixed.tsv."""
    stem = official_stem(path)
    stem = stem[:-1] + stem[-1:].upper()  # -p and -a occur
    official = path.with_name(f"{stem}.tsv")
    if parse_run_name(stem) is not None and not official.exists():
        return official
    return path.with_name(f"{path.stem}.fixed.tsv")


def repair(
    path: Path,
    output: Path,
    task: Task,
    labs: Sequence[Collection[str]] = (),
    eligible: Eligible | None = None,
) -> Changes:
    """Write a valid copy of a run and return what was changed, in rows.

    Topics of none of the `labs` and documents that are not `eligible` are left out, if these are
    given. `output` appears only when it is complete. Raises InputError for a file that is no
    text, of which nothing is left, or that `output` would overwrite.
    """
    if output.exists() and output.samefile(path):
        raise InputError(f"{output}: the repaired copy would overwrite the run; name another file")
    changes: Changes = Counter()
    known = {topic for lab in labs for topic in lab} if labs else None
    rows = _repaired(path, task, known, eligible, changes)
    written = 0
    with complete(output) as file:
        write = row_writer(file, task)
        for columns in rows:
            write(columns)
            written += 1
        if not written:
            raise InputError(f"{path}: no row of this run is valid; there is nothing to write")
    return +changes


def _repaired(
    path: Path, task: Task, topics: set[str] | None, eligible: Eligible | None, changes: Changes
) -> Iterator[Sequence[object]]:
    """Yield the columns of the repaired rows of a run."""
    findings = Findings()
    run = read_strictly(path, task, findings)
    for examples, count in findings.by_rule():  # written in the lab's form, or left out
        rule = examples[0].rule
        changes[_REWRITTEN.get(rule, f"left out: {rule}")] += count
    run_id = run.name or path.stem
    changes["given the one run id"] += len(run) - run.run_ids[run_id]
    for topic, rows in run.topics.items():
        if not run.rules.is_topic(topic):
            changes["left out: topic"] += len(rows)
        elif topics is not None and topic not in topics:
            changes["left out: unknown topic"] += len(rows)
        else:
            kept = _eligible_rows(run, rows, eligible, changes)
            yield from _in_order(run, kept, run_id, changes)


def _eligible_rows(
    run: Run, rows: Sequence[Row], eligible: Eligible | None, changes: Changes
) -> list[Row]:
    """Return the rows whose documents may be returned, Task 2 posts put right."""
    kept = []
    for row in rows:
        if eligible is not None:
            fault = eligible.fault(row.doc_id, row.post_id)
            if fault is not None and fault.repair is not None:
                changes[f"put right: {fault.rule}"] += 1
                row = row._replace(doc_id=fault.repair[0], post_id=fault.repair[1])
                fault = eligible.fault(row.doc_id, row.post_id)
            if fault is not None:
                changes[f"left out: {fault.rule}"] += 1
                continue
        elif run.rules.by_formula and not row.post_id:
            raise InputError(
                f"{run.path}: row {row.line}: no post in TREC's form; with --data it is looked up"
            )
        elif not run.rules.has_plain_ids(row):
            changes["left out: id"] += 1
            continue
        kept.append(row)
    return kept


def _in_order(
    run: Run, rows: Sequence[Row], run_id: str, changes: Changes
) -> Iterator[Sequence[object]]:
    """Yield the rows of a topic that count, ranks from 1, no two scores the same."""
    rows = [row._replace(score=min(max(row.score, -_HIGHEST), _HIGHEST)) for row in rows]
    limit = run.rules.depth
    ordered = run.rules.order(rows)
    written = ordered[:limit]
    changes["left out: duplicate"] += len(rows) - (len(ordered) if limit > 1 else len(written))
    changes["put in the order of scores"] += sum(
        row.line != before.line
        for row, before in zip(ordered, sorted(ordered, key=lambda row: row.line), strict=True)
    )
    if limit > 1:
        changes[f"left out: below rank {limit:,}"] += max(0, len(ordered) - limit)
    single = np.array([row.score for row in written], np.float32).tolist()
    for rank, (row, score, own) in enumerate(
        zip(written, separated(single), single, strict=True), 1
    ):
        changes["given another rank"] += row.rank != rank
        changes["given a score without a tie"] += score != own
        text = repr(row.score) if score == own else f"{score:.9g}"
        yield run.rules.columns(row, rank, text, run_id, changes)
