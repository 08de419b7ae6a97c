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

_NEXT: Final = "n"
_ABOVE: Final = "a"
_BELOW: Final = "b"
_OVER: Final = "o"
_UNDER: Final = "u"
_WITHIN: Final = "w"
_ELEMENT: Final = "e"
_SHAPE: Final = "s"
_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("frac", "binom", "stackrel", "underset"), (_OVER, _UNDER)),
    **dict.fromkeys(("sqrt", *latex.ACCENTS), (_WITHIN,)),
    **dict.fromkeys(("matrix", "cases"), (_ELEMENT,)),
}
_SCRIPTS: Final = {latex.SUPER: (_ABOVE,), latex.SUB: (_BELOW,)}
_NO_BASE: Final = "{}"  # the node to which a script without a base belongs

# The kinds of lines.
_SYMBOL: Final = ""  # a line of one symbol with its arguments
_BRACES: Final = "{"  # braces that only group: their content belongs to the line around them
_INDEX: Final = "]"  # the index of a root
_DENOMINATOR: Final = "over"  # the rest of the line around it: `a \over b`
# Lines of these kinds end with the line around them.
_INNER: Final = frozenset((_SYMBOL, _DENOMINATOR, _INDEX))


class _Line:
    """An open line."""

    __slots__ = ("edge", "kind", "last", "owner", "todo")

    def __init__(self, kind: str, owner: int, edge: str) -> None:
        self.kind = kind
        self.owner = owner  # the node to which the line belongs
        self.edge = edge  # from the owner to the first symbol
        self.last = owner  # the node read last
        self.todo: tuple[str, ...] = ()  # edges to the arguments that the last node still needs

    def next_edge(self) -> str:
        """Return the edge to the next symbol of the line."""
        if self.last == self.owner:
            return self.edge
        return _NEXT


class _Table:
    """The shape of an open table."""

    def __init__(self) -> None:
        self.rows = 0  # complete ones
        self.columns = 1
        self.cells = 1  # of the current row


class _LayoutReader:
    """The state of reading: the tree so far, the current line, and the lines around it."""

    def __init__(self) -> None:
        self.symbols = [""]
        self.parents = [0]
        self.edges = [_NEXT]
        self.line = _Line(TABLE_END, 0, _NEXT)
        self.around: list[_Line] = []
        self.tables: list[_Table] = []

    def grow(self, symbol: str, parent: int, edge: str) -> int:
        self.symbols.append(symbol)
        self.parents.append(parent)
        self.edges.append(edge)
        return len(self.symbols) - 1

    def open(self, kind: str, edge: str) -> None:
        """Begin a line that belongs to the last node of the current line."""
        self.around.append(self.line)
        self.line = _Line(kind, self.line.last, edge)

    def open_argument(self, kind: str) -> None:
        """Begin the line of the next argument."""
        edge, *others = self.line.todo
        self.line.todo = tuple(others)
        self.open(kind, edge)

    def close(self) -> None:
        """End the current line, and the lines of one symbol that are complete with it."""
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
        self.edges.append(line.next_edge())
        line.last = len(self.symbols) - 1
        line.todo = _ARGUMENTS.get(item, ())
        if not line.kind and not line.todo:
            self.close()

    def open_braces(self, item: str) -> None:
        if self.line.todo:
            self.open_argument(CLOSE)
        else:
            self.open(_BRACES, self.line.next_edge())

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
            self.parents[first] = fraction
            self.edges[first] = _OVER

        line.last = fraction
        line.todo = ()
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

        line = self.line
        table = self.tables[-1]
        is_filled = line.last != line.owner
        self.end_line()
        line.last = line.owner
        if item == CELL:
            table.cells += 1
            table.columns = max(table.columns, table.cells)
        else:
            if item == ROW or is_filled or table.cells > 1:
                table.rows += 1
            table.cells = 1

        if item == TABLE_END:
            self.tables.pop()
            shape = f"{table.rows}x{table.columns}"
            self.grow(shape, line.owner, _SHAPE)
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

    Any sequence is read: a mark that closes nothing is ignored, an open line ends with the formula,
    and a missing argument is empty.
    """
    reader = _LayoutReader()
    action_of = _ACTIONS.get
    symbol = _LayoutReader.symbol
    for item in items:
        action = action_of(item, symbol)
        action(reader, item)
    while reader.around:
        reader.close()
    reader.end_line()
    return Tree(reader.symbols, reader.parents, reader.edges)
