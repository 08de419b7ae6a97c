r"""Content → terms, as they go into an index and into queries: one analysis for both.

    terms(r"Why does $\sum \frac1n$ diverge?")  # words and paths through operator trees

gives them to any engine: lists of strings, without pandas, Java or an index. Its settings are the
default ones of Task 1; `Index.analyze` has those of an index.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

import yaml

from arqmath_bm25.analysis.html import (
    Content,
    Delimiters,
    Formula,
    expand_macros,
    read_body,
    read_title,
)
from arqmath_bm25.analysis.latex import arrange, read
from arqmath_bm25.analysis.mathml import source_latex
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.settings import AnalysisSettings, FormulaAnalysisSettings, FormulaField
from arqmath_bm25.analysis.symbol_layout import read_layout
from arqmath_bm25.analysis.terms import Bag, FormulaTree, Lines, Paths, Spelling
from arqmath_bm25.analysis.text import WordAnalyzer
from arqmath_bm25.analysis.tokenizer import load_tokenizer
from arqmath_bm25.analysis.trees import Tree
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.errors import InputError

TermKind = Literal["words", "math", "operators"]  # math: n-grams of LaTeX tokens
_PATHS: Final = Paths(structures=True)  # of operator trees
_CACHED_FORMULAS: Final = 1 << 15  # half of all formulas are repeats; about 30 MB when full


class Terms(NamedTuple):
    """Terms of prose and formulas by kind, spelled out on demand."""

    words: Bag
    math: Bag  # n-grams of tokens of formulas
    operators: Bag  # paths through operator trees; none unless the settings want them


class _Formula(NamedTuple):
    """What the terms of a formula are made of."""

    words: list[str]
    tokens: list[FormulaTree]  # one, or none that is wanted
    trees: list[FormulaTree]


class Analyzer:
    """Turns content into terms by the settings. Thread-safe."""

    def __init__(self, settings: AnalysisSettings, ngrams: bool = True) -> None:
        """Without `ngrams` they are not computed."""
        self._words = WordAnalyzer(settings.text.stemmer, settings.text.stop_words)
        self._latex = settings.latex
        self._ngrams = Lines(*settings.latex.ngrams) if ngrams else None
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
        pieces: Sequence[str | Formula] = expand_macros(content, self._latex.macros).pieces
        formulas: list[_Formula] = []
        if self._latex.form == "symbols":
            formulas = [self._formula(each.latex) for each in pieces if isinstance(each, Formula)]
        elif self._latex.form == "raw":
            pieces = [each if isinstance(each, str) else each.latex for each in pieces]
        words = self._words(" ".join([each for each in pieces if isinstance(each, str)]))
        for formula in formulas:
            words += formula.words
        return Terms(
            Bag(words),
            Bag((), [tokens for formula in formulas for tokens in formula.tokens]),
            Bag((), [tree for formula in formulas for tree in formula.trees]),
        )

    def _read_formula(self, latex: str) -> _Formula:
        items, text = read(latex)
        words = self._words(text) if text else []
        tokens, trees = [], []
        if self._ngrams:
            symbols = self._tokens(latex) if self._tokens else arrange(items)
            tokens.append(FormulaTree(latex, Tree(symbols), self._ngrams))
        if self._latex.operators and len((tree := read_operators(items)).symbols) > 1:
            trees.append(FormulaTree(latex, tree, _PATHS))
        return _Formula(words, tokens, trees)


class FormulaAnalyzer:
    """Turns single formulas into terms by field. Thread-safe."""

    def __init__(self, settings: FormulaAnalysisSettings, fields: Sequence[FormulaField]) -> None:
        self._reads_latex = settings.source == "latex"
        spellings: dict[FormulaField, Spelling] = {
            "contents": Paths(*settings.layout),
            "patterns": Lines(*settings.patterns, places=True),
            "operators": Paths(also_anonymised=True),
            "ngrams": Lines(*settings.ngrams),
            "symbols": Lines(1, 1),
        }
        self._spellings = {field: spellings[field] for field in fields}
        self._words = WordAnalyzer()

    def latex(self, source: str) -> dict[str, list[str]]:
        """Analyse LaTeX without its delimiters; any string is read."""
        return {field: bag.terms.split() for field, bag in self._latex(source).items()}

    def bags(self, source: str) -> dict[str, Bag]:
        """Analyse a formula of the files that the settings name, without spelling its terms out."""
        return self._latex(source if self._reads_latex else source_latex(source))

    def _latex(self, source: str) -> dict[str, Bag]:
        items, text = read(source)
        line = Tree(arrange(items))
        bags: dict[str, Bag] = {}
        for field, spelling in self._spellings.items():
            words: list[str] = []
            if field == "contents":
                # Words stand where they will: `x \text{ if } y` has the term `~t~if`.
                words = [f"~t~{word}" for word in self._words(text)] if text else words
                tree = read_layout(items)
            else:
                tree = read_operators(items) if field == "operators" else line
            bags[field] = Bag(words, (FormulaTree(source, tree, spelling),))
        return bags


def terms(
    text: str,
    kinds: Sequence[TermKind] = ("words", "operators"),
    html: bool = False,
    delimiters: Delimiters = "auto",
) -> list[str]:
    """Return the terms of a text: plain with `$…$` around its formulas, HTML, LaTeX or Markdown.

    They hold no blank, and come kind by kind. What the text is, it says itself; `html` and
    `delimiters` (`latex`, `markdown`, `mathjax`) decide it for all texts. Raises InputError for
    another kind or no text.
    """
    if unknown := [kind for kind in kinds if kind not in Terms._fields]:
        raise InputError(f"kind {unknown[0]!r}: expected any of {', '.join(Terms._fields)}")
    by_kind = analyze(text, html, delimiters=delimiters)
    return [term for kind in kinds for term in by_kind[kind]]


def analyze(
    text: str,
    html: bool = False,
    analyzer: Analyzer | None = None,
    delimiters: Delimiters = "auto",
) -> dict[str, list[str]]:
    """Return the terms of a text as `terms` reads it, by their kind."""
    if not isinstance(text, str):
        raise InputError(f"text: expected a string, not {type(text).__name__}")
    analyzer = analyzer or _default_analyzer(delimiters)
    fields = analyzer.body(text) if html else analyzer.title(text)
    return {kind: bag.terms.split() for kind, bag in fields._asdict().items()}


def tokenize(source: str) -> list[str]:
    """Return the n-grams of the tokens of one formula, in LaTeX without dollars."""
    return _default_analyzer()(Content((Formula(source, None),))).math.terms.split()


@cache
def _default_analyzer(delimiters: Delimiters = "auto") -> Analyzer:
    configured = yaml.safe_load(default_config("task1").read_text(encoding="utf-8"))["analysis"]
    configured["latex"]["delimiters"] = delimiters
    return Analyzer(AnalysisSettings.model_validate(configured))
