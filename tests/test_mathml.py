"""Presentation MathML is read as the LaTeX that it was made from."""

from __future__ import annotations

import time
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutation import check_terms, mutated, real_formulas

from arqmath_bm25.analysis import latex, mathml
from arqmath_bm25.analysis.symbol_layout import paths, read_layout
from arqmath_bm25.collection.formulas import read_formulas

if TYPE_CHECKING:
    from pathlib import Path


def tuples(items: list[str]) -> Counter[str]:
    return Counter(paths(read_layout(items), 2, 3))


def math(content: str, alttext: str = "") -> str:
    return (
        f'<math alttext="{alttext}" class="ltx_Math" display="block"><semantics>{content}'
        "</semantics></math>"
    )


# As LaTeXML writes them.
PAIRS = [
    (r"x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
    (r"a_{ij}", "<msub><mi>a</mi><mrow><mi>i</mi><mo>\u2062</mo><mi>j</mi></mrow></msub>"),
    (r"x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
    (r"\frac{1}{2}", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
    (
        r"\binom{n}{k}",
        '<mrow><mo>(</mo><mfrac linethickness="0pt"><mi>n</mi><mi>k</mi></mfrac><mo>)</mo></mrow>',
    ),
    (r"\sqrt{x}", "<msqrt><mi>x</mi></msqrt>"),
    (r"\sqrt[3]{x}", "<mroot><mi>x</mi><mn>3</mn></mroot>"),
    (
        r"\lim\limits_{x\to 0}\sin x",
        "<mrow><munder><mo>lim</mo><mrow><mi>x</mi><mo>→</mo><mn>0</mn></mrow></munder>"
        "<mo>\u2061</mo><mrow><mi>sin</mi><mo>\u2061</mo><mi>x</mi></mrow></mrow>",
    ),
    (
        r"\sum_{n=1}^{\infty}",
        "<munderover><mo>∑</mo><mrow><mi>n</mi><mo>=</mo><mn>1</mn></mrow><mi>∞</mi></munderover>",
    ),
    (r"\bar{x}", '<mover accent="true"><mi>x</mi><mo stretchy="false">¯</mo></mover>'),
    (r"\vec{v}", '<mover accent="true"><mi>v</mi><mo stretchy="false">→</mo></mover>'),
    (r"\mathbb{R}", "<mi>ℝ</mi>"),
    (r"\mathcal{L}", '<mi class="ltx_font_mathcaligraphic">ℒ</mi>'),
    (r"\mathfrak{g}", "<mi>𝔤</mi>"),
    (r"\mathbf{x}", "<mi>𝐱</mi>"),
    (r"\boldsymbol{\phi}", "<mi>𝝓</mi>"),
    (r"\operatorname{lcm}(a)", "<mi>lcm</mi><mo>(</mo><mi>a</mi><mo>)</mo>"),
    (r"\limsup a", "<mo>lim sup</mo><mi>a</mi>"),
    (r"\lambda\ne\phi", "<mi>λ</mi><mo>≠</mo><mi>ϕ</mi>"),
    (r"a\not\in B", "<mi>a</mi><mo>∉</mo><mi>B</mi>"),
    (r"f^{\prime}", "<msup><mi>f</mi><mo>′</mo></msup>"),
    (r"A\setminus B", "<mi>A</mi><mo>∖</mo><mi>B</mi>"),
    (r"\{x\}", "<mo>{</mo><mi>x</mi><mo>}</mo>"),
    (
        r"\begin{pmatrix}a&b\\ c&d\end{pmatrix}",
        "<mrow><mo>(</mo><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr>"
        "<mtr><mtd><mi>c</mi></mtd><mtd><mi>d</mi></mtd></mtr></mtable><mo>)</mo></mrow>",
    ),
    (
        r"\begin{cases}1&x\\ 0&y\end{cases}",
        "<mrow><mo>{</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mi>x</mi></mtd></mtr>"
        "<mtr><mtd><mn>0</mn></mtd><mtd><mi>y</mi></mtd></mtr></mtable></mrow>",
    ),
    (
        r"a\equiv b\pmod{c}",
        "<mi>a</mi><mo>≡</mo><mrow><mi>b</mi><mrow><mo>(</mo><mrow><mo>mod</mo><mi>c</mi></mrow>"
        "<mo>)</mo></mrow></mrow>",
    ),
]


@pytest.mark.parametrize(("source", "markup"), PAIRS)
def test_both_sources_give_the_same_tuples(source: str, markup: str) -> None:
    assert tuples(mathml.read(math(markup))[0]) == tuples(latex.read(source)[0])


def test_text_becomes_words() -> None:
    assert mathml.read(math("<mi>x</mi><mtext> if even</mtext>")) == (["x"], " if even")


@pytest.mark.parametrize(
    ("defect", "source"),
    [
        (math("<mi>a</mi><mo><</mo><mi>b</mi>"), "a<b"),  # entities unescaped once too often
        (math("<mi>a</mi><mo>&</mo><mi>b</mi>", alttext="a<b & c>d"), r"a\& b"),
        (math("<msup><mi>x</mi><mpadded><mn>2</mn></msup>"), "x^2"),  # mpadded is not closed
        (math("<mi>x</mi></mrow></mrow>"), "x"),
        ("<math><msup><mi>x</mi><mn>2</mn>", "x^2"),  # cut off
        (math("<merror><mtext>\\gt</mtext></merror><mn>0</mn>"), ">0"),  # LaTeXML's error output
        (math("<span><mi>x</mi></span>"), "x"),
        (math("<mfrac><mn>1</mn></mfrac>"), r"\frac{1}{}"),
    ],
)
def test_defects_of_the_files_are_repaired(defect: str, source: str) -> None:
    assert tuples(mathml.read(defect)[0]) == tuples(latex.read(source)[0])


def test_empty_input_has_no_symbol() -> None:
    assert mathml.read("") == mathml.read("<math></math>") == ([], "")


TAGS = "math mrow mi mo mn msup msub mfrac msqrt mtable mtr mtd munder mmultiscripts merror".split()
MARKUP = [*(f"<{t}>" for t in TAGS), *(f"</{t}>" for t in TAGS), *'x2+<>&;"', "→", 'alttext="', " "]


@given(st.one_of(st.lists(st.sampled_from(MARKUP), max_size=60).map("".join), st.text()))
def test_any_string_is_read(markup: str) -> None:
    items, _ = mathml.read(markup)
    read_layout(items)


@given(data=st.data())
def test_real_formulas_may_break_anywhere(data: st.DataObject, lite: Path) -> None:
    source = data.draw(mutated(_real(lite), MARKUP))
    check_terms(lambda text: paths(read_layout(mathml.read(text)[0]), 2, 3), source, 10)


@cache
def _real(data: Path) -> list[str]:
    return real_formulas(data / MARKUPS)


@pytest.mark.parametrize("unit", ["<mrow>", "<mi", '<math alttext="', "<msup><mi>x</mi>", "</mi>"])
def test_time_is_linear_in_length_at_any_depth(unit: str) -> None:
    def seconds(times: int) -> float:
        best = 1e9
        for _ in range(3):
            began = time.process_time()
            mathml.read(unit * times)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(20_000) < 12 * seconds(5_000) + 0.05  # 4 if linear, 16 if quadratic


@pytest.mark.slow
def test_most_formulas_of_the_collection_have_the_same_tuples_in_both(lite: Path) -> None:
    sources = {row.formula_id: row.latex for row in read_formulas(lite / SOURCES)}
    known: dict[tuple[str, str], bool] = {}
    same = compared = 0
    for row in read_formulas(lite / MARKUPS):
        source = sources[row.formula_id]
        if row.latex and source:
            key = (source, row.latex)
            if key not in known:
                known[key] = tuples(latex.read(source)[0]) == tuples(mathml.read(row.latex)[0])
            same += known[key]
            compared += 1
    assert compared > 80_000
    assert same / compared > 0.96
    assert sum(known.values()) / len(known) > 0.94


SOURCES = "Formulas/latex_representation_v3"
MARKUPS = "Formulas/slt_representation_v3"
