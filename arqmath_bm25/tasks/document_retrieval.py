"""Retrieval of the user's own documents: JSON lines, TSV, BEIR, ir_datasets, folders of files.

Documents are ranked like the answers of Task 1, by the fields of text, title and tags. They have no
threads, so there is no reranker.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.analysis.analyzer import Analyzer, Terms
from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.analysis.macros import definitions
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.analysis.text import is_undivided
from arqmath_bm25.analysis.tokenizer import tokenizer_version
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.own_documents import (
    QUERIES,
    RowSpan,
    UserDocument,
    corpus_in,
    read_document,
    read_documents,
)
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.core.errors import InputError, NoIndexError, shown
from arqmath_bm25.core.id_table import IdTable, write_ids
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.progress import counted, tell
from arqmath_bm25.core.reading import read_text
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.core.stores import stores
from arqmath_bm25.core.tested import read_numbers, write_checksums
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.writing import sources
from arqmath_bm25.engines.engine import Document as Indexed
from arqmath_bm25.tasks.answers.answer_documents import answer_fields, question_fields
from arqmath_bm25.tasks.cited.cited_documents import (
    REFERENCES,
    STATEMENTS,
    CitedRanker,
    learn_references,
)
from arqmath_bm25.tasks.declaration_ranker import DeclarationRanker
from arqmath_bm25.tasks.document_parts import PartForms, write_parts
from arqmath_bm25.tasks.field_ranker import FieldRanker
from arqmath_bm25.tasks.sealed_blocks import PartContent, run_ends
from arqmath_bm25.tasks.settings import DocumentSettings, kind
from arqmath_bm25.tasks.task import Found, IndexedTask, OpenIndex, Ranker, TopicFile
from arqmath_bm25.tasks.unreadable import read_or_leave_out, settle

_IDS: Final = "documents.ids"  # core/id_table.py
_SPANS: Final = "documents.spans"  # offset and length of the row of each document (int64)
_PER_PART: Final = 2_500  # documents
_LEAST_SHARE: Final = 0.01  # of documents with formulas, for those of queries to be searched for
_KINDS: Final[dict[str, str]] = {
    "html": "HTML of other programs",
    "latex": "LaTeX source",
    "markdown": "Markdown",
    "lean": "Lean",
    "post": "HTML",
    "plain": "plain",
}
_KNOWN_KINDS: Final = {"post", "plain"}  # a collection of these alone needs no report
# Before the name of a kind, as keys of counts.
_OF_KIND, _WORDLESS = "kind: ", "without words: "
_REPAIRED: Final = "of them with commands repaired"  # their backslashes were lost to escapes
_UNDIVIDED: Final = "undivided"
_IN_LEAN: Final = "of them in Lean"
_WITHOUT_WORDS, _WITHOUT_FORMULAS = "of them without words", "of them without formulas"


class DocumentRetrieval(IndexedTask[DocumentSettings]):
    """Ranks the user's own documents."""

    name: ClassVar[str] = "docs"
    model = DocumentSettings
    title = "Documents"
    example = r"Why does $\sum \frac{1}{n}$ diverge?"
    nothing = "No document holds a term of this query."
    topics_are = "queries"
    hits_are = "document"
    lab = "docs"

    @classmethod
    def has_data(cls, collection: Collection) -> bool:
        """Return whether there are documents."""
        return corpus_in(collection.layout.data) is not None

    def fitted(self, collection: Collection) -> Self:
        """Return the task with the macros of `macros.tex` in the directory of the documents."""
        task = super().fitted(collection)
        path = _corpus(collection).with_name("macros.tex")
        if not path.is_file():
            return task

        text = read_text(path)
        macros = [text[begin:end] for begin, end in definitions(text)]
        return task.reading(macros="\n".join(macros))

    def sources(self, collection: Collection) -> list[Path]:
        """Return the file of documents."""
        return [_corpus(collection)]

    @property
    def recipe(self) -> dict[str, Any]:
        """The settings that decide the content of the index, including the regression's."""
        recipe = {**super().recipe, "ridge": self.settings.ridge.model_dump(mode="json")}
        tokenizer = self.settings.analysis.latex.tokenizer
        if tokenizer:
            recipe["tokenizer version"] = tokenizer_version(tokenizer)
        return recipe

    def write_documents(
        self, collection: Collection, place: Path, workers: Workers, forms: PartForms
    ) -> dict[str, int]:
        """Write the indexed fields of every document, and the table of their offsets."""
        path = _corpus(collection)
        spans = _write_table(path, place)

        directory = place.absolute() / DOCUMENTS
        sizes = repeat(1, len(spans))
        ends = run_ends(sizes, _marks(spans), _PER_PART)
        parts = (spans[begin:end] for begin, end in pairwise([0, *ends]))
        documents = partial(_documents, path.absolute(), self.settings)
        content = partial(_content, path.absolute())
        counts: Counter[str] = Counter()
        for of_part in write_parts(documents, parts, directory, workers, forms, content):
            counts.update(of_part)
        if not workers.remote:
            workers.close()  # Idle ones keep their memory; the merge of the parts starts others.
        settle(counts, "documents")
        self._tell_of(counts, collection.given)

        if self.settings.cited:
            ids = IdTable(place / _IDS)
            learnt = place / REFERENCES
            counts[STATEMENTS] = learn_references(collection, path, ids, learnt, self.settings)
        return dict(counts)

    def _tell_of(self, counts: Counter[str], data: Path) -> None:
        """Report the kinds of documents and faulty texts, and forget these counts."""
        found: dict[str, int] = {}
        for source, name in _KINDS.items():
            number = counts.pop(_OF_KIND + source, 0)
            wordless = counts.pop(_WORDLESS + source, 0)
            if number:
                found[source] = number
            if wordless > number // 10:
                tell(
                    f"{data}: no words in {wordless:,} of {counted(number, 'documents')} read as "
                    f"{name}; if there should be some, give --delimiters"
                )

        if not found.keys() <= _KNOWN_KINDS:
            kinds = ", ".join(f"{_KINDS[source]} {number:,}" for source, number in found.items())
            tell(f"{data}: documents by kind: {kinds}")

        undivided = counts.pop(_UNDIVIDED, 0)
        if undivided:
            tell(
                f"{data}: {counted(undivided, 'documents')} in Thai, Lao, Burmese or Khmer, which "
                "have no blanks between words; only whole phrases of them are found"
            )

    def documents(self, collection: Collection) -> Iterator[tuple[str, Indexed]]:
        """Yield the text of every document and its indexed fields."""
        analyzer = Analyzer(self.settings.analysis)
        proofs = self.settings.analysis.text.proofs
        for read, _ in read_documents(_corpus(collection)):
            document = read.marked(self.delimiters)
            title, text = document.contents(self.delimiters, proofs)
            indexed = _indexed(
                document=document,
                title=analyzer(title),
                text=analyzer(text),
                analyzer=analyzer,
                fields=self.settings.fields,
            )
            yield f"{title.text} {text.text}".strip(), indexed

    def topic_files(
        self, collection: Collection, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return the named files of queries; by default the file next to the documents."""
        if chosen:
            paths = [Path(name) for name in chosen]
            return [(path.stem, path) for path in paths]

        path = _corpus(collection).parent / QUERIES
        if not path.is_file():
            if collection.of_files and collection.given.is_dir():
                path = collection.given / QUERIES
            raise InputError(
                f"{path}: no such file; put the queries there, or give --topics FILE.jsonl"
            )

        return [(path.stem, path)]

    def read(self, collection: Collection, folder: str, path: Path) -> TopicFile:
        """Read queries, or topics of the labs."""
        if path.suffix == ".xml":
            return super().read(collection, folder, path)

        queries = [query for query, _ in read_documents(path)]
        own = self._own_documents(queries, collection)
        if own:
            tell(
                f"{path}: {len(own):,} of {counted(len(queries), 'queries')} are documents of the "
                "collection; each is left out of its own hits"
            )

        topics = []
        for query in queries:
            if query.doc_id in own:
                query = query._replace(excluded=(*query.excluded, query.doc_id))
            topics.append(self.marked(_topic(query, self.delimiters)))

        return TopicFile(folder, path, topics)

    def _own_documents(self, queries: Sequence[UserDocument], collection: Collection) -> set[str]:
        """Return the ids of queries that are documents: the same id and the same text."""
        if _store(collection) is None:
            return set()

        table = _table(collection)
        corpus = _corpus(collection)
        own = set()
        for query in queries:
            span = table.span(query.doc_id)
            if span is None:
                continue
            document = read_document(corpus, span)
            if document.text.split() == query.text.split():
                own.add(query.doc_id)

        return own

    def runnable(self, collection: Collection) -> tuple[list[str], str]:
        """Return the variants for which some document of the index has a field, and a note.

        Those that learn from references are left out where the index has none.
        """
        counts = _counts(collection)

        variants = self.variants
        if not counts.get(STATEMENTS):
            variants = [variant for variant in variants if variant not in self.settings.cited]
        if counts.get(_WITHOUT_FORMULAS, 0) < counts.get("documents", 1):
            return variants, ""

        of_words = []
        left_out = []

        for variant in variants:
            kinds = set(map(kind, self.settings.weights(variant)))
            if "text" in kinds:
                of_words.append(variant)
            else:
                left_out.append(variant)

        if not left_out:
            return of_words, ""
        return of_words, f"no document has a formula, so not run: {', '.join(left_out)}"

    def ranker(self, index: OpenIndex) -> Ranker:
        """Return the ranker of documents.

        In a collection with hardly any formulas, the formulas of queries are searched for as words.
        In one with Lean, queries are read as Lean is too.
        """
        settings = self.settings
        lacks_formulas = self._lacks_formulas(index.collection)
        if lacks_formulas:
            latex = settings.analysis.latex.model_copy(update={"form": "raw"})
            analysis = settings.analysis.model_copy(update={"latex": latex})
            settings = settings.model_copy(update={"analysis": analysis})

        by_fields = FieldRanker(index, settings)
        if self._has_lean(index.collection):
            by_fields = DeclarationRanker(index, settings, keep_formulas=not lacks_formulas)
        if not settings.cited:
            return by_fields
        ids = IdTable(index.directory / _IDS)
        return CitedRanker(index, settings, by_fields, ids)

    def _lacks_formulas(self, collection: Collection) -> bool:
        counts = _counts(collection)
        documents = counts.get("documents", 0)
        with_formulas = documents - counts.get(_WITHOUT_FORMULAS, 0)
        return with_formulas < _LEAST_SHARE * documents

    def _has_lean(self, collection: Collection) -> bool:
        counts = _counts(collection)
        in_lean = counts.get(_IN_LEAN, 0)
        return in_lean > _LEAST_SHARE * counts.get("documents", 0)

    def tag(self, variant: str) -> str:
        """Return the tag of the run of a variant."""
        return f"{self.settings.run.team}-{variant}"

    def file_stem(self, tag: str, variant: str) -> str:
        """Return the variant: the folder has the name of the queries."""
        return variant

    def found(self, hit: Hit, collection: Collection) -> Found:
        """Return a document."""
        document = self._read(hit, collection)
        body = document.body(self.delimiters)
        return Found(
            title=document.heading(self.delimiters),
            body=body,
            delimiters=self.delimiters,
            document=document,
        )

    def find(self, docno: str, index: OpenIndex) -> Hit | None:
        """Return a document as a hit without a score, None if there is none."""
        if _table(index.collection).span(docno) is None:
            return None
        return Hit(docno, 0)

    def _read(self, hit: Hit, collection: Collection) -> UserDocument:
        span = _table(collection).span(hit.doc_id)
        if span is None:
            raise InputError(f"{_corpus(collection)}: there is no document {shown(hit.doc_id)}")
        document = read_document(_corpus(collection), span)
        return document.marked(self.delimiters)


class _DocumentTable:
    """Where the row of each document is in the corpus; mapped into memory."""

    def __init__(self, directory: Path) -> None:
        self._ids = IdTable(directory / _IDS)
        self._spans = read_numbers(directory / _SPANS, "<i8").reshape(-1, 2)

    def span(self, doc_id: str) -> RowSpan | None:
        """Return the offset and length of a document's row, None if there is no such document."""
        (row,) = self._ids.find([doc_id]).tolist()
        if row < 0:
            return None
        offset, length = self._spans[row].tolist()
        return offset, length


def _write_table(corpus: Path, directory: Path) -> NDArray[np.int64]:
    """Write where the row of each document is; return the offset and length of each."""
    spans = array("q")

    def ids() -> Iterator[bytes]:
        for document, span in read_documents(corpus):
            spans.extend(span)
            yield document.doc_id.encode()

    write_ids(directory / _IDS, ids())
    written = np.array(spans, "<i8")
    written.tofile(directory / _SPANS)
    write_checksums(directory / _SPANS)
    return written.reshape(-1, 2)


def _store(collection: Collection) -> Path | None:
    """Return the open store of documents, or else one of these documents; None if there is none."""
    if DocumentRetrieval.name in collection.opened:
        return collection.opened[DocumentRetrieval.name]

    (corpus,) = sources([_corpus(collection)])
    for store in stores(collection.directory / DocumentRetrieval.name):
        with suppress(NoIndexError):  # it is damaged
            manifest = Manifest.read(store)
            if manifest and corpus in manifest.sources:
                return store
    return None


def _counts(collection: Collection) -> Mapping[str, int]:
    """Return the counts that were made when the documents were indexed."""
    store = _store(collection)
    if store is None:
        return {}
    manifest = Manifest.read(store)
    if manifest is None:
        return {}
    return manifest.counts


def _table(collection: Collection) -> _DocumentTable:
    store = _store(collection)
    if store is None:
        folder = collection.directory / DocumentRetrieval.name
        raise NoIndexError(f"{folder}: there is no index", DocumentRetrieval.name)
    written_at = (store / _SPANS).stat().st_mtime_ns
    return _open_table(store, written_at)


@lru_cache(maxsize=1)
def _open_table(directory: Path, _: int) -> _DocumentTable:
    return _DocumentTable(directory)


# A process does many parts, and the analyzer remembers the formulas it has read.
_analyzer = lru_cache(maxsize=1)(Analyzer)


def _documents(
    path: Path, settings: DocumentSettings, spans: NDArray[np.int64], counts: Counter[str]
) -> Iterator[Indexed]:
    delimiters = settings.analysis.latex.delimiters
    proofs = settings.analysis.text.proofs
    ngrams = any(field.endswith("_math") for field in settings.fields)
    analyzer = _analyzer(settings.analysis, ngrams)

    def fields(document: UserDocument) -> tuple[UserDocument, Terms, Terms]:
        marked = document.marked(delimiters)
        title, text = marked.contents(delimiters, proofs)
        return marked, analyzer(title), analyzer(text)

    counts[_WITHOUT_WORDS] = 0
    counts[_WITHOUT_FORMULAS] = 0

    for offset, length in spans.tolist():
        read = read_document(path, (offset, length))
        kind = read.kind_under(delimiters)
        counts[_OF_KIND + kind] += 1
        if kind == "lean":
            counts[_IN_LEAN] += 1
        if read.repaired:
            counts[_REPAIRED] += 1
        if is_undivided(read.text):
            counts[_UNDIVIDED] += 1

        read = read._replace(kind=kind)
        empty = read._replace(title="", text="", kind="plain")
        document, title, text = read_or_leave_out(fields, read, empty, read.doc_id, counts)
        if not (text.words.words or title.words.words):
            counts[_WITHOUT_WORDS] += 1
            counts[_WORDLESS + kind] += 1
        if not (text.operators.formulas or title.operators.formulas):
            counts[_WITHOUT_FORMULAS] += 1
        yield _indexed(document, title, text, analyzer, settings.fields)


def _marks(spans: NDArray[np.int64]) -> list[int]:
    """Return a hash of 32 bits of each row: of its length, and that of the row before it."""
    lengths = spans[:, 1]
    before = np.roll(lengths, 1)
    mixed = lengths * 2_654_435_761 + before * 2_246_822_519
    marks: list[int] = (mixed % (1 << 32)).tolist()
    return marks


def _content(path: Path, spans: NDArray[np.int64]) -> PartContent:
    """Return a digest of the rows of a part, and their number."""
    digest = hashlib.sha256(path.suffix.encode())
    with path.open("rb") as file:
        for offset, length in spans.tolist():
            file.seek(offset)
            digest.update(file.read(length))
    return PartContent(digest.hexdigest(), len(spans))


def _indexed(
    document: UserDocument, title: Terms, text: Terms, analyzer: Analyzer, fields: Sequence[str]
) -> Indexed:
    words = Bag([*title.words.words, *text.words.words])  # a document is its title and its text
    bags = question_fields(title, text, document.tags, analyzer)
    bags |= answer_fields(text._replace(words=words))
    return Indexed(document.doc_id, {field: bags[field] for field in fields})


def _corpus(collection: Collection) -> Path:
    path = corpus_in(collection.layout.data)
    if path is None:
        raise InputError(
            f"DATA={collection.layout.data}: there are no documents of your own; give a folder of "
            "files, JSON lines, TSV, CSV, Parquet, a directory with corpus.jsonl, or irds:NAME "
            "(--data)"
        )

    return path


def _topic(query: UserDocument, delimiters: Delimiters) -> Topic:
    topic = Topic(query.doc_id, query.text, tags=query.tags, excluded=query.excluded)
    if query.kind == "lean":
        return topic
    if query.title or query.kind or query.is_html:
        return topic._replace(title=query.title, question=query.body(delimiters))
    return topic
