"""Formal statements of our own, questions about them, and texts that only look like them.

`formal/isabelle.txt` and `formal/coq.txt` hold a declaration below each line `== ID`, with headers
as files have them; the answer to question 01 of `formal/questions.tsv` is 01 in both.
`formal/others.txt` names the language of each text in place of an id.
"""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = Path(__file__).with_name("formal")
_BLOCK = re.compile(r"^== (\w+)\n(.*?)(?=^== |\Z)", re.MULTILINE | re.DOTALL)


def texts(name: str) -> list[tuple[str, str]]:
    """Return the texts of a file, each with what stands above it."""
    return _BLOCK.findall((_FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def questions() -> dict[str, str]:
    """Return the questions in English by the ids of their answers."""
    lines = (_FOLDER / "questions.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)
