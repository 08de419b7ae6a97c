"""Task 1 of a collection for ir_datasets, under `arqmath-bm25/<collection>/task1[/<year>]`.

Answers are read where they lie, in the dump; nothing is copied. Without a year there are documents
only; a year adds queries and, where they are published, qrels.
"""
# PyTerrier finds the fields to load by their types, so annotations must not be strings here.

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import ir_datasets
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, TrecQrel
from ir_datasets.indices import Docstore

from arqmath_bm25.analysis.answer_text import answer_text
from arqmath_bm25.collection.posts import ANSWER, Post, PostTable
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from arqmath_bm25.api import Collection


def register_ir_datasets(collection: "Collection") -> list[str]:
    """Make Task 1 of a collection known to ir_datasets in this process, and return its ids.

    Raises InputError if another collection of the same name is known already.
    """
    table = collection.posts
    base = f"arqmath-bm25/{collection.name}/task1"
    if base in ir_datasets.registry:
        known = ir_datasets.load(base).docs_handler().table.path
        if known != table.path:
            raise InputError(f"{base} is {known} already; rename one of the two directories")
        return [name for name in ir_datasets.registry if f"{name}/".startswith(f"{base}/")]
    answers = Answers(table)
    parts: dict[str, list[object]] = {base: [answers]}
    for year in collection.years("task1"):
        parts[f"{base}/{year}"] = [answers, Queries(collection.topics("task1", year))]
    for year in collection.judged_years("task1"):
        parts[f"{base}/{year}"].append(Qrels(collection.qrels("task1", year)))
    for name, constituents in parts.items():
        ir_datasets.registry.register(name, ir_datasets.Dataset(*constituents))
    return list(parts)


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


class Query(NamedTuple):
    """A topic, as `collection.topics` has it."""

    query_id: str
    query: str
    title: str
    question: str  # HTML
    tags: tuple[str, ...]

    def default_text(self) -> str:
        """Return title and question as a text with LaTeX between dollars."""
        return self.query


class Answers(BaseDocs, Docstore):  # type: ignore[misc]  # ir_datasets is untyped
    """The answers of a table of posts, by thread, and each by its id."""

    def __init__(self, table: PostTable) -> None:
        super().__init__(Answer)
        self.table = table

    def docs_iter(self) -> Iterator[Answer]:
        """Read all answers."""
        for question, answers in self.table.threads():
            for answer in answers:
                yield _answer(answer, question)

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Answer]:
        """Read some answers; ids that are none of an answer are passed over."""
        for doc_id in doc_ids:
            post = self.table.read(doc_id)
            if post and post.post_type == ANSWER:
                yield _answer(post, self.table.read(post.parent_id or ""))

    def docs_store(self) -> Docstore:  # noqa: D102
        return self

    def docs_cls(self) -> type[Answer]:  # noqa: D102
        return Answer

    def docs_count(self) -> int:  # noqa: D102
        return self.table.answer_count

    def docs_namespace(self) -> str:  # noqa: D102
        return "arqmath"

    def docs_lang(self) -> str:  # noqa: D102
        return "en"


def _answer(post: Post, question: Post | None) -> Answer:
    title = answer_text(question.title or "") if question else ""
    return Answer(post.post_id, answer_text(post.body), title, post.parent_id or "", post.body)


class Queries(BaseQueries):  # type: ignore[misc]
    """The topics of a year."""

    def __init__(self, topics: "pd.DataFrame") -> None:
        self._topics = topics[["qid", "query", "title", "question", "tags"]]

    def queries_iter(self) -> Iterator[Query]:  # noqa: D102
        yield from map(Query._make, self._topics.itertuples(index=False))

    def queries_cls(self) -> type[Query]:  # noqa: D102
        return Query

    def queries_count(self) -> int:  # noqa: D102
        return len(self._topics)

    def queries_namespace(self) -> str:  # noqa: D102
        return "arqmath"

    def queries_lang(self) -> str:  # noqa: D102
        return "en"


class Qrels(BaseQrels):  # type: ignore[misc]
    """The judgments of a year."""

    def __init__(self, qrels: "pd.DataFrame") -> None:
        self._qrels = qrels[["qid", "docno", "label"]]

    def qrels_iter(self) -> Iterator[TrecQrel]:  # noqa: D102
        for query_id, doc_id, grade in self._qrels.itertuples(index=False):
            yield TrecQrel(query_id, doc_id, int(grade), "0")

    def qrels_cls(self) -> Any:  # noqa: D102
        return TrecQrel

    def qrels_count(self) -> int:  # noqa: D102
        return len(self._qrels)

    def qrels_defs(self) -> dict[int, str]:
        """Return the lab's grades (guidelines of Task 1)."""
        return {3: "high", 2: "medium", 1: "low", 0: "not relevant"}
