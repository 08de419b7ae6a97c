"""LaTeX, Markdown and plain text as pages show them; expected HTML is written by hand."""

from __future__ import annotations

import re
import time

import pytest
from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.analysis.latex_html import latex_html
from arqmath_bm25.analysis.markdown_html import markdown_html
from arqmath_bm25.analysis.markup import shown
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.pages.post_html import PostWriter

ALIGNED = r"\begin{align*}a&amp;=b\end{align*}"


def plain_html(text: str) -> str:
    return UserDocument("1", text, kind="plain").body("auto")


def math(latex: str, mark: str = "$") -> str:
    return f'<span class="math-container">{mark}{latex}{mark}</span>'


def bare(html: str) -> str:
    """Return HTML as a page shows it, without blanks and what only the program reads."""
    html = re.sub(r' (?:id|data-name|data-span|class)="(?:statement|named|[^"]*)"', "", shown(html))
    return re.sub(r"\s", "", html)


@pytest.mark.parametrize(
    ("source", "html"),
    [
        (r"\section{On $x$}", f"<h2>On {math('x')}</h2>"),
        (r"\section{A}\subsection*{Limits}", "<h2>A</h2><h3>Limits</h3>"),
        ("one\n\ntwo % three", "<p>one</p>\n<p>two </p>"),
        (r"let \[ a<b \] hold", f"<p>let </p>\n<p>{math('a&lt;b', '$$')}</p>\n<p>hold</p>"),
        (r"\(x\) costs 5\$", f"<p>{math('x')} costs 5<code>$</code></p>"),
        (r"\emph{all of \textbf{them}}", "<p><em>all of <strong>them</strong></em></p>"),
        (r'H\"older', "<p>Hölder</p>"),
        (
            "\\begin{thm}[Main]\nSo.\n\\end{thm}",
            "<div><strong>Theorem (Main).</strong><p>So.</p></div>",
        ),
        (r"\begin{align*}a&=b\end{align*}", f"<p>{math(ALIGNED, '$$')}</p>"),
        ("\\begin{verbatim}\n<b> $x\n\\end{verbatim}", "<pre><code>&lt;b&gt; $x</code></pre>"),
        (r"\documentclass{a}\begin{document}Hi\end{document}bye", "<p>Hi</p>"),
        (r"a \textcolor[rgb]{1,0,0}{deep $u$}", f"<p>a deep {math('u')}</p>"),
        (r"\fcolorbox{a}{b}{c}\resizebox{1cm}{!}{d}", "<p>cd</p>"),
        (r"\noindent {\bf Example.} Let \cite[3]{K} {\em be}", "<p>Example. Let be</p>"),
        (r"\begin{minipage}[t]{3cm}{\it all}\end{minipage}", "<p>all</p>"),
        (r"\hypersetup{pdfauthor={A}, pdftitle={B}}C", "<p>C</p>"),
        (r"\addcontentsline{toc}{section}{Intro}So", "<p>So</p>"),
        (r"\href{https://a.example/?x&y}{here}", '<p><a href="https://a.example/?x&amp;y">here</a></p>'),
    ],
)  # fmt: skip
def test_latex(source: str, html: str) -> None:
    assert bare(latex_html(source)) == bare(html)


def test_lists_of_latex() -> None:
    html = latex_html(r"\begin{enumerate}\item one \item[b] two\end{enumerate}")
    items = LexborHTMLParser(html).css("ol > li")
    assert [" ".join(item.text().split()) for item in items] == ["one", "b two"]


def test_tables_of_latex() -> None:
    html = latex_html("\\begin{tabular}{l|r}\\hline n & $n^2$ \\\\ \\emph{2} & 4\n\\end{tabular}")
    rows = [
        [cell.text().strip() for cell in row.css("td")] for row in LexborHTMLParser(html).css("tr")
    ]
    assert rows == [["n", "$n^2$"], ["2", "4"]]


def test_macros_of_a_document_are_written_out() -> None:
    source = r"\newcommand{\R}{\mathbb R}\begin{document}In $\R$.\end{document}"
    html = PostWriter().body(latex_html(source))
    assert "ℝ" in html or "double-struck" in html


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("# On $x$ #", f"<h2>On {math('x')}</h2>"),
        ("**bold _and_** `co$de`", "<p><strong>bold <em>and</em></strong> <code>co$de</code></p>"),
        (r"it costs \$5", "<p>it costs <code>$</code>5</p>"),
        ("```\nx = '$a$'\n```\nend", "<pre><code>x = &#x27;$a$&#x27;</code></pre>\n<p>end</p>"),
        ("so\n$$\na<b\n$$\nor", f"<p>so</p>\n<p>{math('a&lt;b', '$$')}</p>\n<p>or</p>"),
        ("[$x$](https://a.example)", f'<p><a href="https://a.example">{math("x")}</a></p>'),
        ("a^[note $n$ ^[inner]] b", f"<p>a (note {math('n')} (inner)) b</p>"),
        (
            "Of `code`{: .lua } and [l](u){: target=_blank}\n{: .note #so}",
            '<p>Of <code>code</code> and <a href="u">l</a></p>',
        ),
        (
            "{numref}`Figure {number} <f>`, {numref}`Fig. %s <f>`",
            '<p><a href="#f">Figure</a>, <a href="#f">Fig.</a></p>',
        ),
        ("> quoted", "<blockquote><p>quoted</p></blockquote>"),
        ("---", "<hr>"),
    ],
)
def test_markdown(source: str, html: str) -> None:
    assert bare(markdown_html(source)) == bare(html)


def test_money_is_no_formula_of_markdown() -> None:
    assert "math-container" not in markdown_html("from $5 to $6, or $ 7 $")


def test_lists_and_tables_of_markdown() -> None:
    tree = LexborHTMLParser(markdown_html("* $a_1$\n* two\n  lines\n\n1. three\n\nafter\n"))
    assert len(tree.css("ul > li")) == 2
    assert len(tree.css("ul + ol > li")) == 1
    assert tree.css_first("ol + p").text() == "after"
    tree = LexborHTMLParser(markdown_html("| a | b |\n|---|:-:|\n| $x|y$ | 2 |\n\nafter"))
    assert [cell.text() for cell in tree.css("th")] == ["a", "b"]
    assert [cell.text() for cell in tree.css("td")] == ["$x|y$", "2"]


def test_items_that_are_tasks_have_boxes() -> None:
    tree = LexborHTMLParser(markdown_html("- [ ] $x$\n- [x] two\n  1. [X] three\n- [a] four\n"))
    assert [item.text(deep=False).strip() for item in tree.css("li")] == [
        "☐",
        "☑ two",
        "☑ three",
        "[a] four",
    ]
    assert "☑" not in markdown_html("[x] in a paragraph")


def test_displays_are_drawn_as_displays_whatever_the_kind() -> None:
    for text in ("So $$x^2$$ holds.", r"So \[x^2\] holds.", r"<p>So $$x^2$$ <b>holds</b></p>"):
        for kind in ("plain", "markdown", "latex", "html"):
            document = UserDocument("1", text, kind=kind)
            tree = LexborHTMLParser(PostWriter().body(document.body("auto")))
            (formula,) = tree.css("math")
            assert formula.attributes.get("display") == "block", (text, kind)


def test_displays_of_other_programs_are_displays() -> None:
    for text in (
        '<p>So <math display="block"><msup><mi>x</mi><mn>2</mn></msup></math> holds.</p>',
        '<p>So <span class="math display">\\[x^2\\]</span> holds.</p>',
        '<p>So <span class="math-container">$$x^2$$</span> holds.</p>',
    ):
        tree = LexborHTMLParser(PostWriter().body(UserDocument("1", text).body("auto")))
        (formula,) = tree.css("math")
        assert formula.attributes.get("display") == "block", text
        assert [part.strip(" .") for part in tree.css_first("p").text(deep=False).split()]


def test_tags_of_equations_are_kept() -> None:
    html = PostWriter().body(plain_html(r"So $$a^2+b^2=c^2 \tag{1}$$ holds."))
    assert "(1)" in LexborHTMLParser(html).text()


@pytest.mark.parametrize("write", [latex_html, markdown_html, plain_html])
def test_nothing_hostile_takes_long_or_acts(write: object) -> None:
    assert callable(write)
    nested = "\n".join("  " * depth + "- x" for depth in range(1000))
    hostile = [
        "$" * 5_000, r"\[ " * 5_000, nested, "**a " * 5_000, "[a](" * 5_000, "`" * 3_000,
        r"\begin{align}" * 3_000, "$a\n\n" * 5_000, "| a\n|--\n" * 3_000, r"\emph{" * 5_000,
        "<script>alert(1)</script> [a](javascript:alert(1)) ![x](x) <img src=x onerror=alert(1)>",
        "\ue0109\ue011 \ue0120\ue013",
    ]  # fmt: skip
    for text in hostile:
        began = time.process_time()
        tree = LexborHTMLParser(PostWriter().body(write(text)))
        assert time.process_time() - began < 3
        assert not tree.css("script, img, [onerror], a[href^=javascript]")
