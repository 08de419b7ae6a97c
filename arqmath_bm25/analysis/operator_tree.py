r"""LaTeX → an operator tree: operators and what they are applied to.

An operator-precedence parser (Floyd 1963) reads the tokens of `latex.read` in one pass, with stacks
of its own: time is linear at any depth, and nothing raises. A missing operand is missing in the
tree, an unmatched closer is ignored, and an open group ends with the formula.

* Sums, products and chains of one relation have any number of arguments; `a>b` is `b<a`, `a-b` a
  sum with an edge of its own, signs of products and parentheses that only group go.
* `\sum`, `\int`, `\lim` hold the product that follows, functions (`\sin 2x`) its factors up to the
  next function; a letter is applied to parentheses behind it if it is one that mostly is (`f`, `P`)
  or if they hold no sum or product (`x(t)`). Scripts of such operators are their arguments.
* A subscript belongs to its base, so `x_i` counts as `x`; a superscript is a power.
* `\sqrt[n]{x}` is a power of 1/n, `\exp x` one of e, `\ln` is `\log`, a table of two rows and one
  column `\binom`, `\left\{` with a table `cases`; the `dx` of integrals goes.
* Formulas side by side between commas are trees side by side.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.latex import CELL, CLOSE, OPEN, ROW, TABLE, VARIABLES
from arqmath_bm25.analysis.trees import LOWER, Tree
from arqmath_bm25.core.tables import read_table

_TABLE: Final = read_table(__file__)
_LEVELS: Final = {name: level for level, name in enumerate(_TABLE["levels"].split())}
_SUCH_THAT, _RELATION, _SUM, _SCOPE, _FUNCTION, _ARGUMENT, _SLOT, _LAST_SLOT = map(
    _LEVELS.__getitem__,
    "such_that relation sum scope function argument slot last_slot".split(),
)
_FUNCTION_LETTERS: Final = frozenset(_TABLE["function_letters"].split())
_NO_FUNCTIONS: Final = frozenset(_TABLE["no_functions"].split())

# Edges: to an argument whose place means nothing, to the first one, to the others, …
_ANY, _FIRST, _SECOND = "~", "1", "2"
# … to what is subtracted, to scripts, to the cells of a table, to what a letter is applied to.
_MINUS, _UPPER, _ELEMENT, _APPLIED = "-", "^", "e", "a"

_INDEX: Final = "\x0f"  # the bracket that opens the index of a root
_TRAILING: Final = frozenset(".,;:?")  # the sentence's, not the formula's
_BARS: Final = frozenset(("|", "Vert"))
_FENCES: Final = frozenset("([{")
# What a fence is with what stands alone in it.
_MERGED: Final = {("set", ","): "set", ("set", "cases"): "cases", ("abs", "abs"): "norm"}
_BRACES: Final = frozenset((OPEN, _INDEX))
_END: Final = ""  # of the items
_ENDS: Final = frozenset((_END, CLOSE))
_SIGNS: Final = frozenset(":+,")  # which are not always between operands
_D_IN_BRACES: Final = [OPEN, "d", CLOSE]
_GROUND: Final = (0, "", 0, _ANY)


@dataclass(slots=True)  # faster to read than a tuple with names
class _Role:
    """How the parser reads a symbol."""

    read: Callable[["_Reader", "_Role"], None]
    item: str
    symbol: str = ""  # of its node
    level: int = 0
    first: str = _FIRST  # edge to what stands before an infix, or to the first argument
    rest: str = _SECOND  # edge to what stands behind it
    key: str = ""  # infixes of the same key have one node


class _Reader:
    """The state of reading: the tree so far, the open group, and the groups around it.

    Node 0, the start mark, stands in for a missing operand: its parent and edge are reset at the
    end.
    """

    def __init__(self, items: list[str]) -> None:
        self.items = items  # to be read, the next one last
        self.symbols, self.parents, self.edges = [""], [0], [_ANY]
        # What waits for arguments, with precedence, key, node and edge to the next argument: in
        # each group its ground, operators, the loosest first, then what takes a single operand.
        self.operators: list[tuple[int, str, int, str]] = [_GROUND]
        # The operand read last in the present group, and the symbol that it begins with.
        self.operand = self.base = 0
        self.braces = self.fences = 0  # open in the present table, in the present braces
        # Of each group the mark or bracket that opened it and the node that takes it, then
        # `operand`, `base`, `braces` and `fences` as they were.
        self.groups: list[tuple[str, int, int, int, int, int]] = [("", 0, 0, 0, 0, 0)]
        self.tables: list[list[int]] = []  # cells of those that are open, 0 between columns
        self.pairs: dict[str, bool] = {}  # whether there is an even number of a kind of bars

    def read(self) -> Tree:
        symbols, parents, edges, operators = self.symbols, self.parents, self.edges, self.operators
        role_of = _ROLES.get
        for item in iter(self.items.pop, _END):
            role = role_of(item)
            if role is not None:
                read = role.read
                read(self, role)
                continue
            node = len(symbols)
            symbols.append(item)
            parents.append(0)
            edges.append(_ANY)
            if self.operand or operators[-1][0] >= _SLOT:
                self.take(node)
            else:
                self.operand = self.base = node
        while len(self.groups) > 1:
            self.close()
        self.collapse()
        parents[0], edges[0] = 0, _ANY
        return Tree(symbols, parents, edges)

    def grow(self, symbol: str, parent: int = 0, edge: str = _ANY) -> int:
        self.symbols.append(symbol)
        self.parents.append(parent)
        self.edges.append(edge)
        return len(self.symbols) - 1

    # Operands and operators.

    def take(self, node: int) -> None:
        """Read an operand: the argument of what takes a single one, or a factor."""
        operators = self.operators
        level, _, taker, edge = operators[-1]
        while level >= _SLOT:
            operators.pop()
            self.parents[node], self.edges[node] = taker, edge
            if level == _SLOT:
                return
            node = taker
            level, _, taker, edge = operators[-1]
        if self.operand:
            self.infix(_FACTORS if level >= _FUNCTION else _TIMES)
        self.operand = self.base = node

    def infix(self, role: _Role) -> None:
        """Read an infix operator; the operand before it goes to whichever binds tighter."""
        operators, parents, edges, operand = self.operators, self.parents, self.edges, self.operand
        level, rest, key = role.level, role.rest, role.key or str(len(parents))
        top = operators[-1]
        if top[0] >= _SLOT:  # x^*
            self.take(self.grow(role.symbol))
            return
        while top[0] >= level and top[1] != key:
            operators.pop()
            parents[operand], edges[operand] = top[2], top[3]
            operand = top[2]
            top = operators[-1]
        if top[1] == key:
            node, first = top[2], top[3]
            if first != rest:
                operators[-1] = (level, key, node, rest)
        else:
            node, first = self.grow(role.symbol), role.first
            operators.append((level, key, node, rest))
        parents[operand], edges[operand] = node, first
        self.operand = self.base = 0

    def collapse(self) -> int:
        """End the group: give all operators their last arguments; return the top node."""
        operators, parents, edges = self.operators, self.parents, self.edges
        while (top := operators[-1])[0] >= _SLOT:
            operators.pop()
            if top[0] == _LAST_SLOT:
                self.take(top[2])
        operand = self.operand
        while top[0]:
            operators.pop()
            parents[operand], edges[operand] = top[2], top[3]
            operand = top[2]
            top = operators[-1]
        self.operand = self.base = 0
        return operand

    # Symbols by their kind.

    def read_nothing(self, role: _Role) -> None:
        pass

    def read_infix(self, role: _Role) -> None:
        symbol, item = role.symbol, self.items[-1]
        if self.operators[-1][0] >= _SLOT:
            self.infix(role)
        elif symbol == ":" and item == "=":
            pass
        elif symbol == "+" and not self.operand and item not in _ENDS:
            pass  # +x is x, but {+} is a plus
        elif symbol == "," and len(self.groups) == 1:
            self.collapse()
        else:
            self.infix(role)

    def read_minus(self, role: _Role) -> None:
        level = self.operators[-1][0]
        if level >= _SLOT:
            self.take(self.grow(role.item))
        elif self.operand or level < _SUM:
            self.infix(role)
        else:  # a \cdot -b
            self.operators.append((_SCOPE, role.item, self.grow(role.symbol), role.rest))

    def read_prefix(self, role: _Role) -> None:
        if self.operators[-1][0] >= _SLOT:
            self.take(self.grow(role.symbol))
            return
        if self.operand:
            self.infix(_TIMES)
        self.operators.append((role.level, "", self.grow(role.symbol), role.first))

    def read_exponential(self, role: _Role) -> None:
        self.read_prefix(role)
        self.grow("e", len(self.symbols) - 1, _FIRST)

    def read_script(self, role: _Role) -> None:
        level, key, node, _ = self.operators[-1]
        if level >= _SLOT:
            return  # x^_2
        edge = role.rest
        if self.operand and edge == LOWER:
            node = self.base or self.operand
        elif self.operand or key or not node:
            node, edge = self.grow(role.symbol), _SECOND
            self.parents[self.operand], self.edges[self.operand] = node, _FIRST
            self.operand = node
        self.operators.append((_SLOT, "", node, edge))

    def read_postfix(self, role: _Role) -> None:
        node = self.grow(role.symbol)
        if self.operand and self.operators[-1][0] < _SLOT:
            self.parents[self.operand], self.edges[self.operand] = node, _FIRST
            self.operand, self.base = node, 0
        else:
            self.take(node)

    def read_taker(self, role: _Role) -> None:
        node = self.grow(role.symbol)
        self.operators.append((_LAST_SLOT, "", node, role.rest))
        if role.first:
            self.operators.append((_SLOT, "", node, role.first))

    def read_root(self, role: _Role) -> None:
        node = self.grow("^")
        exponent = self.grow("frac", node, _SECOND)
        self.grow("1", exponent, _FIRST)
        self.operators.append((_LAST_SLOT, "", node, _FIRST))
        if self.items[-1] == "[":
            self.items.pop()
            self.operators.append((_SLOT, "", exponent, _SECOND))
            self.open(_INDEX)
            self.fences = 0
        else:
            self.grow("2", exponent, _SECOND)

    # Groups.

    def open(self, kind: str, head: int = 0) -> None:
        self.groups.append((kind, head, self.operand, self.base, self.braces, self.fences))
        self.operators.append(_GROUND)
        self.operand = self.base = 0

    def close(self, closing: str = ")") -> None:
        """End the current group, which becomes an operand of the one around it."""
        content = self.collapse()
        self.operators.pop()
        kind, head, self.operand, self.base, self.braces, self.fences = self.groups.pop()
        if kind in _BRACES:
            if content or self.operators[-1][0] >= _SLOT:
                self.take(content or self.grow(""))
        elif kind == TABLE:
            self.close_cells(head, content)
        elif symbol := _ROLES[kind].symbol:
            self.close_fences(content, symbol)
        else:
            self.close_parentheses(content, head, kind + closing)

    def close_through(self, kind: str) -> None:
        """End the groups within the innermost one of a kind, and that."""
        while self.groups[-1][0] != kind:
            self.close()
        self.close()

    def close_parentheses(self, content: int, head: int, symbol: str) -> None:
        """Parse the content of parentheses or brackets: a factor, an argument or a tuple."""
        if not content or self.symbols[content] == ",":
            content = content or self.grow(symbol)
            self.symbols[content] = symbol
        letter, inner = self.symbols[head], self.symbols[content]
        level, _, node, edge = self.operators[-1]
        if head and (letter in _FUNCTION_LETTERS or letter not in VARIABLES or inner not in _ROLES):
            self.parents[content], self.edges[content] = head, _APPLIED
            self.base = 0
        elif level == _FUNCTION and not self.operand:
            self.operators.pop()
            self.parents[content], self.edges[content] = node, edge
            self.take(node)
        else:
            self.take(content)

    def close_fences(self, content: int, symbol: str) -> None:
        if merged := _MERGED.get((symbol, self.symbols[content])):
            self.symbols[content] = merged
            self.take(content)
        else:
            node = self.grow(symbol)
            self.parents[content], self.edges[content] = node, _FIRST
            self.take(node)

    def close_cells(self, table: int, content: int) -> None:
        cells = self.tables.pop()
        if content:
            cells.append(content)
        edges = [_ELEMENT] * len(cells)
        if self.groups[-1][0] == "{" and not self.operand:
            self.symbols[table] = "cases"
        elif len(cells) == 2 and all(cells):
            self.symbols[table], edges = "binom", [_FIRST, _SECOND]
        for cell, edge in zip(cells, edges, strict=True):
            self.parents[cell], self.edges[cell] = table, edge
        self.take(table)

    def read_open_braces(self, role: _Role) -> None:
        self.open(OPEN)
        self.fences = 0
        self.braces += 1

    def read_close_braces(self, role: _Role) -> None:
        if self.braces:
            self.close_through(OPEN)

    def read_open_fence(self, role: _Role) -> None:
        head = 0
        level = self.operators[-1][0]
        if self.operand and level < _SLOT and not role.symbol:
            name = self.symbols[self.base]
            is_name = name.isalpha() and name not in _NO_FUNCTIONS and name not in _ROLES
            if name in _FUNCTION_LETTERS or (role.item == "(" and (name in VARIABLES or is_name)):
                head = self.base
            elif level >= _FUNCTION:
                self.infix(_TIMES)
        self.open(role.item, head)
        self.fences += 1

    def read_close_fence(self, role: _Role) -> None:
        if self.groups[-1][0] == _INDEX and role.item == "]":
            self.close()
        elif self.fences:
            while self.groups[-1][0] in _BARS:
                self.close()
            self.close(role.item)

    def read_bar(self, role: _Role) -> None:
        bar, kind = role.item, self.groups[-1][0]
        if bar not in self.pairs:
            self.pairs[bar] = self.items.count(bar) % 2 == 1
        is_behind = self.operand and self.operators[-1][0] < _SLOT
        if kind == bar and self.operand:
            self.close()
        elif not is_behind or (kind not in _FENCES and self.pairs[bar]):
            self.open(bar)
        else:
            self.infix(_BETWEEN[bar, kind in _FENCES])

    def read_table(self, role: _Role) -> None:
        node = self.grow(role.item)
        if self.items[-1] != TABLE:
            self.take(node)
            return
        self.open(TABLE, node)
        self.braces = self.fences = 0
        self.tables.append([])

    def read_cell_end(self, role: _Role) -> None:
        if self.tables:
            while self.groups[-1][0] != TABLE:
                self.close()
            if content := self.collapse():
                self.tables[-1].append(content)
            if role.item == CELL:
                self.tables[-1].append(0)
        elif role.item == ROW and len(self.groups) == 1:
            self.collapse()

    def read_table_end(self, role: _Role) -> None:
        if self.tables:
            self.close_through(TABLE)


def _named(names: str) -> Iterator[tuple[str, str]]:
    """Yield the symbols of a table and their nodes; `frac=over` is the node frac of an over."""
    for name in names.split():
        node, _, symbol = name.partition("=") if len(name) > 1 else (name, "", "")
        yield symbol or node, node


def _infix(item: str, symbol: str, level: int, first: str, rest: str) -> _Role:
    # Each division is one of its own: a/b/c is (a/b)/c.
    key = "" if symbol == "frac" else symbol + first
    read = _Reader.read_infix if symbol in _SIGNS else _Reader.infix
    return _Role(read, item, symbol, level, first, rest, key)


def _roles() -> dict[str, _Role]:
    roles = [
        _Role(_Reader.read_open_braces, OPEN),
        _Role(_Reader.read_close_braces, CLOSE),
        _Role(_Reader.read_script, latex.SUPER, "^", rest=_UPPER),
        _Role(_Reader.read_script, latex.SUB, "_", rest=LOWER),
        _Role(_Reader.read_nothing, TABLE),
        _Role(_Reader.read_cell_end, CELL),
        _Role(_Reader.read_cell_end, ROW),
        _Role(_Reader.read_table_end, latex.TABLE_END),
        _Role(_Reader.read_exponential, "exp", "^", _FUNCTION, _SECOND),
    ]
    for kind, names in _TABLE["kinds"].items():
        read = getattr(_Reader, f"read_{kind}")
        roles += [_Role(read, item, node) for item, node in _named(names)]
    for table, edges in (("ordered", (_FIRST, _SECOND)), ("commutative", (_ANY, _ANY))):
        for level, names in _TABLE[table].items():
            roles += [_infix(*name, _LEVELS[level], *edges) for name in _named(names)]
    for level, names in _TABLE["prefix"].items():
        roles += [_Role(_Reader.read_prefix, *name, _LEVELS[level]) for name in _named(names)]
    roles += [_Role(_Reader.read_taker, name, name, 0, "", _FIRST) for name in latex.ACCENTS]
    by_item = {role.item: role for role in roles}
    turned = _TABLE["turned"].split()
    for item, other in zip(turned[::2], turned[1::2], strict=True):
        role = by_item[other]
        by_item[item] = _infix(item, role.symbol, role.level, _SECOND, _FIRST)
    by_item["-"] = replace(by_item["+"], read=_Reader.read_minus, item="-", rest=_MINUS)
    return by_item


_ROLES: Final = _roles()
_TIMES: Final = _ROLES["times"]
_FACTORS: Final = replace(_TIMES, level=_ARGUMENT, key="inside")  # of the argument of a function
_BETWEEN: Final = {
    (bar, within): _infix(bar, bar, _SUCH_THAT if within else _RELATION, _FIRST, _SECOND)
    for bar in _BARS
    for within in (False, True)  # fences
}


def read_operators(items: list[str]) -> Tree:
    """Build the tree of a formula from its symbols and marks, as `latex.read` returns them."""
    end = len(items)
    while end and items[end - 1] in _TRAILING:
        end -= 1
    kept = items[:end]
    if "int" in kept and "d" in kept:
        kept = _without_differentials(kept)
    return _Reader([_END, *reversed(kept)]).read()


def _without_differentials(items: list[str]) -> list[str]:
    kept: list[str] = []
    for item in items:
        if item in VARIABLES and kept[-1:] == ["d"]:
            kept.pop()
        elif item in VARIABLES and kept[-3:] == _D_IN_BRACES:
            del kept[-3:]
        else:
            kept.append(item)
    return kept
