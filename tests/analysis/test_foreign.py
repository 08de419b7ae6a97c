r"""HTML of other programs, as they write it: pandoc, KaTeX, MathJax, LaTeXML, MediaWiki, GitLab."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from html import escape
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex_statements import statements

from arqmath_bm25.analysis.foreign import as_post
from arqmath_bm25.analysis.html import expand_macros, read_body, read_title
from arqmath_bm25.analysis.kinds import is_foreign
from arqmath_bm25.analysis.latex import tokenize
from arqmath_bm25.analysis.text import WordAnalyzer

WORDS = WordAnalyzer()


def symbols(latex: str) -> str:
    return " ".join(tokenize(latex))


FORMULAS = [
    "x^2+y^2=z^2", r"\frac{a}{b}", r"\sum_{n=1}^\infty \frac1{n^2}", "a<b", r"\sqrt[3]{x}",
    r"f(x)=\int_0^x g(t)\,dt", r"A\cap B", "e^{i\\pi}+1=0", r"\alpha\le\beta", "x",
    r"\begin{pmatrix}a&b\\c&d\end{pmatrix}", r"\lim_{n\to\infty} a_n", r"\mathbb{R}^n", "n!",
    r"\binom{n}{k}", r"\|x\|_2", r"a\equiv b\pmod m", r"\text{if } x>0", r"f\colon X\to Y",
    "p_{ij}",
]  # fmt: skip

_MATH = "<math><semantics><mrow><mi>q</mi></mrow>{}</semantics></math>"
_NOTE = _MATH.format('<annotation encoding="application/x-tex">{}</annotation>')
# What programs write of a formula: {} is its LaTeX, escaped.
PROGRAMS = {
    "pandoc --katex": '<span class="math inline">{}</span>',
    "pandoc --mathjax": r'<span class="math inline">\({}\)</span>',
    "pandoc --mathjax, displayed": r'<span class="math display">\[{}\]</span>',
    "pandoc --mathml": f'<article>{_NOTE}</article>',
    "KaTeX": f'<span class="katex"><span class="katex-mathml">{_NOTE}</span>'
    '<span class="katex-html" aria-hidden="true"><span class="mord">q</span></span></span>',
    "MathJax 2": '<span class="MathJax_Preview">q</span><span class="MathJax" id="M-1-Frame"><nobr>'
    '<span class="mi">q</span></nobr><span class="MJX_Assistive_MathML"><math><mi>q</mi></math>'
    '</span></span><script type="math/tex" id="M-1">{}</script>',
    "MathJax 4": '<mjx-container class="MathJax" jax="CHTML"><mjx-math data-latex="{}" aria-hidden='
    '"true"><mjx-mi class="mjx-i">q</mjx-mi></mjx-math></mjx-container>',
    "LaTeXML": '<math alttext="{}" class="ltx_Math" display="inline"><mi>q</mi></math>',
    "LaTeXML in a span of the lab": '<span class="math-container" id="7" data-n="4">'
    '<math alttext="{}"><mi>q</mi></math></span>',
    "MediaWiki": '<span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="'
    f'display: none;">{_NOTE}</span>'
    '<img src="a.svg" class="mwe-math-fallback-image-inline" alt="{}"></span>',
    "WordPress": '<img src="https://s0.wp.com/latex.php?latex=q" alt="{}" class="latex" />',
    "GitLab": '<code class="code math js-render-math">{}</code>',
    "GitHub": '<math-renderer class="js-inline-math">${}$</math-renderer>',
    "Gemini": '<span data-math="{}"><span>q</span></span>',
    "prefixed": '<m:math><m:semantics><m:mi>q</m:mi><m:annotation encoding="application/x-tex">{}'
    "</m:annotation></m:semantics></m:math>",
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_formula_of_a_program_is_read_once(program: str) -> None:
    escaped = str if program == "MathJax 2" else escape  # a script holds it as it is
    written = (PROGRAMS[program].replace("{}", escaped(latex)) for latex in FORMULAS)
    body = "".join(f"<p>word {formula} ends.</p>" for formula in written)
    assert is_foreign(body)

    content = read_body(body, "auto")

    assert [formula.latex for formula in content.formulas] == FORMULAS
    assert set(content.prose.split()) == {"word", "ends."}


def test_a_whole_page_is_its_content() -> None:
    page = """<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>On  rings</title>
    <style>p {color: red}</style><script>var x = 1;</script></head><body class="a">
    <header>Site</header><nav>Menu</nav><div hidden>secret</div>
    <p align=center>A <font color="red">ring</font> is <mark>good</mark>.<own-tag>So</own-tag></p>
    <svg><text>drawn</text></svg><footer>Imprint</footer></body></html>"""
    post = as_post(page)
    assert post.title == "On rings"
    assert read_body(post.body).prose == "A ring is good.So"


@pytest.mark.parametrize(
    "page",
    [
        "<body><nav>Menu</nav><main><header><h1>Title</h1></header><p>text</p></main></body>",
        "<body><header>Menu</header><article><header><h1>Title</h1></header>text</article></body>",
        "<body><div>Menu</div><div role=main><h1>Title</h1><section>text</section></div></body>",
        "<body><section><header><h1>Title</h1></header>text</section><footer>Menu</footer></body>",
        "<body><div role=navigation>Menu</div><h1>Title</h1><figure>text</figure></body>",
    ],
)
def test_navigation_is_no_content(page: str) -> None:
    assert read_body(page, "auto").prose == "Title text"


def test_code_of_a_page_holds_no_formulas() -> None:
    content = read_body(
        "<article><pre>cost $x$</pre> and <code>$y$</code> and $z$</article>", "auto"
    )
    assert [formula.latex for formula in content.formulas] == ["z"]


@pytest.mark.parametrize("unit", ["<div>", "<article><b>", "<math><mrow>", "<svg><g>", "<a-b c=d>"])
def test_a_deep_page_is_read_in_linear_time(unit: str) -> None:
    before = time.process_time()
    content = read_body(f"<main>{unit * 50_000}word", "auto")
    assert time.process_time() - before < 3
    assert "word" in content.prose or "math" in unit or "svg" in unit


PIECES = """
<main> </main> <math> </math> <semantics> <p > </span> x $ &lt; \0 <script/type=math/tex> </script>
<m:math> <!-- <img/class=latex/alt=y> <a-b> \ud800 ]]> <title> <table> <span/class=katex>
<annotation/encoding=application/x-tex> <svg> <div/hidden>
""".split()


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_page_is_read(page: str) -> None:
    read_body(f"<article>{page}", "auto")


@pytest.mark.skipif(not which("pandoc"), reason="pandoc is not installed")
@pytest.mark.parametrize("form", ["--mathjax", "--katex", "--mathml"])
def test_a_text_rendered_by_pandoc_has_the_formulas_and_words_of_its_source(form: str) -> None:
    source = "\n\n".join(statements(200))
    command = ["pandoc", "-f", "latex", "-t", "html5", "-s", "--metadata", "title=On rings", form]
    page = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout

    expected = expand_macros(read_title(source, "latex"))
    content = read_body(page, "auto")

    # Footnotes move to the end.
    latex = (formula.latex for formula in content.formulas if formula.latex.strip())
    of_text = (formula.latex for formula in expected.formulas if formula.latex.strip())
    assert Counter(map(symbols, latex)) == Counter(map(symbols, of_text))
    words, of_source = (Counter(WORDS(part.prose)) for part in (content, expected))
    assert not of_source - words
    # What pandoc writes itself: the title, names of environments, their numbers.
    added = {word for word in words - of_source if not word.isdecimal()}
    assert added <= {"lem", "proof", "theorem", "lemma", "title", "on", "ring"}


def test_a_processing_instruction_is_no_content() -> None:
    assert "area" in as_post("<article><?php echo 1 ?><p>area</p></article>").body
