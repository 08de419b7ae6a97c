"""Formulas as people type them, without dollars, are read whole; sentences hold none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from arqmath_bm25.analysis.unmarked import formulas_in


def lines_of(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()


FORMULAS: Final = lines_of("plain_formulas.txt")
SENTENCES: Final = lines_of("plain_sentences.txt")


def test_plain_formulas_are_read_whole() -> None:
    cut = [text for text in FORMULAS if formulas_in(text) != [(0, len(text))]]
    assert len(FORMULAS) == 40
    assert len(cut) <= 6, cut


def test_sentences_hold_no_formula() -> None:
    found = {text: formulas_in(text) for text in SENTENCES}
    assert len(found) == 60
    assert {text: spans for text, spans in found.items() if spans} == {}
