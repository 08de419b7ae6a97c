"""The kind of a text, told from the text itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.kinds import kind_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<p>A triangle with $a<b$</p>", "post"),
        ('<p>so <span class="math-container" id="7">$x$</span><br>', "post"),
        ('<a href="x" rel="nofollow">a</a> and <code>if a <b</code>', "post"),
        ("<!DOCTYPE html><p>a</p>", "html"),
        ("<article><p>a</p></article>", "html"),
        ("<p align=center>a</p>", "html"),
        ("<td nowrap>a</td>", "html"),
        ("let <mjx-container>x</mjx-container> be", "html"),
        ('<span class="katex">x</span>', "html"),
        ('<span class="math inline">x</span>', "html"),
        ('so <code class="code math js-render-math">x</code>', "html"),
        ('<img src="a.png" alt="x" class="latex" />', "html"),
        ('<div data-math="x"></div>', "html"),
        ("<m:math><m:mi>x</m:mi></m:math>", "html"),
        (r"\begin{lemma} Let $A$ be a ring. \end{lemma}", "latex"),
        (r"A \emph{ring} is $A$", "latex"),
        (r"\documentclass{article} \begin{lstlisting}<p>a</p>\end{lstlisting}", "latex"),
        ("# Rings\n\nA ring is $A$.", "markdown"),
        ("a **ring** $A$", "markdown"),
        ("see [rings](rings.html)", "markdown"),
        ("cost `$HOME` and $x$", "markdown"),
        ("`x^2+1` is prime", "plain"),
        (r"Why does \sum \frac1n diverge?", "plain"),
        (r"$\begin{align} a &= b \end{align}$", "plain"),
        ("a<b and b>c", "plain"),
        ("", "plain"),
    ],
)
def test_a_text_has_its_own_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@given(st.text("<>/=\"' ab-\\{}$*#`[]()!p\n"))
def test_any_text_has_a_kind(text: str) -> None:
    assert kind_of(text) in {"post", "html", "latex", "markdown", "plain"}
