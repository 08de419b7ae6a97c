"""A collection for ir_datasets, under `arqmath-bm25/<collection>/<task>[/<year>]`.

Without a year there are documents only; a year adds queries and, where they are published, qrels.
Answers and premises are read where they lie; of formulas ir_datasets keeps a copy beside the
indexes, since their files have no order to find one by. Task 2 is judged by visual ids, which its
documents name.

Importing this module registers the collection that the environment names by ARQMATH_DATA; so
`python -m arqmath_bm25.irdatasets export ID docs` is the command `ir_datasets` with its ids.
"""
# PyTerrier finds the fields to load by their types, so annotations must not be strings here.

import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

import ir_datasets
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, TrecQrel
from ir_datasets.indices import Docstore, PickleLz4FullStore

from arqmath_bm25.analysis.answer_text import answer_text
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.posts import ANSWER, Post
from arqmath_bm25.collection.premises import read_premises
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import Task
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import task_class

if TYPE_CHECKING:
    import pandas as pd

    from arqmath_bm25.api import Collection


def register_ir_datasets(collection: "Collection") -> list[str]:
    """Make what a collection has known to ir_datasets in this process, and return the ids.

    Raises InputError if another collection of the same name is known already.
    """
    base = f"arqmath-bm25/{collection.name}"
    place = str(collection.path.absolute())
    if _registered.setdefault(base, place) != place:
        raise InputError(f"{base} is {_registered[base]} already; rename one of the directories")
    known: dict[str, list[Any]] = {}
    for task, open_documents in _DOCUMENTS.items():
        if not task_class(task).has_data(collection):
            continue
        documents, judged = open_documents(collection), collection.judged_years(task)
        known[f"{base}/{task}"] = [documents]
        for year in collection.years(task):
            parts = [documents, Queries(partial(collection.topics, task, year))]
            if year in judged:
                parts.append(Qrels(partial(collection.qrels, task, year), task))
            known[f"{base}/{task}/{year}"] = parts
    for name, parts in known.items():
        if name not in ir_datasets.registry:
            ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
    return list(known)


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


class Formula(NamedTuple):
    """A formula in a post."""

    doc_id: str
    latex: str
    visual_id: str  # the same for all that look alike; qrels name these
    post_id: str

    def default_text(self) -> str:
        """Return what there is to index."""
        return f"${self.latex}$"


class Premise(NamedTuple):
    """A premise of the knowledge base (NLPS)."""

    doc_id: str
    text: str

    def default_text(self) -> str:
        """Return what there is to index."""
        return self.text


class Documents(BaseDocs, Docstore):  # type: ignore[misc]  # ir_datasets is untyped
    """Documents in an order, which are read where they lie: by their number, and by their id."""

    def __init__(
        self, kind: type[Any], count: int, at: Callable[[int], Any], find: Callable[[str], Any]
    ) -> None:
        super().__init__(kind)
        self.kind, self.count, self.at, self.find = kind, count, at, find

    def docs_iter(self) -> "Slice":
        """Read all documents, or those of a slice, `docs_iter()[:5]`, `docs_iter()[: 1 / 4]`."""
        return Slice(self, range(self.count))

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
        """Read some documents; ids of no document are passed over."""
        yield from filter(None, map(self.find, doc_ids))

    def docs_store(self) -> Docstore:  # noqa: D102
        return self

    def docs_cls(self) -> type[Any]:  # noqa: D102
        return self.kind

    def docs_count(self) -> int:  # noqa: D102
        return self.count


class Slice(Iterator[Any]):
    """Some documents, which can be cut further: by numbers, or by shares of all."""

    def __init__(self, documents: Documents, numbers: range) -> None:
        self._documents, self._numbers, self._next = documents, numbers, iter(numbers)

    def __next__(self) -> Any:
        return self._documents.at(next(self._next))

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            return self._documents.at(self._numbers[index(key)])
        start, stop = (
            int(end * len(self)) if isinstance(end, float) else end for end in (key.start, key.stop)
        )
        return Slice(self._documents, self._numbers[start : stop : key.step])


def _answers(collection: "Collection") -> Documents:
    table = collection.posts
    question = lru_cache(maxsize=16)(table.read)  # answers come by thread

    def record(post: Post | None) -> Answer | None:
        if post is None or post.post_type != ANSWER:
            return None
        of = question(post.parent_id or "")
        title = answer_text(of.title or "") if of else ""
        return Answer(post.post_id, answer_text(post.body), title, post.parent_id or "", post.body)

    def at(number: int) -> Answer | None:
        return record(table.answer(number))

    return Documents(Answer, table.answer_count, at, lambda doc_id: record(table.read(doc_id)))


def _premises(collection: "Collection") -> Documents:
    premises = [
        Premise(p.premise_id, p.text) for p in read_premises(collection.premises.knowledge_base)
    ]
    by_id = {premise.doc_id: premise for premise in premises}
    return Documents(Premise, len(premises), premises.__getitem__, by_id.get)


class Formulas(BaseDocs):  # type: ignore[misc]
    """The formulas of the TSV files."""

    def __init__(self, collection: "Collection") -> None:
        self._files = collection.layout.formulas()
        self._copy = collection.directory / "ir_datasets-formulas"

    def _read(self) -> Iterator[Formula]:
        for row in read_formulas(self._files):
            yield Formula(row.formula_id, row.latex, row.visual_id, row.post_id)

    def docs_iter(self) -> Iterator[Formula]:
        """Read all formulas; slices as those of `Documents`."""
        return iter(self.docs_store())

    def docs_store(self) -> Docstore:
        """Return a store, which is written when it is first asked."""
        return PickleLz4FullStore(str(self._copy), self._read, Formula, "doc_id", ["doc_id"])

    def docs_cls(self) -> type[Formula]:  # noqa: D102
        return Formula

    def docs_count(self) -> int:  # noqa: D102
        return int(self.docs_store().count())


_DOCUMENTS: dict[Task, "Callable[[Collection], BaseDocs]"] = {
    "task1": _answers, "task2": Formulas, "task3": _answers, "nlps": _premises,
}  # fmt: skip


class Query(NamedTuple):
    """A topic, as `collection.topics` has it; what a task lacks is empty."""

    query_id: str
    query: str
    title: str = ""
    question: str = ""  # HTML
    tags: tuple[str, ...] = ()

    def default_text(self) -> str:
        """Return title and question as a text with LaTeX between dollars."""
        return self.query


class Queries(BaseQueries):  # type: ignore[misc]
    """The topics of a year, which are read when they are first asked for."""

    def __init__(self, read: "Callable[[], pd.DataFrame]") -> None:
        self._read = lru_cache(maxsize=1)(read)

    def queries_iter(self) -> Iterator[Query]:  # noqa: D102
        names = [name for name in ("title", "question", "tags") if name in self._read()]
        for qid, query, *more in self._read()[["qid", "query", *names]].itertuples(index=False):
            yield Query(qid, query, *more)

    def queries_cls(self) -> type[Query]:  # noqa: D102
        return Query

    def queries_count(self) -> int:  # noqa: D102
        return len(self._read())


class Qrels(BaseQrels):  # type: ignore[misc]
    """The judgments of a year, which are read when they are first asked for."""

    def __init__(self, read: "Callable[[], pd.DataFrame]", task: Task) -> None:
        self._read, self._task = lru_cache(maxsize=1)(read), task

    def qrels_iter(self) -> Iterator[TrecQrel]:  # noqa: D102
        rows = self._read()[["qid", "docno", "label"]]
        for query_id, doc_id, grade in rows.itertuples(index=False):
            yield TrecQrel(query_id, doc_id, int(grade), "0")

    def qrels_cls(self) -> Any:  # noqa: D102
        return TrecQrel

    def qrels_count(self) -> int:  # noqa: D102
        return len(self._read())

    def qrels_defs(self) -> dict[int, str]:
        """Return the lab's grades; of NLPS every premise of a proof is relevant."""
        if RULES[self._task].judged == "premises":
            return {1: "premise"}
        return {3: "high", 2: "medium", 1: "low", 0: "not relevant"}


if place := os.environ.get("ARQMATH_DATA"):
    from arqmath_bm25.api import Collection

    register_ir_datasets(Collection(place))
if __name__ == "__main__":
    ir_datasets.main_cli()
