r"""Content MathML, as LaTeXML wrote it for the lab's OPT files, → an operator tree.

In an operator tree the arguments of an operator are its children (Tangent-CFT, Mansouri et al.
2019; Approach Zero, Zhong and Zanibbi 2019). It has the form of a symbol layout tree, and its terms
are the same kind of paths, but for the edges:

| edge | leads to |
|---|---|
| 1, 2, … | the argument at this place; the formula is the one of the start mark |
| c | an argument of an operator that commutes: its place means nothing |
| n | the next piece of what LaTeXML could not parse (`fragments`) |
| bvar, degree, … | what MathML puts into an element of that name |
| 0 | the end mark, below a symbol without arguments |

Of `x^2+1` the pairs are `~1~plus`, `plus~c~superscript`, `superscript~1~x`, `superscript~2~2`,
`plus~c~1` and `x~0~`, `2~0~`, `1~0~`. Nodes stand in the order of Polish notation.

Markup is read tag by tag, without recursion, so that nothing raises and time is linear at any
depth. Beside what `mathml.py` says of the SLT files, whose repairs these are:

* only `ci`, `cn`, `csymbol` and `mtext` hold text; markup in a `ci` is Presentation MathML. One
  that is not closed ends where the next element begins;
* an operator that is itself made of parts is applied by its base: `f` in `\int_0^1 f` is the
  argument of `int`, whether that has limits or not. A missing argument keeps its place;
* in `a<b<c`, which is `a<b` and `b<c`, LaTeXML refers to the first `b` by `<share/>`; in the lab's
  files the target is lost, or the element too. So a relation without a left side takes the right
  side of the relation before, but without what is below that.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import Final

from arqmath_bm25.analysis import mathml
from arqmath_bm25.analysis.latex import arrange
from arqmath_bm25.analysis.mathml_table import ACCENTS
from arqmath_bm25.analysis.symbol_layout import Layout

_LEAVES: Final = frozenset(("ci", "cn", "csymbol", "mtext"))
_APPLICATIONS: Final = frozenset(("apply", "bind", "cerror"))  # the first child is the operator
_CONTAINERS: Final = frozenset(
    "set list vector matrix matrixrow interval piecewise piece otherwise lambda".split()
)
_QUALIFIERS: Final = frozenset(("bvar", "lowlimit", "uplimit", "degree", "condition"))
_RELATIONS: Final = frozenset(
    "eq neq lt gt leq geq equivalent approx in notin subset prsubset notsubset notprsubset tendsto"
    " implies factorof".split()
)
_OPERATORS: Final = _RELATIONS | frozenset(  # uminus, prod, var: LaTeXML's, not MathML's
    "quotient factorial divide max min minus uminus plus power rem times root gcd lcm and or xor"
    " not forall exists abs conjugate arg real imaginary floor ceiling int diff partialdiff"
    " divergence grad curl laplacian union intersect setdiff card cartesianproduct sum prod product"
    " limit exp ln log sin cos tan sec csc cot sinh cosh tanh sech csch coth arcsin arccos arctan"
    " arccosh arccot arccoth arccsc arccsch arcsec arcsech arcsinh arctanh mean sdev var variance"
    " median mode moment determinant transpose selector vectorproduct scalarproduct outerproduct"
    " inverse compose ident domain codomain image integers reals rationals naturalnumbers complexes"
    " primes exponentiale imaginaryi notanumber true false emptyset pi eulergamma infinity".split()
)
_COMMUTATIVE: Final = frozenset(
    "eq neq equivalent approx plus times union intersect and or xor set gcd lcm max min".split()
)
_SCRIPTS: Final = frozenset(("subscript", "superscript"))
_FRAGMENTS: Final = "fragments"
_MISSING: Final = frozenset(("missing-subexpression", "absent"))
_ELEMENTS: Final = _LEAVES | _APPLICATIONS | _CONTAINERS | _QUALIFIERS | _OPERATORS | {"share"}
_NONE: Final = -1  # no node

_TAG = re.compile(
    r"<(?P<end>/?)(?:[a-z]+[0-9]*:)?(?P<name>[a-z]+)\b(?P<attributes>[^<>]*?)(?P<empty>/?)>"
)
_CLOSURE = re.compile(r'closure="([a-z-]{4,11})"')
# LaTeXML writes the font before a character that has none of its own in Unicode: `normal-→`.
_FONT = re.compile(
    r"\A(?:(?:normal|bold|italic|script|fraktur|double-struck|sans-serif|monospace)-)+(?=.)"
)


class _Element:
    """An element that is open."""

    __slots__ = ("attributes", "begin", "edge", "head", "last", "name", "operator", "owner", "text")

    def __init__(self, name: str, attributes: str, owner: int, edge: str, begin: int) -> None:
        self.name = name
        self.attributes = attributes
        self.owner, self.edge = owner, edge  # where its first node goes
        self.begin = begin  # number of that node
        self.operator = _NONE  # the node that its arguments go to
        self.head = _NONE  # the node that is applied where the element is an operator
        self.last = _NONE  # the argument read last
        self.text: list[str] = []


class _Tree:
    """What has been read so far."""

    def __init__(self) -> None:
        self.symbols, self.parents, self.edges = [""], [0], [""]
        self.words: list[str] = []
        self._places = [0]  # arguments of each node so far
        self._borrowed: set[int] = set()
        self._right = _NONE  # the right side of the relation that was closed last
        self._stack = [_Element("", "", 0, "", 1)]
        self._stack[0].operator = 0
        self._open: Counter[str] = Counter()

    def text(self, text: str) -> None:
        """Read what stands between two tags."""
        if self._stack[-1].name in _LEAVES:
            self._stack[-1].text.append(text)

    def start(self, name: str, attributes: str) -> None:
        """Open an element."""
        while self._stack[-1].name in _LEAVES and name != "mtext":
            self._close()
        around = self._stack[-1]
        element = _Element(name, attributes, *self._place(around), len(self.symbols))
        self._stack.append(element)
        self._open[name] += 1
        if name in _CONTAINERS:
            closure = _CLOSURE.search(attributes) if name == "interval" else None
            symbol = f"{name}-{closure[1]}" if closure else name
            element.operator = element.head = self._add(symbol, element.owner, element.edge)
        elif name in _QUALIFIERS:
            element.operator = around.operator if around.operator != _NONE else around.owner

    def end(self, name: str) -> None:
        """Close an element with what is open inside it; ignore the tag if there is none."""
        if self._open[name]:
            while self._close() != name:
                pass

    def finish(self) -> Layout:
        """Close what is open and set the end marks."""
        while len(self._stack) > 1:
            self._close()
        childless = set(range(1, len(self.symbols))).difference(self.parents, self._borrowed)
        for node in sorted(childless):
            self._add("", node, "~0~")
        return Layout(self.symbols, self.parents, self.edges)

    def _add(self, symbol: str, parent: int, edge: str) -> int:
        self.symbols.append(symbol)
        self.parents.append(parent)
        self.edges.append(edge)
        self._places.append(0)
        return len(self.symbols) - 1

    def _borrow(self, parent: int, edge: str) -> int:
        node = self._add(self.symbols[self._right], parent, edge)
        self._borrowed.add(node)
        return node

    def _place(self, element: _Element) -> tuple[int, str]:
        """Return the parent and the edge of what comes next inside an element."""
        if element.operator == _NONE:
            return element.owner, element.edge
        if element.name in _QUALIFIERS:
            return element.operator, f"~{element.name}~"
        symbol = self.symbols[element.operator]
        if symbol == _FRAGMENTS:
            return element.operator if element.last == _NONE else element.last, "~n~"
        if symbol in _COMMUTATIVE:
            return element.operator, "~c~"
        return element.operator, f"~{self._places[element.operator] + 1}~"

    def _close(self) -> str:
        """Read the innermost element, whose children have been read; return its name."""
        element = self._stack.pop()
        around = self._stack[-1]
        name = element.name
        self._open[name] -= 1
        if name in _LEAVES:
            symbol = self._leaf(element, around)
            if symbol:
                element.head = self._add(symbol, element.owner, element.edge)
        elif name == "share":
            if self._right != _NONE:
                element.head = self._borrow(element.owner, element.edge)
        elif name in _OPERATORS and element.begin == len(self.symbols):
            element.head = self._add(name, element.owner, element.edge)
        elif name in _APPLICATIONS:
            self._relate(element, around)
        if around.name not in _LEAVES and name not in _QUALIFIERS:
            self._take(around, element)
        return name

    def _take(self, around: _Element, element: _Element) -> None:
        """Make an element that was closed the operator or an argument of the one around it."""
        operator = around.operator
        if operator == _NONE:
            around.operator = around.head = element.head
            return
        if around.name not in _QUALIFIERS:
            base = not self._places[operator] and self.symbols[operator] in _SCRIPTS
            if base and element.head != _NONE:
                around.head = element.head
            self._places[operator] += 1
        if element.begin < len(self.symbols):
            around.last = element.begin

    def _relate(self, element: _Element, around: _Element) -> None:
        """Note the right side of a relation; give it the left side that it lacks."""
        operator = element.operator
        if operator == _NONE or self.symbols[operator] not in _RELATIONS:
            return
        chained = (
            around.operator != _NONE
            and self.symbols[around.operator] == "and"
            and self._places[around.operator] > 0
        )
        if chained and self._places[operator] == 1 and _NONE not in (element.last, self._right):
            left = self.edges[element.last]
            if left == "~1~":
                self.edges[element.last] = "~2~"
            self._borrow(operator, left)
        self._right = element.last

    def _leaf(self, element: _Element, around: _Element) -> str:
        """Return the symbol that the text of a leaf is, if it is one; note words."""
        name, text = element.name, "".join(element.text).strip()
        if name == "mtext":
            if not text.startswith("\\"):  # else a command that LaTeXML did not know
                self.words.append(unescape(text))
                return ""
            if around.name in _LEAVES:
                around.text.append(text)
                return ""
        if name == "csymbol" and 'cd="unknown"' not in element.attributes:
            return "" if text in _MISSING else _fit(unescape(text))
        if name == "ci" and "<m" in text:
            items, words = mathml.read(text)
            self.words.append(words)
        elif text in ACCENTS:
            return ACCENTS[text]
        else:
            items = list(mathml.read_leaf("mn" if name == "cn" else "mi", _FONT.sub("", text)))
        return _fit("".join(arrange(items) if len(items) > 1 else items))


def read(markup: str) -> tuple[Layout, str]:
    """Return the operator tree of one formula, and the words in it; any string is read."""
    markup = mathml.without_alttext(markup)
    tree = _Tree()
    done = 0
    for tag in _TAG.finditer(markup):
        name = tag["name"]
        if name not in _ELEMENTS:
            continue
        tree.text(markup[done : tag.start()])
        done = tag.end()
        if tag["end"]:
            tree.end(name)
        else:
            tree.start(name, tag["attributes"])
            if tag["empty"]:
                tree.end(name)
    tree.text(markup[done:])
    return tree.finish(), " ".join(tree.words)


def _fit(symbol: str) -> str:
    """Return what of a symbol may stand in a term."""
    return mathml.cut("".join(c for c in symbol if c.isprintable() and c not in " ~"))
