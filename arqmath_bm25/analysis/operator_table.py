"""What symbols are in an operator tree: the table behind `operator_tree.py`.

Precedence is that of LaTeXML's grammar, as far as the lab's files show it. A symbol in no table is
an operand: a letter, a number, a constant.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from arqmath_bm25.analysis.latex import CELL, CLOSE, OPEN, ROW, SUB, SUPER, TABLE, TABLE_END
from arqmath_bm25.analysis.latex_table import ACCENTS

# How tightly what waits for an argument holds it.
GROUND, LOOSEST, LIST, IMPLICATION, SUCH_THAT, ARROW, LOGIC, QUANTIFIER = range(8)
RELATION, MODULO, SUM = 8, 9, 10
SCOPE = 11  # of sums, integrals, limits: the product that follows
PRODUCT = 12
FUNCTION = 13  # without parentheses: the factors that follow, up to the next function
ARGUMENT = 14  # those factors

# Edges: to an argument whose place means nothing, to the first one, to the others, …
ANY, FIRST, SECOND = "~", "~1~", "~2~"
# … to what is subtracted, to scripts, to the cells of a table, to what a letter is applied to.
MINUS, UPPER, LOWER, ELEMENT, APPLIED = "~-~", "~^~", "~_~", "~e~", "~a~"

INDEX = "\x0f"  # the bracket that opens the index of a root


class Role(NamedTuple):
    """How a symbol is read."""

    kind: str  # the method that reads it
    symbol: str = ""  # of its node
    precedence: int = 0
    first: str = ANY  # edge to what stands before an infix, or to the first argument
    rest: str = ANY  # edge to what stands behind it


def _roles() -> dict[str, Role]:
    roles = {
        OPEN: Role("open_braces"),
        CLOSE: Role("close_braces"),
        SUPER: Role("script", "^", rest=UPPER),
        SUB: Role("script", "_", rest=LOWER),
        TABLE: Role("nothing"),
        CELL: Role("end_cell"),
        ROW: Role("end_cell"),
        TABLE_END: Role("close_table"),
        "matrix": Role("table"),
        "cases": Role("table"),
        INDEX: Role("index"),
        "sqrt": Role("root"),
        "exp": Role("exponential", "^", FUNCTION, FIRST, SECOND),
        "-": Role("minus", "-"),
        "!": Role("postfix", "!"),
        "|": Role("bar", "abs"),
        "Vert": Role("bar", "norm"),
        ".": Role("nothing"),
        "?": Role("nothing"),
    }
    for names, symbol in (
        ("( [", ""), ("{", "set"), ("langle", "langle"), ("lfloor", "lfloor"), ("lceil", "lceil"),
    ):  # fmt: skip
        roles |= dict.fromkeys(names.split(), Role("open_fence", symbol))
    roles |= dict.fromkeys(") ] } rangle rfloor rceil".split(), Role("close_fence"))
    for precedence, ordered, commutative in (
        (LOOSEST, "frac=over binom=choose atop", ""),
        (LIST, "", ", ,=;"),
        (IMPLICATION, "implies", "iff"),
        (SUCH_THAT, ":", ""),
        (ARROW, "to mapsto", ""),
        (LOGIC, "", "land lor"),
        (
            RELATION,
            "< le ll subset subseteq sqsubseteq prec preceq in notin nsubset nsubseteq"
            " propto nmid hookrightarrow rightsquigarrow twoheadrightarrow xrightarrow models vdash"
            " lesssim leadsto triangleleft",
            "= ne equiv approx sim cong simeq asymp doteq perp leftrightarrow triangleq",
        ),
        (MODULO, "mod", ""),
        (SUM, "setminus pm mp", "+ cup oplus sqcup uplus"),
        (
            PRODUCT,
            "frac=/ frac=div circ rtimes ltimes",
            "times times=cdot times=* cap otimes odot bullet sqcap",
        ),
    ):
        for names, edges in ((ordered, (FIRST, SECOND)), (commutative, (ANY, ANY))):
            for name in names.split():
                symbol, _, synonym = name.partition("=") if len(name) > 1 else (name, "", "")
                roles[synonym or symbol] = Role("infix", symbol, precedence, *edges)
    # A relation to the left is the one to the right, turned round.
    for pair in (
        "le:ge <:> ll:gg subset:supset subseteq:supseteq sqsubseteq:sqsupseteq prec:succ"
        " preceq:succeq to:gets in:ni implies:impliedby lesssim:gtrsim triangleleft:triangleright"
    ).split():
        symbol, _, turned = pair.partition(":")
        roles[turned] = roles[symbol]._replace(first=SECOND, rest=FIRST)
    for precedence, names in (
        (
            SCOPE,
            "sum prod coprod int iint iiint oint lim limsup liminf varlimsup varliminf bigcup"
            " bigcap bigsqcup biguplus bigoplus bigotimes bigvee bigwedge lnot",
        ),
        (QUANTIFIER, "forall exists nexists"),
        (
            FUNCTION,
            "sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh coth sech csch sinc"
            " log log=ln lg erf max min sup inf gcd lcm det deg dim ker rank sgn arg hom Re Im im"
            " span Tr tr Var Cov Pr Aut Hom Gal Ext Tor",
        ),
    ):
        for name in names.split():
            symbol, _, synonym = name.partition("=")
            roles[synonym or symbol] = Role("prefix", symbol, precedence, FIRST)
    for symbol in ("frac", "binom", "stackrel", "underset"):
        roles[symbol] = Role("taker", symbol, 0, FIRST, SECOND)
    for symbol in ACCENTS:
        roles[symbol] = Role("taker", symbol, 0, FIRST, "")
    return roles


ROLES: Final = _roles()

# Letters that are applied to whatever stands in parentheses behind them.
FUNCTION_LETTERS: Final = frozenset(
    "f g h u v F G H P E T Q R O phi psi Phi Psi Gamma zeta".split()
)
# Constants and nodes that are applied to nothing.
NO_FUNCTIONS: Final = frozenset(
    "infty dots partial nabla prime hbar emptyset Delta angle square blacksquare triangle"
    " abs norm set".split()
)
