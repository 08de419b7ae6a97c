"""Similarity of formulas by their operator trees, regardless of the names of variables."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.macros import expanded_formulas
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.structures import children, shapes
from arqmath_bm25.analysis.terms import paths
from arqmath_bm25.analysis.trees import Tree, anonymised


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
    trees = [_read(source) for source in formulas]
    other_trees = [_read(source) for source in others]
    terms_of_trees = [_terms(tree) for tree in trees]
    terms_of_others = [_terms(tree) for tree in other_trees]

    similarities = np.zeros((len(trees), len(other_trees)))
    for row, column in np.ndindex(similarities.shape):
        terms = terms_of_trees[row]
        other_terms = terms_of_others[column]
        if trees[row] == other_trees[column]:
            similarities[row, column] = 1
        elif terms and other_terms:
            shared = len(terms & other_terms)
            similarities[row, column] = shared**2 / (len(terms) * len(other_terms))
    return similarities


def _read(source: str) -> Tree:
    (whole,) = expanded_formulas([source])
    items, _ = latex.read(whole)
    return read_operators(items)


def _terms(tree: Tree) -> set[str | int]:
    """Return the paths of a tree as text, and its sub-expressions as numbers."""
    hidden = anonymised(tree)
    shapes_of_nodes = shapes(hidden, children(hidden))
    terms: set[str | int] = set(paths(hidden))
    for node in set(hidden.parents):
        if node:
            terms.add(shapes_of_nodes[node])
    return terms
