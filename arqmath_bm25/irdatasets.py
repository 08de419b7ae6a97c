"""A collection for ir_datasets, under `arqmath-bm25/<collection>/<task>[/<year>]`.

Without a year there are documents only; a year adds queries and, where they are published, qrels.
Of the documents ir_datasets keeps a copy beside the indexes, as it does of its own sets. Task 2 is
judged by visual ids, which its documents name.

Importing this module registers the collection that the environment names by ARQMATH_DATA; so
`python -m arqmath_bm25.irdatasets export ID docs` is the command `ir_datasets` with its ids.
"""
# PyTerrier finds the fields to load by their types, so annotations must not be strings here.

import os
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import ir_datasets
from ir_datasets import formats
from ir_datasets.indices import Docstore, PickleLz4FullStore

from arqmath_bm25.analysis.answer_text import answer_text
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.premises import read_premises
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import sources
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import configured, task_class

if TYPE_CHECKING:
    import pandas as pd

    from arqmath_bm25.api import Collection, TaskName


def register_ir_datasets(collection: "Collection") -> list[str]:
    """Make a collection known to ir_datasets in this process, and return the ids.

    Raises InputError if another collection of the same name is known already.
    """
    base = f"arqmath-bm25/{collection.name}"
    place = str(collection.path.absolute())
    if _registered.setdefault(base, place) != place:
        raise InputError(f"{base} is {_registered[base]} already; rename one of the directories")

    datasets = dict[str, list[Any]]()
    for task in _KINDS:
        if not task_class(task).has_data(collection):
            continue

        documents, judged = Documents(collection, task), collection.judged_years(task)
        datasets[f"{base}/{task}"] = [documents]
        for year in collection.years(task):
            parts = [documents, TaskQueries(partial(collection.topics, task, year))]
            if year in judged:
                parts.append(TaskQrels(partial(collection.qrels, task, year), task))
            datasets[f"{base}/{task}/{year}"] = parts

    for name, parts in datasets.items():
        if name not in ir_datasets.registry:
            ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))

    return list(datasets)


_registered: dict[str, str] = {}  # the directory of each collection


class Answer(NamedTuple):
    """An answer and its question; texts have LaTeX between dollars."""

    doc_id: str
    text: str
    title: str  # of the question; empty where the collection lacks it
    question_id: str  # empty where the answer names none
    body: str  # HTML

    def default_text(self) -> str:
        """Return what there is to index."""
        return f"{self.title}\n{self.text}"


class FormulaDoc(NamedTuple):
    """A formula in a post."""

    doc_id: str
    latex: str
    visual_id: str  # the same for all that look alike; qrels name these
    post_id: str

    def default_text(self) -> str:
        """Return what there is to index."""
        return f"${self.latex}$"


class OwnDoc(NamedTuple):
    """A document of the user's own."""

    doc_id: str
    text: str
    title: str

    def default_text(self) -> str:
        """Return what there is to index."""
        return f"{self.title}\n{self.text}".strip()


def _answers(collection: "Collection") -> Iterator[Answer]:
    for thread in collection.posts.threads():
        title = answer_text(thread.question.title or "") if thread.question else ""
        for post in thread.answers:
            text = answer_text(post.body)
            yield Answer(post.post_id, text, title, post.parent_id or "", post.body)


def _formulas(collection: "Collection") -> Iterator[FormulaDoc]:
    for row in read_formulas(collection.layout.formulas()):
        yield FormulaDoc(row.formula_id, row.latex, row.visual_id, row.post_id)


def _premises(collection: "Collection") -> Iterator[formats.GenericDoc]:
    for premise in read_premises(collection.premises.knowledge_base):
        yield formats.GenericDoc(premise.premise_id, premise.text)


def _own_documents(collection: "Collection") -> Iterator[OwnDoc]:
    for document in collection.own_documents():
        yield OwnDoc(document.doc_id, document.text, document.title)


# Task → the class of its documents, and what reads them.
_KINDS: dict["TaskName", tuple[type[Any], "Callable[[Collection], Iterator[Any]]"]] = {
    "task1": (Answer, _answers),
    "task2": (FormulaDoc, _formulas),
    "task3": (Answer, _answers),
    "nlps": (formats.GenericDoc, _premises),
    "docs": (OwnDoc, _own_documents),
}


class Documents(formats.DocstoreBackedDocs):  # type: ignore[misc]  # ir_datasets is untyped
    """The documents of a task, of which ir_datasets keeps a copy in the folder of the indexes.

    `docs_iter()` reads all of them, or a slice, `docs_iter()[:5]`, `docs_iter()[: 1 / 4]`.
    """

    def __init__(self, collection: "Collection", task: "TaskName") -> None:
        self._collection, self._task = collection, task
        super().__init__(self.docs_store, _KINDS[task][0])

    def docs_store(self) -> Docstore:
        """Return a store, which is written when it is first asked."""
        kind, read = _KINDS[self._task]
        files = configured(self._task).index_task.sources(self._collection)
        made_of = crc32(repr(sources(filter(Path.exists, files))).encode())
        copy = self._collection.directory / f"ir_datasets-{kind.__name__.lower()}-{made_of:08x}"
        reader = partial(read, self._collection)
        return PickleLz4FullStore(str(copy), reader, kind, "doc_id", ["doc_id"])

    def docs_count(self) -> int:  # noqa: D102
        return int(self.docs_store().count())


class TopicQuery(NamedTuple):
    """A topic, as `collection.topics` has it; fields that a task lacks are empty."""

    query_id: str
    query: str
    title: str = ""
    question: str = ""  # HTML
    tags: tuple[str, ...] = ()

    def default_text(self) -> str:
        """Return title and question as a text with LaTeX between dollars."""
        return self.query


class TaskQueries(formats.BaseQueries):  # type: ignore[misc]
    """The topics of a year, which are read when they are first asked for."""

    def __init__(self, read: "Callable[[], pd.DataFrame]") -> None:
        self._read = lru_cache(maxsize=1)(read)

    def queries_iter(self) -> Iterator[TopicQuery]:  # noqa: D102
        names = [name for name in ("title", "question", "tags") if name in self._read()]
        for qid, query, *more in self._read()[["qid", "query", *names]].itertuples(index=False):
            yield TopicQuery(qid, query, *more)

    def queries_cls(self) -> type[TopicQuery]:  # noqa: D102
        return TopicQuery

    def queries_count(self) -> int:  # noqa: D102
        return len(self._read())


class TaskQrels(formats.BaseQrels):  # type: ignore[misc]
    """The judgments of a year, which are read when they are first asked for."""

    def __init__(self, read: "Callable[[], pd.DataFrame]", task: "TaskName") -> None:
        self._read, self._task = lru_cache(maxsize=1)(read), task

    def qrels_iter(self) -> Iterator[formats.TrecQrel]:  # noqa: D102
        rows = self._read()[["qid", "docno", "label"]]
        for query_id, doc_id, grade in rows.itertuples(index=False):
            yield formats.TrecQrel(query_id, doc_id, int(grade), "0")

    def qrels_cls(self) -> Any:  # noqa: D102
        return formats.TrecQrel

    def qrels_count(self) -> int:  # noqa: D102
        return len(self._read())

    def qrels_defs(self) -> dict[int, str]:
        """Return the lab's grades; of NLPS every premise of a proof is relevant."""
        return dict(RULES[task_class(self._task).lab].grades)


if place := os.environ.get("ARQMATH_DATA"):
    from arqmath_bm25.api import Collection

    register_ir_datasets(Collection(place))
if __name__ == "__main__":
    ir_datasets.main_cli()
