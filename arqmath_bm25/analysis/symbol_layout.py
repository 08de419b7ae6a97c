r"""The layout of a formula: which symbol stands where beside which other one.

A symbol layout tree (Zanibbi and Blostein 2012) has symbols as nodes. An edge leads from a symbol
to the next one on its line, or to the first one of a line that belongs to it:

| edge | leads to | as in |
|---|---|---|
| n | the next symbol | `a n` |
| a, b | above, below: super- or subscript, limits, index of a root | `x^a_b` |
| o, u | over, under: the halves of a fraction or of a stack | `\frac{o}{u}` |
| w | within: what a root or an accent covers | `\sqrt{w}` |
| e, s | the elements of a table, cell by cell; its shape | `\begin{matrix} e & e \\ e & e` |

Every line ends in an end mark, the formula's own begins with a start mark; both are written as
nothing. Terms are the paths through two and three nodes (pairs are those of Tangent-L, Fraser,
Kane and Tompa 2018): of `x^2+1` the pairs `~n~x`, `x~a~2`, `2~n~`, `x~n~+`, `+~n~1`, `1~n~` and
the triples `~n~x~a~2`, `x~a~2~n~` and so on. The tree is built in one pass over what `latex.read`
found and without recursion: time is linear at any depth, and nothing raises.
"""

from typing import Final

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.latex import CELL, CLOSE, INFIX, OPEN, ROW, TABLE, TABLE_END
from arqmath_bm25.analysis.terms import Tree

_NEXT, _ABOVE, _BELOW, _OVER, _UNDER, _WITHIN, _ELEMENT, _SHAPE = (f"~{e}~" for e in "nabouwes")
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
_SPECIAL: Final = frozenset((OPEN, CLOSE, CELL, ROW, TABLE, TABLE_END, "[", "]", *_SCRIPTS, *INFIX))


def read_layout(items: list[str]) -> Tree:
    """Build the tree of a formula from its symbols and marks, as `latex.read` returns them.

    What is broken is read as it comes: a mark that closes nothing is ignored, a line that is left
    open ends with the formula, an argument that is missing is empty.
    """
    symbols, parents, edges = [""], [0], [""]
    waiting: list[tuple[str, int, str, int, tuple[str, ...]]] = []  # lines around the present one
    tables: list[list[int]] = []  # rows that are full, columns, cells of the present row
    # The present line: what closes it, the node it belongs to, the edge from there to its first
    # symbol, the node read last, and the edges to the arguments that this one still waits for.
    kind, owner, edge, last = TABLE_END, 0, _NEXT, 0
    todo: tuple[str, ...] = ()

    def grow(symbol: str, parent: int, relation: str) -> int:
        symbols.append(symbol)
        parents.append(parent)
        edges.append(relation)
        return len(symbols) - 1

    def close() -> None:
        """Return to the line around; end the lines of one symbol that are complete with this."""
        nonlocal kind, owner, edge, last, todo
        while True:
            braces, inside = kind == _BRACES, last
            if not braces and last != owner:
                grow("", last, _NEXT)
            kind, owner, edge, last, todo = waiting.pop()
            if braces:
                last = inside
            if kind or todo:
                break

    for item in items:
        if item in _SPECIAL:
            if item == OPEN:
                if todo:
                    waiting.append((kind, owner, edge, last, todo[1:]))
                    kind, owner, edge, todo = CLOSE, last, todo[0], ()
                else:
                    waiting.append((kind, owner, edge, last, ()))
                    kind, owner, edge = _BRACES, last, edge if last == owner else _NEXT
                continue
            if item == CLOSE:
                while kind in _INNER:
                    close()
                if kind != TABLE_END:
                    close()
                continue
            if item in _SCRIPTS:
                if last == owner:
                    last = grow(_NO_BASE, last, edge)
                todo = _SCRIPTS[item]
                continue
            if item in INFIX:
                fraction = grow(INFIX[item], owner, edge)
                if last != owner:
                    grow("", last, _NEXT)
                    while parents[last] != owner:
                        last = parents[last]
                    parents[last], edges[last] = fraction, _OVER
                waiting.append((kind, owner, edge, fraction, ()))
                kind, owner, edge, last, todo = _DENOMINATOR, fraction, _UNDER, fraction, ()
                continue
            if item == "[" and todo and symbols[last] == "sqrt":
                waiting.append((kind, owner, edge, last, todo))
                kind, owner, edge, todo = _INDEX, last, _ABOVE, ()
                continue
            if item == "]" and kind == _INDEX:
                close()
                continue
            if item == TABLE:
                waiting.append((kind, owner, edge, last, ()))
                kind, owner, edge, todo = TABLE_END, last, _ELEMENT, ()
                tables.append([0, 1, 1])
                continue
            if item in (CELL, ROW, TABLE_END):
                if tables:
                    while kind != TABLE_END:
                        close()
                    shape = tables[-1]
                    filled = last != owner
                    if filled:
                        grow("", last, _NEXT)
                        last = owner
                    if item == CELL:
                        shape[2] += 1
                        shape[1] = max(shape[1], shape[2])
                    else:
                        shape[0] += item == ROW or filled or shape[2] > 1
                        shape[2] = 1
                    if item == TABLE_END:
                        tables.pop()
                        grow(f"{shape[0]}x{shape[1]}", owner, _SHAPE)
                        close()
                continue
        if todo:
            waiting.append((kind, owner, edge, last, todo[1:]))
            kind, owner, edge = _SYMBOL, last, todo[0]
        symbols.append(item)
        parents.append(last)
        edges.append(edge if last == owner else _NEXT)
        last = len(symbols) - 1
        todo = _ARGUMENTS.get(item, ())
        if not kind and not todo:
            close()
    while waiting:
        close()
    if last:
        grow("", last, _NEXT)
    return Tree(symbols, parents, edges)
