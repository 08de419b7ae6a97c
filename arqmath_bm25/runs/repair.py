"""A run made valid: what the lab would refuse, drop or misread is put right and accounted for.

The order of a ranking is kept as it is evaluated: trec_eval's, by score and then by id, both
descending. Nothing is invented: what cannot be understood or may not be returned is left out.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import IO, TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.analysis.answer_text import shorten, unpaired_dollars
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import complete
from arqmath_bm25.core.labs import MAX_ANSWER, MAX_DEPTH, official_stem, parse_run_name
from arqmath_bm25.runs.findings import Findings
from arqmath_bm25.runs.form import read_strictly
from arqmath_bm25.runs.rules import first_rows, is_topic, read_table
from arqmath_bm25.runs.run_files import AnswerRow, answer_writer, separated

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.core.labs import LabTask
    from arqmath_bm25.runs.eligible import Eligible
    from arqmath_bm25.runs.run_table import RunTable, TopicRows

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
    task: LabTask,
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
    rows = _answers(path, known, changes) if task == "task3" else _rankings(
        path, task, known, eligible, changes
    )  # fmt: skip
    written = 0
    with complete(output) as file:
        write = answer_writer(file) if task == "task3" else partial(_write_row, file)
        for columns in rows:
            write(columns)
            written += 1
        if not written:
            raise InputError(f"{path}: no row of this run is valid; there is nothing to write")
    return +changes


def _write_row(file: IO[str], columns: Iterable[object]) -> None:
    file.write("\t".join(map(str, columns)) + "\n")


def _note_form(findings: Findings, changes: Changes) -> None:
    """Account for what strict reading found: written anew in the lab's form, or left out."""
    for examples, count in findings.by_rule():
        rule = examples[0].rule
        changes[_REWRITTEN.get(rule, f"left out: {rule}")] += count


def _rankings(
    path: Path, task: LabTask, topics: set[str] | None, eligible: Eligible | None, changes: Changes
) -> Iterator[tuple[object, ...]]:
    """Yield the columns of the repaired rows of a Task 1 or Task 2 run."""
    findings = Findings()
    table = read_table(path, task, findings)
    _note_form(findings, changes)
    run_id = next(filter(None, table.run_ids), path.stem)
    changes["given the one run id"] += len(table) - table.run_ids.get(run_id, 0)
    for topic in table.topics():
        if not _keep_topic(topic.topic_id, len(topic.line), task, topics, changes):
            continue
        rows = _eligible_rows(path, topic, table, task, eligible, changes)
        first = first_rows(rows.doc)
        changes["left out: duplicate"] += len(rows.doc) - len(first)
        yield from _in_order(rows.take(first), table, task, run_id, changes)


def _keep_topic(
    topic: str, rows: int, task: LabTask, topics: set[str] | None, changes: Changes
) -> bool:
    if not is_topic(topic, task):
        changes["left out: topic"] += rows
        return False
    if topics is not None and topic not in topics:
        changes["left out: unknown topic"] += rows
        return False
    return True


def _eligible_rows(
    path: Path,
    topic: TopicRows,
    table: RunTable,
    task: LabTask,
    eligible: Eligible | None,
    changes: Changes,
) -> TopicRows:
    """Return the rows whose documents may be returned, Task 2 posts put right."""
    docs, posts = topic.doc.copy(), topic.post.copy()
    kept = []
    for at, (doc, post) in enumerate(zip(docs.tolist(), posts.tolist(), strict=True)):
        if eligible is not None:
            pair = table.name(doc), table.name(post)
            fault = eligible.fault(*pair)
            if fault is not None and fault.repair is not None:
                changes[f"put right: {fault.rule}"] += 1
                pair = fault.repair
                docs[at], posts[at] = map(table.code, pair)
                fault = eligible.fault(*pair)
            if fault is not None:
                changes[f"left out: {fault.rule}"] += 1
                continue
        elif task == "task2" and not table.name(post):
            raise InputError(
                f"{path}: row {topic.line[at]}: no post in TREC's form; with --data it is looked up"
            )
        elif doc < 0 or (task == "task2" and post < 0):
            changes["left out: id"] += 1
            continue
        kept.append(at)
    return topic._replace(doc=docs, post=posts).take(np.array(kept, dtype=np.intp))


def _in_order(
    topic: TopicRows, table: RunTable, task: LabTask, run_id: str, changes: Changes
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a topic in trec_eval's order, ranks from 1, no two scores the same."""
    names = [table.name(code) for code in topic.doc.tolist()]
    scores = np.clip(topic.score, -_HIGHEST, _HIGHEST)
    single = scores.astype(np.float32).tolist()
    order = sorted(range(len(names)), key=lambda at: (single[at], names[at]), reverse=True)
    changes["put in the order of scores"] += sum(at != place for place, at in enumerate(order))
    changes[f"left out: below rank {MAX_DEPTH:,}"] += max(0, len(order) - MAX_DEPTH)
    order = order[:MAX_DEPTH]
    untied = separated([single[at] for at in order])
    for rank, (at, score) in enumerate(zip(order, untied, strict=True), 1):
        changes["given another rank"] += int(topic.rank[at] != rank)
        if score == single[at] and abs(topic.score[at]) <= _HIGHEST:
            written = repr(float(topic.score[at]))
        else:
            written = f"{score:.9g}"
            changes["given a score without a tie"] += 1
        post = (table.name(int(topic.post[at])),) if task == "task2" else ()
        yield (topic.topic_id, names[at], *post, rank, written, run_id)


def _answers(path: Path, topics: set[str] | None, changes: Changes) -> Iterator[tuple[object, ...]]:
    """Yield the columns of the repaired rows of a Task 3 run."""
    findings = Findings()
    rows = [r for r in read_strictly(path, "task3", findings) if isinstance(r, AnswerRow)]
    _note_form(findings, changes)
    run_id = next((row.run_id for row in rows if row.run_id), path.stem)
    seen: set[str] = set()
    for row in rows:
        if not _keep_topic(row.topic_id, 1, "task3", topics, changes):
            continue
        if row.topic_id in seen:
            changes["left out: duplicate"] += 1
            continue
        seen.add(row.topic_id)
        changes["given another rank"] += int(row.rank != 1)
        changes["given the one run id"] += int(row.run_id != run_id)
        changes[f"cut to {MAX_ANSWER:,} characters"] += int(len(row.answer) > MAX_ANSWER)
        changes["dollars without a partner escaped"] += bool(unpaired_dollars(row.answer))
        answer = shorten(row.answer.replace("\t", " ").replace("\n", " "))
        yield (row.topic_id, 1, repr(row.score), run_id, row.sources, answer)
