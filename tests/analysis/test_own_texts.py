r"""Texts that are read by their own kind: money, shells, LaTeX, Markdown, pages."""

from __future__ import annotations

import pytest

import arqmath_bm25 as arq
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.own_documents import UserDocument


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("A loan of $600 in May at interest, and a later note for $660.", []),
        ("Loan of $n$ notes at $2 each; interest is $3n$, i.e. $5 more.", ["n", "3n"]),
        ("$600 in May and $660 in June, $3n$ beside it", ["3n"]),
        ("I paid $5 and $10 and $15", []),
        ("He has $1,200 (twice that of Ann) or $600 today; $x=2$", ["x=2"]),
        ("set $HOME and $PATH first", []),
        ("from $USER to $HOST: $x+1$", ["x+1"]),
        ("$x$ and $y$", ["x", "y"]),
        ("$ z $ and $w $", ["z", "w"]),
        (r"$2\alpha $ holds", [r"2\alpha"]),
        ("if $q<p$ or $p>r$", ["q<p", "p>r"]),
        (r"$$5 \text{ and } 6$$", [r"5 \text{ and } 6"]),
    ],
)
def test_prices_and_shells_are_text(text: str, formulas: list[str]) -> None:
    assert [formula.latex for formula in read_title(text, "auto").formulas] == formulas


@pytest.mark.parametrize(
    ("text", "words", "formulas"),
    [
        (r"\begin{enumerate}\item Let $A$ be a ring.\end{enumerate}", ["ring"], 1),
        (r"\begin{lemma} A \emph{ring} $A+B$. \end{lemma}", ["ring"], 1),
        ("<p>x <em>rings</em> <b>$A$</b></p>", ["x", "ring"], 1),
        ("# Rings\n\n`$x$` is **code**, $A$ not", ["ring", "x", "code"], 1),
        ("<article>rings <math><mi>x</mi></math></article>", ["ring"], 1),
    ],
)
def test_a_text_says_itself_how_it_is_read(text: str, words: list[str], formulas: int) -> None:
    assert arq.analyze(text)["words"] == words
    assert len(read_title(text, "auto").formulas) == formulas


def test_a_kind_can_be_chosen_for_all_texts() -> None:
    assert arq.terms(r"\emph{ring}", delimiters="mathjax") == ["emph", "ring"]
    assert arq.terms("<p>ring</p>", html=True) == ["ring"]


@pytest.mark.parametrize(
    "text",
    [
        "Let $a<b$ & so.\n\nThen \\(c\\), `$d$` and &amp; <b",
        r"\begin{lemma} A \emph{ring} $A$.% so" "\n\n" r"\end{lemma} \newcommand{\R}{R} $\R$",
        "# Rings\n\n`$x$` is **code**, $A$ not, $5 and $6",
        "<p>a <b>$b$</b></p><pre>$c$</pre> &lt; $d<e$",
        "<article><h1>T</h1><math><mi>x</mi></math> and $y$</article>",
        "x^2+y^2=z^2 is\n\nPythagoras' theorem",
    ],
)
def test_contents_are_those_of_the_body_that_pages_show(text: str) -> None:
    document = UserDocument("1", text, "On $t$").marked("auto")
    title, content = document.contents("auto")
    body = read_body(document.body("auto"), "auto")
    assert [formula.latex for formula in title.formulas] == ["t"]
    assert content.prose == body.prose
    latex = [formula.latex for formula in content.formulas if formula.latex]
    assert latex == [formula.latex for formula in body.formulas if formula.latex]
