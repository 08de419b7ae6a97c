"""Task 1 documents: one per answer, with its question as context.

Every answer carries the terms of its question, because an answer seldom repeats what it was
asked. The fields stay apart, so that a query can weigh them; only those that a variant weighs are
indexed, and `contents`, the answer's own prose: Anserini requires a field of this name, and skips
documents in which it is blank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.analyzer import Analyzer, Terms
from arqmath_bm25.analysis.html import Content
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.engines.engine import Document
from arqmath_bm25.tasks.answers.post_signatures import PartSignatures
from arqmath_bm25.tasks.document_parts import JSON, Form, write_parts

if TYPE_CHECKING:
    from arqmath_bm25.collection.posts import PostTable, Thread

_BAG: Final = ("contents", "question_text", "title_text", "tags")
NOTHING: Final = Bag(("∅",))  # stands for an answer without words; no query holds it

_PER_PART: Final = 5_000  # posts that one process does at a time


def question_fields(
    title: Terms, body: Terms, tags: tuple[str, ...], analyzer: Analyzer
) -> dict[str, Bag]:
    """Terms of a question by field; topics are analysed by this too."""
    return {
        "question_text": body.prose,
        "question_math": body.ngrams,
        "question_operators": body.paths,
        "title_text": title.prose,
        "title_math": title.ngrams,
        "title_operators": title.paths,
        "tags": analyzer(Content((" ".join(tags).replace("-", " "),))).prose,
    }


def answer_fields(text: Terms) -> dict[str, Bag]:
    """Terms of an answer by field."""
    return {
        "contents": text.prose if text.prose.words else NOTHING,
        "answer_math": text.ngrams,
        "answer_operators": text.paths,
    }


def answer_documents(
    threads: Iterable[Thread], analyzer: Analyzer, signatures: PartSignatures
) -> Iterator[Document]:
    """Yield a document for every answer, which shares the fields of its question, if that is there.

    `signatures` gets the formulas of every post.
    """
    for thread in threads:
        context: dict[str, Bag] = {}
        if thread.question and not thread.answers:
            signatures.add()
        elif question := thread.question:
            title = analyzer.title(question.title or "")
            body = analyzer.body(question.body)
            signatures.add(body.paths.formulas, title.paths.formulas)
            context = question_fields(title, body, question.tags, analyzer)
        for answer in thread.answers:
            terms = analyzer.body(answer.body)
            signatures.add(terms.paths.formulas)
            yield Document(answer.post_id, answer_fields(terms), context)


def as_bag(document: Document) -> Document:
    """Put the words of an answer and its question into one field."""
    bags = {**document.own, **document.shared}
    words = [word for field in _BAG if field in bags for word in bags[field].words]
    return Document(document.doc_id, {"contents": Bag(words)})


def write_answer_documents(
    table: PostTable,
    settings: AnalysisSettings,
    fields: tuple[str, ...],
    directory: Path,
    workers: Workers,
    progress: Callable[[int], None] = lambda _: None,
    bag: bool = False,
    forms: Sequence[Form] = JSON,
) -> dict[str, int]:
    """Write documents of all answers of a dump; return what was counted.

    They have the fields of `fields`, or with `bag` only one, for all words of an answer and its
    question. The files do not depend on the number of `workers`, nor their memory on the size of
    the dump: each is sent the places of the posts that it reads. `progress` is told how many posts
    each step did.
    """
    cuts = [0]
    for start in table.thread_starts().tolist():
        if start - cuts[-1] >= _PER_PART:
            cuts.append(start)
    cuts.append(len(table))
    parts = (
        (table.part(begin, end), directory / f"part-{begin:010}.npz")
        for begin, end in pairwise(cuts)
    )
    counts: Counter[str] = Counter()
    documents = partial(_documents, settings, fields, bag)
    written = write_parts(documents, parts, directory, workers, forms)
    for (begin, end), counted in zip(pairwise(cuts), written, strict=True):
        counts.update(counted)
        progress(end - begin)
    return dict(counts)


# A process does many parts, and the analyzer remembers what it met.
_analyzer = lru_cache(maxsize=1)(Analyzer)


def _documents(
    settings: AnalysisSettings,
    fields: tuple[str, ...],
    bag: bool,
    part: tuple[PostTable, Path],
    counts: Counter[str],
) -> Iterator[Document]:
    posts, formulas = part
    analyzer = _analyzer(settings, any(field.endswith("_math") for field in fields))
    counts.update({"answers without a question": 0, "answers without words": 0})
    signatures = PartSignatures()
    question: Mapping[str, Bag] = {}
    shared: Mapping[str, Bag] = {}
    for document in answer_documents(posts.threads(), analyzer, signatures):
        counts["answers without a question"] += not document.shared
        counts["answers without words"] += document.own["contents"] is NOTHING
        if document.shared is not question:
            question = document.shared
            shared = {field: question[field] for field in fields if field in question}
        if bag:
            yield as_bag(document)
        else:
            own = {field: terms for field, terms in document.own.items() if field in fields}
            yield Document(document.doc_id, own, shared)
    signatures.save(formulas)
