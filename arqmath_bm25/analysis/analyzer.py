"""Content → terms, as they go into an index and into queries: one analysis for both."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.analysis.latex import arrange, as_word, read
from arqmath_bm25.analysis.macros import write_out
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.spellings import Bag, Formula, Lines, Paths
from arqmath_bm25.analysis.text import WordAnalyzer
from arqmath_bm25.analysis.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from arqmath_bm25.analysis.html import Content
    from arqmath_bm25.analysis.settings import AnalysisSettings

_CACHED_FORMULAS = 1 << 15  # half of all formulas are repeats; about 30 MB when full


class Terms(NamedTuple):
    """Terms of prose and of formulas, which become text only where it is asked for."""

    prose: Bag
    ngrams: Bag  # of tokens of formulas
    paths: Bag  # through operator trees; none unless the settings want them

    @property
    def words(self) -> str:
        """Terms of prose, separated by blanks."""
        return self.prose.terms

    @property
    def math(self) -> str:
        """n-grams of formulas, separated by blanks."""
        return self.ngrams.terms

    @property
    def operators(self) -> str:
        """Paths through operator trees, separated by blanks."""
        return self.paths.terms


class _Read(NamedTuple):
    """What a formula says."""

    words: list[str]
    tokens: tuple[Formula, ...]  # one, if it is wanted
    tree: tuple[Formula, ...]  # one, if it is wanted and has a symbol


class Analyzer:
    """Turns content into terms as the settings say. One serves all threads."""

    def __init__(self, settings: AnalysisSettings, ngrams: bool = True) -> None:
        """Without `ngrams` no formula has any, which saves their time."""
        stemmer = settings.text.stemmer
        self._words = WordAnalyzer(None if stemmer == "none" else stemmer, settings.text.stop_words)
        self._latex = settings.latex
        self._ngrams = ngrams
        tokenizer = settings.latex.tokenizer
        self._tokens = load_tokenizer(tokenizer) if tokenizer else None
        self._formula = lru_cache(maxsize=_CACHED_FORMULAS)(self._read_formula)

    def title(self, text: str) -> Terms:
        """Analyse a plain text with mathematics."""
        return self(read_title(text, self._latex.delimiters))

    def body(self, html: str) -> Terms:
        """Analyse HTML."""
        return self(read_body(html, self._latex.delimiters))

    def __call__(self, content: Content) -> Terms:
        """Analyse one field. n-grams do not cross formulas; text in formulas joins the words."""
        prose: list[str] = []
        formulas: list[_Read] = []
        for piece in write_out(content).pieces:
            if isinstance(piece, str):
                prose.append(piece)
            elif self._latex.form == "raw":
                prose.append(piece.latex)
            elif self._latex.form != "none":
                formulas.append(self._formula(piece.latex))
        words = self._words(" ".join(prose))
        for formula in formulas:
            words += formula.words
        return Terms(
            Bag(words),
            Bag(formulas=[tokens for formula in formulas for tokens in formula.tokens]),
            Bag(formulas=[tree for formula in formulas for tree in formula.tree]),
        )

    def _read_formula(self, latex: str) -> _Read:
        items, text = read(latex)
        words = self._words(text) if text else []
        tokens, trees = [], []
        if self._ngrams:
            symbols, joint = self._tokens(latex) if self._tokens else arrange(items), "~"
            if self._latex.form == "words" and not self._tokens:
                symbols, joint = list(map(as_word, symbols)), "_"
            tokens.append(Formula(latex, (symbols, (), ()), Lines(*self._latex.ngrams, joint)))
        if self._latex.operators and len((tree := read_operators(items)).symbols) > 1:
            trees.append(Formula(latex, tree, Paths()))
        return _Read(words, tuple(tokens), tuple(trees))
