"""Notes as others write them: dialects of Markdown, LaTeX, pages of programs; money, plain signs.

What is expected is what the documentation of each dialect says, written beside the text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from program import arqmath
from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.analysis.markdown_html import markdown_html
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.pages.post_html import PostWriter

if TYPE_CHECKING:
    from pathlib import Path

# Of each folder of the finding: words, formulas and titles that are there, and words that are not.
FOLDERS: dict[str, tuple[list[str], str, str]] = {
    "01": (["n", "\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}"], "Done", "theorem"),
    "02": (["x^2+y^2=z^2"], "Then", "label eq-one"),
    "03": (["a_n \\to 0"], "By and we see", "eq"),
    "04": (["y \\in \\mathbb{R}^n", "\\min_{z} \\|y-z\\|"], "Orthogonal Projection", "label"),
    "05": (["x=1"], "Text", "sec-one eq-one"),
    "06": ([], "Markov Chains", "single index"),
    "07": (["x^2", "x^3"], "Let and", ""),
    "08": (["y_{i,t} = \\beta_0 + e_i \\tag{1}", "x"], "Text", "beta"),
    "09": (["x=1", "y = mx+b"], "The equation of a line", "thm-line eq-one :::"),
    "10": (["c^2 = a^2 + b^2"], "Pythagoras", "ref"),
    "11": ([], "Filters", "draft date"),
    "12": (["x"], "See the definition and", "actions"),
    "13": ([], "Sums", "unnumbered toc"),
    "14": ([], "A red word", "div align span style remark"),
    "15": ([], "Let a b, x < y", "nbsp"),
    "16": (["y"], "a note", "some-long-path"),
    "17": (["\\mathbf{x}=0"], "Intro words", ""),
    "24": ([], "Part IA — Analysis I › Limits", ""),
    "25": ([], "Maps of $\\ell_2$", ""),
    "26": ([], "B holds. Clear.", "bar_baz leanok"),
    "28": ([], "the archive for more. 50% of all", ""),
    "29": ([], "Write", ""),
    "30": ([], "Before. After.", "EndArrow draw"),
    "31": ([], "By Theorem it holds", "conv"),
    "32": (["x^2 + 1"], "Let be", ""),
    "33": (["x+y"], "Vector spaces", "¶"),
    "34": (["x"], "some text more", "index transistor"),
    "35": (["\\mu"], "Definition: Measure", "begin end label"),
    "40": (["\\begin{pmatrix} a \\\\ b \\end{pmatrix} = \\begin{pmatrix} c \\\\ d \\end{pmatrix}"],
           "Text after", "begin"),
    "41": ([], "Every flat map goes down. By going up.", "1.1"),
    "42": (["x^2+1", "\\alpha"], "costs $5 and $6", ""),
}  # fmt: skip

MONEY = [
    "US$ 5 million and US$ 7 million were paid", "A$ 5 to C$ 9", "5$ and 6$ today",
    "$1,000 to $2,000", "rent was $450 in May and $470 in June", "from $5 to $6, or $ 7 $",
    "10$/month or 100$/year", "between $5-$10 a piece", "5$-6$ a pound", "$5k and $10k, or 15k$",
    "set $HOME and $PATH first", "a $20 bill and a $50 bill", "R$ 10, R$ 20", "$ 5 to $ 6 a day",
    "costs 5$ a day, 6$ a night", "HK$100 and NZ$200", "it was $5. Now it is $6.",
    "USD$5 and USD$6",
    "$3 or $4", "$9.99 (or $8.99)", "a fee of $7, a fine of $8", "the 5 $ note and the 10 $ note",
    "$1 buys 2, $3 buys 7", "pay $12 now and $13 later", "20$ (about 18€) and then 30$.",
    "The ticket was $12.50 and the ride home another $8.",
    "Between $1.2 million and $1.5 million were raised.",
    "They owe us $300 (about €270), not $250.", "$40/hour is less than $45/hour.",
    "Pay €5 or $6; the rest is free.", "C$20 and AU$25 buy the same.",
    "From $9 to $11: a rise of 22%.", "We had $3, you had $4, she had $5.",
    "A budget of $2,500 for 25 people is $100 each.",
    'Sold for $1 at auction ("a dollar!"), worth $1,000.', "It rose from 3$ to 4$ in a week.",
    "one costs 2 $, two cost 3 $, three cost 4 $", "Prices: $5, $10, $20.",
    "The $64,000 question is not a $64 one.", "$5-10 for lunch, $15-20 for dinner",
    "Was it $30? Or $35?", '"$7," he said, "or $8."', "the US$/EUR rate of US$ 1.08",
    "between 10$ and 20$ per month", "$0.99 per song, $9.99 per album",
    "a $1bn fund and a $2bn fund", "Costs: rent $900, food $300, other $150",
    "They charge $25+tax, we charge $30.", "$100 = 100 dollars; $200 = 200 dollars",
    "NT$500 is about US$16", "earns $15/h and spends $10/h", "$1 ≈ €0.92, $2 ≈ €1.84",
    "a $5 coupon, then $3 off", "$12k–$15k a year", "He won $1,000,000; she won $500,000!",
]  # fmt: skip
MONEY_AND_FORMULAS = [
    ("for 5 $ we sell $n$ pieces", "n"),
    ("let $x$ be more than $5 today", "x"),
    ("it costs 5$ if $y$ is even", "y"),
    ("a $20 prize for $z+1$ guesses", "z+1"),
    ("price 100 $. If $a_1$ falls, sell", "a_1"),
    ("from $10 to $20 for \\(n\\) of them, or $3 each", "n"),
]
PLAIN_LINES = [
    "a set {a} and {b}", "the list [[1,2],[3,4]] of lists", "ask @alice and @bob",
    "a ::: b is text", "std::vector holds {1, 2}", "::: is a sign", "[[ -f x ]] is a test",
    "{x=1} is a set", "write to me@here.org", "use {} for nothing", "a {b{c}d} e", "[a] and {c}",
    "f(x) = {x}", "{-1, 1}", "100% of {n}", "[[0]]", "@ home", "{{a}}", "x[[i]] of R", "a@b@c",
    "the map {1,2,3} -> {a,b}", "f = @(x) x.^2", "see [[1]], [[2]] and [[3,4]]",
    "@property and @staticmethod decorate", "x ::: y ::: z", "a list [[]] is empty",
    "user@host:~ and root@host", '{"key": "value", "n": [1, 2]}', "if (a[[1]] == b[[2]]) stop()",
    "%timeit f(x)", "let {x | x > 0} be a set", "@media print", "::before and ::after",
    "{{ template }} and { single }", "an email to a.b@c.de, please", "{x} {y} {z}",
    "dict[[key]] of R", "{ and } are braces; [[ and ]] are brackets",
]  # fmt: skip

BOOK = """---
title: Own book
tags: [algebra/rings, "b, c"]
---

(start)=
# {index}`Rings <single: rings>`

See {ref}`the end <finish>` and {eq}`eq-0`.
"""
DIRECTIVES = (
    "prf:theorem prf:lemma prf:proof prf:definition note warning exercise tip admonition math"
)


def read(folder: Path) -> list[dict[str, Any]]:
    printed = arqmath("inspect", str(folder), "--text").stdout
    return [json.loads(line) for line in printed.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("number", FOLDERS)
def test_a_folder_of_others_is_read_as_its_form_says(shared: Path, number: str) -> None:
    formulas, there, absent = FOLDERS[number]
    (folder,) = (shared / "docs" / "findings" / "folders").glob(f"{number}-*")
    rows = read(folder / "notes")
    assert [latex for row in rows for latex in row["formulas"]] == formulas
    text = " ".join(f"{row['title']} {row['words']}" for row in rows)
    assert there in text
    assert not set(absent.split()) & set(text.split())


@pytest.mark.parametrize("kind", ["plain", "markdown"])
@pytest.mark.parametrize("text", MONEY)
def test_money_is_no_formula(text: str, kind: Any) -> None:
    read_as = UserDocument("1", text, kind=kind).as_read()
    assert read_as["formulas"] == []
    assert read_as["words"] == text


@pytest.mark.parametrize("kind", ["plain", "markdown"])
@pytest.mark.parametrize(("text", "latex"), MONEY_AND_FORMULAS)
def test_formulas_beside_money_are_found(text: str, latex: str, kind: Any) -> None:
    assert UserDocument("1", text, kind=kind).as_read()["formulas"] == [latex]


@pytest.mark.parametrize("text", PLAIN_LINES)
def test_a_mark_that_no_dialect_knows_stays_text(text: str) -> None:
    assert UserDocument("1", text, kind="markdown").as_read()["words"] == text


@pytest.mark.parametrize(
    ("text", "words", "formulas"),
    [
        (r"A \textcolor{red}{$x^{2}$ is} so", "A is so", ["x^{2}"]),
        (r"\textcolor{blue}{\textbf{$x^{2}$ is} big}", "is big", ["x^{2}"]),
        (r"\emph{$\frac{a}{b}$} and \textbf{b {c} d}", "and b c d", [r"\frac{a}{b}"]),
        (r"z\footnote{See $x^{2}$ and {y}.}", "z See and y.", ["x^{2}"]),
        (r"\mathbf{x} and \emph", r"\mathbf{x} and \emph", []),
    ],
)
def test_commands_of_latex_hold_formulas_with_braces(
    text: str, words: str, formulas: list[str]
) -> None:
    read_as = UserDocument("1", text, kind="markdown").as_read()
    assert (read_as["words"], read_as["formulas"]) == (words, formulas)


def test_every_directive_of_a_book_is_read(tmp_path: Path) -> None:
    parts = [BOOK]
    for number in range(50):
        name = DIRECTIVES.split()[number % 10]
        title = f"Title {number}" * (name in ("prf:theorem", "admonition"))
        body = f"word{number}" * (name != "math") + f" $x_{{{number}}}$" * (name != "math")
        if name == "math":
            body = f"x_{{{number}}}"
        parts.append(f"```{{{name}}} {title}\n:label: l-{number}\n{body}\n```\n")
    (tmp_path / "book.md").write_text("\n".join([*parts, "(finish)=\n## End\n\ndone\n"]))
    rows = read(tmp_path)
    formulas = [latex for row in rows for latex in row["formulas"]]
    assert sorted(formulas) == sorted(f"x_{{{number}}}" for number in range(50))
    words = " ".join(row["words"] for row in rows).split()
    markup = {"label", "class", "index", "single", "math", "prf", "theorem", "eq-0", "finish"}
    assert not markup & {word.lower().strip(".:`{}") for word in words}
    assert not any("{" in row["title"].replace("$", "") or "`" in row["title"] for row in rows)
    assert rows[0]["tags"] == ["algebra", "algebra/rings", "b", "c"]


def test_a_page_shows_callouts_footnotes_and_nested_lists() -> None:
    text = (
        "> [!note] Mind\n> this.\n\n- a\n  1. b\n\nsaid[^1]\n\n[^1]: The note.\n\n"
        "```{prf:theorem} Main\n:label: t\n\nSo.\n```\n"
    )
    tree = LexborHTMLParser(PostWriter().body(markdown_html(text)))
    assert tree.css_first("blockquote strong").text() == "Mind"
    assert tree.css_first("ul > li > ol > li").text().strip() == "b"
    assert [sign.text() for sign in tree.css("sup")] == ["1", "1"]
    assert "Theorem (Main)." in " ".join(tree.text().split())


def test_markdown_takes_in_files_of_its_folder_once(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("hidden")
    (folder / "part.md").write_text("---\ntitle: Part\n---\nTaken $x$ in.\n![[main]]\n")
    (folder / "code.py").write_text("print('$no$')\n")
    (folder / "note.md").write_text("Embedded $y$.\n")
    (folder / "main.md").write_text(
        "# Main\n\n```{include} part.md\n```\n\n```{include} part.md\n```\n\n![[note]]\n\n"
        "```{include} ../secret.md\n```\n\n```{literalinclude} code.py\n```\n"
    )
    rows = {row["id"]: row for row in read(folder)}
    assert list(rows) == ["main.md#main", "note.md"]
    assert rows["main.md#main"]["formulas"] == ["x", "y"]
    assert rows["main.md#main"]["words"] == "Taken in. Embedded . print('$no$')"
