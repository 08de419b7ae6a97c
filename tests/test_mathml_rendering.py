"""LaTeX is drawn by browsers as MathML; what cannot be read is shown as it was written."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from arqmath_bm25.analysis.html import Formula, read_title
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.pages.latex_to_mathml import render
from arqmath_bm25.pages.posts import PostWriter, excerpt


def tree(latex: str, display: bool = False) -> etree._Element:
    return etree.fromstring(render(latex, display))


def test_structure_is_that_of_the_formula() -> None:
    math = tree(r"\sum_{n=1}^\infty \frac1{n^2}")
    assert [e.text for e in math.iterfind(".//mfrac/mn")] == ["1"]
    assert [e.text for e in math.iterfind(".//mfrac//msup/*")] == ["n", "2"]
    assert math.get("title") == r"\sum_{n=1}^\infty \frac1{n^2}"  # shown where the pointer is
    assert math.find(".//msubsup") is not None
    assert tree(r"\sum_{n=1}^\infty n", display=True).find(".//munderover") is not None


@pytest.mark.parametrize(
    ("latex", "letters"),
    [
        (r"\mathbb{R}", "ℝ"),  # Unicode had it before it had an alphabet of them
        (r"\mathbb{A}", "𝔸"),
        (r"\mathcal{B}", "ℬ"),
        (r"\mathfrak{g}", "𝔤"),
        (r"\mathfrak{C}", "ℭ"),
        (r"\mathbf{v}", "𝐯"),
        (r"\mathbf{1}", "𝟏"),
    ],
)
def test_alphabets_are_unicode_letters(latex: str, letters: str) -> None:
    assert "".join(tree(latex).itertext()) == letters


def test_upright_letters_stay_upright() -> None:
    d, x = tree(r"\mathrm{d}x").iter("mi")
    assert (d.get("mathvariant"), x.get("mathvariant")) == ("normal", None)


def test_scripts_have_one_base() -> None:
    (power,) = tree(r"\binom nk^2").iter("msup")
    assert len(power) == 2


def test_columns_may_be_escaped_once_too_often() -> None:
    latex = r"\begin{align*}a&amp;=b\end{align*}"
    assert [e.text for e in tree(latex).iter("mo")] == ["="]
    assert len(list(tree(latex).iter("mtd"))) == 2


def test_rows_of_align_are_not_numbered() -> None:
    assert "(1)" not in render(r"\begin{align}a&=b\end{align}")


@pytest.mark.parametrize("latex", ["", " ", r"\frac{", "x^y^z", r"\left(", r"\begin{matrix}a"])
def test_what_cannot_be_read_is_shown_as_written(latex: str) -> None:
    code = etree.fromstring(render(latex))
    assert (code.tag, code.get("class"), code.text or "") == ("code", "latex", latex)


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\mbox{&lt;script&gt;alert(1)&lt;/script&gt;}",
        "<img src=x onerror=alert(1)>",
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(javascript:alert(1))}{x}",
        r"\class{x\" onclick=\"alert(1)}{y}",
        r"\color{red\" onclick=\"alert(1)}{y}",
        r"\text{</mtext></math><script>alert(1)</script>}",
        r"\frac{</code><script>alert(1)</script>",
        '" onmouseover="alert(1)',
    ],
)
def test_latex_cannot_become_html(latex: str) -> None:
    for element in etree.fromstring(render(latex)).iter():
        assert re.fullmatch("m[a-z]+|none|code", element.tag)
        assert not {"href", "style", "onclick", "onmouseover", "id"} & set(element.attrib)


@pytest.mark.parametrize(
    "latex",
    [
        r"\def\a{\b\b}\def\b{\c\c}" * 20 + r"\a",
        "{" * 20_000 + "x" + "}" * 20_000,
        r"\frac" * 3_000,
        "x" * 100_000,
    ],
)
def test_hostile_latex_takes_no_time(latex: str) -> None:
    began = time.process_time()
    assert "<code" in render(latex)
    assert time.process_time() - began < 1


@given(st.text(st.sampled_from("\\{}^_&<>\"'$ abfrctex12()[]\n\x00é"), max_size=60))
def test_whatever_comes_in_well_formed_markup_goes_out(latex: str) -> None:
    assert tree(latex).tag in ("math", "code")


def test_nearly_every_formula_of_a_collection_can_be_drawn() -> None:
    formulas = [row.latex for row in read_formulas(Layout(SAMPLE).formulas())]
    failed = [latex for latex in formulas if render(latex).startswith("<code")]
    assert len(formulas) > 1000
    assert failed == []


def test_words_of_the_query_are_marked_by_their_stem() -> None:
    writer = PostWriter([read_title("Does the series $a^2+b^2=c^2$ converge?")])
    assert writer.prose("It converges; the serious one") == (
        "It <mark>converges</mark>; the serious one"
    )


def test_formulas_of_the_query_are_marked_however_they_are_written() -> None:
    writer = PostWriter([read_title(r"Is $\frac{a}{b} \le 1$?")])
    assert writer.formula(Formula(r"{a \over b}\leq 1", "7")).startswith("<mark>")
    assert not writer.formula(Formula(r"\frac{a}{c} \le 1", "7")).startswith("<mark>")
    assert writer.formula(Formula("z", "7"), found="7").startswith('<mark class="found">')


def test_pictures_become_links() -> None:
    html = PostWriter().body(
        '<p><a href="https://x.y/big.png"><img src="https://x.y/s.png" alt="a &lt;b&gt;"></a> '
        '<img src="https://x.y/t.png"></p>'
    )
    rel = 'rel="noopener noreferrer nofollow"'
    assert html == (
        f'<p><a class="picture" href="https://x.y/s.png" {rel}>[picture: a &lt;b&gt;]</a> '
        f'<a class="picture" href="https://x.y/t.png" {rel}>[picture]</a></p>'
    )


def test_an_excerpt_ends_between_words_and_formulas() -> None:
    content = read_title(r"one two $\alpha+\beta$ three four")
    assert excerpt(content, 100) == content
    assert excerpt(content, 6).pieces == ("one", " …")
    formula = Formula(r"\alpha+\beta", None)
    assert excerpt(content, 28).pieces == ("one two ", formula, " three", " …")
