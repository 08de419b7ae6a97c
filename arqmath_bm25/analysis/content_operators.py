r"""Content MathML → the operator tree that `operator_tree` reads from the same formula's LaTeX.

LaTeXML names, nests and orders what it parsed in its own way; here each node of the tree that
`content_mathml` reads becomes what the LaTeX of it would be:

* operators take the names of LaTeX; a difference is a sum, a root a power, a script of an operator
  its argument; `a<b` and `b<c` are a chain; what LaTeXML nests only to the left is one sum or
  product; differentials go;
* LaTeXML knows no application of letters: in a product, a letter that is mostly a function is
  applied to the next factor, any letter to a tuple;
* a sequence of formulas and the pieces of what LaTeXML could not parse stand side by side.

Nodes come in the order of Polish notation, so that one pass backwards meets arguments before their
operators: no recursion, linear time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.latex_table import VARIABLES
from arqmath_bm25.analysis.operator_paths import OperatorTree
from arqmath_bm25.analysis.operator_table import (
    ANY,
    APPLIED,
    ELEMENT,
    FIRST,
    FUNCTION_LETTERS,
    LOWER,
    MINUS,
    ROLES,
    SECOND,
    UPPER,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arqmath_bm25.analysis.symbol_layout import Layout

# What LaTeX calls what Content MathML and LaTeXML call otherwise.
_NAMES: Final = dict(
    pair.split("=", 1)
    for pair in (
        "lt=< gt=> leq=le geq=ge eq== neq=ne equivalent=equiv similar-to=sim assign== "
        "tendsto=to approximately-equals=cong proportional-to=propto maps-to=mapsto "
        "prsubset=subset notsubset=nsubseteq notprsubset=nsubset plus=+ minus=- "
        "plus-or-minus=pm minus-or-plus=mp cdot=times cartesianproduct=times divide=frac "
        "continued-fraction=frac union=cup intersect=cap setdiff=setminus compose=circ "
        "tensor-product=otimes direct-sum=oplus conditional=| modulo=mod annotated=mod "
        "formulae-sequence=, list=, fragments=, product=prod limit=lim limit-supremum=limsup "
        "limit-infimum=liminf infimum=inf supremum=sup ln=log determinant=det degree=deg "
        "dimension=dim kernel=ker hyperbolic-cotangent=coth for-all=forall not=lnot and=land "
        "or=lor factorial=! binomial=binom floor=lfloor ceiling=lceil infinity=infty percent=% "
        "partialdiff=partial interval-open=() interval-closed=[] vector=() "
        "interval-open-closed=(] interval-closed-open=[)"
    ).split()
)
_TUPLES: Final = frozenset(("()", "[]", "(]", "[)"))
_OF_TUPLES: Final = frozenset(("max", "min", "gcd", "lcm"))
_TURNED: Final = {FIRST: SECOND, SECOND: FIRST, ANY: ANY}


_Child = tuple[str, int]  # edge, node


class _Converter:
    """The new tree, by the arguments of each node."""

    def __init__(self, integral: bool) -> None:
        self.integral = integral  # whether there is one anywhere
        self.symbols: list[str] = [""]
        self.arguments: list[list[_Child]] = [[]]

    def grow(self, symbol: str, arguments: Iterable[_Child] = ()) -> int:
        self.symbols.append(symbol)
        self.arguments.append(list(arguments))
        return len(self.symbols) - 1

    def convert(self, symbol: str, children: list[_Child]) -> int:
        """Return the node of an operator with its children, or of a leaf."""
        name = _NAMES.get(symbol, symbol)
        if not children:
            return self.grow(name)
        nodes = [node for _, node in children]
        first, *others = nodes
        match symbol:
            case "subscript" | "superscript":
                return self.scripted(LOWER if symbol == "subscript" else UPPER, first, others)
            case "plus" | "times" | "cdot" | "delimited-[]" if not others:
                return first
            case "minus" if not others:
                return self.grow("+", [(MINUS, first)])
            case "plus" | "minus":
                return self.extended("+", first, MINUS if symbol == "minus" else ANY, others)
            case "times" | "cdot":
                return self.product(nodes)
            case "partialdiff":
                return self.product([self.grow(name), *nodes])
            case "root":
                degree = [node for edge, node in children if edge == "~degree~"]
                ratio = places([self.grow("1"), *(degree or [self.grow("2")])])
                radicand = [(FIRST, node) for edge, node in children if edge != "~degree~"]
                return self.grow("^", [*radicand, (SECOND, self.grow("frac", ratio))])
            case "exp":
                return self.grow("^", [(FIRST, self.grow("e")), (SECOND, first)])
            case "and" if all(self.related(node) for node in nodes):
                return self.chain(nodes)
            case "annotated" if others and self.symbols[others[0]] == "mod":
                modulus = [node for _, node in self.arguments[others[0]]]
                return self.grow(name, places([first, *modulus]))
            case "conditional-set":
                return self.grow("set", [(FIRST, self.grow("|", places(nodes)))])
            case "matrix" | "cases":
                return self.table(symbol, nodes)
            case "union" | "intersect" if not others:
                return self.grow(f"big{name}", [(FIRST, first)])
        if name in _TUPLES or name == "," or (name == "set" and others):
            return self.grow(name, ((ANY, node) for node in nodes))
        if name in _OF_TUPLES and others:
            return self.grow(name, [(FIRST, self.grow("()", ((ANY, node) for node in nodes)))])
        role = ROLES.get("/" if name == "frac" else name)
        if role and role.kind == "infix":
            # A side may be missing: the left one, unless a place says otherwise.
            left = bool(others) or children[0][0] == FIRST
            sides = [role.first, *[role.rest] * len(others)] if left else [role.rest]
            return self.grow(role.symbol, zip(sides, nodes, strict=True))
        return self.grow(name, places(nodes))

    def extended(self, symbol: str, first: int, edge: str, others: list[int]) -> int:
        """Add operands to a node of the same operator, or make one with all of them."""
        node = first if self.symbols[first] == symbol else self.grow(symbol, [(ANY, first)])
        self.arguments[node] += ((edge, other) for other in others)
        return node

    def scripted(self, edge: str, base: int, scripts: list[int]) -> int:
        role = ROLES.get(self.symbols[base])
        owner = base
        if edge == UPPER and not (role and role.kind == "prefix"):
            return self.grow("^", places([base, *scripts]))
        if edge == LOWER and self.symbols[base] == "^" and self.arguments[base]:
            owner = self.arguments[base][0][1]  # x^2_i is x_i^2
        self.arguments[owner] += ((edge, node) for node in scripts)
        return base

    def product(self, nodes: list[int]) -> int:
        """Multiply factors; apply letters to what follows them."""
        product = 0
        if self.symbols[nodes[0]] == "times":
            product = nodes.pop(0)
        factors = self.arguments[product] if product else []
        for node in nodes:
            symbol = self.symbols[node]
            if symbol == "differential-d":
                continue
            last = head = factors[-1][1] if factors else 0
            while self.symbols[head] == "^" and self.arguments[head]:
                head = self.arguments[head][0][1]
            letter = self.symbols[head]
            free = letter in VARIABLES and all(e == LOWER for e, _ in self.arguments[head])
            if self.integral and self.symbols[last] == "d" and free and symbol in VARIABLES:
                factors.pop()
            elif free and (letter in FUNCTION_LETTERS or symbol in _TUPLES):
                self.arguments[head].append((APPLIED, node))
            else:
                factors.append((ANY, node))
        if len(factors) == 1:
            return factors[0][1]
        return product or self.grow("times" if factors else "", factors)

    def related(self, node: int) -> bool:
        role = ROLES.get(self.symbols[node])
        return bool(role and role.kind == "infix" and self.arguments[node])

    def chain(self, nodes: list[int]) -> int:
        """Join a<b and <c, whose left side is that b."""
        joined = nodes[0]
        for node in nodes[1:]:
            right, last = self.arguments[node][-1]
            if self.symbols[node] == self.symbols[joined] and right == self.last_edge(joined):
                self.arguments[joined].append((right, last))
            else:
                pair = [(_TURNED[right], joined), (right, last)]
                joined = self.grow(self.symbols[node], pair)
        return joined

    def last_edge(self, node: int) -> str:
        return self.arguments[node][-1][0]

    def table(self, symbol: str, rows: list[int]) -> int:
        cells = [
            [node for _, node in self.arguments[row]] if self.symbols[row] == "matrixrow" else [row]
            for row in rows
        ]
        if symbol == "matrix" and [len(row) for row in cells] == [1, 1]:
            return self.grow("binom", places([row[0] for row in cells]))
        return self.grow(symbol, ((ELEMENT, cell) for row in cells for cell in row))

    def flat(self, roots: list[_Child]) -> OperatorTree:
        """Return what hangs below some nodes as columns; sequences stand side by side."""
        tree = OperatorTree([""], [0], [ANY])
        waiting = [(node, 0, ANY) for _, node in reversed(roots)]
        while waiting:
            node, parent, edge = waiting.pop()
            owner = 0
            if parent or self.symbols[node] != ",":
                owner = len(tree.symbols)
                tree.symbols.append(self.symbols[node])
                tree.parents.append(parent)
                tree.edges.append(edge)
            waiting += ((child, owner, label) for label, child in reversed(self.arguments[node]))
        return tree


def places(nodes: list[int]) -> list[_Child]:
    """Number arguments as far as edges do: the first one, and the others."""
    return [(SECOND if place else FIRST, node) for place, node in enumerate(nodes)]


def from_content(layout: Layout) -> OperatorTree:
    """Return the operator tree of what `content_mathml.read` found."""
    symbols, parents, edges = layout
    converter = _Converter("int" in symbols)
    inner = set(parents)
    children: list[list[_Child]] = [[] for _ in symbols]  # the last one first
    for node in range(len(symbols) - 1, 0, -1):
        # Not end marks, nor what has none: the copy of a side that a relation lacks.
        if symbols[node] and node in inner:
            # What LaTeXML could not parse hangs piece below piece.
            pieces = [child for child in children[node] if child[0] == "~n~"]
            if pieces and symbols[node] != "fragments":
                children[node] = [child for child in children[node] if child[0] != "~n~"]
                children[parents[node]] += pieces
            new = converter.convert(symbols[node], children[node][::-1])
            children[parents[node]].append((edges[node], new))
    return converter.flat(children[0][::-1])
