"""A thesis in files of LaTeX: sections on some subjects, with labelled statements and their proofs.

Each subject has tools, lemmas mostly in words of their own, that the proofs of its theorems refer
to, as a Hölder inequality is used by theorems that do not speak of exponents.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

SUBJECTS: Final = 10
THEOREMS: Final = 17  # of a subject, beside its three tools
_TOOLS: Final = 3
_LETTERS: Final = "bcdfghklmnprstvz"


def write_thesis(folder: Path, seed: int = 1) -> Path:
    """Write 200 labelled statements into ten chapters and a main file; return the folder."""
    chance = random.Random(seed)
    chapters = folder / "chapters"
    chapters.mkdir(parents=True)
    for subject in range(SUBJECTS):
        text = _chapter(subject, chance)
        (chapters / f"chapter{subject}.tex").write_text(text, encoding="utf-8")

    inputs = "".join(rf"\input{{chapters/chapter{n}}}" + "\n" for n in range(SUBJECTS))
    main = "\\documentclass{book}\n\\newcommand{\\R}{\\mathbb{R}}\n\\begin{document}\n"
    (folder / "thesis.tex").write_text(f"{main}{inputs}\\end{{document}}\n", encoding="utf-8")
    return folder


def _chapter(subject: int, chance: random.Random) -> str:
    common = [_word(chance) for _ in range(12)]
    statements = [rf"\chapter{{On {common[0]} {common[1]}}}" + "\n"]
    for tool in range(_TOOLS):
        own = " ".join([*chance.sample(common, 2), *(_word(chance) for _ in range(4))])
        label = f"lem:{subject}-{tool}"
        statements.append(_statement("lemma", label, f"{own} $x_{tool} \\le y^{subject}$", ""))

    for number in range(THEOREMS):
        words = " ".join(chance.sample(common, 6))
        rare = _word(chance)
        text = rf"Let {words} {rare} be in $\R^{{{number}}}$. Then $f({rare[0]}) = {number}$."
        used = chance.sample(range(_TOOLS), 2)
        references = rf"\cref{{lem:{subject}-{used[0]},lem:{subject}-{used[1]}}}"
        proof = f"\\begin{{proof}}\nBy {references}.\n\\end{{proof}}\n"
        statements.append(_statement("theorem", f"thm:{subject}-{number}", text, proof))
    return "\n".join(statements)


def _statement(name: str, label: str, text: str, proof: str) -> str:
    return f"\\begin{{{name}}}\\label{{{label}}}\n{text}\n\\end{{{name}}}\n{proof}"


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(_LETTERS) + chance.choice("aeiou") for _ in range(4))
