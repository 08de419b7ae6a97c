r"""LaTeX → an operator tree: operators and what they are applied to.

An operator-precedence parser (Floyd 1963) reads the tokens of `latex.read` in one pass, with
explicit stacks: time is linear at any depth, and nothing raises. A missing operand is missing in
the tree, an unmatched closer is ignored, and an open group ends with the formula.

* Sums, products and chains of one relation have any number of arguments; `a>b` is `b<a`, `a-b` is a
  sum with its own kind of edge; signs of products and parentheses that only group are dropped.
* `\sum`, `\int`, `\lim` are applied to the product that follows, functions (`\sin 2x`) to its
  factors up to the next function; a letter is applied to the parentheses after it if it usually is
  (`f`, `P`) or if they hold no sum or product (`x(t)`). Scripts of such operators are arguments.
* A subscript belongs to its base, so `x_i` counts as `x`; a superscript is a power.
* `\sqrt[n]{x}` is a power of 1/n, `\exp x` one of e, `\ln` is `\log`, a table of two rows and one
  column `\binom`, `\left\{` with a table `cases`; the `dx` of integrals is dropped.
* Formulas side by side between commas are trees side by side.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.latex import CELL, CLOSE, OPEN, ROW, TABLE, VARIABLES
from arqmath_bm25.analysis.trees import LOWER, Tree
from arqmath_bm25.core.tables import by_name, names_in, read_table

_TABLE: Final = read_table(__file__)
_LEVELS: Final = {name: level for level, name in enumerate(_TABLE["levels"].split())}
_SUCH_THAT: Final = _LEVELS["such_that"]
_RELATION: Final = _LEVELS["relation"]
_SUM: Final = _LEVELS["sum"]
_SCOPE: Final = _LEVELS["scope"]
_FUNCTION: Final = _LEVELS["function"]
_ARGUMENT: Final = _LEVELS["argument"]
_SLOT: Final = _LEVELS["slot"]
_LAST_SLOT: Final = _LEVELS["last_slot"]
_FUNCTION_LETTERS: Final = names_in(_TABLE["function_letters"])
_NO_FUNCTIONS: Final = names_in(_TABLE["no_functions"])

# The edges of the tree.
_ANY: Final = "~"  # to the arguments of a commutative operator
_FIRST: Final = "1"  # to the first argument
_SECOND: Final = "2"  # to the other arguments
_MINUS: Final = "-"  # to a subtrahend
_UPPER: Final = "^"  # to a superscript
_ELEMENT: Final = "e"  # to a cell of a table
_APPLIED: Final = "a"  # to the argument of a letter

_INDEX: Final = "\x0f"  # the bracket that opens the index of a root
_TRAILING: Final = frozenset(".,;:?")  # They belong to the sentence, not to the formula.
_BARS: Final = frozenset(("|", "Vert"))
_FENCES: Final = frozenset("([{")
# The node of a fence and the only node in it → the node that both become.
_MERGED: Final = {
    ("set", ","): "set",
    ("set", "cases"): "cases",
    ("abs", "abs"): "norm",
}
_BRACES: Final = frozenset((OPEN, _INDEX))
_END: Final = ""  # of the items
_ENDS: Final = frozenset((_END, CLOSE))
_SIGNS: Final = frozenset(":+,")  # These signs are not always between operands.
_D_IN_BRACES: Final = [OPEN, "d", CLOSE]
_GROUND: Final = (0, "", 0, _ANY)


# A dataclass with slots is faster to read than a named tuple.
@dataclass(slots=True)
class _Role:
    """How the parser reads a symbol."""

    read: Callable[["_Reader", "_Role"], None]
    item: str
    symbol: str = ""  # of its node
    level: int = 0
    first: str = _FIRST  # edge to the operand before an infix, or to the first argument
    rest: str = _SECOND  # edge to the operands after it
    key: str = ""  # consecutive infixes of the same key share a node


class _Reader:
    """The state of reading: the tree so far, the open group, and the groups around it.

    Node 0, the start mark, is used for a missing operand, so its parent and edge are reset at the
    end.
    """

    def __init__(self, items: list[str]) -> None:
        self.items = items  # the items to read, the next one last
        self.symbols = [""]
        self.parents = [0]
        self.edges = [_ANY]

        # Operators that wait for arguments, with precedence, key, node and edge to the next
        # argument. Each group begins with its ground; then come its operators, the loosest first,
        # and last those that take a single operand.
        self.operators: list[tuple[int, str, int, str]] = [_GROUND]
        self.operand = 0  # the operand read last in the current group
        self.base = 0  # the symbol with which this operand begins
        self.braces = 0  # how many are open in the current table
        self.fences = 0  # how many are open in the current braces

        # Of each group the mark or bracket that opened it and the node that takes it, then the
        # values of `operand`, `base`, `braces` and `fences` around it.
        self.groups: list[tuple[str, int, int, int, int, int]] = [("", 0, 0, 0, 0, 0)]
        self.tables: list[list[int]] = []  # the cells of each open table, 0 between columns
        self.pairs: dict[str, bool] = {}  # whether a kind of bars occurs an even number of times

    def read(self) -> Tree:
        symbols = self.symbols
        parents = self.parents
        edges = self.edges
        operators = self.operators
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
        parents[0] = 0
        edges[0] = _ANY
        return Tree(symbols, parents, edges)

    def grow(self, symbol: str, parent: int = 0, edge: str = _ANY) -> int:
        self.symbols.append(symbol)
        self.parents.append(parent)
        self.edges.append(edge)
        return len(self.symbols) - 1

    def attach(self, node: int, parent: int, edge: str) -> None:
        self.parents[node] = parent
        self.edges[node] = edge

    # Operands and operators.

    def take(self, node: int) -> None:
        """Read an operand: the argument of an operator that takes a single one, or a factor."""
        operators = self.operators
        level, _, taker, edge = operators[-1]
        while level >= _SLOT:
            operators.pop()
            self.attach(node, taker, edge)
            if level == _SLOT:
                return
            node = taker
            level, _, taker, edge = operators[-1]

        if self.operand and level >= _FUNCTION:
            self.infix(_FACTORS)
        elif self.operand:
            self.infix(_TIMES)
        self.operand = self.base = node

    def infix(self, role: _Role) -> None:
        """Read an infix operator; the operand before it goes to the one that binds tighter."""
        operators = self.operators
        if operators[-1][0] >= _SLOT:  # x^*
            self.take(self.grow(role.symbol))
            return

        level = role.level
        rest = role.rest
        key = role.key or str(len(self.parents))
        operand = self.operand
        top_level, top_key, node, edge = operators[-1]
        while top_level >= level and top_key != key:
            operators.pop()
            self.attach(operand, node, edge)
            operand = node
            top_level, top_key, node, edge = operators[-1]

        if top_key != key:
            node = self.grow(role.symbol)
            edge = role.first
            operators.append((level, key, node, rest))
        elif edge != rest:
            operators[-1] = (level, key, node, rest)
        self.attach(operand, node, edge)
        self.operand = self.base = 0

    def collapse(self) -> int:
        """End the group: give all operators their last arguments; return the top node."""
        operators = self.operators
        level, _, node, edge = operators[-1]
        while level >= _SLOT:
            operators.pop()
            if level == _LAST_SLOT:
                self.take(node)
            level, _, node, edge = operators[-1]

        operand = self.operand
        while level:
            operators.pop()
            self.attach(operand, node, edge)
            operand = node
            level, _, node, edge = operators[-1]
        self.operand = self.base = 0
        return operand

    # Symbols by their kind.

    def read_nothing(self, role: _Role) -> None:
        pass

    def read_infix(self, role: _Role) -> None:
        symbol = role.symbol
        following = self.items[-1]
        if self.operators[-1][0] >= _SLOT:
            self.infix(role)
        elif symbol == ":" and following == "=":
            pass
        elif symbol == "+" and not self.operand and following not in _ENDS:
            pass  # The formula +x is x, but {+} is a plus.
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
            node = self.grow(role.symbol)
            self.operators.append((_SCOPE, role.item, node, role.rest))

    def read_prefix(self, role: _Role) -> None:
        if self.operators[-1][0] >= _SLOT:
            self.take(self.grow(role.symbol))
            return

        if self.operand:
            self.infix(_TIMES)
        node = self.grow(role.symbol)
        self.operators.append((role.level, "", node, role.first))

    def read_exponential(self, role: _Role) -> None:
        self.read_prefix(role)
        power = len(self.symbols) - 1
        self.grow("e", power, _FIRST)

    def read_script(self, role: _Role) -> None:
        level, key, node, _ = self.operators[-1]
        if level >= _SLOT:
            return  # x^_2

        edge = role.rest
        if self.operand and edge == LOWER:
            node = self.base or self.operand
        elif self.operand or key or not node:
            node = self.grow(role.symbol)
            edge = _SECOND
            self.attach(self.operand, node, _FIRST)
            self.operand = node
        self.operators.append((_SLOT, "", node, edge))

    def read_postfix(self, role: _Role) -> None:
        node = self.grow(role.symbol)
        if self.operand and self.operators[-1][0] < _SLOT:
            self.attach(self.operand, node, _FIRST)
            self.operand = node
            self.base = 0
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
        group = (kind, head, self.operand, self.base, self.braces, self.fences)
        self.groups.append(group)
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
        elif _ROLES[kind].symbol:
            symbol = _ROLES[kind].symbol
            node = content
            merged = _MERGED.get((symbol, self.symbols[content]))
            if merged is not None:
                self.symbols[node] = merged
            else:
                node = self.grow(symbol)
                self.attach(content, node, _FIRST)
            self.take(node)
        else:
            self.close_parentheses(content, head, kind + closing)

    def close_through(self, kind: str) -> None:
        """End the innermost group of a kind, and all groups within it."""
        while self.groups[-1][0] != kind:
            self.close()
        self.close()

    def close_parentheses(self, content: int, head: int, symbol: str) -> None:
        """Parse the content of parentheses or brackets: a factor, an argument or a tuple."""
        if not content or self.symbols[content] == ",":
            content = content or self.grow(symbol)
            self.symbols[content] = symbol

        name = self.symbols[head]
        level, _, node, edge = self.operators[-1]
        # Most letters are applied to what holds no sum or product.
        if head and (
            name in _FUNCTION_LETTERS
            or name not in VARIABLES
            or self.symbols[content] not in _ROLES
        ):
            self.attach(content, head, _APPLIED)
            self.base = 0
        elif level == _FUNCTION and not self.operand:
            self.operators.pop()
            self.attach(content, node, edge)
            self.take(node)
        else:
            self.take(content)

    def close_cells(self, table: int, content: int) -> None:
        cells = self.tables.pop()
        if content:
            cells.append(content)

        edges = [_ELEMENT] * len(cells)
        if self.groups[-1][0] == "{" and not self.operand:
            self.symbols[table] = "cases"
        elif len(cells) == 2 and all(cells):
            self.symbols[table] = "binom"
            edges = [_FIRST, _SECOND]
        for cell, edge in zip(cells, edges, strict=True):
            self.attach(cell, table, edge)
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
            if self.may_be_function(self.symbols[self.base], role.item):
                head = self.base
            elif level >= _FUNCTION:
                self.infix(_TIMES)
        self.open(role.item, head)
        self.fences += 1

    def may_be_function(self, name: str, bracket: str) -> bool:
        """Return whether a symbol before a bracket may be applied to the content."""
        if name in _FUNCTION_LETTERS:
            return True
        if bracket != "(":
            return False
        if name in VARIABLES:
            return True
        return name.isalpha() and name not in _NO_FUNCTIONS and name not in _ROLES

    def read_close_fence(self, role: _Role) -> None:
        if self.groups[-1][0] == _INDEX and role.item == "]":
            self.close()
        elif self.fences:
            while self.groups[-1][0] in _BARS:
                self.close()
            self.close(role.item)

    def read_bar(self, role: _Role) -> None:
        bar = role.item
        kind = self.groups[-1][0]
        if bar not in self.pairs:
            others = self.items.count(bar)
            self.pairs[bar] = others % 2 == 1

        in_fence = kind in _FENCES
        follows_operand = self.operand and self.operators[-1][0] < _SLOT
        if kind == bar and self.operand:
            self.close()
        elif not follows_operand or (not in_fence and self.pairs[bar]):
            self.open(bar)
        else:
            self.infix(_BETWEEN[bar, in_fence])

    def read_table(self, role: _Role) -> None:
        node = self.grow(role.item)
        if self.items[-1] != TABLE:
            self.take(node)
            return

        self.open(TABLE, node)
        self.braces = 0
        self.fences = 0
        self.tables.append([])

    def read_cell_end(self, role: _Role) -> None:
        if self.tables:
            while self.groups[-1][0] != TABLE:
                self.close()
            content = self.collapse()
            if content:
                self.tables[-1].append(content)
            if role.item == CELL:
                self.tables[-1].append(0)
        elif role.item == ROW and len(self.groups) == 1:
            self.collapse()

    def read_table_end(self, role: _Role) -> None:
        if self.tables:
            self.close_through(TABLE)


def _items_and_nodes(names: str) -> Iterator[tuple[str, str]]:
    """Yield the symbols of a table and their nodes; `frac=over` is the node frac of an over."""
    for name in names.split():
        node, _, symbol = name.partition("=")
        if len(name) == 1:  # The sign `=` itself.
            node = symbol = name
        yield symbol or node, node


def _infix(item: str, symbol: str, level: int, first: str, rest: str) -> _Role:
    read = _Reader.infix
    if symbol in _SIGNS:
        read = _Reader.read_infix

    # Each division has its own node: a/b/c is (a/b)/c.
    key = symbol + first
    if symbol == "frac":
        key = ""
    return _Role(read, item, symbol, level, first, rest, key)


def _roles_of_table() -> Iterator[_Role]:
    """Yield the roles of the symbols in the table of operators."""
    for kind, names in _TABLE["kinds"].items():
        read = getattr(_Reader, f"read_{kind}")
        for item, node in _items_and_nodes(names):
            yield _Role(read, item, node)

    for kind, edges in (("ordered", (_FIRST, _SECOND)), ("commutative", (_ANY, _ANY))):
        for level, names in _TABLE[kind].items():
            for item, node in _items_and_nodes(names):
                yield _infix(item, node, _LEVELS[level], *edges)
    for level, names in _TABLE["prefix"].items():
        for item, node in _items_and_nodes(names):
            yield _Role(_Reader.read_prefix, item, node, _LEVELS[level])


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
        *_roles_of_table(),
    ]
    for name in latex.ACCENTS:
        roles.append(_Role(_Reader.read_taker, name, name, 0, "", _FIRST))
    by_item = {role.item: role for role in roles}

    for item, other in by_name(_TABLE["turned"]).items():
        role = by_item[other]
        by_item[item] = _infix(item, role.symbol, role.level, _SECOND, _FIRST)

    plus = by_item["+"]
    by_item["-"] = replace(plus, read=_Reader.read_minus, item="-", rest=_MINUS)
    return by_item


_ROLES: Final = _roles()
_TIMES: Final = _ROLES["times"]
_FACTORS: Final = replace(_TIMES, level=_ARGUMENT, key="inside")  # of the argument of a function
# Bars between operands, outside and within fences.
_BETWEEN: Final = {
    (bar, in_fence): _infix(bar, bar, level, _FIRST, _SECOND)
    for bar in _BARS
    for in_fence, level in ((False, _RELATION), (True, _SUCH_THAT))
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
