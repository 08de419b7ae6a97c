"""Posts and questions on pages: safe HTML, MathML, and query terms marked.

Words whose stem the query has are marked, and so are formulas that hold one of its own.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from threading import Lock
from typing import Final

from markupsafe import Markup

from arqmath_bm25.analysis.excerpts import excerpt, length_of
from arqmath_bm25.analysis.html import Content, Delimiters, Formula, expand_macros
from arqmath_bm25.analysis.latex import tokenize
from arqmath_bm25.analysis.macros import Macros, preamble_macros
from arqmath_bm25.analysis.safe_html import FormulaWriter, plain, safe_body, safe_title
from arqmath_bm25.analysis.text import WordAnalyzer
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.own_documents import corpus_in, read_documents
from arqmath_bm25.collection.posts import QUESTION, Post
from arqmath_bm25.pages.latex_to_mathml import render
from arqmath_bm25.pages.source_html import document_html
from arqmath_bm25.runs.task_rules import DocumentRules
from arqmath_bm25.tasks import configured

_LETTERS: Final = re.compile(r"[^\W\d_]{2,}")
_WORD: Final = re.compile(rf"&#?\w+;|{_LETTERS.pattern}")  # of text that is HTML already
_IMG: Final = r'<img\b([^<>"]*(?:"[^"]*"[^<>"]*)*)>'
_PICTURE: Final = re.compile(rf'<a\b[^<>"]*(?:"[^"]*"[^<>"]*)*>\s*{_IMG}\s*</a>|{_IMG}')
_ATTRIBUTE: Final = re.compile(r'(src|alt)="([^"]*)"')
_CACHED: Final = 1 << 15  # words and formulas
_analyze: Final = WordAnalyzer()
_stemming: Final = Lock()  # the analyzer is for one thread at a time
_LEAST_SYMBOLS: Final = 3  # a formula of fewer is in every post
_LIKE: Final = 0.5  # of the symbols of a formula; who has more is like it
_SENTENCE: Final = re.compile(r"(?<=[.?!])\s+|\n")


class PostWriter:
    """Writes posts with the terms of one query marked."""

    def __init__(
        self, query: Sequence[Content] = (), delimiters: Delimiters = "mathjax", macros: str = ""
    ) -> None:
        self._delimiters = delimiters  # of the posts
        self._preamble = macros
        self._terms: set[str] = set()
        self._formulas: set[str] = set()

        for content in query:
            self._terms.update(_stems(content.prose))
            for formula in content.formulas:
                if len(tokenize(formula.latex)) >= _LEAST_SYMBOLS:
                    self._formulas.add(_symbols(formula.latex))

        self._terms.discard("")
        self._symbols = [set(formula.split()) for formula in self._formulas]
        self.asks = len(self._terms), len(self._formulas)  # how many words and formulas it has

    def shares(self, contents: Sequence[Content]) -> tuple[int, int]:
        """Return how many of the query's words and formulas a post has."""
        words: set[str] = set()
        symbols: list[str] = []
        for content in contents:
            words.update(_stems(content.prose))
            symbols += [_symbols(formula.latex) for formula in content.formulas]

        formulas = [asked for asked in self._formulas if _holds_one(symbols, asked)]
        return len(self._terms & words), len(formulas)

    def body(self, html: str, formula_id: str = "") -> Markup:
        """Return a body; the formula with id `formula_id` is marked.

        Pictures become links to them, so that no page asks the network.
        """
        body = safe_body(html, self._marking(formula_id), self.prose, self._delimiters)
        return _trusted(_PICTURE.sub(_link_to_picture, body))

    def title(self, title: str, formula_id: str = "") -> Markup:
        """Return a title; the formula with id `formula_id` is marked."""
        return _trusted(safe_title(title, self._marking(formula_id), self.prose, self._delimiters))

    def content(self, content: Content) -> Markup:
        """Return prose and formulas that were read before."""
        written: list[str] = []
        for piece in expand_macros(content, self._preamble).pieces:
            if isinstance(piece, Formula):
                written.append(self.formula(piece))
            else:
                written.append(self.prose(piece))

        return _trusted("".join(written))

    def passage(self, content: Content, length: int) -> Content:
        """Return some `length` characters from where most of the query is, or from the beginning.

        That is the sentence with most of its words and formulas; of formulas that only share
        symbols with one of the query, the most similar counts.
        """
        sentences = _sentences(content)
        best = max(range(len(sentences)), key=lambda n: self._matches(sentences[n]), default=0)
        pieces: list[str | Formula] = []
        for sentence in sentences[best:]:
            pieces += sentence

        first = self._first_match(pieces)
        skipped = 0
        while skipped < first and length_of(pieces[skipped:first]) > length // 2:
            skipped += 1

        pieces = pieces[skipped:]
        if best or skipped:
            pieces = ["… ", *pieces]
        return excerpt(Content(tuple(pieces)), length)

    def _first_match(self, pieces: Sequence[str | Formula]) -> int:
        """Return the place of the first piece that has a word or formula of the query, else 0."""
        for place, piece in enumerate(pieces):
            if self._matches([piece]):
                return place

        return 0

    def _matches(self, pieces: Sequence[str | Formula]) -> float:
        """Return how many words and formulas of the query some pieces have."""
        content = Content(tuple(pieces))
        matches: float = len(self._terms.intersection(_stems(content.prose)))
        if not (content.formulas and self._symbols):
            return matches

        formulas = [set(_symbols(formula.latex).split()) for formula in content.formulas]

        for asked in self._symbols:
            share = max(len(asked & symbols) / len(asked) for symbols in formulas)
            if share >= _LIKE:
                matches += share

        return matches

    def prose(self, text: str) -> str:
        """Return prose as HTML with the words of the query marked."""
        html = plain(text)
        if not self._terms:
            return html
        return _WORD.sub(self._mark, html)

    def formula(self, formula: Formula, display: bool = False, formula_id: str = "") -> Markup:
        """Return a formula as MathML, marked by its id or if it holds one that was asked for."""
        if not formula.latex:
            return Markup()  # it defined macros only
        html = render(formula.latex, display)
        if formula_id and formula.formula_id == formula_id:
            return _trusted(f'<mark class="found">{html}</mark>')
        if self._has_asked(formula):
            return _trusted(f"<mark>{html}</mark>")
        return _trusted(html)

    def _has_asked(self, formula: Formula) -> bool:
        """Return whether a formula holds one of the query."""
        if not self._formulas:
            return False
        symbols = _symbols(formula.latex)
        return any(asked in symbols for asked in self._formulas)

    def _marking(self, formula_id: str) -> FormulaWriter:
        macros = Macros(preamble_macros(self._preamble))  # and of this post

        def write(formula: Formula, display: bool) -> str:
            latex = macros.expand_macros(formula.latex)
            return self.formula(formula._replace(latex=latex), display, formula_id)

        return write

    def _mark(self, word: re.Match[str]) -> str:
        if _stem(word[0]) in self._terms:
            return f"<mark>{word[0]}</mark>"
        return word[0]


def _trusted(html: str) -> Markup:
    """Mark text as safe HTML for the templates; `safe_html` or `mathml` has written it."""
    return Markup(html)  # noqa: S704


@lru_cache(maxsize=_CACHED)
def _stem(word: str) -> str:
    """Return the stem of a word, or nothing for stop words and entities."""
    if word.startswith("&"):
        return ""
    with _stemming:
        return " ".join(_analyze(word))


def _stems(prose: str) -> Iterator[str]:
    return map(_stem, _LETTERS.findall(prose))


@lru_cache(maxsize=_CACHED)
def _symbols(latex: str) -> str:
    """Return a formula's symbols as lines: one formula holds another if its lines do."""
    return "".join(f"\n{symbol}\n" for symbol in tokenize(latex))


def _holds_one(formulas: Sequence[str], asked: str) -> bool:
    """Return whether one of some formulas holds the one that was asked for."""
    return any(asked in symbols for symbols in formulas)


def _link_to_picture(match: re.Match[str]) -> str:
    attributes = dict(_ATTRIBUTE.findall(match[1] or match[2]))  # as nh3 wrote them: escaped
    name = "picture"
    if attributes.get("alt"):
        name = f"picture: {attributes['alt']}"
    if "src" not in attributes:
        return f"[{name}]"
    rel = "noopener noreferrer nofollow"
    return f'<a class="picture" href="{attributes["src"]}" rel="{rel}">[{name}]</a>'


def _sentences(content: Content) -> list[list[str | Formula]]:
    sentences: list[list[str | Formula]] = [[]]
    for piece in content.pieces:
        if isinstance(piece, Formula):
            sentences[-1].append(piece)
            continue

        begin, *others = _SENTENCE.split(piece)
        sentences[-1].append(begin)
        sentences += [[f" {other}"] for other in others]

    return sentences


def post_reader(
    collection: Collection, ids: Container[str]
) -> tuple[Callable[[str], Post | None], Delimiters, str]:
    """Return a reader of posts (or own documents among `ids`), their delimiters and macros."""
    corpus = corpus_in(collection.layout.data)
    if corpus is None:
        return collection.posts.read, "mathjax", ""

    task = configured(DocumentRules.task).index_task.fitted(collection)
    posts = {}

    for read, _ in read_documents(corpus):
        if read.doc_id in ids:
            document = read.marked(task.delimiters)
            body = document_html(document, task.delimiters)
            title = document.title or read.doc_id
            posts[read.doc_id] = Post(read.doc_id, QUESTION, body, title=title)

    return posts.get, task.delimiters, task.macros


def latex_of(collection: Collection, formula_ids: Iterable[str]) -> dict[str, str]:
    """Return the LaTeX of some formulas of a collection by their ids."""
    wanted = set(formula_ids) - {""}
    if not wanted:
        return {}
    rows = read_formulas(collection.layout.formulas())
    return {row.formula_id: row.latex for row in rows if row.formula_id in wanted}
