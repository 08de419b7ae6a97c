r"""The layout of a formula: how its symbols are placed beside each other.

A symbol layout tree (Zanibbi and Blostein 2012) has symbols as nodes. An edge leads from a symbol
to the next one on its line, or to the first one of a line that belongs to it:

| edge | leads to | as in |
|---|---|---|
| n | the next symbol | `a n` |
| a, b | above, below: super- or subscript, limits, index of a root | `x^a_b` |
| o, u | over, under: the halves of a fraction or of a stack | `\frac{o}{u}` |
| w | within: what a root or an accent covers | `\sqrt{w}` |
| e, s | the elements of a table, cell by cell; its shape | `\begin{matrix} e & e \\ e & e` |

Every line ends with an end mark, and the formula begins with a start mark; both are written as the
empty string. Terms are the paths through two and three nodes (pairs are those of Tangent-L, Fraser,
Kane and Tompa 2018): of `x^2+1` the pairs `~n~x`, `x~a~2`, `2~n~`, `x~n~+`, `+~n~1`, `1~n~` and
the triples `~n~x~a~2`, `x~a~2~n~` and so on. The tree is built in one pass over what `latex.read`
found and without recursion: time is linear at any depth, and nothing raises.
"""

from collections.abc import Callable
from typing import Final

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.latex import CELL, CLOSE, INFIX, OPEN, ROW, TABLE, TABLE_END
from arqmath_bm25.analysis.trees import Tree

_NEXT, _ABOVE, _BELOW, _OVER, _UNDER, _WITHIN, _ELEMENT, _SHAPE = "nabouwes"
_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("frac", "binom", "stackrel", "underset"), (_OVER, _UNDER)),
    **dict.fromkeys(("sqrt", *latex.ACCENTS), (_WITHIN,)),
    **dict.fromkeys(("matrix", "cases"), (_ELEMENT,)),
}
_SCRIPTS: Final = {latex.SUPER: (_ABOVE,), latex.SUB: (_BELOW,)}
_NO_BASE: Final = "{}"  # what a script without a base belongs to

# Lines by what closes them.
_SYMBOL: Final = ""  # a line of one symbol, with the arguments of that
_BRACES: Final = "{"  # braces that only group: their content stands on the line around them
_INDEX: Final = "]"  # the index of a root
_DENOMINATOR: Final = "over"  # the rest of the line around it: `a \over b`
_INNER: Final = frozenset((_SYMBOL, _DENOMINATOR, _INDEX))  # end with the line around them


class _Line:
    """A line that is being read."""

    __slots__ = ("edge", "kind", "last", "owner", "todo")

    def __init__(self, kind: str, owner: int, edge: str) -> None:
        self.kind = kind  # what closes it
        self.owner = owner  # the node it belongs to
        self.edge = edge  # from there to its first symbol
        self.last = owner  # the node read last
        self.todo: tuple[str, ...] = ()  # edges to the arguments that this one still waits for


class _Table:
    """The shape of a table that is being read."""

    def __init__(self) -> None:
        self.rows = 0  # that are full
        self.columns = 1
        self.cells = 1  # of the present row


class _LayoutReader:
    """What has been read so far: the tree, the present line, and the lines around it."""

    def __init__(self) -> None:
        self.symbols, self.parents, self.edges = [""], [0], [_NEXT]
        self.line = _Line(TABLE_END, 0, _NEXT)
        self.around: list[_Line] = []
        self.tables: list[_Table] = []

    def grow(self, symbol: str, parent: int, edge: str) -> int:
        self.symbols.append(symbol)
        self.parents.append(parent)
        self.edges.append(edge)
        return len(self.symbols) - 1

    def open(self, kind: str, edge: str) -> None:
        """Begin a line that belongs to the last node of the present one."""
        self.around.append(self.line)
        self.line = _Line(kind, self.line.last, edge)

    def open_argument(self, kind: str) -> None:
        """Begin the line of the argument that comes next."""
        edge, *others = self.line.todo
        self.line.todo = tuple(others)
        self.open(kind, edge)

    def close(self) -> None:
        """Return to the line around; end the lines of one symbol that are complete with this."""
        while True:
            inner = self.line
            if inner.kind != _BRACES:
                self.end_line()
            self.line = self.around.pop()
            if inner.kind == _BRACES:
                self.line.last = inner.last
            if self.line.kind or self.line.todo:
                break

    def end_line(self) -> None:
        """Append an end mark to the current line unless it is empty."""
        if self.line.last != self.line.owner:
            self.grow("", self.line.last, _NEXT)

    # Symbols and marks by their kind.

    def symbol(self, item: str) -> None:
        if self.line.todo:
            self.open_argument(_SYMBOL)
        line = self.line
        self.symbols.append(item)
        self.parents.append(line.last)
        self.edges.append(line.edge if line.last == line.owner else _NEXT)
        line.last = len(self.symbols) - 1
        line.todo = _ARGUMENTS.get(item, ())
        if not line.kind and not line.todo:
            self.close()

    def open_braces(self, item: str) -> None:
        if self.line.todo:
            self.open_argument(CLOSE)
        else:
            self.open(_BRACES, self.line.edge if self.line.last == self.line.owner else _NEXT)

    def close_braces(self, item: str) -> None:
        while self.line.kind in _INNER:
            self.close()
        if self.line.kind != TABLE_END:
            self.close()

    def script(self, item: str) -> None:
        line = self.line
        if line.last == line.owner:
            line.last = self.grow(_NO_BASE, line.last, line.edge)
        line.todo = _SCRIPTS[item]

    def infix(self, item: str) -> None:
        """Turn the current line so far into the numerator of a fraction."""
        line = self.line
        fraction = self.grow(INFIX[item], line.owner, line.edge)
        if line.last != line.owner:
            self.end_line()
            first = line.last
            while self.parents[first] != line.owner:
                first = self.parents[first]
            self.parents[first], self.edges[first] = fraction, _OVER
        line.last, line.todo = fraction, ()
        self.open(_DENOMINATOR, _UNDER)

    def bracket(self, item: str) -> None:
        line = self.line
        if item == "[" and line.todo and self.symbols[line.last] == "sqrt":
            self.open(_INDEX, _ABOVE)
        elif item == "]" and line.kind == _INDEX:
            self.close()
        else:
            self.symbol(item)

    def open_table(self, item: str) -> None:
        self.line.todo = ()
        self.open(TABLE_END, _ELEMENT)
        self.tables.append(_Table())

    def end_cell(self, item: str) -> None:
        if not self.tables:
            return
        while self.line.kind != TABLE_END:
            self.close()
        line, table = self.line, self.tables[-1]
        filled = line.last != line.owner
        self.end_line()
        line.last = line.owner
        if item == CELL:
            table.cells += 1
            table.columns = max(table.columns, table.cells)
        else:
            table.rows += item == ROW or filled or table.cells > 1
            table.cells = 1
        if item == TABLE_END:
            self.tables.pop()
            self.grow(f"{table.rows}x{table.columns}", line.owner, _SHAPE)
            self.close()


_ACTIONS: Final[dict[str, Callable[[_LayoutReader, str], None]]] = {
    OPEN: _LayoutReader.open_braces,
    CLOSE: _LayoutReader.close_braces,
    **dict.fromkeys(_SCRIPTS, _LayoutReader.script),
    **dict.fromkeys(INFIX, _LayoutReader.infix),
    **dict.fromkeys("[]", _LayoutReader.bracket),
    TABLE: _LayoutReader.open_table,
    **dict.fromkeys((CELL, ROW, TABLE_END), _LayoutReader.end_cell),
}


def read_layout(items: list[str]) -> Tree:
    """Build the tree of a formula from its symbols and marks, as `latex.read` returns them.

    What is broken is read as it comes: a mark that closes nothing is ignored, a line that is left
    open ends with the formula, an argument that is missing is empty.
    """
    reader, action_of, symbol = _LayoutReader(), _ACTIONS.get, _LayoutReader.symbol
    for item in items:
        action_of(item, symbol)(reader, item)
    while reader.around:
        reader.close()
    reader.end_line()
    return Tree(reader.symbols, reader.parents, reader.edges)
