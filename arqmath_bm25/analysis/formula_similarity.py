"""How alike two formulas are by their operator trees, whatever their variables are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.macros import expanded_formulas
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.structures import children, shapes
from arqmath_bm25.analysis.terms import paths
from arqmath_bm25.analysis.trees import Tree, anonymised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def formula_similarity(one: str, other: str) -> float:
    r"""Return how alike two formulas are, from 0 to 1, in LaTeX without dollars.

    The similarity is the squared cosine between two sets of terms: the paths of two and three nodes
    and the sub-expressions of each operator tree, without the names of variables. All terms weigh
    the same. Formulas that read the same (`x^n`, `{x}^{n}`) have similarity 1. A single symbol has
    no terms, so it has similarity 0 to any other formula.
    """
    return float(formula_similarities([one], [other])[0, 0])


def formula_similarities(formulas: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """Return how alike each formula (rows) is to each of the others (columns)."""
    rows = list(map(_read, formulas))
    columns = list(map(_read, others))
    terms_of_rows = list(map(_terms, rows))
    terms_of_columns = list(map(_terms, columns))
    alike = np.zeros((len(rows), len(columns)))
    for row, column in np.ndindex(alike.shape):
        terms, others_terms = terms_of_rows[row], terms_of_columns[column]
        if rows[row] == columns[column]:
            alike[row, column] = 1
        elif terms and others_terms:
            shared = len(terms & others_terms)
            alike[row, column] = shared**2 / (len(terms) * len(others_terms))
    return alike


def _read(source: str) -> Tree:
    (whole,) = expanded_formulas([source])
    return read_operators(latex.read(whole)[0])


def _terms(tree: Tree) -> set[str | int]:
    """Return the paths of a tree as text, and its sub-expressions as numbers."""
    hidden = anonymised(tree)
    of_nodes = shapes(hidden, children(hidden))
    inner = set(hidden.parents) - {0}
    return {*paths(hidden), *(of_nodes[node] for node in inner)}
