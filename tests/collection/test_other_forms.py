"""PreTeXt, org and Typst: sections, statements, formulas and macros, written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.analysis.html import Formula, read_body
from arqmath_bm25.analysis.markup import words
from arqmath_bm25.collection.listing import listed
from arqmath_bm25.collection.source_files import FilePart, read_source
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

BOOK = r"""<?xml version="1.0" encoding="UTF-8"?>
<pretext xmlns:xi="http://www.w3.org/2001/XInclude">
  <docinfo><macros>\newcommand{\R}{\mathbb{R}}
\newcommand{\set}[1]{\{#1\}}</macros></docinfo>
  <book><title>Analysis of <m>\R</m></title>
    <chapter xml:id="limits"><title>Limits</title>
      <p>A sequence in <m>\R</m> &amp; its limit.</p>
      <theorem xml:id="thm-bw"><title>Bolzano</title>
        <statement><p>Every bounded sequence has a limit point
          <me>\set{x_n \mid n &lt; 3}</me>.</p></statement>
        <proof><p>By <xref ref="lem-a"/>:
          <md><mrow>a \amp = b</mrow><mrow>c \amp = d</mrow></md></p></proof>
      </theorem>
      <xi:include href="more.ptx"/>
      <xi:include href="../secret.ptx"/>
    </chapter>
  </book>
</pretext>
"""
MORE = r"""<section xml:id="more"><title>More</title><p>Words.</p>
<lemma xml:id="lem-a"><statement><p>Some <m>z</m>.</p></statement></lemma>
<exercises><exercise xml:id="ex-1"><statement><p>Show <m>q</m>.</p></statement>
<hint><p>Think.</p></hint></exercise></exercises></section>"""


def formulas(part: FilePart) -> list[str]:
    pieces = read_body(part.html or part.text).pieces
    return [piece.latex for piece in pieces if isinstance(piece, Formula)]


def test_a_book_of_pretext(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (tmp_path / "secret.ptx").write_text("<section><title>Secret</title><p>x</p></section>")
    (book / "main.ptx").write_text(BOOK)
    (book / "more.ptx").write_text(MORE)
    parts = {part.anchor: part for part in read_source(book / "main.ptx", book).parts}
    assert {anchor: part.title for anchor, part in parts.items()} == {
        "limits": r"Analysis of $\mathbb{R}$ › Limits",
        "thm-bw": r"Analysis of $\mathbb{R}$ › Limits › Theorem: Bolzano",
        "more": r"Analysis of $\mathbb{R}$ › Limits › More",
        "lem-a": r"Analysis of $\mathbb{R}$ › Limits › More › Lemma",
        "ex-1": r"Analysis of $\mathbb{R}$ › Limits › More › Exercise",
    }
    assert formulas(parts["limits"]) == [r"\mathbb{R}"]
    assert formulas(parts["thm-bw"]) == [
        r"\{x_n \mid n < 3\}", r"\begin{aligned}a & = b\\c & = d\end{aligned}"
    ]  # fmt: skip
    assert parts["thm-bw"].references == ("lem-a",)
    plan = listed(book, tmp_path / "i").plan
    assert list(plan.inputs) == ["main.ptx"]


def test_xml_that_is_no_pretext_is_named(tmp_path: Path) -> None:
    (tmp_path / "Posts.xml").write_text("<posts><row Id='1'/></posts>")
    with pytest.raises(InputError, match=r"Posts\.xml: no PreTeXt"):
        read_source(tmp_path / "Posts.xml", tmp_path)


ORG = r"""#+TITLE: Notes on rings
#+FILETAGS: :algebra:
#+LATEX_HEADER: \newcommand{\Z}{\mathbb{Z}}
Intro \(x^2\).

* TODO Ideals :draft:
:PROPERTIES:
:CUSTOM_ID: ideals
:END:
An /ideal/ of $\Z$ and [[file:other.org][another note]]. # no comment
# a comment
** Primes
#+NAME: thm:p
#+begin_theorem
Every $p$ is
\[ p > 1 \]
#+end_theorem
#+begin_src python
x = "$no$"
#+end_src
\begin{align}
a &= b
\end{align}
"""


def test_org(tmp_path: Path) -> None:
    (tmp_path / "a.org").write_text(ORG)
    parts = read_source(tmp_path / "a.org", tmp_path).parts
    assert [(part.anchor, part.title) for part in parts] == [
        ("", "Notes on rings"),
        ("ideals", "Notes on rings › Ideals"),
        ("primes", "Notes on rings › Ideals › Primes"),
        ("thm:p", "Notes on rings › Ideals › Primes › Theorem"),
    ]
    assert formulas(parts[0]) == ["x^2"]
    assert formulas(parts[1]) == [r"\mathbb{Z}"]
    assert "comment" not in parts[1].html.replace("no comment", "")
    assert "another note" in parts[1].html
    assert "other.org]" not in parts[1].html
    assert formulas(parts[2]) == [r"\begin{align} a &= b \end{align}"]
    assert formulas(parts[3]) == ["p", "p > 1"]
    assert parts[0].tags == ("algebra",)


def test_states_of_tasks_are_no_part_of_headings_of_org(tmp_path: Path) -> None:
    org = """#+TODO: READ(r) SKIM | FINISHED
* READ [#B] Sylow theorems :exam:p_groups:
* FINISHED Burnside
* DONE Cauchy
* PROOF of Lagrange
"""
    (tmp_path / "a.org").write_text(org)
    titles = [part.title for part in read_source(tmp_path / "a.org", tmp_path).parts if part.title]
    assert titles == ["Sylow theorems", "Burnside", "Cauchy", "PROOF of Lagrange"]


def test_lines_of_org_after_a_colon_are_code(tmp_path: Path) -> None:
    (tmp_path / "a.org").write_text("* A\nBefore $x$\n: set $width$\n:\n: of [[b]]\nafter $y$\n")
    (part,) = read_source(tmp_path / "a.org", tmp_path).parts
    assert formulas(part) == ["x", "y"]
    assert part.html.count("<pre>") == 1
    assert "[[b]]" in part.html


def test_a_colon_in_code_of_org_is_code(tmp_path: Path) -> None:
    (tmp_path / "a.org").write_text("* A\n#+begin_src\n: f\nx\n#+end_src\nafter $y$\n")
    (part,) = read_source(tmp_path / "a.org", tmp_path).parts
    assert ": f\nx" in part.html
    assert formulas(part) == ["y"]


TYPST = r"""#import "@preview/theorems:1.0": *
#set text(size: 11pt)
#let RR = math.bb("R")
= Integrals <sec-int>
A _function_ on $RR$ has $integral_0^1 x^2 dif x = 1/3$. // a comment
== Sums
$ sum_(k=1)^n k = (n(n+1))/2 $
#theorem(title: "Euler")[For every $x <= y$ we have $sqrt(x) <= sqrt(y)$.] <thm-euler>
See @thm-euler. `$code$`
/* $gone$ */
"""


def test_typst(tmp_path: Path) -> None:
    (tmp_path / "a.typ").write_text(TYPST)
    parts = read_source(tmp_path / "a.typ", tmp_path).parts
    assert [(part.anchor, part.title) for part in parts] == [
        ("sec-int", "Integrals"),
        ("sums", "Integrals › Sums"),
        ("thm-euler", "Integrals › Sums › Theorem: Euler"),
    ]
    assert not any(formulas(part) for part in parts)  # left as words, which is said
    assert "integral_0^1 x^2 dif x = 1/3" in " ".join(parts[0].text.split())
    assert "sqrt(x) &lt;= sqrt(y)" in parts[2].html
    assert "comment" not in parts[0].html
    assert "import" not in "".join(part.html for part in parts)
    assert parts[1].references == ("thm-euler",)


@pytest.mark.parametrize(
    ("typst", "shown"),
    [
        ("#if true [The cashew shows.] else [Or not.] end", "The cashew shows. Or not. end"),
        ("#for n in range(3) { let a = n } after", "after"),
        ("#for (a, b) in pairs [Item #a.] after", "Item . after"),
        ("#{ let hidden = 3 } #context { counter() } after", "after"),
        (r"\#tag, me\@x.org and \@at", "#tag, me@x.org and @at"),
        ("see https://x.org/tree//path then // words", "see https://x.org/tree//path then"),
    ],
)
def test_code_of_typst_is_no_prose(tmp_path: Path, typst: str, shown: str) -> None:
    (tmp_path / "a.typ").write_text(f"= A\n{typst}\n")
    (part,) = read_source(tmp_path / "a.typ", tmp_path).parts
    assert words(part.html).split() == shown.split()
