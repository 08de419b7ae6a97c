"""Formulas are where MathJax finds them, in every title and body of three real dumps."""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tex2jax import body_formulas, text_formulas

from arqmath_bm25.analysis.html import read_body, read_title
from tests.support.parsed_dumps import parsed_rows

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.analysis.html import Content

# Posts where the package reads something else, and why.
OTHERWISE = {
    "mse-raw": {
        # An environment outside of any span, with spans in its text, which cut it for MathJax.
        *("20727", "1078576", "1384482", "1618741", "2293575", "2527705", "2745579"),
        *("717589", "1090172"),  # spans within code
        "2668334",  # a closing tag that a bare `<` swallowed
    },
    "se-sites/quantumcomputing.stackexchange.com": set(),
    "se-sites/genai.stackexchange.com": set(),
}


def latex(content: Content) -> list[str]:
    return [" ".join(formula.latex.split()) for formula in content.formulas]


@pytest.mark.slow
@pytest.mark.parametrize("dump", OTHERWISE)
def test_the_formulas_of_a_dump_are_those_that_mathjax_finds(shared: Path, dump: str) -> None:
    otherwise, compared = set(), 0
    for _, row in parsed_rows(shared / "data" / dump / "Posts.xml", "posts"):
        assert isinstance(row, dict)
        title, body = row.get("Title", ""), row["Body"]
        compared += 1
        if latex(read_title(title)) != text_formulas(unescape(title)) or (
            latex(read_body(body)) != body_formulas(body)
        ):
            otherwise.add(row["Id"])
    assert compared > 400
    assert otherwise == OTHERWISE[dump]


PIECES = st.sampled_from(
    [
        *r"$ $$ \ { } a \( \) \[ \] \\( \\) \$ \begin{split} \end{split} \end{align}".split(),
        " b ",
        r"\text{$n$}",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_the_formulas_of_any_text_are_those_that_mathjax_finds(text: str) -> None:
    expected = text_formulas(text)
    assert latex(read_title(text)) == expected
    assert latex(read_body(f"<p>{text}</p>")) == expected


TAGS = st.sampled_from(["<em>", "</em>", "<p>", "</p>", "<code>", "</code>", "<br>", "<b>x</b>"])


@given(st.lists(PIECES | TAGS, max_size=15).map("".join))
def test_no_formula_goes_beyond_a_tag(body: str) -> None:
    for formula in latex(read_body(body)):
        assert "<" not in formula
        assert not any("\ue000" <= character <= "\uf8ff" for character in formula)
