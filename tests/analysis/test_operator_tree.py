"""Operator trees of LaTeX: expected trees are written by hand, terms as the module says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from growth import check_growth
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import check_terms, mutated, real_formulas

from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.operator_tree import read_operators
from arqmath_bm25.analysis.terms import paths
from arqmath_bm25.analysis.trees import Tree, anonymised
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


FORMULAS = real_formulas(Layout(SAMPLE).formulas())
PIECES = r"""{ } ( ) [ ] | \| \{ \} \left( \right. ^ _ ' & \\ , ; : . ! + - = < > / \frac \sqrt
\sqrt[ \sum \int \lim \sin \exp \log d dx \begin{matrix} \end{matrix} \begin{cases} \over \choose
\bar \not \mod \forall f(x) \text{2} \langle \rangle""".split()


def tree(source: str) -> Tree:
    return read_operators(latex.read(source)[0])


def terms(source: str) -> list[str]:
    read = tree(source)
    return paths(read) + paths(anonymised(read))


def shown(read: Tree, node: int = 0) -> str:
    """Write a tree: edge:symbol(arguments), trees side by side between blanks."""
    symbols, parents, edges = read
    below = [n for n in range(1, len(symbols)) if parents[n] == node]
    arguments = " ".join(shown(read, n) for n in below)
    if not node:
        return arguments
    edge = edges[node].strip("~")
    label = f"{edge}:{symbols[node]}" if edge else symbols[node]
    return f"{label}({arguments})" if below else label


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # sums, products, relations
        (r"a+b+c", "+(a b c)"),
        (r"a-bc+d", "+(a -:times(b c) d)"),
        (r"-ab-c", "+(-:times(a b) -:c)"),
        (r"2 \cdot x \times y * z", "times(2 x y z)"),
        (r"a \cdot -b", "times(a +(-:b))"),
        (r"a/b/c", "frac(1:frac(1:a 2:b) 2:c)"),
        (r"a=b=c", "=(a b c)"),
        (r"a<b", "<(1:a 2:b)"),
        (r"b>a>c", "<(2:b 1:a 1:c)"),
        (r"f:=x", "=(f x)"),
        (r"-(+x) = +y", "=(+(-:x) y)"),
        (r"f: A \to B", ":(1:f 2:to(1:A 2:B))"),
        (r"p \land q \to r \Rightarrow s", "implies(1:to(1:land(p q) 2:r) 2:s)"),
        (r"A \supset B \Leftarrow C", "implies(2:subset(2:A 1:B) 1:C)"),
        (r"a \equiv b \pmod n", "equiv(a mod(1:b 2:n))"),
        (r"x>0 \land y \in \mathbb{R}", "land(<(2:x 1:0) in(1:y 2:bbR))"),
        # scopes
        (r"\sum_{k=0}^n a_k x + 1", "+(sum(_:=(k 0) ^:n 1:times(a(_:k) x)) 1)"),
        (r"2\int_0^1 f(x)\,dx", "times(2 int(_:0 ^:1 1:f(a:x)))"),
        (r"\int x\,{\rm d}x", "int(1:x)"),
        (r"\frac{d}{dx} y", "times(frac(1:d 2:times(d x)) y)"),
        (r"\lim_{n\to\infty} x_n", "lim(_:to(1:n 2:infty) 1:x(_:n))"),
        (r"\forall x \in A, x > 0", "forall(1:in(1:x 2:A)) <(2:x 1:0)"),
        # functions and application
        (r"\sin 2x \cos y", "times(sin(1:times(2 x)) cos(1:y))"),
        (r"\sin^2 x", "sin(^:2 1:x)"),
        (r"\sin(x) y", "times(sin(1:x) y)"),
        (r"\log_2 n / n", "frac(1:log(_:2 1:n) 2:n)"),
        (r"f(x+1)", "f(a:+(x 1))"),
        (r"n(n-1)", "times(n +(n -:1))"),
        (r"x(t)", "x(a:t)"),
        (r"f'_n(x,y)", "^(1:f(_:n a:()(x y)) 2:prime)"),
        (r"\operatorname{Aut}(G)", "Aut(1:G)"),
        (r"\frac{1}{3}(x)", "times(frac(1:1 2:3) x)"),
        # canonical forms
        (r"\sqrt x", "^(2:frac(1:1 2:2) 1:x)"),
        (r"\sqrt[n]{x}", "^(2:frac(1:1 2:n) 1:x)"),
        (r"\exp(x)", "^(1:e 2:x)"),
        (r"\ln x", "log(1:x)"),
        (r"x^2_i", "^(1:x(_:i) 2:2)"),
        (r"\begin{pmatrix} n \\ k \end{pmatrix}", "binom(1:n 2:k)"),
        (r"{n+1 \choose k}", "binom(1:+(n 1) 2:k)"),
        (r"{a \over b} c", "times(frac(1:a 2:b) c)"),
        # fences
        (r"|x|+\|y\|+||z||", "+(abs(1:x) norm(1:y) norm(1:z))"),
        (r"|a||b|", "times(abs(1:a) abs(1:b))"),
        (r"P(A|B)", "P(a:|(1:A 2:B))"),
        (r"\{x \mid |x|<1\}", "set(1:|(1:x 2:<(1:abs(1:x) 2:1)))"),
        (r"\{1,2\} \cup (a,b] \cup \lfloor x \rfloor", "cup(set(1 2) (](a b) lfloor(1:x))"),
        (r"(n+1)!", "!(1:+(n 1))"),
        (r"\bar x^2", "^(1:bar(1:x) 2:2)"),
        # tables
        (r"\begin{matrix} a & b \\ c & d \end{matrix}", "matrix(e:a e:b e:c e:d)"),
        (
            r"f = \left\{\begin{array}{ll} 1 & x>0 \\ 0 \end{array}\right.",
            "=(f cases(e:1 e:<(2:x 1:0) e:0))",
        ),
        (r"a &= b \\ c &= d", "=(a b) =(c d)"),
        # broken
        (r"a+", "+(a)"),
        (r"((a", "a"),
        (r"a) }+ b]", "+(a b)"),
        (r"\frac{a}", "frac(1:a)"),
        (r"x^", "^(1:x)"),
        (r"= 3", "=(3)"),
        (r"x^+ y^{=}", "times(^(1:x 2:+) ^(1:y 2:=))"),
        (r"\sqrt[3", "^(2:frac(1:1 2:3))"),
        (r"\frac{}{2}", "frac(1: 2:2)"),
        (r"", ""),
    ],
)
def test_formulas_have_the_trees_that_a_mathematician_reads(source: str, expected: str) -> None:
    assert shown(tree(source)) == expected


def test_terms_are_paths_through_two_and_three_nodes() -> None:
    pairs = "^~1~x ^~2~2 +~^ +~1 ~+".split()
    triples = "+~^~1~x +~^~2~2 ~+~^ ~+~1".split()
    assert Counter(paths(tree("x^2+1"))) == Counter(pairs + triples)


@pytest.mark.parametrize("script", ["x_!", "x^!", "(x)_!", "n!_!"])
def test_a_sign_alone_is_the_whole_script(script: str) -> None:
    """As in TeX, which takes one token for the argument: braces around it change nothing."""
    assert tree(script) == tree(f"{script[:-1]}{{{script[-1]}}}")


def test_variables_are_places_but_not_what_is_applied() -> None:
    assert shown(anonymised(tree(r"f(x)+a_1 y 2"))) == r"+(f(a:\?) times(\?(_:1) \? 2))"


def test_the_same_said_in_two_ways_has_the_same_terms() -> None:
    for one, other in [
        (r"\frac{a}{b}", r"{a \over b}"),
        (r"\sqrt[3]{x}", r"x^{1/3}"),
        (r"e^{-x}", r"\exp(-x)"),
        (r"a \ge b", r"b \leq a"),
        (r"\left( a + b \right) \cdot c", r"(a+b)c"),
        (r"\sum\limits_{i=1}^n i", r"\sum^n_{i=1} i"),
        (r"\int_0^1 x \, \mathrm{d}x", r"\int_0^1 xdx"),
    ]:
        assert sorted(terms(one)) == sorted(terms(other))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_any_text_has_a_tree(source: str) -> None:
    check_terms(terms, source, for_each_character=20)
    read = tree(source)
    for node in range(len(read.symbols)):  # every way upwards ends at the start mark
        steps = 0
        while node:
            node, steps = read.parents[node], steps + 1
            assert steps < len(read.symbols)


@settings(max_examples=200, deadline=None)
@given(mutated(FORMULAS, PIECES))
def test_a_broken_formula_has_a_tree(source: str) -> None:
    check_terms(terms, source, for_each_character=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    ["x+", "x", "(", "{", "x^{", "a|", "|", r"\sqrt{", r"\sqrt[", r"\frac", "-", "f(", "x^2_", "x_",
     r"\sin", r"\sum_", "a<b>", r"\begin{matrix}a&", "){", "x'", r"\int d", ",(", "!", r"\{"],
)  # fmt: skip
def test_time_grows_with_the_length(pattern: str) -> None:
    def find_paths(items: list[str]) -> None:
        tree = read_operators(items)
        paths(tree)
        paths(anonymised(tree))

    short, long = (latex.read(pattern * (length // len(pattern)))[0] for length in (8_000, 64_000))
    check_growth(find_paths, short, long, limit=2.6**3)


def test_real_formulas_have_terms(lite: Path) -> None:
    formulas = real_formulas(Layout(lite).formulas())
    empty = [source for source in formulas if not terms(source)]
    assert len(formulas) > 1_000
    assert len(empty) < 0.01 * len(formulas)
