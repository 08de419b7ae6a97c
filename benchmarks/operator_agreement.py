"""Operator trees from LaTeX beside LaTeXML's own: how many terms agree, and where they do not.

    python benchmarks/operator_agreement.py [DATA]

DATA (default: data/arqmath-lite below ARQMATH_SHARED) holds the official formulas of the topics of
three years as LaTeX and as LaTeXML's Content MathML (OPT). Agreement is Dice's coefficient of the
terms of the field `operators`, of all formulas, of those that LaTeXML read as a whole (it knew
every command, and took no formula apart into fragments), and of those that contain a construct. It
is bounded by what LaTeXML cannot know: that `x(t)` is no product. Takes five seconds.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from arqmath_bm25.analysis import content_mathml, latex
from arqmath_bm25.analysis.content_operators import from_content
from arqmath_bm25.analysis.operator_paths import OperatorTree, blind, operator_paths
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.topic_formulas import read_topic_formulas

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CONSTRUCTS: Final = {
    "sums, differences": ("+",),
    "products": ("times",),
    "fractions": ("frac",),
    "powers, roots, primes": ("^",),
    "relations": ("=", "<", "le", "in", "ne", "equiv", "to", "implies", "subset", "subseteq"),
    "sum, prod, int, lim": ("sum", "prod", "int", "lim"),
    "functions": ("sin", "cos", "log", "max", "min", "gcd", "det", "sup", "inf"),
    "sets, tuples, intervals": ("set", "()", "[]", "(]", "[)"),
    "bars": ("abs", "norm", "|"),
    "factorials, binomials": ("!", "binom"),
    "tables": ("matrix", "cases"),
}
# LaTeXML lost what it did not know; entities were escaped twice in the official files.
_NOT_READ: Final = re.compile(r"&[a-z]+;|\\mathbb|\\Bbb|\\text|\\mathrm|[^\x00-\x7f]")


class Pair(NamedTuple):
    """The terms of one formula from both sources."""

    whole: bool  # LaTeXML read all of it
    symbols: frozenset[str]  # of the tree from LaTeX
    ours: Counter[str]
    theirs: Counter[str]


def pairs(layout: Layout) -> Iterator[Pair]:
    """Yield the formulas of which there are both forms."""
    for year in layout.years("task2"):
        sources = {
            row.formula_id: row.formula
            for row in read_topic_formulas(layout.topic_formulas(year, "latex"))
        }
        for row in read_topic_formulas(layout.topic_formulas(year, "opt")):
            if row.formula and row.formula_id in sources:
                source = sources[row.formula_id]
                ours = read_operators(latex.read(source)[0])
                content = content_mathml.read(row.formula)[0]
                whole = not (_NOT_READ.search(source) or "fragments" in content.symbols)
                symbols = frozenset(ours.symbols)
                yield Pair(whole, symbols, terms(ours), terms(from_content(content)))


def terms(tree: OperatorTree) -> Counter[str]:
    """Return the terms of the field `operators`."""
    return Counter(operator_paths(tree) + operator_paths(blind(tree)))


def agreement(found: Iterable[Pair]) -> tuple[int, float, float]:
    """Return the number of formulas, Dice's coefficient, and the share of formulas that agree."""
    found = list(found)
    shared = sum((pair.ours & pair.theirs).total() for pair in found)
    total = sum(pair.ours.total() + pair.theirs.total() for pair in found)
    same = sum(pair.ours == pair.theirs for pair in found)
    return len(found), 2 * shared / max(1, total), same / max(1, len(found))


def main(data: Path) -> None:
    """Print the table."""
    found = list(pairs(Layout(data)))
    whole = [pair for pair in found if pair.whole]
    rows = {"all": found, "read as a whole": whole}
    for name, symbols in CONSTRUCTS.items():
        rows[f"  {name}"] = [pair for pair in whole if not pair.symbols.isdisjoint(symbols)]
    table = Table("", title="Operator trees from LaTeX and from LaTeXML")
    for column in ("formulas", "terms that agree", "formulas that agree"):
        table.add_column(column, justify="right")
    for name, some in rows.items():
        count, dice, same = agreement(some)
        table.add_row(name, f"{count:,}", f"{dice:.3f}", f"{same:.3f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    shared = Path(os.environ.get("ARQMATH_SHARED", "../shared"))
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else shared / "data" / "arqmath-lite")
