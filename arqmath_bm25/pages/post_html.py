"""Posts and questions on pages: safe HTML, MathML, and query terms marked.

Words with a stem of the query are marked, and formulas that contain a formula of the query.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from itertools import chain
from threading import Lock

from markupsafe import Markup

from arqmath_bm25.analysis.excerpts import excerpt, length_of
from arqmath_bm25.analysis.html import Content, Delimiters, Formula, expand_macros
from arqmath_bm25.analysis.latex import tokenize
from arqmath_bm25.analysis.macros import Macros, preamble_macros
from arqmath_bm25.analysis.markup import shown
from arqmath_bm25.analysis.safe_html import FormulaWriter, plain, safe_body, safe_title
from arqmath_bm25.analysis.text import WordAnalyzer
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.posts import QUESTION, Post
from arqmath_bm25.core.lazy import expression
from arqmath_bm25.pages.latex_to_mathml import render
from arqmath_bm25.tasks import configured

_LETTERS = expression(r"[^\W\d_]{2,}")

# A word, or an entity, of text that is HTML already.
_WORD = expression(rf"&#?\w+;|{_LETTERS.pattern}")
_IMG = r'<img\b([^<>"]*(?:"[^"]*"[^<>"]*)*)>'
_PICTURE = expression(rf'<a\b[^<>"]*(?:"[^"]*"[^<>"]*)*>\s*{_IMG}\s*</a>|{_IMG}')
_LINK = expression(r'<a href="([^"]*)"[^<>]*>((?>(?:(?!</a>).)*))</a>', re.DOTALL)
_REL = 'rel="noopener noreferrer nofollow"'
_ATTRIBUTE = expression(r'(src|alt)="([^"]*)"')

# How many words, and how many formulas, are kept with their stems and symbols.
_CACHE_SIZE = 1 << 15

# Stemmers are not thread-safe.
_analyze = WordAnalyzer()
_stemmer_lock = Lock()

# Formulas of fewer symbols are in every post, so they are not marked.
_MIN_SYMBOLS = 3

# Formulas that share so much of the symbols of a formula of the query are similar to it.
_MIN_SIMILARITY = 0.5
_SENTENCE = expression(r"(?<=[.?!])\s+|\n")


class PostWriter:
    """Writes posts with the terms of one query marked."""

    def __init__(
        self,
        query: Sequence[Content] = (),
        delimiters: Delimiters = "mathjax",
        macros: str = "",
        picture: Callable[[str], str] = lambda address: "",
        link: Callable[[str], tuple[str, str]] | None = None,
    ) -> None:
        """Mark the terms of `query`.

        `picture` returns where a picture can be shown from. `link` returns the address that a link
        has on this page, or "", and the text of one that has none.
        """
        self._delimiters = delimiters
        self._preamble = macros
        self._picture = picture
        self._link = link
        self._terms: set[str] = set()
        self._formulas: set[str] = set()

        for content in query:
            self._terms.update(_stems(content.prose))
            for formula in content.formulas:
                if len(tokenize(formula.latex)) >= _MIN_SYMBOLS:
                    self._formulas.add(_symbols(formula.latex))

        self._terms.discard("")
        self._symbols = [set(formula.split()) for formula in self._formulas]

        # How many words and formulas the query has.
        self.asks = (len(self._terms), len(self._formulas))

    def shares(self, contents: Sequence[Content]) -> tuple[int, int]:
        """Return how many of the query's words and formulas a post has."""
        words: set[str] = set()
        formulas: list[str] = []
        for content in contents:
            words |= self._terms & _stems_of(content)
            if self._formulas:
                formulas += [_symbols(formula.latex) for formula in content.formulas]

        found = 0
        for query_formula in self._formulas:
            found += any(query_formula in symbols for symbols in formulas)

        return len(words), found

    def body(self, html: str, formula_id: str = "") -> Markup:
        """Return a body; the formula with id `formula_id` is marked.

        Other pictures than the page's own become links, so that no page accesses the network.
        """
        write_formula = self._formula_writer(formula_id)
        body = safe_body(shown(html), write_formula, self.prose, self._delimiters)
        body = _PICTURE.sub(self._write_picture, body)
        if self._link:
            body = _LINK.sub(self._write_link, body)
        return _trusted(body)

    def title(self, title: str, formula_id: str = "") -> Markup:
        """Return a title; the formula with id `formula_id` is marked."""
        write_formula = self._formula_writer(formula_id)
        safe = safe_title(title, write_formula, self.prose, self._delimiters)
        return _trusted(safe)

    def content(self, content: Content) -> Markup:
        """Return prose and formulas that were read before."""
        expanded = expand_macros(content, self._preamble)
        return _trusted(expanded.written(self.formula, self.prose))

    def passage(self, content: Content, length: int) -> Content:
        """Return about `length` characters around the best match of the query.

        The passage begins with the sentence that has most words and formulas of the query; formulas
        that only share symbols with a formula of the query count by their similarity. Without a
        match it is the beginning of the content.
        """
        sentences = content.split(_SENTENCE)  # there is at least one
        for sentence in sentences[1:]:
            sentence[0] = f" {sentence[0]}"
        matches = list(map(self._matches, sentences))
        best = matches.index(max(matches))
        pieces = list(chain.from_iterable(sentences[best:]))

        matching = (index for index, piece in enumerate(pieces) if self._matches([piece]))
        first = next(matching, 0)
        skipped = 0
        while skipped < first and length_of(pieces[skipped:first]) > length // 2:
            skipped += 1

        pieces = pieces[skipped:]
        before = Content(tuple(chain.from_iterable(sentences[:best])))
        if before.text or skipped:
            pieces = ["… ", *pieces]
        return excerpt(Content(tuple(pieces)), length)

    def _matches(self, pieces: Sequence[str | Formula]) -> float:
        """Return how many words and formulas of the query some pieces have."""
        words: set[str] = set()
        formulas = []
        for piece in pieces:
            if isinstance(piece, str):
                words.update(_stems(piece))
            elif self._symbols:
                formulas.append(set(_symbols(piece.latex).split()))

        matches: float = len(self._terms & words)
        if not formulas:
            return matches

        for query_symbols in self._symbols:
            shared = max(len(query_symbols & symbols) for symbols in formulas)
            similarity = shared / len(query_symbols)
            if similarity >= _MIN_SIMILARITY:
                matches += similarity

        return matches

    def prose(self, text: str) -> str:
        """Return prose as HTML with the words of the query marked."""
        html = plain(text)
        if not self._terms:
            return html
        return _WORD.sub(self._mark, html)

    def formula(self, formula: Formula, display: bool = False, formula_id: str = "") -> Markup:
        """Return a formula as MathML, marked by its id or if it contains one of the query."""
        # A formula that only defines macros has become empty.
        if not formula.latex:
            return Markup()

        html = render(formula.latex, display)
        if formula_id and formula.formula_id == formula_id:
            return _trusted(f'<mark class="found">{html}</mark>')
        if any(query_formula in _symbols(formula.latex) for query_formula in self._formulas):
            return _trusted(f"<mark>{html}</mark>")
        return _trusted(html)

    def _formula_writer(self, formula_id: str) -> FormulaWriter:
        """Return a function that writes the formulas of a post one after the other."""
        # Macros that the post defines are added as its formulas are read.
        macros = Macros(preamble_macros(self._preamble))

        def write(formula: Formula, display: bool) -> str:
            latex = macros.expand_macros(formula.latex)
            expanded = formula._replace(latex=latex)
            return self.formula(expanded, display, formula_id)

        return write

    def _mark(self, word: re.Match[str]) -> str:
        if _stem(word[0]) in self._terms:
            return f"<mark>{word[0]}</mark>"
        return word[0]

    def _write_picture(self, match: re.Match[str]) -> str:
        """Return a picture, or a link to it that is named by its alternative text."""
        # nh3 has escaped the values of the attributes.
        attributes = dict(_ATTRIBUTE.findall(match[1] or match[2]))
        text = attributes.get("alt", "")
        name = "picture"
        if text:
            name = f"picture: {text}"
        if "src" not in attributes:
            return f"[{name}]"

        shown_from = self._picture(unescape(attributes["src"]))
        if shown_from:
            return f'<img src="{shown_from}" alt="{text}">'
        address = attributes["src"]
        if self._link:
            address = plain(self._link(unescape(address))[0])
        if not address:
            return f"[{name}]"
        return f'<a class="picture" href="{address}" {_REL}>[{name}]</a>'

    def _write_link(self, match: re.Match[str]) -> str:
        """Return a link with the address that it has on this page, or its text."""
        assert self._link is not None  # noqa: S101
        address, name = self._link(unescape(match[1]))
        text = match[2].strip() or self.title(name)
        if not address:
            return text
        return f'<a href="{plain(address)}" {_REL}>{text}</a>'


def _trusted(html: str) -> Markup:
    """Mark text as safe HTML for the templates; `safe_html` or `mathml` has written it."""
    return Markup(html)  # noqa: S704


@lru_cache(maxsize=_CACHE_SIZE)
def _stem(word: str) -> str:
    """Return the stem of a word, or nothing for stop words and entities."""
    if word.startswith("&"):
        return ""
    with _stemmer_lock:
        return " ".join(_analyze(word))


def _stems(prose: str) -> Iterator[str]:
    """Yield the stem of each word."""
    return map(_stem, _LETTERS.findall(prose))


@lru_cache(maxsize=1 << 11)
def _stems_of(content: Content) -> set[str]:
    """Return the stems of all words of a text."""
    return set(_stems(content.prose))


@lru_cache(maxsize=_CACHE_SIZE)
def _symbols(latex: str) -> str:
    """Return a formula's symbols as lines: one formula contains another if its lines do."""
    lines = [f"\n{symbol}\n" for symbol in tokenize(latex)]
    return "".join(lines)


def post_reader(
    collection: CollectionFiles, ids: Container[str]
) -> tuple[Callable[[str], Post | None], Delimiters, str]:
    """Return a reader of posts (or own documents among `ids`), their delimiters and macros."""
    if collection.run_task is None:
        # Each is asked for several times.
        return lru_cache(maxsize=1 << 12)(collection.posts.read), "mathjax", ""

    task = configured(collection.run_task).index_task.fitted(collection)
    task = task.supposing(collection.is_mostly_latex)
    posts = {}

    for source in collection.own_documents():
        doc_id = source.doc_id
        if doc_id in ids:
            document = source.marked(task.delimiters)
            body = document.body(task.delimiters)
            title = document.title or doc_id
            posts[doc_id] = Post(doc_id, QUESTION, body, title=title)

    return posts.get, task.delimiters, task.macros


def latex_of(collection: CollectionFiles, formula_ids: Iterable[str]) -> dict[str, str]:
    """Return the LaTeX of some formulas of a collection by their ids."""
    ids = set(formula_ids) - {""}
    if not ids:
        return {}

    latex = {}
    for row in read_formulas(collection.layout.formulas()):
        if row.formula_id in ids:
            latex[row.formula_id] = row.latex
    return latex
