"""Isabelle and Coq: 60 declarations each with headers are told from other texts, and found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from formal_texts import questions, texts

import arqmath_bm25 as arq
from arqmath_bm25.analysis.kinds import kind_of

if TYPE_CHECKING:
    from pathlib import Path

LANGUAGES = ("isabelle", "coq")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_declaration_has_its_kind(language: str) -> None:
    declarations = texts(language)
    assert len(declarations) == 60
    assert {name: kind_of(text) for name, text in declarations} == {
        name: language for name, _ in declarations
    }


def test_no_other_text_is_formal() -> None:
    others = texts("others")
    assert Counter(name for name, _ in others) == {
        "english": 62, "latex": 20, "markdown": 20, "python": 20, "haskell": 20, "ocaml": 20,
        "sql": 20,
    }  # fmt: skip
    formal = [text for _, text in others if kind_of(text) in ("lean", *LANGUAGES)]
    assert formal == []


def reciprocal_ranks(index: arq.Index) -> list[float]:
    """Return 1/rank of the answer of each question."""
    asked = questions()
    assert len(asked) == 40
    ranks = []
    for answer, question in asked.items():
        hits = index.search(question, variant="both", k=60)["docno"].tolist()
        ranks.append(1 / (hits.index(answer) + 1) if answer in hits else 0.0)
    return ranks


@pytest.mark.parametrize(("language", "least"), [("isabelle", 0.95), ("coq", 0.92)])
def test_questions_find_declarations(language: str, least: float, tmp_path: Path) -> None:
    rows = [{"id": name, "text": text} for name, text in texts(language)]
    found = reciprocal_ranks(arq.Collection.of(rows, indexes=tmp_path).index("docs"))
    rows = [{**row, "kind": language} for row in rows]
    given = reciprocal_ranks(arq.Collection.of(rows, indexes=tmp_path).index("docs"))

    assert sum(found) >= sum(given)
    assert sum(found) / len(found) >= least
