r"""The terms of a text, for any engine: lists of strings, without pandas, Java or an index.

    terms(r"Why does $\sum \frac1n$ diverge?")  # words and paths through operator trees

The settings are the default ones of Task 1; `Index.analyze` has those of an index.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, get_args

import yaml

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.analysis.spellings import Formula as Spelled
from arqmath_bm25.analysis.spellings import Paths
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.settings import default_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["words", "math", "operators"]  # math: n-grams of LaTeX tokens
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


def terms(
    text: str, kinds: Sequence[Kind] = ("words", "operators"), html: bool = False
) -> list[str]:
    """Return the terms of a text with `$…$` around its formulas, or of the HTML of a post.

    They hold no blank, and come kind by kind. Raises InputError for another kind or no text.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"kind {unknown[0]!r}: expected some of {', '.join(KINDS)}")
    found = analyze(text, html)
    return [term for kind in kinds for term in found[kind]]


def analyze(
    text: str, html: bool = False, analyzer: Analyzer | None = None
) -> dict[str, list[str]]:
    """Return the terms of a text with `$…$` around its formulas, or of HTML, by their kind."""
    if not isinstance(text, str):
        raise InputError(f"text: expected a string, not {type(text).__name__}")
    content = (read_body if html else read_title)(text)
    found = (analyzer or _default_analyzer())(content)
    return {kind: getattr(found, kind).split() for kind in KINDS}


def tokenize(source: str) -> list[str]:
    """Return the n-grams of the tokens of one formula, in LaTeX without dollars."""
    return _default_analyzer()(Content((Formula(source, None),))).math.split()


def formula_similarity(one: str, other: str) -> float:
    r"""Return how alike two formulas are, from 0 to 1, in LaTeX without dollars.

    They are compared by their operator trees, as in the second stage of Task 1, whatever their
    variables are called: by the squared cosine of the sets of paths and subtrees that they hold.
    All of these weigh the same, as there is no collection to count them in. Formulas that read the
    same (`x^n`, `{x}^{n}`) have 1; other ones of a single symbol, which have no paths, have 0.
    """
    return float(formula_similarities([one], [other])[0, 0])


def formula_similarities(formulas: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """Return how alike each formula (rows) is to each of the others (columns)."""
    import numpy as np  # the terms of a text need none of it

    from arqmath_bm25.analysis.signatures import signatures
    from arqmath_bm25.analysis.term_numbers import Trees, Vocabulary

    trees = Trees(Vocabulary())
    read = [read_operators(latex.read(source)[0]) for source in (*formulas, *others)]
    for number, tree in enumerate(read):
        trees.number(Spelled(str(number), tree, Paths()))
    found, ends = signatures(trees)
    sets = [frozenset(terms.tolist()) for terms in np.split(found, ends[:-1])]
    alike = np.zeros((len(formulas), len(others)))
    for row, column in np.ndindex(alike.shape):
        one, other = sets[row], sets[len(formulas) + column]
        if read[row] == read[len(formulas) + column]:
            alike[row, column] = 1
        elif one and other:
            alike[row, column] = len(one & other) ** 2 / (len(one) * len(other))
    return alike


@cache
def _default_analyzer() -> Analyzer:
    configured = yaml.safe_load(default_config("task1").read_text(encoding="utf-8"))
    return Analyzer(AnalysisSettings.model_validate(configured["analysis"]))
