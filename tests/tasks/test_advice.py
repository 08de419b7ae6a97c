"""What is said of a query that is not as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.cli import tasks
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.tasks.queries import advice

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "query", [r"\int_0^1 x^n dx", "∫₀¹ x² dx", "x^2 + y^2 = z^2", "prove e^{i\\pi}"]
)
def test_a_formula_without_dollars_is_recognised(query: str) -> None:
    assert "no formula stands between dollars; formulas: " in advice(query)
    assert ("prove" in query) == bool(advice(query, formula_wanted=True))


@pytest.mark.parametrize(
    "query", ["prime numbers", "Why does $x^2$ diverge?", "group of order p", ""]
)
def test_words_and_formulas_between_dollars_are_right(query: str) -> None:
    assert advice(query) == ""


def test_an_open_dollar_and_prose_for_a_formula_are_told() -> None:
    assert "a dollar is left open" in advice(r"$\frac{1")
    assert "a dollar is left open" in advice(r"$\frac{1", formula_wanted=True)
    assert "reads like prose" in advice("Why is the sky so blue", formula_wanted=True)
    assert advice(r"\text{ if } x", formula_wanted=True) == ""


def test_the_program_says_it_and_searches_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks.index("task1", indexes=tmp_path)
    tasks.search("task1", r"\int_0^1 x^n dx", indexes=tmp_path)
    assert (
        r"note: no formula stands between dollars; formulas: \int_0^1 x^n dx"
        in capsys.readouterr().err
    )
    with pytest.raises(InputError, match="the query is empty"):
        tasks.search("task1", " ", indexes=tmp_path)


def test_a_run_of_other_settings_is_not_replaced_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks.index("task1", indexes=tmp_path)
    options = {
        "indexes": tmp_path,
        "runs": tmp_path / "runs",
        "topics": ["2020"],
        "variant": ["text"],
    }
    tasks.run("task1", **options)
    tasks.run("task1", **options)  # the same again
    (run,) = (tmp_path / "runs").rglob("*.tsv")
    before = run.read_bytes()
    with pytest.raises(InputError, match="made with other settings or data; --overwrite replaces"):
        tasks.run("task1", depth=7, **options)
    assert run.read_bytes() == before
    tasks.run("task1", depth=7, overwrite=True, **options)
    assert run.read_bytes() != before
