"""Retrieval of the user's own documents: JSON lines, TSV, BEIR, ir_datasets, folders of files.

Documents are ranked by the fields of text, title and tags.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Self, cast

import numpy as np

from arqmath_bm25.analysis.analyzer import Analyzer, Terms
from arqmath_bm25.analysis.formal import FORMAL
from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.analysis.kinds import are_mostly_latex
from arqmath_bm25.analysis.macros import definitions
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.analysis.text import is_undivided, words_in
from arqmath_bm25.collection import kept_rows
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import (
    QUERIES,
    UserDocument,
    read_documents,
    read_row,
)
from arqmath_bm25.core.arrays import Ints
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.id_table import IdTable
from arqmath_bm25.core.progress import counted, tell
from arqmath_bm25.core.reading import read_text
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.core.tested import read_numbers
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.engines.engine import Document as Indexed
from arqmath_bm25.engines.flat_build import ROWS
from arqmath_bm25.tasks.cited.cited_documents import (
    STATEMENTS,
    CitedRanker,
    count_statements,
    learnt_store,
)
from arqmath_bm25.tasks.document_fields import NOTHING, analyzer_of, document_fields
from arqmath_bm25.tasks.document_parts import FLAT, PartForms, clear, write_parts
from arqmath_bm25.tasks.document_task import DocumentTask, FieldRanker, as_formal
from arqmath_bm25.tasks.former_index import (
    IDS,
    TABLE,
    FormerIndex,
    row_digest,
    write_counts,
    write_table,
)
from arqmath_bm25.tasks.settings import DocumentSettings, kind
from arqmath_bm25.tasks.task import MOSTLY_LATEX, Found, Ranker, SearchedIndex
from arqmath_bm25.tasks.unreadable import read_or_leave_out, settle
from arqmath_bm25.tasks.written_words import write_words

_PER_PART = 1_000  # documents
_LEAD = 40  # words without stop words with which a document begins
_READ_AS = ("LaTeX, as most others are", "plain text")  # what could be either
_LEAST_SHARE = 0.01  # of documents with formulas, for those of queries to be searched for
_KINDS: dict[str, str] = {
    "html": "HTML of other programs",
    "latex": "LaTeX source",
    "markdown": "Markdown",
    "lean": "Lean",
    "isabelle": "Isabelle",
    "coq": "Coq",
    "post": "HTML",
    "plain": "plain",
}
_KNOWN_KINDS = {"post", "plain"}  # a collection of these alone needs no report
# Before the name of a kind, as keys of counts.
_OF_KIND, _WORDLESS = "kind: ", "without words: "
_REPAIRED = "of them with commands repaired"  # their backslashes were lost to escapes
_UNDIVIDED = "undivided"
_REFERRING = "with references"
_FORMAL = "of them formal"
_SUPPOSED = "of them LaTeX as most others are"
_WITHOUT_WORDS, _WITHOUT_FORMULAS = "of them without words", "of them without formulas"
# Decisions of a build.
_ANY_FORMULA, _FORMULAS, _REFERENCES = "any formula", "formulas", "references"
_DECLARATIONS = "declarations"


class DocumentRetrieval(DocumentTask):
    """Ranks the user's own documents."""

    name = "docs"
    decisive = ("ridge",)
    model = DocumentSettings
    settings: DocumentSettings
    title = "Documents"
    nothing = "No document holds a term of this query."
    topics_are = "queries"
    hits_are = "document"
    lab = "docs"

    @classmethod
    def has_data(cls, collection: CollectionFiles) -> bool:
        """Return whether there are documents."""
        return collection.corpus is not None

    def fitted(self, collection: CollectionFiles) -> Self:
        """Return the task with the macros of `macros.tex` in the directory of the documents.

        A folder has its own weights.
        """
        task = super().fitted(collection)
        if collection.is_imported and Path(str(collection.data)).is_dir():
            task = type(task)(task.settings.of_folder)
        path = collection.documents_file.with_name("macros.tex")
        if not path.is_file():
            return task

        text = read_text(path)
        macros = [text[begin:end] for begin, end in definitions(text)]
        return task.reading(macros="\n".join(macros))

    def sources(self, collection: CollectionFiles) -> list[Path]:
        """Return the file of documents."""
        return [collection.documents_file]

    def write_documents(
        self, collection: CollectionFiles, place: Path, workers: Workers, forms: PartForms
    ) -> dict[str, int]:
        """Write the indexed fields of every document, and the table of their offsets."""
        path = collection.documents_file
        former = None
        if forms == FLAT and collection.is_imported and not workers.remote:
            former = FormerIndex.of(self, collection)
        task, rows, former = self._with_table(collection, place, former)
        directory = place.absolute() / DOCUMENTS
        if former or (directory / ROWS).exists():
            clear(directory, keep_documents=False)
            directory.mkdir()

        lacking = np.ones(len(rows), np.bool_)
        words = Counter[str]()  # word → number of documents
        others: Iterable[Ints] = ()  # whose words are not known
        if forms.cluster:
            # Documents that were read otherwise are others.
            digests = rows[:, 2] ^ (task is not self)
            lacking = forms.cluster.lacking(digests, _ids_in)
            others = _parts(rows[~lacking])
        elif former:
            lacking[former.places[former.places >= 0]] = False
            former.write_remaining(lacking, directory)
            words = former.words

        documents = partial(_documents, path.absolute(), task.settings)
        counts = write_parts(documents, _parts(rows[lacking]), directory, workers, forms)
        if former:
            former.counts.update(counts)
            counts = former.counts
        counts = +counts
        counts.update({_WITHOUT_WORDS: 0, _WITHOUT_FORMULAS: 0})
        if task is not self:
            counts[_SUPPOSED] += 0  # It is the decision, even if no document was doubtful.

        for of_part in workers.map(partial(_words_of, path.absolute(), task.settings), others):
            words.update(of_part)
        write_words(words, place)
        if not workers.remote:
            workers.close()  # Idle ones keep their memory; the merge of the parts starts others.
        settle(counts, "documents")
        write_counts(counts, place)
        self._tell_of(counts, collection.given)

        referring = counts.pop(_REFERRING, 0)
        if self.settings.cited:
            counts[STATEMENTS] = referring
            is_folder = path.with_name(kept_rows.ROWS).exists()  # whose references lead somewhere
            if collection.train or (referring and not is_folder):
                ids = IdTable(place / IDS)
                counts[STATEMENTS] = count_statements(collection, ids, self.settings)
        return dict(counts)

    def _with_table(
        self, collection: CollectionFiles, place: Path, former: FormerIndex | None
    ) -> tuple[Self, Ints, FormerIndex | None]:
        """Write the table of documents; return the task that reads them as most are, and the table.

        The last is the former index, None if all are read anew.
        """
        path = collection.documents_file
        kinds = Counter[str]()
        rows = write_table(path, place, former, kinds)
        if former and not former.is_found_among(rows):
            former = None
            kinds.clear()
            rows = write_table(path, place, None, kinds)
        if former is None:
            return self.supposing(are_mostly_latex(kinds)), rows, None

        counts = former.counts
        before = self.supposing(_SUPPOSED in counts)
        gone = Counter[str]()
        rows_gone = former.rows[former.places < 0]
        for document in _documents(former.corpus, before.settings, rows_gone, gone):
            gone["documents"] += 1
            former.words.subtract(document.words)
        counts.subtract(gone)
        for name in _KINDS:
            kinds[name] += counts[_OF_KIND + name]
        kinds["latex"] -= counts[_SUPPOSED]  # They do not show it.
        kinds["plain"] += counts[_SUPPOSED]

        task = self.supposing(are_mostly_latex(kinds))
        if task.delimiters != before.delimiters:
            now = _READ_AS[task is self]
            tell(f"{collection.given}: read anew: what could be LaTeX is now {now}")
            former = None
        return task, rows, former

    def _tell_of(self, counts: Counter[str], data: str | Path) -> None:
        """Report the kinds of documents and faulty texts, and forget these counts."""
        found = {}
        for source, name in _KINDS.items():
            number = counts.pop(_OF_KIND + source, 0)
            wordless = counts.pop(_WORDLESS + source, 0)
            if number:
                found[source] = number
            if wordless > number // 10:
                tell(
                    f"{data}: no words in {wordless:,} of {counted(number, 'documents')} read as "
                    f"{name}; if there should be some, choose delimiters"
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

    def documents(self, collection: CollectionFiles) -> Iterator[tuple[str, Indexed]]:
        """Yield the text of every document and its indexed fields."""
        analyzer = analyzer_of(self.settings)
        proofs = self.settings.analysis.text.proofs
        delimiters = self.supposing(collection.is_mostly_latex).delimiters
        for read in collection.own_documents():
            title, text = read.marked(delimiters).contents(delimiters, proofs)
            terms = analyzer(title), analyzer(text)
            indexed = _indexed(read, *terms, analyzer, self.settings.fields)
            yield f"{title.text} {text.text}".strip(), indexed

    def decisions(self, counts: Mapping[str, int]) -> dict[str, bool]:
        """Return which kinds of documents are frequent enough to be searched for."""
        least = _LEAST_SHARE * counts["documents"]
        with_formulas = counts["documents"] - counts.get(_WITHOUT_FORMULAS, 0)
        return {
            _ANY_FORMULA: with_formulas > 0,
            _FORMULAS: with_formulas >= least,
            _DECLARATIONS: counts.get(_FORMAL, 0) > least,
            _REFERENCES: bool(counts.get(STATEMENTS)),
            MOSTLY_LATEX: _SUPPOSED in counts,
        }

    def topic_files(
        self, collection: CollectionFiles, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return the named files of queries; by default the file next to the documents."""
        if chosen:
            paths = [Path(name) for name in chosen]
            return [(path.stem, path) for path in paths]

        path = collection.documents_file.parent / QUERIES
        if not path.is_file():
            if collection.is_imported:
                path = Path(collection.given, QUERIES)
            raise InputError(
                f"{path}: no such file; put the queries there, or name their file",
                topics="FILE.jsonl",
            )

        return [(path.stem, path)]

    def read(
        self, collection: CollectionFiles, path: Path, index: SearchedIndex | None = None
    ) -> list[Topic]:
        """Read queries, or topics of the labs."""
        if path.suffix == ".xml":
            return super().read(collection, path)

        queries = [query for query, _ in read_documents(path)]
        texts = {query.doc_id: query.text.split() for query in queries}
        documents: Iterable[UserDocument | None]
        documents = collection.own_documents()
        if index is not None:
            documents = [index.texts.read(doc_id) for doc_id in texts if index.texts.has(doc_id)]
        own = set()  # queries that are documents: the same id and the same text
        for document in documents:
            if document and document.text.split() == texts.get(document.doc_id):
                own.add(document.doc_id)
        if own:
            tell(
                f"{path}: {len(own):,} of {counted(len(queries), 'queries')} are documents of the "
                "collection; each is left out of its own hits"
            )

        is_latex = index is not None and index.manifest.decisions[MOSTLY_LATEX]
        delimiters = self.supposing(is_latex).delimiters
        topics = []
        for query in queries:
            if delimiters == "auto_latex" and query.is_doubtful:
                query = query._replace(kind="latex")
            if query.doc_id in own:
                query = query._replace(excluded=(*query.excluded, query.doc_id))
            topic = Topic(query.doc_id, query.text, tags=query.tags, excluded=query.excluded)
            is_html = query.kind_under("auto") in ("post", "html")
            has_form = query.title or query.kind or is_html
            if has_form and query.kind not in FORMAL:
                topic = topic._replace(title=query.title, question=query.body(delimiters))
            topics.append(self.marked(topic))
        return topics

    def judgments(self, collection: CollectionFiles, topics: Path) -> Path | None:
        """Return the file of judgments in the folder of the documents."""
        return collection.judgments

    def runnable(self, index: SearchedIndex) -> tuple[list[str], str]:
        """Return the variants for which some document of the index has a field, and a note.

        Those that learn from references are left out where the index has none.
        """
        decisions = index.manifest.decisions
        variants = self.variants
        note = ""
        if not decisions[_REFERENCES] or find_spec("sklearn") is None:
            variants = [variant for variant in variants if variant not in self.settings.cited]
        if decisions[_REFERENCES] and variants != self.variants:
            referring = counted(index.manifest.counts[STATEMENTS], "statements")
            note = f"to learn from {referring} with references, pip install 'arqmath-bm25[nlps]'"
        if decisions[_ANY_FORMULA]:
            return variants, note

        weights = self.settings.weights
        of_words = [variant for variant in variants if "text" in map(kind, weights(variant))]
        left_out = ", ".join(variant for variant in variants if variant not in of_words)
        if left_out:
            note = f"no document has a formula, so not run: {left_out}"
        return of_words, note

    def served(self, variant: str, index: SearchedIndex) -> tuple[str, str]:
        """Return a variant, or for one that is not learnt yet the one with the same fields."""
        if variant not in self.settings.cited or learnt_store(index).exists():
            return variant, ""
        fields = self.settings.weights(variant)
        for other in self.variants:
            if other not in self.settings.cited and self.settings.weights(other) == fields:
                return other, f"ranked by {other}: {variant} is learnt by the first run or search"
        return variant, ""

    def ranker(self, index: SearchedIndex) -> Ranker:
        """Return the ranker of documents.

        In a collection with hardly any formulas, the formulas of queries are searched for as words.
        In one with formal declarations, queries are read as these are too.
        """
        decisions = index.manifest.decisions
        settings = self.supposing(decisions[MOSTLY_LATEX]).settings
        has_formulas = decisions[_FORMULAS]
        if not has_formulas:
            latex = settings.analysis.latex.model_copy(update={"form": "raw"})
            analysis = settings.analysis.model_copy(update={"latex": latex})
            settings = settings.model_copy(update={"analysis": analysis})

        read = None
        if decisions[_DECLARATIONS]:
            delimiters = settings.analysis.latex.delimiters
            read = partial(as_formal, delimiters=delimiters, keep_formulas=has_formulas)
        by_fields = FieldRanker(index, settings, read)
        if not settings.cited:
            return by_fields
        return CitedRanker(index, settings, by_fields)

    def file_stem(self, tag: str, variant: str) -> str:
        """Return the variant: the folder has the name of the queries."""
        return variant

    def found(self, hit: Hit, index: SearchedIndex) -> Found:
        """Return a document."""
        document = index.texts.read(hit.doc_id)
        if document is None:
            notice = f"(changed in {index.texts.corpus.name} since it was indexed)"
            return Found(text=notice, is_lost=True)

        delimiters = self.supposing(index.manifest.decisions[MOSTLY_LATEX]).delimiters
        document = document.marked(delimiters)
        body = document.body(delimiters)
        return Found(
            title=document.heading(delimiters),
            body=body,
            delimiters=delimiters,
            document=document,
        )

    def find(self, docno: str, index: SearchedIndex) -> Hit | None:
        """Return a document as a hit without a score, None if there is none."""
        if index.texts.has(docno):
            return Hit(docno, 0)
        return None

    def texts(self, index: SearchedIndex) -> _DocumentTable:
        """Return the table of documents."""
        return _DocumentTable(index.directory, index.collection.documents_file)


class _DocumentTable:
    """Where the row of each document is in the corpus, which stays open; mapped into memory."""

    def __init__(self, directory: Path, corpus: Path) -> None:
        self.corpus = corpus
        self._file = os.open(corpus, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        self.ids = IdTable(directory / IDS)
        self._rows = read_numbers(directory / TABLE, "<i8").reshape(-1, 3)

    def has(self, doc_id: str) -> bool:
        """Return whether there is a document with this id."""
        return bool(self.ids.find([doc_id])[0] >= 0)

    def all(self) -> Iterator[UserDocument]:
        """Yield the documents whose rows have not changed since they were indexed."""
        return filter(None, map(self._at, range(len(self.ids))))

    @cached_property
    def referring(self) -> Mapping[str, Sequence[str]]:
        """The ids of the documents that refer to each document."""
        referring: dict[str, list[str]] = {}
        for document in self.all():
            for other in document.references:
                referring.setdefault(other, []).append(document.doc_id)
        return referring

    @cached_property
    def first_of_file(self) -> Mapping[str, str]:
        """The id of the first document of each file."""
        first: dict[str, str] = {}
        for document in self.all():
            for name in (document.source, document.file):
                first.setdefault(name, document.doc_id)
        return first

    def beside(self, document: UserDocument) -> dict[str, str]:
        """Return the ids of the documents before and after one in its file: `prev` and `next`."""
        (row,) = self.ids.find([document.doc_id]).tolist()
        found = {}
        for place, other in (("prev", row - 1), ("next", row + 1)):
            if document.file and 0 <= other < len(self.ids):
                read = self._at(other)
                if read and read.source == document.source:
                    found[place] = read.doc_id
        return found

    def read(self, doc_id: str) -> UserDocument | None:
        """Return a document; None if its row is not the one that was indexed.

        Raises InputError for an unknown document.
        """
        (row,) = self.ids.find([doc_id]).tolist()
        if row < 0:
            raise InputError(f"{self.corpus}: there is no document {shown(doc_id)}")

        return self._at(row)

    def _at(self, row: int) -> UserDocument | None:
        offset, length, digest = self._rows[row].tolist()
        text = os.pread(self._file, length, offset)
        if row_digest(text) != digest:
            return None
        return read_row(self.corpus, text)


def _documents(
    path: Path, settings: DocumentSettings, spans: Ints, counts: Counter[str]
) -> Iterator[Indexed]:
    delimiters = cast("Delimiters", settings.analysis.latex.delimiters)
    proofs = settings.analysis.text.proofs
    analyzer = analyzer_of(settings)
    names = settings.fields

    def fields(document: UserDocument) -> tuple[Terms, Terms, set[str]]:
        title, text = document.marked(delimiters).contents(delimiters, proofs)
        words = set[str]()
        return analyzer(title, words), analyzer(text, words), words

    counts[_WITHOUT_WORDS] = 0
    counts[_WITHOUT_FORMULAS] = 0

    for row in _rows(path, spans):
        read = read_row(path, row)
        kind = read.kind_under(delimiters)
        counts[_OF_KIND + kind] += 1
        if delimiters == "auto_latex" and read.is_doubtful:
            counts[_SUPPOSED] += 1
        if kind in FORMAL:
            counts[_FORMAL] += 1
        if read.repaired:
            counts[_REPAIRED] += 1
        if is_undivided(read.text):
            counts[_UNDIVIDED] += 1
        if read.references:
            counts[_REFERRING] += 1

        read = read._replace(kind=kind)
        empty = read._replace(title="", text="", kind="plain")
        title, text, words = read_or_leave_out(fields, read, empty, read.doc_id, counts)
        if not (text.words.words or title.words.words):
            counts[_WITHOUT_WORDS] += 1
            counts[_WORDLESS + kind] += 1
        if not (text.operators.formulas or title.operators.formulas):
            counts[_WITHOUT_FORMULAS] += 1
        yield _indexed(read, title, text, analyzer, names)._replace(words=words)


def _ids_in(store: Path, rows: Ints) -> list[str]:
    """Return the ids of documents of a store by their rows."""
    return [doc_id.decode() for doc_id in IdTable(store / IDS).of(rows)]


def _parts(rows: Ints) -> Iterator[Ints]:
    """Yield rows a part at a time."""
    for begin in range(0, len(rows), _PER_PART):
        yield rows[begin : begin + _PER_PART]


def _words_of(path: Path, settings: DocumentSettings, spans: Ints) -> Counter[str]:
    """Return word → number of documents, for documents that are not written."""
    delimiters = settings.analysis.latex.delimiters

    def words(row: bytes) -> set[str]:
        marked = read_row(path, row).marked(delimiters)
        title, text = marked.contents(delimiters, settings.analysis.text.proofs)
        return set(words_in(f"{title.prose} {text.prose}"))

    faults = Counter[str]()  # they were told when the part was analysed
    counts = Counter[str]()
    for row in _rows(path, spans):
        counts.update(read_or_leave_out(words, row, b'{"id": "1", "text": ""}', "", faults))
    return counts


def _rows(path: Path, spans: Ints) -> Iterator[bytes]:
    with path.open("rb") as file:
        for offset, length, _ in spans.tolist():
            file.seek(offset)
            yield file.read(length)


def _indexed(
    document: UserDocument, title: Terms, text: Terms, analyzer: Analyzer, fields: Sequence[str]
) -> Indexed:
    bags = document_fields(title, text, document.tags, analyzer)
    bags["contents"] = NOTHING
    words = [*title.words.words, *text.words.words]  # a document is its title and its text
    if words:
        bags["contents"] = Bag(words)
    bags["lead_text"] = Bag(text.words.words[:_LEAD])
    return Indexed(document.doc_id, {field: bags[field] for field in fields})
