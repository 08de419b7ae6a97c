r"""LaTeX source, Markdown, HTML of other programs: where formulas begin, by hand and by pandoc."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex_statements import statements

from arqmath_bm25.analysis.html import Delimiters, as_body, expand_macros, read_body, read_title
from arqmath_bm25.analysis.kinds import kind_of
from arqmath_bm25.analysis.sources import with_lost_escapes
from arqmath_bm25.analysis.text import WordAnalyzer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ARTICLE = r"""\documentclass{article} % the class
\usepackage[utf8]{inputenc}
\newcommand{\R}{\mathbb{R}}
\begin{document}
\section{Intro}\label{sec:a}
\begin{lemma}[Poincar\'e's lemma]\label{lem:x}
Let $X$ be \emph{quasi-compact}, see \cite[p.~3]{Hart}; 50\% costs \$5. % not $x$
\begin{tabular}{ll} a & b \\[2pt] c & d \end{tabular}
\begin{align}
a &= b \label{eq:1}
\end{align}
in \(\R^n\)
\begin{verbatim} $x$ % y \end{verbatim} and \verb|$z$| na\"ive \'Etale stra\ss e \o re
\end{lemma}
\end{document} what follows"""


def read(text: str, delimiters: Delimiters) -> tuple[list[str], list[str]]:
    """Return the words of a text and its formulas without blanks."""
    content = read_title(text, delimiters)
    return words(content.prose), [bare(formula.latex) for formula in content.formulas]


words = WordAnalyzer("none", stop_words=False)


def bare(latex: str) -> str:
    return re.sub(r"\s+", "", latex)


def test_an_article_is_read_as_latex_means_it() -> None:
    prose, formulas = read(ARTICLE, "latex")
    assert prose == words(
        "intro poincaré's lemma let be quasicompact see 50 costs 5 a b c d in x y and z "
        "naive etale strasse ore"
    )
    assert formulas == [
        r"\newcommand{\R}{\mathbb{R}}", "X", r"\begin{align}a&=b\label{eq:1}\end{align}", r"\R^n"
    ]  # fmt: skip
    content = expand_macros(read_title(ARTICLE, "latex"))
    assert content.formulas[-1].latex == r"\mathbb{R}^n"


@pytest.mark.parametrize(
    ("text", "prose", "formulas"),
    [
        ("`$HOME` and `$PATH` in code", "home and path in code", []),
        ("```sh\necho $A $B\n```\nthen $x$", "echo a b then", ["x"]),
        ("US$ 5 million and US$ 7 million", "us 5 million and us 7 million", []),
        ("$10, or between $5", "10 or between 5", []),
        ("$`y`$ and\n```math\na+b\n```\n", "and", ["y", "a+b"]),
        ("$x$, [a link](https://a.org/b) and \\(z\\)", "a link and", ["x", "z"]),
        ("# Head\n\n$$\na=b\n$$", "head", ["a=b"]),
        ("So we have $$a\n\n= b$$ here.", "so we have here", ["a=b"]),
        ("- costs $5\n- costs $6\n- so $x$", "costs 5 costs 6 so", ["x"]),
        ("> $$\n> a > b\n> # c\n> $$\n> so", "so", ["a>b#c"]),
        ("- item\n\n  ```{math}\n  x=1\n  ```\n- next", "item next", ["x=1"]),
        (
            "```{note}\nAn $x$\n\n```sh\necho $1\n```\n\n$y$\n```\nend $z$",
            "an echo 1 end",
            ["x", "y", "z"],
        ),
        ("!!! tip\n    In $x$\n\n    - $y$\n\nafter $z$", "in after", ["x", "y", "z"]),
        ("[$x$](http://a.org/$b$) ![y](c$d.png) $z$", "", ["x", "z"]),
    ],
)
def test_markdown_hides_code_and_has_the_dollars_of_pandoc(
    text: str, prose: str, formulas: list[str]
) -> None:
    assert read(text, "markdown") == (prose.split(), formulas)


@pytest.mark.parametrize(
    ("html", "prose", "formulas"),
    [
        ('<math alttext="x^2&lt;y"><mi>x</mi></math> be', "be", ["x^2<y"]),
        (
            "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>\\hat x"
            "</annotation></semantics></math>", "", [r"\hatx"],
        ),
        ('<script type="math/tex; mode=display">a<b</script> so', "so", ["a<b"]),
        ('<img alt="x_1" class="mwe-math-fallback" src="a.svg"> and', "and", ["x_1"]),
        (
            '<math alttext="x"></math><img class="mwe-math-fallback" alt="x"> once', "once", ["x"],
        ),
        ('<img src="a.png" alt="no formula"> text', "text", []),
        (
            "<m:math><m:mfrac><m:msup><m:mi>x</m:mi><m:mn>2</m:mn></m:msup><m:mi>sin</m:mi></m:mfrac>"
            "<m:mo>≤</m:mo><m:mover><m:mi>a</m:mi><m:mo>→</m:mo></m:mover></m:math>", "",
            [r"\frac{x^{2}}{\operatorname{sin}}≤\vec{a}"],
        ),
        ("<math><mroot><mi>a</mi><mn>3</mn></mroot></math>", "", [r"\sqrt[3]{a}"]),
        ("if a<math and b>c", "if a math and b c", []),
    ],
)  # fmt: skip
def test_html_of_other_programs_keeps_its_formulas(
    html: str, prose: str, formulas: list[str]
) -> None:
    content = read_body(f"<p>{html}</p>")
    assert (words(content.prose), [bare(f.latex) for f in content.formulas]) == (
        prose.split(), formulas,
    )  # fmt: skip


@given(
    st.text(st.sampled_from("$\\`{}[]()%~'\"\nabx <>&|_^#*") | st.characters(codec="utf-8")),
    st.sampled_from(["latex", "markdown"]),
)
def test_a_text_as_the_body_of_a_post_is_the_same(text: str, delimiters: Delimiters) -> None:
    content = read_title(text, delimiters)
    body = read_body(as_body(content), delimiters)
    latex = [formula.latex for formula in content.formulas if formula.latex]
    assert [formula.latex for formula in body.formulas if formula.latex] == latex
    assert words(body.prose) == words(content.prose)


def parsed(form: str, text: str) -> list[dict[str, Any]]:
    if shutil.which("pandoc") is None:
        pytest.skip("no pandoc")
    command = ["pandoc", "-f", form, "-t", "json"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    blocks: list[dict[str, Any]] = json.loads(done.stdout)["blocks"]
    return blocks


def by_pandoc(block: Any) -> Iterable[tuple[bool, str]]:
    """Yield what pandoc has read: whether it is a formula, and its text."""
    if isinstance(block, list):
        for inner in block:
            yield from by_pandoc(inner)
    elif isinstance(block, dict):
        kind, content = block.get("t"), block.get("c", [])
        if kind == "Str":
            yield False, content
        elif kind == "Math" or (kind in ("RawInline", "RawBlock") and content[1][:6] == "\\begin"):
            yield True, content[1]
        elif kind in ("Code", "CodeBlock"):
            yield False, f" {content[1]} "
        elif kind in ("Link", "Image"):  # but for references, which LaTeX numbers
            yield from by_pandoc([] if ["reference-type", "ref"] in content[0][2] else content[1])
        elif kind in ("RawInline", "RawBlock"):
            yield False, re.sub(r"\\(?:eqref|ref|cite)\b.*", " ", content[1])
        else:
            yield False, " "
            yield from by_pandoc(content)


def read_by_pandoc(blocks: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    pieces = list(by_pandoc(blocks))
    prose = "".join(" " if is_formula else text for is_formula, text in pieces)
    return words(prose), [bare(text) for is_formula, text in pieces if is_formula]


def test_statements_of_textbooks_are_read_as_pandoc_reads_them() -> None:
    sources = list(statements(600))
    text = "\n\n".join(f"{source}\n\nEND OF ONE" for source in sources)
    of_each: list[list[dict[str, Any]]] = [[]]
    for block in parsed("latex", text):
        if read_by_pandoc([block])[0] == ["end", "of", "one"]:
            of_each.append([])
        else:
            of_each[-1].append(block)
    same = 0
    for source, blocks in zip(sources, of_each[:-1], strict=True):
        prose, formulas = read_by_pandoc(blocks)
        if r"\begin{proof}" in source:  # pandoc writes the word
            prose = prose[1:]
        formulas = [formula.replace("{aligned}", "{align*}") for formula in formulas]
        same += read(source, "latex") == (prose, formulas)
    assert same / len(sources) >= 0.97
    assert {kind_of(source) for source in sources} == {"latex"}


@pytest.mark.slow
def test_questions_and_answers_are_read_as_pandoc_reads_them(shared: Path) -> None:
    place = shared / "data" / "stackmathqa"
    texts = [
        json.loads(line)["text"]
        for name in ("corpus.jsonl", "queries.jsonl")
        for line in (place / name).read_text("utf-8").splitlines()
    ][::4]
    # Pandoc's own Markdown, without what is no matter of formulas.
    form = "markdown+tex_math_single_backslash-yaml_metadata_block-subscript-superscript-citations"
    same = sum(
        read(text, "markdown") == read_by_pandoc(parsed(f"{form}-smart", text)) for text in texts
    )
    # Pandoc keeps names of commands outside formulas as words, and takes "ii." for a list.
    assert same / len(texts) >= 0.955


@pytest.mark.parametrize(
    ("source", "formulas", "prose"),
    [
        ("\\def\\cA{\\mathcal A}% first\n\\def\\cB{\\mathcal B}%\n$\\cA\\cB$",
         [r"\mathcal A\mathcal B"], ""),
        (r"\newcommand{\cA}{A}\newcommand{\cB}{B}" "\n" r"$\cA\cB$", ["AB"], ""),
        (r"\newcommand{\cA}{A} \def\cB{B} \DeclareMathOperator{\cC}{C}" "\n" r"$\cA+\cB$",
         ["A+B"], ""),
        ("\\newcommand{\\be}{\\begin{equation}}\n\\newcommand{\\ee}{\\end{equation}}\n"
         "We \\be x^2 \\ee so",
         [r"\begin{equation} x^2 \end{equation}"], "We so"),
        ("\\def\\bea{\\begin{eqnarray}}\\def\\eea{\\end{eqnarray}}\n\\bea a\\eea",
         [r"\begin{eqnarray} a\end{eqnarray}"], ""),
        ("\\newenvironment{eq}{\\begin{equation}}{\\end{equation}}\nWe \\begin{eq} x \\end{eq} so",
         [r"\begin{equation} x \end{equation}"], "We so"),
        ("\\newenvironment{claim}[1]{\\textbf{#1}}{}\nA \\begin{claim}$x$\\end{claim}", ["x"], "A"),
        (r"a \emph{b} \iffalse hidden $y$ \fi $x$", ["x"], "a b"),
        (r"\emph{code} \lstinline|a $x$ b| and \lstinline[language=C]{$y$} $z$", ["z"],
         "code a $x$ b and $y$"),
        (r"\emph{see} \url{http://a.b/$c$} and $x$", ["x"], "see and"),
        (r"\emph{by} \ref{eq:$1} and \cite{$a} $x$", ["x"], "by and"),
        ("\\NewDocumentCommand{\\norm}{m}{\\|#1\\|}\n$\\norm{x}$", [r"\|x\|"], ""),
        ("\\NewDocumentCommand{\\f}{O{2} m}{#2^{#1}}\n$\\f{x}+\\f[3]{y}$", ["x^{2}+y^{3}"], ""),
        ("\\let\\eps\\varepsilon\n$\\eps$", [r"\varepsilon"], ""),
        ("\\emph{so}\n\n$$\n\nx\n\n$$\n\nand\n\n$$y$$", ["x", "y"], "so and"),
        ("\\emph{so} \\[\n\nx \\] and \\begin{align}\n\na\\\\\n\nb\n\\end{align}",
         ["x", r"\begin{align}a\\b\end{align}"], "so and"),
        (r"\let\phi\varphi\let\varphi\phi" "\n" r"$\phi$", [r"\varphi"], ""),
        (r"\let\old\phi\let\phi\varphi\let\varphi\old" "\n" r"$\phi+\varphi$",
         [r"\varphi+\phi"], ""),
        (r"\let\oldsum\sum\renewcommand{\sum}{\oldsum\limits}" "\n" r"$\sum_n$",
         [r"\sum\limits_n"], ""),
        (r"\newcommand{\f}[2][x]{#1+#2}\let\g\f" "\n" r"$\g[a]{b}\g{c}$", ["a+bx+c"], ""),
        (r"\let\half=\frac" "\n" r"$\half{1}{2}$", [r"\frac{1}{2}"], ""),
        (r"\emph{a} \ensuremath{x^{2}} b", ["x^{2}"], "a b"),
        (r"\newcommand{\R}{\ensuremath{R}}" "\n" r"in \R, \R\ and $\R^n$",
         ["R", "R", r"\ensuremath{R}^n"], "in , and"),
        (r"\newcommand{\n}[1]{\ensuremath{|#1|}}" "\n" r"by \n{x_{1}} so",
         ["|x_{1}|"], "by so"),
        ("\\DeclarePairedDelimiter{\\abs}{\\lvert}{\\rvert}\n$\\abs{x}$", [r"\lvert x \rvert"], ""),
    ],
)  # fmt: skip
def test_latex_as_people_write_it(source: str, formulas: list[str], prose: str) -> None:
    content = expand_macros(read_title(source, "latex"))
    latex = [
        "".join(formula.latex.split()) for formula in content.formulas if formula.latex.strip()
    ]
    assert latex == ["".join(formula.split()) for formula in formulas]
    assert content.prose == prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so $\frac{1}{2}$", r"so $\frac{1}{2}$"),
        ("so $5\times 10$", r"so $5\times 10$"),
        ("so $\beta$ and $\boldsymbol{x}$", r"so $\beta$ and $\boldsymbol{x}$"),
        ("$\alpha$, $\vec{x}$, $\rho$", r"$\alpha$, $\vec{x}$, $\rho$"),
        ("a\ttab and a\rline", "a\ttab and a\rline"),
        ("a\ttotal\tof three", "a\ttotal\tof three"),
        ("an\tau lait, $\tau_1$", "an\tau lait, $\\tau_1$"),
    ],
)
def test_commands_that_lost_their_backslash_to_an_escape_are_whole_again(
    text: str, expected: str
) -> None:
    repaired, _ = with_lost_escapes(text)
    assert repaired == expected
