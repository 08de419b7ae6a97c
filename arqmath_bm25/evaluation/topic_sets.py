"""Scores over parts of the topics: the sets that the labs report by the labels of their topics.

*Dependency* says whether text, formulas or both are needed to judge an answer (the text, formula
and both sets of every year), *Difficulty* how hard the assessor thought the topic, *Category* what
is asked: computation, concept or proof. The labs label the topics of Task 1, `A.n`; those of Task
2, `B.n`, are the same questions.
"""

from collections.abc import Iterable
from pathlib import Path

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.reading import read_csv

CATEGORIES = ("Dependency", "Difficulty", "Category")

TopicInfo = dict[str, dict[str, str]]  # topic -> column -> label


def read_topic_info(*paths: Path) -> TopicInfo:
    """Read the lab's topic labels: CSVs with columns Topic and Dependency, Difficulty, Category.

    Of several files, such as one for each year, every topic has the labels of the last one.
    Raises InputError for a missing or binary file, and for a file without the column Topic or
    without any of the three.
    """
    info = {}
    for path in paths:
        rows = []
        for row in read_csv(path, "topic information file"):
            # Blanks and case of names vary.
            rows.append({name.strip().capitalize(): row[name].strip() for name in row if name})
        names = list(next(iter(rows), ()))
        if "Topic" not in names or not set(CATEGORIES).intersection(names):
            found = ", ".join(names)[:80] or "nothing"
            raise InputError(
                f"{path}: row 1: expected the columns Topic and {', '.join(CATEGORIES)}, "
                f"found {found}"
            )

        for row in rows:
            info[row["Topic"]] = row

    return info


def topic_sets(topics: Iterable[str], info: TopicInfo, column: str) -> dict[str, list[str]]:
    """Return the topics with each label of a column; topics without a label are left out.

    Raises InputError for an unknown column, and if no topic has a label.
    """
    if column not in CATEGORIES:
        raise InputError(f"{shown(column)}: topics are grouped by {', '.join(CATEGORIES)}")

    sets = dict[str, list[str]]()
    for topic in topics:
        same_in_task1 = topic.replace("B.", "A.", 1)
        labels = info.get(topic) or info.get(same_in_task1, {})
        label = labels.get(column)
        if label:
            sets.setdefault(label, []).append(topic)

    if not sets:
        raise InputError("the topic information is about none of the judged topics")
    return dict(sorted(sets.items()))
