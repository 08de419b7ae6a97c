r"""Pages with the structure of ar5iv, DLMF and Wikipedia, a chapter, and hostile pages."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from html import escape
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import pytest
from growth import check_growth

from arqmath_bm25.analysis.html import expand_macros, read_body, read_text, read_title
from arqmath_bm25.analysis.kinds import kind_of
from arqmath_bm25.analysis.latex import tokenize
from arqmath_bm25.analysis.text import WordAnalyzer
from arqmath_bm25.pages.latex_to_mathml import render

if TYPE_CHECKING:
    from collections.abc import Iterable

WORDS = WordAnalyzer()
FORMULAS = [
    r"\Gamma(z)=\int_0^\infty e^{-t}t^{z-1}\,dt", r"J_\nu(x)", "f''(x)", r"\overline{z}",
    r"\mathcal{H}\otimes\mathfrak{g}", r"f=\begin{cases}a&b\\c&d\end{cases}", r"\underline{s}",
    r"\prod_{k\ge1}(1-q^k)", r"\begin{pmatrix}a&b\\c&d\end{pmatrix}", r"\limsup_n a_n", r"\hat f",
    r"\begin{aligned}a&=b\\c&=d\end{aligned}", r"\vec{v}\cdot w", r"\max\{a,b\}", r"\sqrt[3]{x}",
    r"A\not\subseteq B", r"\lfloor x\rfloor", r"\binom{n}{k}", r"{}_2F_1(a,b;c;z)",
    r"\left(\frac{a}{b}\right)^2", r"\mathbb{R}^n", r"\sum_{i<j}x_{ij}", "a<b",
]  # fmt: skip


def symbols(formulas: Iterable[str]) -> list[str]:
    return [" ".join(tokenize(formula)) for formula in formulas]


def elements(latex: str) -> str:
    """Return presentation MathML without the LaTeX that it was made of."""
    return re.sub(r"</?math[^>]*>", "", render(latex))


def ar5iv(latex: str, number: int) -> str:
    note = f'<annotation encoding="application/x-tex">{escape(latex)}</annotation>'
    content = '<annotation-xml encoding="MathML-Content"><apply><ci>content</ci></apply>'
    return (
        '<table class="ltx_equation ltx_eqn_table" id="S1.E1"><tbody><tr class="ltx_eqn_row">'
        '<td class="ltx_eqn_cell ltx_align_center"><math class="ltx_Math" display="block" '
        f'alttext="{escape(latex)}"><semantics>{elements(latex)}{content}</annotation-xml>{note}'
        '</semantics></math></td><td rowspan="1" class="ltx_eqn_cell ltx_eqn_eqno">'
        f'<span class="ltx_tag ltx_tag_equation">({number})</span></td></tr></tbody></table>'
    )


def dlmf(latex: str, number: int) -> str:
    return (
        f'<div class="ltx_equation" id="E{number}"><math class="ltx_Math" '
        f'alttext="\\macro@{{{escape(latex)}}}" display="block">{elements(latex)}</math></div>'
    )


def wikipedia(latex: str, number: int) -> str:
    styled = f"{{\\displaystyle {latex}}}"
    return (
        '<dl><dd><span class="mwe-math-element mwe-math-element-block"><span class="'
        'mwe-math-mathml-display mwe-math-mathml-a11y" style="display: none;"><math display="block"'
        f' alttext="{escape(styled)}"><semantics>{elements(latex)}'
        f'<annotation encoding="application/x-tex">{escape(styled)}</annotation></semantics></math>'
        f'</span><img src="{number}.svg" class="mwe-math-fallback-image-display" alt="'
        f'{escape(styled)}"></span></dd></dl>'
    )


SITES = {
    "ar5iv": (ar5iv, '<div class="ltx_page_navbar">menu</div><article class="ltx_document">'),
    "DLMF": (dlmf, '<header>menu</header><div role="main" class="ltx_page_content">'),
    "Wikipedia": (wikipedia, '<nav>menu</nav><main><span class="mw-editsection">edit</span>'),
}


@pytest.mark.parametrize("site", SITES)
def test_formulas_of_a_site_are_those_of_their_latex(site: str) -> None:
    formula, begin = SITES[site]
    parts = [f"<p>word {formula(latex, number)} ends</p>" for number, latex in enumerate(FORMULAS)]
    page = f"<!DOCTYPE html><html><body>{begin}{''.join(parts)}</body></html>"

    content = read_text(page)

    assert symbols(f.latex for f in content.formulas) == symbols(FORMULAS)
    assert set(content.prose.split()) == {"word", "ends"}


@pytest.mark.skipif(not which("pandoc"), reason="pandoc is not installed")
@pytest.mark.parametrize("form", ["--mathjax", "--katex", "--mathml"])
def test_a_chapter_of_a_textbook_has_the_formulas_and_words_of_its_source(
    form: str, shared: Path
) -> None:
    corpus = shared / "data/beds/trench-premise/corpus.jsonl"
    rows = corpus.read_text(encoding="utf-8").splitlines()[:150]
    parts = [json.loads(row)["text"].replace(r"\eqno{\bbox}", "") for row in rows]
    parts[::10] = [f"\\section{{Part}}\n\n{part}" for part in parts[::10]]
    source = "\\def\\dst{\\displaystyle}\n\n" + "\n\n".join(parts)
    command = ["pandoc", "-f", "latex", "-t", "html5", "-s", "--metadata", "title=Trench", form]
    page = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout

    content = read_text(page)
    expected = expand_macros(read_title(source, "latex"))

    found, of_source = (
        Counter(symbols(formula.latex for formula in part.formulas if formula.latex.strip()))
        for part in (content, expected)
    )
    assert (of_source - found).total() <= 0.002 * of_source.total()
    assert (found - of_source).total() <= 0.002 * of_source.total()
    words = Counter(WORDS(content.prose))
    junk = Counter({word for word in words - Counter(WORDS(expected.prose)) if word.isalpha()})
    for numbered in ("theorem", "lemma", "corollari", "definit", "exampl", "proof"):
        del junk[numbered]
    assert junk.total() <= 0.003 * words.total()


MATHJAX = Path(__file__).parents[2] / "tools/mathjax"


@pytest.mark.slow
@pytest.mark.skipif(not (MATHJAX / "node_modules").is_dir(), reason="npm install in tools/mathjax")
def test_a_textbook_drawn_by_mathjax_has_the_formulas_of_its_source(shared: Path) -> None:
    corpus = shared / "data/beds/trench-premise/corpus.jsonl"
    rows = corpus.read_text(encoding="utf-8").splitlines()
    # The book's own commands, whose definitions are not in its statements.
    source = "\\def\\dst{\\displaystyle}\n\\def\\set#1#2{\\left\\{#1\\mid #2\\right\\}}\n\n"
    source += "\n\n".join(json.loads(row)["text"] for row in rows)
    formulas = [formula.latex for formula in expand_macros(read_title(source, "latex")).formulas]
    asked = [latex for latex in formulas if latex.strip()]
    command = ["node", MATHJAX / "mathml.js"]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    made = zip(asked, json.loads(done.stdout), strict=True)
    drawn = {latex: math for latex, math in made if math}

    page = "".join(
        f'<p>word <mjx-container class="MathJax" jax="CHTML"><mjx-math aria-hidden="true"><mjx-mi>x'
        f"</mjx-mi></mjx-math><mjx-assistive-mml>{math}</mjx-assistive-mml></mjx-container> "
        "ends</p>"
        for math in drawn.values()
    )
    content = read_text(f"<!DOCTYPE html><html><body><article>{page}</article></body></html>")

    assert set(content.prose.split()) == {"word", "ends"}
    found, expected = symbols(formula.latex for formula in content.formulas), symbols(drawn)
    assert len(found) == len(expected) > 1_000
    wrong = sum(one != other for one, other in zip(found, expected, strict=True))
    assert wrong <= 0.002 * len(expected)


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><p>word " + "<b><i>" * 20_000,
        "<article>word " + '<span class="math inline">' * 20_000,
        "<article>word " + "<table><tr><td>" * 10_000,
        "<article>word " + "</div></p>" * 20_000,
        "<article>word " + "<a href=" * 20_000,
        "<article>word " + "&#x1d49c;&lt;&amp" * 20_000,
        "<article>word " + "$x$ <!-- " * 20_000,
        "<article>word " + "<math><semantics><annotation encoding='application/x-tex'>" * 5_000,
        "<article>word " + "\\begin{align}$$\\[" * 20_000,
        "<article>word \ud800\ufffe\0\ue000" + "\x80\xff" * 20_000,
        "<article>word " + "<mjx-container><math><mi>" * 10_000,
        "<article>word " + '<div data-math="' * 20_000,
    ],
)
def test_a_hostile_page_is_read_in_linear_time(page: str) -> None:
    assert kind_of(page) == "html"
    assert "word" in read_body(page, "auto").prose
    part = page[: len(page) // 4]
    check_growth(lambda text: read_body(text, "auto"), part, page, limit=8, floor=0.01)


@pytest.mark.slow
def test_a_page_of_ten_megabytes_takes_ten_times_that_of_one() -> None:
    part = f"<p>word {wikipedia('x^2', 1)} ends</p>"
    one, ten = (f"<main>{part * (size // len(part))}" for size in (1_000_000, 10_000_000))
    assert len(read_body(ten, "auto").formulas) == 10_000_000 // len(part)
    check_growth(lambda page: read_body(page, "auto"), one, ten, limit=15)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8", "shift_jis", "cp037"])
def test_bytes_in_a_wrong_encoding_are_read(encoding: str) -> None:
    page = "<article>word <b>é</b> $x$</article>".encode(encoding, "replace")
    assert read_body(page.decode("utf-8", "replace"), "auto").pieces
    assert read_body(page.decode("latin-1"), "auto").pieces
