r"""Invented statements, in LaTeX as textbooks have it: 20 environments, accents, lists, labels."""

from __future__ import annotations

import random
from collections.abc import Iterator

ENVIRONMENTS = (
    "theorem", "lemma", "proposition", "corollary", "definition", "remark", "example", "proof",
    "exercise", "conjecture", "claim", "notation", "quote", "center", "enumerate", "itemize",
    "quotation", "flushleft", "problem", "flushright",
)  # fmt: skip
_NOUNS = "scheme group sequence cover map filter lattice module field kernel set point".split()
_ADJECTIVES = "compact finite abelian closed smooth trivial dense free normal separable".split()
_VERBS = "contains bounds covers divides extends generates meets splits fixes".split()
_NAMES = (r"H\"older", r"Poincar\'e", r"\v{C}ech", r"Erd\H{o}s", r"Weierstra\ss", r"Fr\'{e}chet")
_FORMULAS = (
    "x_{%d}", r"\frac{a}{%d}", r"f\colon X\to Y_%d", r"\sum_{i=1}^{%d} a_i", r"\|u\|_%d < 1",
    r"\{x : x > %d\}", r"H^{%d}(X, \mathbf{Z})", r"\alpha \le \beta_{%d}",
)  # fmt: skip


def statements(count: int, seed: int = 0) -> Iterator[str]:
    """Yield LaTeX source, each piece of it in some environment."""
    chance = random.Random(seed)
    for number in range(count):
        environment = ENVIRONMENTS[number % len(ENVIRONMENTS)]
        sentences = [_sentence(chance) for _ in range(chance.randint(1, 4))]
        if environment in ("enumerate", "itemize"):
            sentences = [f"\\item {sentence}" for sentence in sentences]
        label = f"\\label{{{environment[:3]}:{number}}}\n" if number % 2 else ""
        text = "\n".join(sentences)
        yield f"\\begin{{{environment}}}{label}\n{text}\n\\end{{{environment}}}"


def _sentence(chance: random.Random) -> str:
    number = chance.randint(1, 99)
    formula = chance.choice(_FORMULAS) % number
    subject = f"{chance.choice(_ADJECTIVES)} {chance.choice(_NOUNS)}"
    verb, name = chance.choice(_VERBS), chance.choice(_NAMES)
    return chance.choice(
        (
            f"Every {subject} ${formula}$ {verb} a {chance.choice(_NOUNS)}.",
            f"By {name} the \\emph{{{subject}}} has \\({formula}\\) of {number}\\% "
            f"% not ${number}$\n elements, see~\\cite[p.~{number}]{{Ref{number}}}.",
            f"Then \\[ {formula} = {number} \\] holds by Lemma~\\ref{{lem:{number}}}.",
            f"The \\textbf{{{subject}}}\\footnote{{It {verb} ${formula}$.}} is free.",
            f"We have\n\\begin{{align*}}\n{formula} &= {number} \\\\\nb &< {number}\n"
            f"\\end{{align*}}\nfor a {{\\it {subject}}}.",
            f"It costs \\${number} \\& more: a ``{subject}'' --- or none.",
        )
    )
