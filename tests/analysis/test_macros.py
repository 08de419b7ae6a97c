r"""Macros of a post mean what they mean in MathJax, cost little, and stay in their post."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.analysis.macros import Macros
from arqmath_bm25.analysis.settings import AnalysisSettings, LatexSettings
from arqmath_bm25.collection.posts import PostTable

if TYPE_CHECKING:
    from pathlib import Path

ANALYZER = Analyzer(AnalysisSettings(latex=LatexSettings(operators=True)))


def expanded_formulas(*formulas: str) -> str:
    """Return the last formula of a post."""
    macros = Macros()
    return [macros.expand_macros(latex) for latex in formulas][-1]


@pytest.mark.parametrize(
    ("definition", "use", "meaning"),
    [
        (r"\newcommand{\ket}[1]{|#1\rangle}", r"\ket{0}", r"|0\rangle"),
        (r"\newcommand\R{\mathbb R}", r"x\in\R", r"x\in\mathbb R"),
        (r"\newcommand*{\R}{\mathbb{R}}", r"\R^n", r"\mathbb{R}^n"),
        (r"\def\bra#1{\langle#1|}", r"\bra \psi", r"\langle\psi |"),
        (r"\def\braket#1#2{\langle#1|#2\rangle}", r"\braket{0}1", r"\langle 0|1\rangle"),
        (r"\renewcommand{\phi}{\varphi}", r"\phi(x)", r"\varphi(x)"),
        (r"\newcommand{\norm}[2][2]{\|#2\|_#1}", r"\norm{x}", r"\|x\|_2"),
        (r"\newcommand{\norm}[2][2]{\|#2\|_#1}", r"\norm[p]{x}", r"\|x\|_p"),
        (r"\DeclareMathOperator{\Tr}{Tr}", r"\Tr A", r"\operatorname{Tr} A"),
        (r"\DeclareMathOperator*{\argmax}{arg\,max}", r"\argmax_x", r"\operatorname*{arg\,max}_x"),
        (r"\DeclareRobustCommand{\ket}[1]{|#1\rangle}", r"\ket{0}", r"|0\rangle"),
        (r"\newrobustcmd*\R{\mathbb R}", r"x\in\R", r"x\in\mathbb R"),
        (r"\edef\half{\frac12}", r"x+\half", r"x+\frac12"),
        (r"\NewDocumentCommand{\norm}{s m}{\|#2\|}", r"\norm{x}+\norm*{y}", r"\|x\|+\|y\|"),
        (r"\NewExpandableDocumentCommand\p{sO{n}m}{p_{#2}(#3)}", r"\p{x}\p*[k]{y}",
         r"p_{n}(x)p_{k}(y)"),
        (r"\def\half{\frac12}", r"x^\half", r"x^{\frac12}"),
        (r"\def\a{\alpha}", r"\a b + \b", r"\alpha b + \b"),  # `\ab` would be another command
        (r"\def\v#1{\mathbf#1}", r"\v{x}", r"\mathbf x"),
        (r"\def\a{x}\def\b{\a\a}", r"\b", "xx"),
        (r"\def\+{\dagger}", r"A^\+", r"A^{\dagger}"),
        (r"\def\scal(#1,#2){\langle#1|#2\rangle}", r"\scal (f,g^*)=0", r"\langle f|g^*\rangle=0"),
        (r"\def\row#1\wor{[#1]}", r"\row a,b\wor^T", r"[a,b]^T"),
        (r"\def\at#1|#2;{#1\vert_{#2}}", r"\at f|x=0;+1", r"f\vert_{x=0}+1"),
        (r"\DeclarePairedDelimiter{\ceil}{\lceil}{\rceil}", r"\ceil*{a}+\ceil[\Big]{b}+\ceil c",
         r"\lceil a\rceil+\lceil b\rceil+\lceil c\rceil"),
        (r"\DeclarePairedDelimiterX{\mean}[2]{[}{]}{#1\delimsize\vert#2}", r"\mean*{X}{Y}",
         r"[X\vert Y]"),
        (r"\DeclarePairedDelimiterXPP\prob[1]{P}{(}{)}{!}{#1}", r"\prob[\big]{A}", r"P(A)!"),
    ],
)  # fmt: skip
def test_a_use_becomes_what_it_stands_for(definition: str, use: str, meaning: str) -> None:
    def bare(latex: str) -> str:
        return latex.replace(" ", "")

    assert bare(expanded_formulas(definition, use)) == bare(meaning)
    assert bare(expanded_formulas(f"{definition} {use}")) == bare(meaning)
    terms = [
        ANALYZER(read_body(f"<p>{text}</p>"))
        for text in (f"${definition}$ ${use}$", f"${meaning}$")
    ]
    read = [[bag.terms for bag in found] for found in terms]
    assert read[0] == read[1]


@pytest.mark.parametrize("use", [r"\scal[f,g]", r"\scal(f)", r"\scal({f,g},h)", r"\scal"])
def test_a_use_without_the_signs_of_its_definition_stays(use: str) -> None:
    assert expanded_formulas(r"\def\scal(#1,#2){#1#2}", use) == use


def test_a_macro_is_defined_as_it_was() -> None:
    source = r"\def\at#1|#2;{#1_#2} \DeclarePairedDelimiter{\ceil}{\lceil}{\rceil}"
    macros = Macros()
    macros.expand_macros(source)
    again = Macros()
    again.expand_macros(macros.definitions_used(source))
    assert again["at"] == macros["at"]
    assert again.expand_macros(r"\ceil*{x}").split() == [r"\lceil", "x", r"\rceil"]


def test_a_definition_holds_for_what_follows_until_the_next() -> None:
    macros = Macros()
    formulas = [r"\a", r"\def\a{x}", r"\a", r"\renewcommand{\a}{y}\a", r"\a"]
    assert [macros.expand_macros(latex) for latex in formulas] == [r"\a", "", "x", "y", "y"]


def test_macros_stay_in_their_post() -> None:
    ANALYZER(read_body(r"$\def\a{x}$ $\a$"))
    assert ANALYZER(read_body(r"$\a$")).math.terms == r"\a"


@pytest.mark.parametrize(
    "formula",
    [
        r"\def\a{\a}\a",
        r"\def\a{\a\a}\a",
        r"\def\a#1{\a{#1#1}}\a{x}",
        r"\def\a{" + "x" * 900 + "}" + r"\a" * 900,
        r"\def\a#1{x#1}" + r"\a" * 2000 + "{y}",
    ],
)
def test_a_formula_that_would_grow_too_long_stays_as_it_is(formula: str) -> None:
    begin = time.process_time()
    assert expanded_formulas(formula) == formula
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "formula",
    [
        *(r"\newcommand", r"\newcommand{", r"\newcommand{\a}", r"\newcommand{\a}{", r"\def"),
        *(r"\def\a#1", r"\def\a#1#2{#2#1} \a x", r"\DeclareMathOperator"),
        r"\newcommand{\a}[9]{#9} \a{x}",
    ],
)
def test_what_is_cut_off_is_read(formula: str) -> None:
    expanded_formulas(formula, r"\a{b}", r"\a")


def test_a_formula_of_definitions_alone_is_empty() -> None:
    assert expanded_formulas(r"\newcommand{\R}{\mathbb R} ") == ""


FRAGMENTS = [
    "\\newcommand",
    "\\def",
    "\\a",
    "\\b",
    "{",
    "}",
    "[1]",
    "[",
    "]",
    "#1",
    "#2",
    "x",
    "^",
    " ",
]


@given(st.lists(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join), max_size=5))
def test_any_formula_is_read(formulas: list[str]) -> None:
    expanded_formulas(r"\def\b{y}", *formulas)


def test_real_posts_use_what_they_define(shared: Path) -> None:
    """In 22 posts that define macros, no formula keeps a command that its post defines."""
    table = PostTable.scan(shared / "data/se-sites/quantumcomputing.stackexchange.com/Posts.xml")
    posts = changed = 0
    for thread in table.threads():
        for post in filter(None, (thread.question, *thread.answers)):
            macros = Macros()
            formulas = [formula.latex for formula in read_body(post.body).formulas]
            written = [macros.expand_macros(latex) for latex in formulas]
            posts += bool(macros)
            changed += sum(a != b for a, b in zip(formulas, written, strict=True))
            again = Macros()
            again.update(macros)
            assert [again.expand_macros(latex) for latex in written] == written, post.post_id
    assert posts == 22
    assert changed > 140
