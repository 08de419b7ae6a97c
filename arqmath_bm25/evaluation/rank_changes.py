"""Which documents two runs rank differently for a topic, and why: the parts of their scores.

Parts are shares of the score of the run's best document for the topic, since two configurations may
score on different scales. What a run is made of is said by the manifest beside it: only runs of
this program can be explained, and only while their index is as it was. Of others the moves are
listed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Hit
from arqmath_bm25.runs.provenance import provenance
from arqmath_bm25.tasks import task_class
from arqmath_bm25.tasks.index import Index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.evaluation.evaluator import Scored

    Parts = dict[str, float]  # a field, or evidence as the configuration names it → what it gave


class Move(NamedTuple):
    """A document that two runs rank differently."""

    doc_id: str  # an answer, or a visual id
    grade: int | None  # None: nobody judged it
    ranks: list[int | None]  # in both runs, from 1; None: it is not in the ranking
    parts: list[Parts]  # of its score in both runs, as shares of the best score; may be empty

    def causes(self) -> list[tuple[str, float, float]]:
        """Return what gave how much in the first run and in the second; most change first."""
        old, new = self.parts
        found = [(name, old.get(name, 0.0), new.get(name, 0.0)) for name in {**old, **new}]
        return sorted(found, key=lambda cause: -abs(cause[2] - cause[1]))


def moves(
    collection: Collection, runs: Sequence[Scored], topic: str, depth: int, indexes: Sequence[Path]
) -> tuple[list[Move], list[str]]:
    """Return what moved among the `depth` best documents of two runs of Task 1 or 2 for a topic.

    They come in the order of the second run, with sentences on runs that cannot be explained.
    `indexes` are the directories of the indexes of each run, or one for both. Raises InputError for
    a run of another task, and a topic that neither run has.
    """
    for run in runs:
        if not run.rankings:
            raise InputError(f"{run.file}: moves are listed of runs of Tasks 1 and 2 only")
    rankings = [run.rankings.get(topic, {}) for run in runs]
    if not any(rankings):
        raise InputError(f"{topic}: none of the runs has this topic")
    places = [{doc: rank for rank, doc in enumerate(ranking, 1)} for ranking in rankings]
    near = {doc for ranks in places for doc, rank in ranks.items() if rank <= depth}
    ranks_of = {doc: [ranks.get(doc) for ranks in places] for doc in near}
    moved = sorted(doc for doc, (before, after) in ranks_of.items() if before != after)
    parts: list[list[Parts]] = []
    unexplained = []
    for run, ranking, place in zip(runs, rankings, (indexes[0], indexes[-1]), strict=True):
        data = collection.layout.data if collection.on_site else None
        top = max(ranking.values(), default=1.0)
        try:
            parts.append(_parts(Collection(data, place), run, topic, moved, top))
        except InputError as error:
            parts.append([{}] * len(moved))
            unexplained.append(f"scores are not explained: {error}")
    grades = runs[0].judgments.qrels.get(topic, {})
    found = [
        Move(doc, grades.get(doc), ranks_of[doc], list(of_doc))
        for doc, *of_doc in zip(moved, *parts, strict=True)
    ]
    last = max(map(len, places)) + 1
    found.sort(key=lambda move: [rank or last for rank in move.ranks[::-1]])
    return found, unexplained


def _parts(
    collection: Collection, run: Scored, topic_id: str, docs: Sequence[str], top: float
) -> list[Parts]:
    """Explain the scores of documents in a run."""
    known = provenance(run.file)
    if known.manual:
        raise InputError(f"{run.file}: a manual run, whose queries are not those of the topics")
    try:
        task = task_class(run.task).of(known.settings)
        task.variants.index(known.variant)
    except ValueError:
        raise InputError(
            f"{run.file}: no manifest beside it says how it was made; only runs of this program, "
            "of this version, are explained"
        ) from None
    index = Index.of(task, collection)
    for folder, path in task.topic_files(collection):
        for topic in task.read(collection, folder, path).topics:
            if topic.topic_id == topic_id:
                hits = [Hit(doc, 0, visual_id=doc) for doc in docs]
                explained = index.explain(topic, known.variant, hits)
                return [{part.name: part.score / top for part in parts} for parts in explained]
    raise InputError(f"{topic_id}: no topic file of {collection.layout.data} has this topic")
