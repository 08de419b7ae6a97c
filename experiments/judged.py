"""The judgments of 2020 and 2021 of the documents that a collection holds."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from arqmath_bm25.collection.formulas import DELETED, FormulaRow, read_formulas
from arqmath_bm25.evaluation.evaluator import Evaluator
from experiments.results.runner import with_relevant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arqmath_bm25.collection.collection import CollectionFiles
    from arqmath_bm25.core.labs import LabTask, Year
    from arqmath_bm25.evaluation.qrels import Qrels

YEARS: Final[tuple[Year, ...]] = ("2020", "2021")


def judged(collection: CollectionFiles, task: LabTask) -> tuple[Qrels, set[str]]:
    """Return the judgments of the documents of a collection, and its posts of grade 1 or higher.

    Topics without a relevant answer or formula are left out.
    """
    years, posts = judgments_held(collection, task)
    qrels: Qrels = {}
    for year in years.values():
        qrels |= year
    qrels = with_relevant(qrels)
    relevant = {doc for grades in qrels.values() for doc, grade in grades.items() if grade >= 1}
    return qrels, set().union(*(posts[doc] for doc in relevant))


def judgments_held(
    collection: CollectionFiles, task: LabTask, whole: CollectionFiles | None = None
) -> tuple[dict[Year, Qrels], dict[str, set[str]]]:
    """Return the judgments of what a collection holds by year, and the posts of each document.

    Formulas get their visual ids of v3, while the judgments of 2021 have visual ids of v2, and
    those of 2020 instances: a collection that is cut out of a `whole` one may hold another of them.
    """
    names: dict[str, str] = {}  # judged id → that of the result
    older: dict[str, str] = {}
    posts = defaultdict[str, set[str]](set)
    if task == "task2":
        for row in _formulas(collection):
            posts[row.visual_id].add(row.post_id)
            names[row.visual_id] = older[row.old_visual_id] = row.visual_id
    else:
        for thread in collection.origin_site.scan().threads():
            for answer in thread.answers:
                posts[answer.post_id].add(answer.post_id)
                names[answer.post_id] = answer.post_id
    years: dict[Year, Qrels] = {}
    for year in YEARS:
        years[year] = {}
        file = collection.layout.qrels(task, year)
        judgments = Evaluator(whole or collection).judgments(task, file)
        name = older if judgments.ids == "visual_v2" else names
        for topic, grades in judgments.qrels.items():
            held: dict[str, int] = {}
            for doc, grade in grades.items():
                if doc in name:
                    held[name[doc]] = max(grade, held.get(name[doc], 0))
            if held:
                years[year][topic] = held
    return years, posts


def _formulas(collection: CollectionFiles) -> Iterator[FormulaRow]:
    """Yield the formulas that a run may return."""
    for row in read_formulas(collection.layout.formulas()):
        if row.type != "comment" and row.issue not in DELETED:
            yield row
