r"""Content → terms, as they go into an index and into queries: one analysis for both.

    terms(r"Why does $\sum \frac1n$ diverge?")  # words and paths through operator trees

returns a list of strings for any engine, without pandas, Java or an index. It has the default
settings of Task 1; `Index.analyze` has the settings of an index.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

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
_PATHS = Paths(high=2, structures=True)  # of operator trees
# Half of all formulas are repeats. A full cache takes about 30 MB.
_CACHED_FORMULAS = 1 << 15


class Terms(NamedTuple):
    """Terms of prose and formulas by kind, spelled out on demand."""

    words: Bag
    math: Bag  # n-grams of tokens of formulas
    operators: Bag  # paths through operator trees; empty unless the settings ask for them


class Analyzer:
    """Turns content into terms by the settings. Thread-safe."""

    def __init__(self, settings: AnalysisSettings, ngrams: bool = True) -> None:
        """Terms are made by `settings`; without `ngrams`, no n-grams of tokens are computed."""
        self._words = WordAnalyzer(settings.text.stemmer, settings.text.stop_words)
        self._latex = settings.latex
        self._ngrams = None
        if ngrams:
            self._ngrams = Lines(*settings.latex.ngrams)
        self._tokenize = None
        if settings.latex.tokenizer:
            self._tokenize = load_tokenizer(settings.latex.tokenizer)
        self._formula = lru_cache(maxsize=_CACHED_FORMULAS)(self._read_formula)

    def title(self, text: str, written: set[str] | None = None) -> Terms:
        """Analyse a plain text with mathematics."""
        return self(read_title(text, self._latex.delimiters), written)

    def body(self, html: str, written: set[str] | None = None) -> Terms:
        """Analyse HTML."""
        return self(read_body(html, self._latex.delimiters), written)

    def __call__(self, content: Content, written: set[str] | None = None) -> Terms:
        """Analyse one field. n-grams do not cross formulas; text in formulas joins the words.

        The words of its prose, as they are written, are added to `written`.
        """
        prose = []
        formula_words: list[str] = []
        tokens: list[FormulaTree] = []
        trees: list[FormulaTree] = []
        for piece in expand_macros(content, self._latex.macros).pieces:
            if isinstance(piece, str):
                prose.append(piece)
            elif self._latex.form == "raw":
                prose.append(piece.latex)
            elif self._latex.form == "symbols":
                own_words, own_tokens, own_trees = self._formula(piece.latex)
                formula_words += own_words
                tokens += own_tokens
                trees += own_trees

        terms = self._words(" ".join(prose), written) + formula_words
        return Terms(Bag(terms), Bag((), tokens), Bag((), trees))

    def _read_formula(self, latex: str) -> tuple[list[str], list[FormulaTree], list[FormulaTree]]:
        """Return the words of a formula, its line of tokens and its tree, if any."""
        items, text = read(latex)
        words: list[str] = []
        if text:
            words = self._words(text)

        tokens = []
        if self._ngrams:
            if self._tokenize is None:
                symbols = arrange(items)
            else:
                symbols = self._tokenize(latex)
            tokens.append(FormulaTree(latex, Tree(symbols), self._ngrams))

        trees = []
        if self._latex.operators:
            tree = read_operators(items)
            if len(tree.symbols) > 1:
                trees.append(FormulaTree(latex, tree, _PATHS))
        return words, tokens, trees


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
        bags = self._latex(source)
        return {field: bag.terms.split() for field, bag in bags.items()}

    def bags(self, source: str) -> dict[str, Bag]:
        """Analyse a formula of the files that the settings name, without spelling its terms out."""
        if not self._reads_latex:
            source = source_latex(source)
        return self._latex(source)

    def _latex(self, source: str) -> dict[str, Bag]:
        items, text = read(source)
        line = Tree(arrange(items))
        bags: dict[str, Bag] = {}

        for field, spelling in self._spellings.items():
            words: list[str] = []
            tree = line
            if field == "operators":
                tree = read_operators(items)
            elif field == "contents":
                tree = read_layout(items)
                # The position of a word does not count: `x \text{ if } y` has the term `~t~if`.
                if text:
                    words = [f"~t~{word}" for word in self._words(text)]

            bags[field] = Bag(words, (FormulaTree(source, tree, spelling),))
        return bags


def terms(
    text: str,
    kinds: Sequence[TermKind] = ("words", "operators"),
    html: bool = False,
    delimiters: Delimiters = "auto",
) -> list[str]:
    """Return the terms of a text: plain with `$…$` around its formulas, HTML, LaTeX or Markdown.

    Terms contain no blank and are grouped by kind. The format is detected from the text, unless
    `html` or `delimiters` (`latex`, `markdown`, `mathjax`) determines it. Raises InputError for an
    unknown kind, or if `text` is no string.
    """
    for kind in kinds:
        if kind not in Terms._fields:
            raise InputError(f"kind {kind!r}: expected any of {', '.join(Terms._fields)}")

    by_kind = analyze(text, html, delimiters=delimiters)
    terms = []
    for kind in kinds:
        terms += by_kind[kind]
    return terms


def analyze(
    text: str,
    html: bool = False,
    analyzer: Analyzer | None = None,
    delimiters: Delimiters = "auto",
) -> dict[str, list[str]]:
    """Return the terms of a text as `terms` reads it, by their kind."""
    if not isinstance(text, str):
        raise InputError(f"text: expected a string, not {type(text).__name__}")
    if analyzer is None:
        analyzer = _default_analyzer(delimiters)
    if html:
        by_kind = analyzer.body(text)
    else:
        by_kind = analyzer.title(text)
    return {kind: bag.terms.split() for kind, bag in by_kind._asdict().items()}


def tokenize(source: str) -> list[str]:
    """Return the n-grams of the tokens of one formula, in LaTeX without dollars.

    Raises InputError if `source` is no string.
    """
    if not isinstance(source, str):
        raise InputError(
            f"source: expected one formula as a string, not {type(source).__name__}; terms(text) "
            "reads texts"
        )
    content = Content((Formula(source, None),))
    analyzer = _default_analyzer()
    return analyzer(content).math.terms.split()


@cache
def _default_analyzer(delimiters: Delimiters = "auto") -> Analyzer:
    text = default_config("task1").read_text(encoding="utf-8")
    settings = yaml.safe_load(text)["analysis"]
    settings["latex"]["delimiters"] = delimiters
    return Analyzer(AnalysisSettings.model_validate(settings))
