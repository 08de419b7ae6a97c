"""Describes every file of a distribution, and compares it with the published one.

Files are read once, as streams, dumps in ranges of their bytes and formulas file by file. A file
that cannot be read is reported as such, and the others are still read.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from arqmath_bm25.collection.activity import KINDS, good_rows, is_id
from arqmath_bm25.collection.dump import ParsedRows, scan
from arqmath_bm25.collection.formulas import (
    formula_files,
    read_formula_blocks,
    read_topic_formulas,
)
from arqmath_bm25.collection.published import CATALOGUE, PublishedFile, has_hash
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.core.labs import GRADES, HIGHEST
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers import HERE, Workers

Status = Literal[
    "as published", "differs", "not known", "of the bundled sample", "unreadable", "missing"
]

_DIRECTORIES = ("Collection", "Topics", "Evaluation", "Formulas")  # of the lab
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_JUDGMENT = re.compile(
    rf"([AB]\.\d+)\s+0\s+(\d+)\s+([{''.join(map(str, GRADES))}])(?:\.0)?".encode()
)
_FORMULA_TYPES = ("title", "question", "answer", "comment")
_ISSUES = ("v", "d", "dv")
_SMALL = 1 << 24  # bytes of formulas that are not worth a process


@dataclass
class FileReport:
    """The contents of one file, or of one directory of formula files, in numbers."""

    path: str  # below DATA
    rows: int = 0
    counts: Counter[str] = field(default_factory=Counter)  # of the rows, by what they are
    defects: Counter[str] = field(default_factory=Counter)
    first: str = ""  # date, YYYY-MM-DD
    last: str = ""
    status: Status = "not known"
    problem: str = ""  # why it differs, or cannot be read
    optional: bool = False


def files_in(data: Path) -> dict[str, PublishedFile | None]:
    """Return the published files by their paths below `data`, and further dumps and formulas.

    A raw dump has no directory of the lab, so no published file is reported as missing in it. The
    same is true of the sample.
    """
    files: dict[str, PublishedFile | None] = {}
    if any((data / directory).is_dir() for directory in _DIRECTORIES):
        files = {file.target: file for file in CATALOGUE}
    if data.samefile(SAMPLE):
        files = {path: None for path in files if (data / path).exists()}

    dumps = [*data.glob("*.xml"), *data.glob("Collection/*.xml")]
    others = [path for path in dumps if _root(path.name) in KINDS]
    others += data.glob("Formulas/*_representation_v*/")
    paths = [str(path.relative_to(data)) for path in others]
    for path in sorted(paths):
        files.setdefault(path, None)
    return files


def _root(path: str) -> str:
    name = PurePosixPath(path).name.lower()
    return name.partition(".")[0]


def inspect(
    data: Path, path: str, file: PublishedFile | None, workers: Workers = HERE
) -> FileReport:
    """Report on the file at a path below `data`, compared with a published file."""
    report = FileReport(path, optional=file is not None and file.optional)
    if data.samefile(SAMPLE):
        report.status = "of the bundled sample"
    copy = data / path
    if not copy.exists():
        report.status = "missing"
        return report

    try:
        if path.startswith("Formulas/"):
            formulas = formula_files(copy)
            if sum(file.stat().st_size for file in formulas) <= _SMALL:
                workers = HERE
            for counts, defects in workers.map(_count_formulas, formulas):
                report.counts += counts
                report.defects += defects
            report.rows = report.counts.pop("rows", 0)
        elif path.startswith("Evaluation/"):
            _add_judgments(report, copy)
        elif path.startswith("Topics/") and path.endswith(".tsv"):
            report.rows = sum(1 for _ in read_topic_formulas(copy))
        elif path.startswith("Topics/"):
            report.rows = len(read_topics(copy))
        else:
            _add_dump(report, copy, workers)
    except InterruptedWorkError:
        raise
    except (InputError, OSError) as error:
        report.status = "unreadable"
        report.problem = str(error)
        return report

    if file and file.sha256:
        report.status = "as published"
        if not has_hash(copy, file.sha256):
            report.status = "differs"
            report.problem = f"SHA-256 is not {file.sha256}…"

    return report


@dataclass
class _Range:
    """The contents of a byte range of a dump, in numbers."""

    counts: Counter[str] = field(default_factory=Counter)  # rows, and those left out
    types: Counter[str] = field(default_factory=Counter)
    dates: set[str] = field(default_factory=set)
    ids: array[int] = field(default_factory=partial(array, "q"))
    parents: array[int] = field(default_factory=partial(array, "q"))  # of answers


def _add_dump(report: FileReport, copy: Path, workers: Workers) -> None:
    root = _root(report.path)
    summarize = partial(_summarize, root=root)
    parts = scan(copy, root, summarize, workers)
    dates = set()

    for part in parts:
        report.defects += part.counts
        report.counts += part.types
        dates |= part.dates

    report.rows = report.defects.pop("rows", 0)
    report.first = min(dates, default="")
    report.last = max(dates, default="")

    ids = np.concatenate([part.ids for part in parts])
    distinct = np.unique(ids)
    report.defects["rows with a repeated Id"] = len(ids) - len(distinct)

    parents = np.concatenate([part.parents for part in parts])
    has_question = np.isin(parents, distinct)
    report.defects["answers without their question"] = int((~has_question).sum())
    report.defects = +report.defects


def _summarize(rows: ParsedRows, root: str) -> _Range:
    kind = KINDS[root]
    of_range = _Range()

    for _, row in good_rows(rows, kind, of_range.counts):
        if "Id" in kind.ids:
            of_range.ids.append(int(row["Id"]))

        if kind.type in row:
            name = kind.types.get(row[kind.type], "others")
            of_range.types[name] += 1

        if root == "posts" and row["PostTypeId"] == "2":
            parent = row.get("ParentId", "")
            of_range.parents.append(int(parent) if is_id(parent) else -1)

        date = _DATE.match(row.get(kind.date, ""))
        if date:
            of_range.dates.add(date[0])

    return of_range


def _count_formulas(file: Path) -> tuple[Counter[str], Counter[str]]:
    counts = Counter[str]()
    defects = Counter[str]()

    for block in read_formula_blocks(file):
        counts["rows"] += len(block)
        types = Counter(block.texts("type"))
        for word in _FORMULA_TYPES:
            counts[word] += types[word]
        issues = Counter(block.texts("issue"))
        for word in _ISSUES:
            counts[f"issue {word}"] += issues[word]

        counts["without formula"] += int(block.blank("formula").sum())

        # These rows are left out of an index of formulas.
        wrong = np.minimum(block.numbers("id"), block.numbers("post_id")) < 1
        defects["formulas without id or post"] += int(wrong.sum())

    return counts, defects


def _add_judgments(report: FileReport, copy: Path) -> None:
    pairs = Counter[tuple[bytes, bytes]]()
    for text in filter(None, map(bytes.strip, copy.read_bytes().splitlines())):
        report.rows += 1
        row = _JUDGMENT.fullmatch(text)
        if row:
            pairs[row[1], row[2]] += 1
            report.counts[f"grade {row[3].decode()}"] += 1
        else:
            report.defects[f"rows that are not topic, 0, id, grade 0-{HIGHEST}"] += 1

    report.counts["topics"] = len({topic for topic, _ in pairs})
    report.defects["repeated judgments"] = pairs.total() - len(pairs)
    report.defects = +report.defects
