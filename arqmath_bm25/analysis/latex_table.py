"""What LaTeX commands mean to retrieval: the tables behind `latex.py`.

Names stand without their backslash. Made from the AMS-LaTeX and MathJax command lists and from a
count of the commands in the collection. A command in no table is a token of its own.
"""

from __future__ import annotations

import string
import unicodedata
from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Presentation only: size, style, spacing, fonts, layout. Arguments, where they have any, stay.
DROPPED: Final = _names(
    r"""
    left right middle big Big bigg Bigg bigl bigr bigm Bigl Bigr Bigm biggl biggr biggm Biggl
    Biggr Biggm displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits
    displaylimits \ , ; : ! > / - quad qquad enspace enskip thinspace medspace thickspace
    negthinspace negmedspace negthickspace nobreakspace space hfill hfil vfill null strut
    mathstrut smash rlap llap mathrlap mathllap mathclap nonumber notag allowbreak nobreak break
    newline cr par hline noindent centering mathrm mathbf mathit mathsf mathtt mathnormal
    boldsymbol boldmath bm pmb rm bf it sf tt sl sc cal scr frak mathbb Bbb mathcal mathscr
    mathfrak operatorname tiny scriptsize small normalsize large Large LARGE huge Huge mathop
    mathrel mathbin mathord mathopen mathclose mathpunct mathinner ensuremath boxed fbox protect
    relax unicode
    """
)

# The first argument is no mathematics and goes with the command.
DROPPED_WITH_ARGUMENT: Final = _names(
    r"""
    label tag ref eqref color textcolor colorbox hspace vspace hskip vskip kern mkern mskip raise
    lower hphantom vphantom phantom require cssId class style href rule newcommand renewcommand
    DeclareMathOperator
    """
)

# Of these everything goes that follows in braces and brackets.
DEFINITIONS: Final = _names("newcommand renewcommand DeclareMathOperator")

# The argument is prose: its words are words.
TEXT: Final = _names(
    "text textrm textbf textit textsf texttt textsc textnormal textup mbox hbox intertext"
)

# An argument of several letters is the name of an operator: \mathrm{lcm} is one symbol.
OPERATOR_NAMES: Final = _names("operatorname mathrm mathbf mathsf mathit mathop")

# Alphabets whose letters are other symbols than the plain ones: \mathbb{R} is not R.
ALPHABETS: Final = {
    **dict.fromkeys(("mathbb", "Bbb", "mathds", "mathbbm"), "bb"),
    **dict.fromkeys(("mathcal", "mathscr"), "cal"),
    "mathfrak": "frak",
}

NEGATED: Final = {"=": "ne", "in": "notin", "|": "nmid", "exists": "nexists"}

# {a \over b} is \frac{a}{b}.
INFIX: Final = {"over": "frac", "choose": "binom", "atop": "atop"}

# Commands whose argument they stand on, under or around.
ACCENTS: Final = _names(
    "bar hat tilde vec dot ddot dddot check breve acute grave mathring underline overbrace"
    " underbrace overleftarrow overleftrightarrow cancel"
)

# Symbols whose name does not matter, as long as it is the same one throughout.
VARIABLES: Final = frozenset(string.ascii_letters) | _names(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau"
    " upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell"
)

# Commands that are often typed without their backslash.
BARE_NAMES: Final = _names(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp lim max min sup inf"
    " gcd lcm det mod deg dim ker rank sgn"
)

# Of environments only these are symbols; the others (align, equation, split, …) are layout.
ENVIRONMENTS: Final = {
    **dict.fromkeys(
        _names("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array tabular"), "matrix"
    ),
    **dict.fromkeys(("cases", "dcases", "rcases"), "cases"),
}

COLUMN_ENVIRONMENTS: Final = _names("array tabular alignat alignedat")  # take a {ccc}

_SYNONYMS: Final = {
    "frac": "dfrac tfrac cfrac sfrac nicefrac",
    "binom": "dbinom tbinom",
    "<": "lt",
    ">": "gt",
    "le": "leq leqslant leqq",
    "ge": "geq geqslant geqq",
    "ne": "neq",
    "to": "rightarrow longrightarrow",
    "gets": "leftarrow longleftarrow",
    "implies": "Rightarrow Longrightarrow",
    "impliedby": "Leftarrow Longleftarrow",
    "iff": "Leftrightarrow Longleftrightarrow",
    "leftrightarrow": "longleftrightarrow",
    "mapsto": "longmapsto",
    "land": "wedge",
    "lor": "vee",
    "lnot": "neg",
    "emptyset": "varnothing",
    "epsilon": "varepsilon",
    "phi": "varphi",
    "theta": "vartheta",
    "rho": "varrho",
    "sigma": "varsigma",
    "kappa": "varkappa",
    "setminus": "backslash smallsetminus",
    "subset": "subsetneq subsetneqq",
    "supset": "supsetneq supsetneqq",
    "subseteq": "subseteqq",
    "supseteq": "supseteqq",
    "dots": "ldots cdots dotsc dotsb dotsm dotsi dotso hdots vdots ddots",
    "*": "ast star",
    "|": "mid vert lvert rvert shortmid divides",
    "Vert": "| lVert rVert parallel",
    "nmid": "nshortmid",
    "{": "lbrace",
    "}": "rbrace",
    "[": "lbrack",
    "]": "rbrack",
    ":": "colon",
    "bar": "overline",
    "underline": "underbar",
    "hat": "widehat",
    "tilde": "widetilde",
    "vec": "overrightarrow",
    "mod": "bmod pmod pod",
    "sim": "thicksim",
    "approx": "thickapprox",
    "infty": "infin",
    "Re": "real",
    "Im": "image",
    "tan": "tg",
    "cot": "ctg",
    "arctan": "arctg",
    "in": "isin",
    "stackrel": "overset",
    "iint": "int\\int",
    "circ": "degree",
    "bbR": "R reals Reals",
    "bbN": "N natnums",
    "bbZ": "Z",
    "bbQ": "Q",
    "bbC": "C Complex",
}
SYNONYMS: Final = {name: token for token, names in _SYNONYMS.items() for name in names.split()}

# Symbols that authors typed as Unicode, as the LaTeX they stand for. Compatibility forms (𝐑, ﬁ)
# are folded by NFKC afterwards.
_SYMBOLS: Final = (
    "× times ÷ div ± pm ∓ mp · cdot ⋅ cdot ∗ * ∘ circ ° circ √ sqrt ∞ infty ∂ partial ∇ nabla "
    "≤ le ⩽ le ≥ ge ⩾ ge ≠ ne ≈ approx ≡ equiv ∼ sim ≅ cong ≪ ll ≫ gg ∝ propto "
    "→ to ⟶ to ← gets ⇒ implies ⟹ implies ⇐ impliedby ⇔ iff ⟺ iff ↔ leftrightarrow ↦ mapsto "
    "∈ in ∉ notin ∋ ni ⊂ subset ⊆ subseteq ⊃ supset ⊇ supseteq ∪ cup ∩ cap ∖ setminus ∅ emptyset "
    "∀ forall ∃ exists ¬ lnot ∧ land ∨ lor ⊕ oplus ⊗ otimes ⊥ perp ∣ | ∤ nmid ‖ Vert ∥ Vert "
    "∑ sum ∏ prod ∫ int ∮ oint ⟨ langle ⟩ rangle 〈 langle 〉 rangle ⌊ lfloor ⌋ rfloor ⌈ lceil "
    "⌉ rceil … dots ⋯ dots ′ prime ″ prime ℝ bbR ℕ bbN ℤ bbZ ℚ bbQ ℂ bbC ℓ ell ℵ aleph א aleph "
    "ϵ epsilon ϕ phi ϑ theta ϱ rho ∠ angle △ triangle ∎ blacksquare"
).split()

_GREEK: Final = {
    chr(code): name.replace("lamda", "lambda")  # Unicode's spelling
    for code in range(0x391, 0x3CA)
    if (name := unicodedata.name(chr(code), "").rpartition(" ")[2].lower())
}
UNICODE: Final = str.maketrans(
    {
        **{
            letter: " \\" + (name.capitalize() if letter.isupper() else name) + " "
            for letter, name in _GREEK.items()
        },
        **{
            symbol: f" \\{name} " if name.isalpha() else name
            for symbol, name in zip(_SYMBOLS[::2], _SYMBOLS[1::2], strict=True)
        },
        **{sup: f"^{digit}" for digit, sup in zip("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True)},
        **dict.fromkeys("–—−‐‑", "-"),
        **dict.fromkeys("‘’´`ʹ", "'"),
    }
)

# Names of symbols where a term may hold letters and digits only.
SPELLED: Final = {
    "+": "plus", "-": "minus", "=": "eq", "<": "lt", ">": "gt", "^": "sup", "_": "sub",
    "/": "slash", "*": "star", "(": "lpar", ")": "rpar", "[": "lbra", "]": "rbra", "{": "lcur",
    "}": "rcur",
    "|": "bar", ",": "comma", ".": "dot", ":": "colon", ";": "semi", "!": "excl", "?": "quest",
    "\\": "cmd", "'": "quote", '"': "dquote", "%": "percent", "#": "hash", "&": "amp", "@": "at",
}  # fmt: skip
