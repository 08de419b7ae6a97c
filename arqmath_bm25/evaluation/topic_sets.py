"""Scores over parts of the topics: the sets that the labs report by the labels of their topics.

*Dependency* tells whether text, formulas or both are needed to judge an answer (the text, formula
and both sets of every year), *Difficulty* how hard the assessor thought the topic, *Category* what
is asked: computation, concept or proof. The labs label the topics of Task 1, `A.n`; those of Task
2, `B.n`, are the same questions.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.files import read_text
from arqmath_bm25.core.labs import YEARS

CATEGORIES: Final = ("Dependency", "Difficulty", "Category")

TopicInfo = dict[str, dict[str, str]]  # column -> topic -> label


class TopicSet(NamedTuple):
    """The topics with one label."""

    column: str  # Dependency, Difficulty, Category
    label: str
    topics: tuple[str, ...]


def official_topic_info(data: Path) -> list[Path]:
    """Return the files of labels that a distribution holds, beside its other extras."""
    names = (f"Task1_ARQMath{lab}_Topic_Information.csv" for lab in range(1, len(YEARS) + 1))
    return [path for name in names if (path := data / "extras" / name).is_file()]


def read_topic_info(*paths: Path) -> TopicInfo:
    """Read the lab's topic labels: CSVs with columns Topic and Dependency, Difficulty, Category.

    Of several files, such as those of several years, every topic has the labels of the last one.
    Raises InputError for a missing or binary file, one without the column Topic or without any of
    the three, and a row that is too short.
    """
    info: TopicInfo = {}
    for path in paths:
        for name, labels in _read(path).items():
            info.setdefault(name, {}).update(labels)
    return info


def _read(path: Path) -> TopicInfo:
    table = csv.reader(io.StringIO(read_text(path, "topic information file"), newline=""))
    try:
        rows = [[field.strip() for field in row] for row in table if any(row)]
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV file: {error}") from None
    header = [name.lower() for name in rows[0]] if rows else []
    columns = {name: header.index(name.lower()) for name in CATEGORIES if name.lower() in header}
    if "topic" not in header or not columns:
        raise InputError(
            f"{path}: row 1: expected the columns Topic and {', '.join(CATEGORIES)}, "
            f"found {', '.join(rows[0] if rows else [])[:80] or 'nothing'}"
        )
    topic = header.index("topic")
    for number, row in enumerate(rows[1:], 2):
        if len(row) < len(header):
            raise InputError(
                f"{path}: row {number}: expected {len(header)} columns, found {len(row)}"
            )
    return {
        name: {row[topic]: row[at] for row in rows[1:] if row[at]} for name, at in columns.items()
    }


def topic_sets(
    topics: Iterable[str], info: TopicInfo, columns: Iterable[str] = CATEGORIES
) -> list[TopicSet]:
    """Group topics by the labels of each column; topics without a label are left out.

    Raises InputError for a column that there is not, and if no topic has a label.
    """
    topics = list(topics)
    sets: list[TopicSet] = []
    for column in columns:
        if column not in CATEGORIES:
            raise InputError(f"{shown(column)}: topics are grouped by {', '.join(CATEGORIES)}")
        labels = info.get(column, {})
        of_topic = {t: labels.get(t) or labels.get(t.replace("B.", "A.", 1)) for t in topics}
        sets += [
            TopicSet(column, label, tuple(t for t in topics if of_topic[t] == label))
            for label in sorted({label for label in of_topic.values() if label})
        ]
    if not sets:
        raise InputError("the topic information is about none of the judged topics")
    return sets


def label_means(
    values: Mapping[str, Mapping[str, float]], info: TopicInfo
) -> list[tuple[TopicSet, dict[str, float]]]:
    """Average what runs have over the topics of each label; InputError if no topic has one."""
    return [
        (part, {run: fmean(of_topic[t] for t in part.topics) for run, of_topic in values.items()})
        for part in topic_sets(next(iter(values.values())), info)
    ]
