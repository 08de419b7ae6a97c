r"""LaTeX → an operator tree: which operator is applied to what.

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

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.latex import CELL, CLOSE, OPEN, ROW, TABLE, VARIABLES
from arqmath_bm25.analysis.terms import LOWER, Tree
from arqmath_bm25.core.tables import read_table

_TABLE: Final = read_table(__file__)
_LEVELS: Final = {name: level for level, name in enumerate(_TABLE["levels"].split())}
_LIST, _SUCH_THAT, _RELATION, _SUM, _SCOPE, _PRODUCT, _FUNCTION, _ARGUMENT = map(
    _LEVELS.__getitem__, "list such_that relation sum scope product function argument".split()
)
_FUNCTION_LETTERS: Final = frozenset(_TABLE["function_letters"].split())
_NO_FUNCTIONS: Final = frozenset(_TABLE["no_functions"].split())

# Edges: to an argument whose place means nothing, to the first one, to the others, …
_ANY, _FIRST, _SECOND = "~", "~1~", "~2~"
# … to what is subtracted, to scripts, to the cells of a table, to what a letter is applied to.
_MINUS, _UPPER, _ELEMENT, _APPLIED = "~-~", "~^~", "~e~", "~a~"

_INDEX: Final = "\x0f"  # the bracket that opens the index of a root
_TRAILING: Final = frozenset(".,;:?")  # the sentence's, not the formula's
_BARS: Final = frozenset(("|", "Vert"))
_FENCES: Final = frozenset("([{")
_ENDS: Final[list[list[str]]] = [[], [CLOSE]]
_NOTHING: Final = "?"
_D_IN_BRACES: Final = [OPEN, "d", CLOSE]
_GROUND: Final = (0, "", 0, _ANY)
_INSIDE: Final = "inside"  # the product that is the argument of a function


class _Role(NamedTuple):
    """How a symbol is read."""

    kind: str  # the method that reads it
    symbol: str = ""  # of its node
    level: int = 0
    first: str = _ANY  # edge to what stands before an infix, or to the first argument
    rest: str = _ANY  # edge to what stands behind it


def _named(names: str) -> Iterator[tuple[str, str]]:
    """Yield the symbols of a table and their nodes; `frac=over` is the node frac of an over."""
    for name in names.split():
        node, _, symbol = name.partition("=") if len(name) > 1 else (name, "", "")
        yield symbol or node, node


def _roles() -> dict[str, _Role]:
    roles = {
        OPEN: _Role("open_braces"),
        CLOSE: _Role("close_braces"),
        latex.SUPER: _Role("script", "^", rest=_UPPER),
        latex.SUB: _Role("script", "_", rest=LOWER),
        TABLE: _Role("nothing"),
        CELL: _Role("end_cell"),
        ROW: _Role("end_cell"),
        latex.TABLE_END: _Role("close_table"),
        _INDEX: _Role("index"),
        "exp": _Role("exponential", "^", _FUNCTION, _FIRST, _SECOND),
    }
    for kind, names in _TABLE["kinds"].items():
        for symbol, node in _named(names):
            roles[symbol] = _Role(kind, node, 0, _FIRST, _SECOND)
    for table, kind, edges in (
        ("ordered", "infix", (_FIRST, _SECOND)),
        ("commutative", "infix", (_ANY, _ANY)),
        ("prefix", "prefix", (_FIRST, _ANY)),
    ):
        for level, names in _TABLE[table].items():
            for symbol, node in _named(names):
                roles[symbol] = _Role(kind, node, _LEVELS[level], *edges)
    turned = _TABLE["turned"].split()
    for symbol, other in zip(turned[::2], turned[1::2], strict=True):
        roles[symbol] = roles[other]._replace(first=_SECOND, rest=_FIRST)
    for symbol in latex.ACCENTS:
        roles[symbol] = _Role("taker", symbol, 0, _FIRST, "")
    return roles


_ROLES: Final = _roles()


class _Reader:
    """What has been read so far: the tree, the group that is open, and the groups around it."""

    def __init__(self, items: list[str]) -> None:
        self.items = items
        self.symbols, self.parents, self.edges = [""], [0], [_ANY]
        self.around: list[tuple[object, ...]] = []
        self.tables = 0  # open
        # The present group: the mark or bracket that opened it, and the node that takes it.
        self.kind, self.head = "", 0
        self.braces = self.fences = 0  # open in the present table, in the present braces
        self.cells: list[int] = []  # of the present table
        self.columns = False  # whether it has more than one
        # In it: operators that wait for arguments, with precedence, key, node and edge to the next
        # argument, the loosest first; the operand read last, and the symbol that it begins with;
        # operators that take single arguments, with the edges to those, and whether they are then
        # operands.
        self.operators: list[tuple[int, str, int, str]] = [_GROUND]
        self.operand = self.base = 0
        self.takers: list[tuple[int, tuple[str, ...], bool]] = []
        self.pairs: dict[str, bool] = {}  # whether there is an even number of a kind of bars

    def read(self) -> Tree:
        symbols, parents, edges = self.symbols, self.parents, self.edges
        action_of = _ACTIONS.get
        for place, item in enumerate(self.items):
            action = action_of(item)
            if action:
                action[0](self, action[1], place)
                continue
            symbols.append(item)
            parents.append(0)
            edges.append(_ANY)
            node = len(symbols) - 1
            if self.operand or self.takers:
                self.take(node)
            else:
                self.operand = self.base = node
        while self.around:
            self.close()
        self.collapse()
        return Tree(symbols, parents, edges)

    def grow(self, symbol: str, parent: int = 0, edge: str = _ANY) -> int:
        self.symbols.append(symbol)
        self.parents.append(parent)
        self.edges.append(edge)
        return len(self.symbols) - 1

    def attach(self, node: int, parent: int, edge: str) -> None:
        if node:
            self.parents[node], self.edges[node] = parent, edge

    # Operands and operators.

    def take(self, node: int) -> None:
        """Read an operand: the argument of what takes a single one, or a factor."""
        takers = self.takers
        while takers:
            taker, edges, is_operand = takers.pop()
            self.parents[node], self.edges[node] = taker, edges[0]
            if len(edges) > 1:
                takers.append((taker, edges[1:], is_operand))
                return
            if not is_operand:
                return
            node = taker
        if self.operand:
            if self.operators[-1][0] >= _FUNCTION:
                self.infix(_ARGUMENT, _INSIDE, "times", _ANY, _ANY)
            else:
                self.multiply()
        self.operand = self.base = node

    def infix(self, precedence: int, key: str, symbol: str, first: str, rest: str) -> None:
        """Read an operator between operands: give the one before to what holds it tightest."""
        operators, parents, edges, operand = self.operators, self.parents, self.edges, self.operand
        top = operators[-1]
        while top[0] >= precedence and top[1] != key:
            operators.pop()
            if operand:
                parents[operand], edges[operand] = top[2], top[3]
            operand = top[2]
            top = operators[-1]
        if top[1] == key:
            node, first = top[2], top[3]
            if first != rest:
                operators[-1] = (precedence, key, node, rest)
        else:
            node = self.grow(symbol)
            operators.append((precedence, key, node, rest))
        if operand:
            parents[operand], edges[operand] = node, first
        self.operand = self.base = 0

    def multiply(self) -> None:
        self.infix(_PRODUCT, "times~", "times", _ANY, _ANY)

    def collapse(self) -> int:
        """End the group: give all operators their last arguments; return the node on top."""
        while self.takers:
            node, _, is_operand = self.takers.pop()
            if is_operand:
                self.take(node)
        operators, operand = self.operators, self.operand
        while len(operators) > 1:
            _, _, node, edge = operators.pop()
            if operand:
                self.parents[operand], self.edges[operand] = node, edge
            operand = node
        self.operand = self.base = 0
        return operand

    # Symbols by their kind; `place` is that of the item.

    def nothing(self, role: _Role, place: int) -> None:
        pass

    def read_infix(self, role: _Role, place: int) -> None:
        symbol = role.symbol
        if self.takers:  # x^*
            self.take(self.grow(symbol))
        elif symbol == ":" and self.items[place + 1 : place + 2] == ["="]:
            pass
        elif symbol == "+" and not self.operand and self.items[place + 1 : place + 2] not in _ENDS:
            pass  # +x is x, but {+} is a plus
        elif role.level == _LIST and not self.around:
            self.collapse()
        else:
            # Each division is one of its own: a/b/c is (a/b)/c.
            key = str(len(self.symbols)) if symbol == "frac" else symbol + role.first
            self.infix(role.level, key, symbol, role.first, role.rest)

    def read_minus(self, role: _Role, place: int) -> None:
        if self.takers:
            self.take(self.grow(role.symbol))
        elif self.operand or self.operators[-1][0] < _SUM:
            self.infix(_SUM, "+~", "+", _ANY, _ANY)
            self.operators[-1] = (*self.operators[-1][:3], _MINUS)
        else:  # a \cdot -b
            self.operators.append((_SCOPE, role.symbol, self.grow("+"), _MINUS))

    def read_prefix(self, role: _Role, place: int) -> None:
        if self.takers:
            self.take(self.grow(role.symbol))
            return
        if self.operand:
            self.multiply()
        self.operators.append((role.level, "", self.grow(role.symbol), role.first))

    def read_exponential(self, role: _Role, place: int) -> None:
        self.read_prefix(role._replace(first=_SECOND), place)
        self.grow("e", len(self.symbols) - 1, _FIRST)

    def read_script(self, role: _Role, place: int) -> None:
        top = self.operators[-1]
        if self.takers:
            return  # x^_2
        if self.operand and role.rest == LOWER:
            self.takers.append((self.base or self.operand, (LOWER,), False))
        elif not self.operand and not top[1] and top[2]:
            self.takers.append((top[2], (role.rest,), False))
        else:
            node = self.grow(role.symbol)
            self.attach(self.operand, node, _FIRST)
            self.operand = node
            self.takers.append((node, (_SECOND,), False))

    def read_postfix(self, role: _Role, place: int) -> None:
        node = self.grow(role.symbol)
        if self.operand and not self.takers:
            self.attach(self.operand, node, _FIRST)
            self.operand, self.base = node, 0
        else:
            self.take(node)

    def read_taker(self, role: _Role, place: int) -> None:
        edges = (role.first, role.rest) if role.rest else (role.first,)
        self.takers.append((self.grow(role.symbol), edges, True))

    def read_root(self, role: _Role, place: int) -> None:
        node = self.grow("^")
        exponent = self.grow("frac", node, _SECOND)
        self.grow("1", exponent, _FIRST)
        self.takers.append((node, (_FIRST,), True))
        if self.items[place + 1 : place + 2] == ["["]:
            self.items[place + 1] = _INDEX
            self.takers.append((exponent, (_SECOND,), False))
        else:
            self.grow("2", exponent, _SECOND)

    # Groups.

    def open(self, kind: str, head: int = 0) -> None:
        self.around.append((
            self.kind, self.head, self.braces, self.fences, self.cells, self.columns,
            self.operators, self.operand, self.base, self.takers,
        ))  # fmt: skip
        self.kind, self.head = kind, head
        self.operators = [_GROUND]
        self.operand = self.base = 0
        self.takers = []

    def close(self, closing: str = ")") -> None:
        """End the present group; go on with the one around it, to which it is an operand."""
        kind, head, cells, columns = self.kind, self.head, self.cells, self.columns
        content = self.collapse()
        (
            self.kind, self.head, self.braces, self.fences, self.cells, self.columns,
            self.operators, self.operand, self.base, self.takers,
        ) = self.around.pop()  # type: ignore[assignment]  # fmt: skip
        if kind in (OPEN, _INDEX):
            if content or self.takers:
                self.take(content or self.grow(""))
        elif kind == TABLE:
            self.close_cells(head, [*cells, content] if content else cells, columns)
        elif kind in _FENCES and kind != "{":
            self.close_parentheses(content, head, kind + closing)
        else:
            self.close_fences(content, _ROLES[kind].symbol)

    def close_parentheses(self, content: int, head: int, symbol: str) -> None:
        """Take what stands in parentheses or brackets: a factor, an argument or a tuple."""
        if not content or self.symbols[content] == ",":
            content = content or self.grow(symbol)
            self.symbols[content] = symbol
        letter, inner = self.symbols[head], self.symbols[content]
        top = self.operators[-1]
        if head and (letter in _FUNCTION_LETTERS or letter not in VARIABLES or inner not in _ROLES):
            self.attach(content, head, _APPLIED)
            self.base = 0
        elif top[0] == _FUNCTION and not self.operand and not self.takers:
            self.operators.pop()
            self.attach(content, top[2], top[3])
            self.take(top[2])
        else:
            self.take(content)

    def close_fences(self, content: int, symbol: str) -> None:
        inner = self.symbols[content]
        if symbol == "set" and inner in (",", "cases"):
            self.symbols[content] = "cases" if inner == "cases" else symbol
            self.take(content)
        elif symbol == inner == "abs":  # ||x||
            self.symbols[content] = "norm"
            self.take(content)
        else:
            node = self.grow(symbol)
            self.attach(content, node, _FIRST)
            self.take(node)

    def close_cells(self, table: int, cells: list[int], columns: bool) -> None:
        self.tables -= 1
        edges = [_ELEMENT] * len(cells)
        if self.kind == "{" and not self.operand:
            self.symbols[table] = "cases"
        elif len(cells) == 2 and not columns:
            self.symbols[table], edges = "binom", [_FIRST, _SECOND]
        for cell, edge in zip(cells, edges, strict=True):
            self.attach(cell, table, edge)
        self.take(table)

    def open_braces(self, role: _Role, place: int) -> None:
        if self.items[place + 2 : place + 3] == [CLOSE] and self.items[place + 1] not in _ROLES:
            self.items[place + 2] = _NOTHING  # many groups hold one operand, and are not opened
            return
        self.open(OPEN)
        self.fences = 0
        self.braces += 1

    def close_braces(self, role: _Role, place: int) -> None:
        if self.braces:
            while self.kind != OPEN:
                self.close()
            self.close()

    def index(self, role: _Role, place: int) -> None:
        self.open(_INDEX)
        self.fences = 0

    def open_fence(self, role: _Role, place: int) -> None:
        item, head = self.items[place], 0
        if self.operand and not self.takers and not role.symbol:
            name = self.symbols[self.base]
            if name in VARIABLES:
                head = self.base if item == "(" or name in _FUNCTION_LETTERS else 0
            elif name.isalpha() and name not in _NO_FUNCTIONS and name not in _ROLES:
                head = self.base if item == "(" else 0
            if not head and self.operators[-1][0] >= _FUNCTION:
                self.multiply()
        self.open(item, head)
        self.fences += 1

    def close_fence(self, role: _Role, place: int) -> None:
        item = self.items[place]
        if self.kind == _INDEX and item == "]":
            self.close()
        elif self.fences:
            while self.kind in _BARS:
                self.close()
            self.close(item)

    def read_bar(self, role: _Role, place: int) -> None:
        bar = self.items[place]
        if bar not in self.pairs:
            self.pairs[bar] = self.items.count(bar) % 2 == 0
        if self.kind == bar and self.operand:
            self.close()
        elif not self.operand or (self.kind not in _FENCES and self.pairs[bar]):
            self.open(bar)
        else:
            loose = _SUCH_THAT if self.kind in _FENCES else _RELATION
            self.infix(loose, bar, bar, _FIRST, _SECOND)

    def table(self, role: _Role, place: int) -> None:
        node = self.grow(self.items[place])
        if self.items[place + 1 : place + 2] != [TABLE]:
            self.take(node)
            return
        self.open(TABLE, node)
        self.tables += 1
        self.braces = self.fences = 0
        self.cells, self.columns = [], False

    def end_cell(self, role: _Role, place: int) -> None:
        item = self.items[place]
        if self.tables:
            while self.kind != TABLE:
                self.close()
            if content := self.collapse():
                self.cells.append(content)
            self.columns |= item == CELL
        elif item == ROW and not self.around:
            self.collapse()

    def close_table(self, role: _Role, place: int) -> None:
        if self.tables:
            while self.kind != TABLE:
                self.close()
            self.close()


_ACTIONS: Final[dict[str, tuple[Callable[[_Reader, _Role, int], None], _Role]]] = {
    item: (getattr(_Reader, f"read_{role.kind}", None) or getattr(_Reader, role.kind), role)
    for item, role in _ROLES.items()
}


def read_operators(items: Sequence[str]) -> Tree:
    """Build the tree of a formula from its symbols and marks, as `latex.read` returns them."""
    end = len(items)
    while end and items[end - 1] in _TRAILING:
        end -= 1
    kept = list(items[:end])
    return _Reader(_without_differentials(kept) if "int" in kept and "d" in kept else kept).read()


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
