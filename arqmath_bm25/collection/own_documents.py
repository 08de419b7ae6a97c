"""The user's own documents: JSON lines, TSV, directories in BEIR form, sets of ir_datasets.

A row of JSON has `id` and `text`; the names that BEIR, PyTerrier, ir_datasets and Pyserini give to
these are read as well (row_names.py). It may have `title`, `tags`, `url`, `references` (ids of
other documents) and `kind` (how its text is written: HTML, LaTeX, …). A row of TSV has two columns,
id and text, or three: id, title and text.

Queries are rows of the same form. They may have `excluded_ids`: documents that their rankings must
not contain.

Without `kind`, the text itself shows how it is written (analysis/kinds.py). With `delimiters
latex` or `markdown`, all texts are read as such.

A directory holds the documents in `corpus.jsonl`, the queries in `queries.jsonl`, and the judgments
in `qrels/test.tsv` or `qrels/test.jsonl`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, Self

from arqmath_bm25.analysis.foreign import as_post
from arqmath_bm25.analysis.formal import FORMAL, formal_words
from arqmath_bm25.analysis.html import (
    OWN_KIND,
    Content,
    Delimiters,
    as_body,
    read_source,
    read_text,
    read_title,
    source_html,
    without_macros,
)
from arqmath_bm25.analysis.kinds import Kind, has_delimiter, kind_of
from arqmath_bm25.analysis.sources import with_lost_escapes
from arqmath_bm25.analysis.unmarked import with_formulas
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.collection.row_names import IDS, TEXTS
from arqmath_bm25.core.errors import InputError, shown, some
from arqmath_bm25.core.system import needed_by
from arqmath_bm25.core.writing import complete

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
QRELS = ("qrels/test.tsv", "qrels/test.jsonl")
IRDS = "irds:"  # before the name of a set of ir_datasets
# Some sets have a label for documents that the ranking of a query must not contain. Other labels
# below 0 are judgments: junk, spam, not relevant.
_EXCLUDED = {"bright": -100}
_ENDINGS = (".jsonl", ".tsv")
_ID = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]+")
LONGEST_ID = 512  # bytes of UTF-8; OpenSearch takes no longer ids
_TAG = re.compile(
    r"</(?:p|div|span|li|[uo]l|em|strong|code|pre|a|b|i|h[1-6]|blockquote|t[dhr]|script"
    r"|(?:[a-z]{1,9}:)?math)>|<br\s{0,9}/?>",
    re.IGNORECASE,
)
# Forms of files that are read as HTML or Markdown.
_FORMS = {
    ".htm": "html",
    ".html": "html",
    ".org": "org",
    ".pdf": "pdf",
    ".ptx": "pretext",
    ".rst": "restructuredtext",
    ".typ": "typst",
    ".xhtml": "html",
    ".xml": "pretext",
}
_PERCENT = re.compile(r"(?<!\\)%")  # It begins no comment in a title, which is one line.
PlacedRow = tuple[int, bytes]  # its byte offset in its file, and the row itself
RowReader = Callable[[str, str], "UserDocument"]  # of where a row is, for messages, and its text
encode = json.JSONEncoder(ensure_ascii=False).encode


class UserDocument(NamedTuple):
    """A document or a query of the user."""

    doc_id: str
    text: str
    title: str = ""
    tags: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()  # only of a query: documents that its ranking must not contain
    kind: Kind | None = None  # how the text is written; None: the text itself shows it
    url: str | None = None  # where the document is on the web
    references: tuple[str, ...] = ()  # ids of documents that this one refers to
    as_post: str = ""  # of a part of a file: its text as the HTML of a post
    type: str = ""  # of a part of a file: theorem, section, …
    file: str = ""  # of a part of a file: its path within the folder
    line: int = 0  # where the part begins in the file, in a PDF its page; 0: unknown
    label_ids: Mapping[str, str] = {}  # labels it refers to, with their documents
    repaired: int = 0  # commands that had lost their backslash to an escape of JSON

    def kind_under(self, delimiters: Delimiters) -> Kind:
        """Return the kind of the text; `latex` and `markdown` hold for every document."""
        if delimiters == "latex" or delimiters == "markdown":
            return delimiters
        found = self.kind or kind_of(self.text, delimiters == "auto_latex")
        if delimiters in OWN_KIND or found == "plain":
            return found
        if _TAG.search(self.text):
            return "post"
        return "plain"

    @property
    def is_doubtful(self) -> bool:
        """Whether it is plain text or LaTeX, by the kind of most others."""
        return self.kind_under("auto_latex") != self.kind_under("auto")

    @property
    def place(self) -> str:
        """The file and line of a part, as `a.md:12`; empty if they are unknown."""
        if not self.file or self.line == 0:
            return ""
        if self.is_pdf:
            return f"{self.file}, page {self.line}, words only"
        return f"{self.file}:{self.line}"

    @property
    def source(self) -> str:
        """The name of the file that it is a part of, which may have taken in `file`."""
        name, mark, _ = self.doc_id.partition("#")
        if mark and self.file and "." in name:  # ids of rows seldom are names of files
            return name
        return self.file

    @property
    def is_pdf(self) -> bool:
        """Whether it is a part of a PDF."""
        return self.file.lower().endswith(".pdf")

    def marked(self, delimiters: Delimiters) -> Self:
        """Add dollars around the formulas of plain text that has no delimiters of formulas."""
        may_be = delimiters in OWN_KIND or delimiters == "mathjax"
        if not may_be or self.kind_under(delimiters) != "plain":
            return self
        if has_delimiter(self.title) or has_delimiter(self.text):
            return self

        contents = (Content((self.title,)), Content((self.text,)))
        title, text = with_formulas(*contents)
        return self._replace(title=title.marked(), text=text.marked())

    def body(self, delimiters: Delimiters = "mathjax") -> str:
        """Return the text as the HTML of a post, with the same formulas in it."""
        if self.as_post:
            return self.as_post
        kind = self.kind_under(delimiters)
        if kind == "html":
            return as_post(self.text).body
        if kind == "post":
            return self.text
        if kind == "latex" or kind == "markdown":
            return source_html(self.text, kind)
        if kind in FORMAL:
            return f"<pre><code>{escape(self.text.strip(), quote=False)}</code></pre>"

        return as_body(read_text(self.text, kind, delimiters))

    def contents(self, delimiters: Delimiters, proofs: bool = False) -> tuple[Content, Content]:
        """Return title and text, read by the kind of the text.

        The name of a declaration is part of its text; `proofs` asks for its proof as well.
        """
        kind = self.kind_under(delimiters)
        if kind == "html":
            page = as_post(self.text)
            title = read_title(self.title or page.title, delimiters)
            text = read_text(page.body, "post", delimiters)
        elif kind in FORMAL:
            words = formal_words(self.text, self.title, proofs, kind)
            title = Content(())
            text = Content((words,))
        elif kind == "latex" or kind == "markdown":
            title = read_title(_PERCENT.sub(r"\\%", self.title), kind)
            text = read_source(self.body(delimiters))
        else:
            title = read_title(self.title, delimiters)
            text = read_text(self.text, kind, delimiters)
        return title, text

    def as_read(self, delimiters: Delimiters = "auto") -> dict[str, Any]:
        """Return the words and formulas as they were read, with the kind, type and references."""
        marked = self.marked(delimiters)
        title, text = map(without_macros, marked.contents(delimiters))
        return {
            "id": self.doc_id,
            "title": title.text or self.title,
            "type": self.type or "document",
            "kind": _FORMS.get(Path(self.file).suffix.lower()) or self.kind_under(delimiters),
            "words": text.prose,
            "formulas": [formula.latex for formula in text.formulas],
            "references": list(self.references),
            "tags": list(self.tags),
        }

    def heading(self, delimiters: Delimiters) -> str:
        """Return the title, or the title of the HTML page if the row has none."""
        if self.title or self.kind_under(delimiters) != "html":
            return self.title
        return as_post(self.text).title


def corpus_in(data: Path) -> Path | None:
    """Return the file of documents: DATA, or the corpus in DATA; None if there is none."""
    corpus = data / CORPUS
    if data.is_file() and data.suffix.lower() in _ENDINGS:
        corpus = data
    if corpus.is_file():
        return corpus
    return None


def read_documents(path: Path) -> Iterator[tuple[UserDocument, PlacedRow]]:
    """Read the rows of a file with their offsets.

    Raises InputError for a row that is no document, a row with the id of an earlier one, and a file
    without rows. The message names file and line.
    """
    with path.open("rb") as file:
        yield from _documents(path, file, _reader_of(path))


def _reader_of(path: Path) -> RowReader:
    """Return the reader of the rows of a file."""
    ending = path.suffix.lower()
    if ending == ".tsv":
        return _of_tsv
    if ending == ".csv":
        raise InputError(f"{path}: expected rows with TABs or JSON lines; save it as .tsv")
    return _of_json


def _documents(
    path: Path, rows: Iterable[bytes], reader: RowReader
) -> Iterator[tuple[UserDocument, PlacedRow]]:
    lines = dict[str, int]()
    offset = 0

    for number, line in enumerate(rows, 1):
        row = offset, line
        offset += len(line)
        if not line.strip() or (number == 1 and _is_header(reader, line)):
            continue

        document = _read(path, number, line, reader)
        first = lines.setdefault(document.doc_id, number)
        if first != number:
            raise InputError(
                f"{path}: line {number}: id {shown(document.doc_id)} is that of line {first} too; "
                "give every row its own id"
            )

        yield document, row

    if not lines:
        raise InputError(f"{path}: there are no rows; expected one on each line")


def read_row(path: Path, row: bytes) -> UserDocument:
    """Read the document of one row of a file."""
    return _read(path, 0, row, _reader_of(path))


def _is_header(reader: RowReader, line: bytes) -> bool:
    if reader is not _of_tsv:
        return False
    name, _, _ = line.removeprefix(b"\xef\xbb\xbf").partition(b"\t")
    return name.strip().decode("utf-8", "replace") in IDS


def _read(path: Path, number: int, line: bytes, reader: RowReader) -> UserDocument:
    where = f"{path}: line {number}"
    try:
        text = line.decode("utf-8").lstrip("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"
        ) from None

    document = reader(where, text)
    if not _ID.fullmatch(document.doc_id) or len(document.doc_id.encode()) > LONGEST_ID:
        raise InputError(
            f"{where}: id is {shown(document.doc_id)}; expected text without white space or "
            f"control characters, of at most {LONGEST_ID} bytes"
        )

    return document


def _of_tsv(where: str, line: str) -> UserDocument:
    columns = line.split("\t")
    if len(columns) not in (2, 3):
        hint = ""
        if len(columns) in (5, 6):
            hint = "; this looks like a run"
        raise InputError(
            f"{where}: expected 2 columns (id, text) or 3 (id, title, text) separated by TABs, "
            f"found {len(columns)}{hint}"
        )

    doc_id, *title, text = columns
    return UserDocument(doc_id, text, "".join(title))


def _of_json(where: str, line: str) -> UserDocument:
    from pydantic import ValidationError  # takes a tenth of a second to load

    from arqmath_bm25.collection.json_rows import DocumentRow
    from arqmath_bm25.core.configuration import faults

    try:
        row = DocumentRow.model_validate_json(line)
    except ValidationError as error:
        expected = 'expected a row such as {"id": "1", "text": "A triangle"}'
        raise InputError(f"{where}: {faults(error)}; {expected}") from None

    given = {name: value for name, value in vars(row).items() if value is not None}
    text, repaired = with_lost_escapes(row.text)
    return UserDocument(**given | {"text": text, "repaired": repaired})


def write_corpus(
    rows: Iterable[Mapping[str, Any]], directory: Path, source: Path = Path("documents")
) -> None:
    """Write documents as the corpus of a directory.

    Raises InputError as `read_documents` does, with `source` as the name of the file. Nothing is
    written then.
    """
    _write(directory / CORPUS, _corpus_lines(_noticed(rows, source), source))


def _noticed(rows: Iterable[Mapping[str, Any]], source: Path) -> Iterator[Mapping[str, Any]]:
    """Yield rows as they are, and report at the end which of their members are not read."""
    from arqmath_bm25.core.progress import tell  # rich takes long to load

    names = set[str]()
    for row in rows:
        names.update(row)
        yield row

    unread = sorted(names.difference(IDS, TEXTS, UserDocument._fields, ["excluded_ids"]))
    if unread:
        tell(f"{source}: not read: {some(unread)}; the names are id, title, text, tags")


def corpus_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of the lines that `write_corpus` writes for documents."""
    digest = hashlib.sha256()
    for line in _corpus_lines(rows, Path("documents")):
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _corpus_lines(rows: Iterable[Mapping[str, Any]], source: Path) -> Iterator[str]:
    """Yield documents as the lines of a corpus."""
    lines = (json.dumps(row, default=_as_text).encode() for row in rows)
    for document, _ in _documents(source, lines, _of_json):
        yield corpus_line(document)


def corpus_line(document: UserDocument) -> str:
    """Return a document as a line of a corpus."""
    return encode(document._asdict())


def _as_text(value: object) -> str:
    """Return a value of a row that JSON does not know, such as a date."""
    if isinstance(value, bytes):
        raise InputError(f"a row holds the bytes {value[:20]!r}; expected text, decode them")
    return str(value)


def write_queries(statements: Iterable[Statement], directory: Path) -> None:
    """Write LaTeX statements as queries, and their references as relevant documents."""
    queries = []
    judgments = ["query-id\tcorpus-id\tscore"]
    for each in statements:
        query_id = each.statement_id
        row = {"_id": query_id, "text": each.text, "kind": "latex", "excluded_ids": [query_id]}
        queries.append(encode(row))
        judgments += [f"{query_id}\t{reference}\t1" for reference in each.references]

    _write(directory / QUERIES, queries)
    _write(directory / QRELS[0], judgments)


def write_ir_dataset(name: str, directory: Path) -> None:
    """Write a set of ir_datasets in BEIR form.

    Raises InputError if ir_datasets is not installed, does not know the set, or cannot read it, and
    for a set without documents or without queries.
    """
    with needed_by(f"{IRDS}{name}", "ir-datasets"):
        import ir_datasets

    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise InputError(
            f"{IRDS}{name}: ir_datasets has no set of this name; see ir-datasets.com"
        ) from None

    if not (dataset.has_docs() and dataset.has_queries()):
        raise InputError(f"{IRDS}{name}: this set lacks documents or queries; name one with both")

    try:
        _write_set(dataset, directory, _EXCLUDED.get(name.partition("/")[0]))
    # There may be no connection, or a set may need a library of its own.
    except (ImportError, OSError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{IRDS}{name}: ir_datasets cannot read this set: {reason}") from None


def _write_set(dataset: Any, directory: Path, excluding: int | None) -> None:
    labels = []
    if dataset.has_qrels():
        labels = dataset.qrels_iter()
    excluded = dict[str, list[str]]()
    judged = []
    for label in labels:
        if label.relevance == excluding:
            excluded.setdefault(label.query_id, []).append(label.doc_id)
        else:
            judged.append(f"{label.query_id}\t{label.doc_id}\t{label.relevance}")

    documents = (
        {"_id": doc.doc_id, "title": getattr(doc, "title", "") or "", "text": _text(doc)}
        for doc in dataset.docs_iter()
    )
    _write(directory / CORPUS, map(encode, documents))

    if judged:
        _write(directory / QRELS[0], ["query-id\tcorpus-id\tscore", *judged])

    queries = (
        {
            "_id": query.query_id,
            "text": _text(query),
            "excluded_ids": excluded.get(query.query_id, []),
        }
        for query in dataset.queries_iter()
    )
    _write(directory / QUERIES, map(encode, queries))


def _text(record: Any) -> str:
    text = getattr(record, "text", None)
    if text is None:  # Some sets have other fields, which ir_datasets puts together.
        text = record.default_text()
    return str(text)


def _write(path: Path, lines: Iterable[str]) -> None:
    with complete(path) as file:
        file.writelines(f"{line}\n" for line in lines)
