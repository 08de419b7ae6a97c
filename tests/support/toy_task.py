"""A task as someone would add it: questions that are like a question, with the fields of Task 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.posts import POST_TABLE, PostTable
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.engines.engine import Document
from arqmath_bm25.tasks.answers.answer_retrieval import AnswerRetrieval
from arqmath_bm25.tasks.document_fields import NOTHING, document_fields
from arqmath_bm25.tasks.document_parts import write_parts
from arqmath_bm25.tasks.task import Found

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from arqmath_bm25.analysis.settings import AnalysisSettings
    from arqmath_bm25.collection.collection import CollectionFiles
    from arqmath_bm25.core.records import Hit
    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.tasks.document_parts import PartForms
    from arqmath_bm25.tasks.task import SearchedIndex


class QuestionRetrieval(AnswerRetrieval):
    """Questions, ranked for the topics of Task 1."""

    name: ClassVar[str] = "questions"
    nothing = "No question holds a term of this query."

    def write_documents(
        self, collection: CollectionFiles, place: Path, workers: Workers, forms: PartForms
    ) -> dict:
        table = PostTable.scan(collection.layout.posts(), workers)
        table.save(place / POST_TABLE)
        job = (table, self.settings.analysis)
        counted = write_parts(_documents, [job], place / DOCUMENTS, workers, forms)
        return {**table.counts, **counted}

    def account(self, counts: Mapping[str, int]) -> str:
        return f"{counts['documents']:,} of {counts['questions']:,} questions indexed"

    def tag(self, variant: str) -> str:
        return f"questions-{variant}"

    def found(self, hit: Hit, index: SearchedIndex) -> Found:
        post = index.collection.post(hit.doc_id)
        return Found(title=post.title or "", body=post.body, post=post, question=post)


def _documents(job: tuple[PostTable, AnalysisSettings], counts: Counter[str]) -> Iterator[Document]:
    analyzer = Analyzer(job[1])
    for question in filter(None, (thread.question for thread in job[0].threads())):
        title = analyzer(read_title(question.title or ""))
        body = analyzer(read_body(question.body))
        fields = document_fields(title, body, question.tags, analyzer, "question")
        contents = fields["question_text"] if fields["question_text"].words else NOTHING
        yield Document(question.post_id, {"contents": contents, **fields})
