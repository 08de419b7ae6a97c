"""What LaTeXML's MathML characters are in LaTeX: the tables behind `mathml.py`.

Only what `latex.read` would not read by itself: it knows the commonest Unicode symbols. Made from a
comparison of the two representations of the collection's formulas, and from the Unicode names.
"""

from __future__ import annotations

from typing import Final

_SYMBOLS: Final = {
    "alpha": "α", "lambda": "λ", "epsilon": "ϵ", "phi": "ϕ", "theta": "ϑ", "rho": "ϱ",
    "sigma": "ς", "kappa": "ϰ", "pi": "ϖ", "ell": "ℓ", "wp": "℘", "Re": "ℜ", "Im": "ℑ",
    "hbar": "ℏ", "dots": "⋮ ⋱ ...", "bot": "⊥", "perp": "⟂", "top": "⊤", "vdash": "⊢",
    "dashv": "⊣", "vDash": "⊨", "models": "⊧", "Vdash": "⊩", "square": "□", "blacksquare": "■",
    "blacktriangle": "▲", "triangle": "△", "bigtriangledown": "▽", "diamond": "⋄", "bullet": "∙ •",
    "bigcup": "⋃", "bigcap": "⋂", "bigvee": "⋁", "bigwedge": "⋀", "bigoplus": "⨁ ⊕",
    "bigotimes": "⨂", "bigsqcup": "⨆", "biguplus": "⨄", "coprod": "∐", "sqcup": "⊔", "sqcap": "⊓",
    "uplus": "⊎", "uparrow": "↑", "downarrow": "↓", "updownarrow": "↕", "nearrow": "↗",
    "searrow": "↘", "hookrightarrow": "↪", "hookleftarrow": "↩", "leadsto": "↝ ⇝",
    "twoheadrightarrow": "↠", "rightharpoonup": "⇀", "rightleftharpoons": "⇌",
    "rightrightarrows": "⇉", "upharpoonright": "↾", "preceq": "⪯ ≼", "succeq": "⪰ ≽", "prec": "≺",
    "succ": "≻", "simeq": "≃", "asymp": "≍", "doteq": "≐", "triangleq": "≜", "lesssim": "≲",
    "gtrsim": "≳", "subset": "⊊ ⫋", "supset": "⊋ ⫌", "subseteq": "⫅", "supseteq": "⫆",
    "nsubseteq": "⊈", "nsupseteq": "⊉", "unlhd": "⊴", "unrhd": "⊵", "lhd": "⊲", "rhd": "⊳",
    "triangleleft": "◁", "triangleright": "▷", "trianglelefteq": "⊴", "ltimes": "⋉",
    "rtimes": "⋊", "odot": "⊙", "ominus": "⊖", "oslash": "⊘", "wr": "≀", "amalg": "⨿",
    "boxtimes": "⊠", "boxplus": "⊞", "iint": "∬", "iiint": "∭", "impliedby": "⟸",
    "longrightarrow": "⟶", "mapsto": "⟼", "nexists": "∄", "nmid": "∤ |̸", "nparallel": "∦",
    "notequiv": "≢", "notsim": "≁", "not<": "≮", "not>": "≯", "notle": "≰", "notge": "≱",
    "notapprox": "≉", "notsubset": "⊄", "notto": "↛", "nimplies": "⇏", "complement": "∁",
    "daleth": "ℸ", "beth": "ℶ", "clubsuit": "♣", "spadesuit": "♠", "heartsuit": "♡",
    "diamondsuit": "♢", "sharp": "♯", "flat": "♭", "natural": "♮", "checkmark": "✓",
    "dagger": "†", "ddagger": "‡", "S": "§", "P": "¶", "sqsubseteq": "⊑", "sqsubset": "⊏",
    "therefore": "∴", "because": "∵", "ulcorner": "⌜", "urcorner": "⌝", "setminus": "\\",
}  # fmt: skip
SYMBOLS: Final = {char: name for name, chars in _SYMBOLS.items() for char in chars.split()}

# What stands over (or under) a base, by the symbol it was read as.
_ACCENTS: Final = {
    "bar": "¯ ‾ _", "hat": "^ ˆ", "tilde": "~ ˜", "vec": "to", "dot": "˙", "ddot": "¨",
    "dddot": "⃛", "check": "ˇ", "breve": "˘", "acute": "´", "grave": "`", "mathring": "˚",
    "overbrace": "⏞ ⏟ ︷ ︸", "overleftarrow": "gets", "overleftrightarrow": "leftrightarrow",
}  # fmt: skip
ACCENTS: Final = {char: name for name, chars in _ACCENTS.items() for char in chars.split()}
