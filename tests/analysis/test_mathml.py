"""The LaTeX in the lab's MathML files: by hand, and against the LaTeX files of the real subset."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arqmath_bm25 as arq
from arqmath_bm25.analysis import latex
from arqmath_bm25.analysis.foreign import as_post
from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.analysis.mathml import source_latex
from arqmath_bm25.collection.formulas import read_formulas

if TYPE_CHECKING:
    from pathlib import Path


_ALTTEXT = re.compile(r' alttext="[^"]*"')


@pytest.mark.parametrize(
    ("markup", "source"),
    [
        ('<math alttext="x^{2}" class="ltx_Math" display="block"><mi>x</mi></math>', "x^{2}"),
        ('<math class="ltx_Math" alttext="x"/>', "x"),
        ('<math alttext="x" ><apply><ci>x</ci></apply></math>', "x"),
        ('<math alttext=\'"set"\' class="ltx_Math"></math>', '"set"'),  # as LaTeXML quotes it
        ('<math alttext="a<b" display="inline">', "a<b"),  # unescaped once too often
        ('<math alttext="a&amp;lt;b&amp;gt;" class="c">', "a<b>"),
        ('<math alttext="\\text{a "b" c}" class="c">', r'\text{a "b" c}'),
        ('<math alttext="a+% \\beta" class="c">', r"a+\beta"),  # a broken line
        (r'<math alttext="10\% x" class="c">', r"10\% x"),
        ('<math alttext="x', "x"),
        ("<math><mi>x</mi></math>", ""),
        ("", ""),
    ],
)
def test_the_latex_is_cut_out_as_it_stands(markup: str, source: str) -> None:
    assert source_latex(markup) == source


@given(st.text("x\\%\"' =<>&;altex^{}\n"))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(source_latex(f'<math alttext="{text}'), str)


NOTED = (
    "<math><mrow><msup><mi>ab</mi><mn>12</mn></msup><mo>=</mo><mtext>if x</mtext></mrow></math>",
    '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation>'
    "</semantics></math>",
    "<math><mtable><mlabeledtr><mtd>(1)</mtd><mtd><mi>x</mi></mtd></mlabeledtr></mtable></math>",
)


@pytest.mark.parametrize(
    "note", ["<?pi x?>", '<?xml:namespace prefix = m ns = "http://x.org" />', "<!-- x -->"]
)
@pytest.mark.parametrize("element", NOTED)
def test_comments_and_processing_instructions_are_no_mathematics(element: str, note: str) -> None:
    expected = read_body(element)
    for place in range(len("<math>"), len(element) - len("</math>") + 1):
        before, after = element[:place], element[place:]
        if before.rfind("<") > before.rfind(">"):  # within a tag
            continue
        assert read_body(before + note + after) == expected, before
        page = as_post(f"<p>a {before}{note}{after} b</p>")
        assert page == as_post(f"<p>a {element} b</p>"), before


@pytest.mark.slow
def test_mathml_in_html_has_the_terms_of_its_latex(lite: Path) -> None:
    """LaTeXML keeps the LaTeX in `alttext`; without it, the tree says nearly the same."""
    formulas = lite / "Formulas"
    latex_of = {
        row.formula_id: row.latex for row in read_formulas(formulas / "latex_representation_v3")
    }
    slt = list(read_formulas(formulas / "slt_representation_v3"))
    chosen = [
        (latex_of[row.formula_id], row.latex)
        for row in random.Random(0).sample(slt, 600)
        if "$" not in latex_of[row.formula_id]
    ]
    kept, of_tree = 0, 0
    for source, markup in chosen:
        expected = arq.analyze(f"Let ${source}$ be")
        terms = arq.analyze(f"<p>Let {markup} be</p>", html=True)
        kept += terms == expected
        tree = arq.analyze(f"<p>Let {_ALTTEXT.sub('', markup)} be</p>", html=True)
        of_tree += tree["operators"] == expected["operators"]
        assert not {"math", "mrow", "msup", "mi", "mo", "semant"} & {
            *terms["words"],
            *tree["words"],
        }
    print(f"{len(chosen)} formulas: {kept} by alttext, {of_tree} by their trees")
    assert kept >= 0.99 * len(chosen)
    assert of_tree >= 0.94 * len(chosen)


@pytest.mark.slow
def test_the_files_of_the_real_subset_say_the_same(lite: Path) -> None:
    formulas = lite / "Formulas"
    rows = zip(
        read_formulas(formulas / "latex_representation_v3"),
        read_formulas(formulas / "slt_representation_v3"),
        strict=True,
    )
    same = [latex.read(row.latex) == latex.read(source_latex(slt.latex)) for row, slt in rows]
    assert len(same) == 81_203
    assert sum(same) / len(same) > 0.997


@pytest.mark.parametrize(
    "empty",
    [
        '<script type="math/tex"></script>',
        '<script type="math/tex; mode=display"> </script>',
        '<code class="latex"></code>',
        "<math></math>",
        '<math alttext=""></math>',
        '<img class="mwe-math-fallback" alt="">',
        "<m:math></m:math>",
    ],
)
def test_an_empty_formula_is_none(empty: str) -> None:
    content = read_body(f"<p>Let {empty} be <math><mi>x</mi></math>.</p>")
    assert [formula.latex for formula in content.formulas] == ["x"]
    assert content.prose == "Let be ."


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        # A note on a part is not the whole.
        ('<math><mrow><mi>a</mi><mo>+</mo><semantics><mi>b</mi><annotation encoding="application/'
         'x-tex">b</annotation></semantics></mrow></math>', "a+b"),
        ('<math><semantics><mi>q</mi><annotation encoding="application/x-tex">a+b</annotation>'
         "</semantics></math>", "a+b"),
        # Macros that say what a symbol means, as in the DLMF.
        (r'<math alttext="\EulerGamma@{z}"><mi mathvariant="normal">Γ</mi><mo>(</mo><mi>z</mi>'
         "<mo>)</mo></math>", r"\Gamma(z)"),
        (r'<math alttext="\BesselJ{\nu}@{x}"><msub><mi>J</mi><mi>ν</mi></msub><mo>⁡</mo><mo>(</mo>'
         "<mi>x</mi><mo>)</mo></math>", r"J_\nu(x)"),
        # English.
        ('<math alttext="x squared plus y"><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mi>y</mi>'
         "</math>", "x^2+y"),
        ('<math alttext="a@b"><mi>a</mi></math>', "a@b"),
        ('<math alttext="x+y"><mi>q</mi></math>', "x+y"),
    ],
)  # fmt: skip
def test_notes_that_are_no_latex_of_the_whole_give_way_to_the_elements(
    element: str, expected: str
) -> None:
    for page in (f"<p>{element}</p>", f"<article>{element}</article>"):
        (formula,) = read_body(page, "auto").formulas
        assert latex.tokenize(formula.latex) == latex.tokenize(expected)


def test_pictures_that_are_no_formulas_stay() -> None:
    picture = '<img src="cat.png" alt="a cat">'
    formula = '<img class="mwe-math-fallback-image-inline" src="f.svg" alt="x^2">'
    html = f"<p>{picture} {formula}</p>"
    assert as_post(html).body == f'<p>{picture} <span class="math-container">$x^2$</span></p>'
    assert [each.latex for each in read_body(html).formulas] == ["x^2"]


def test_a_post_with_spans_has_no_other_formulas() -> None:
    post = '<p><span class="math-container">$x$</span> and <math><mi>y</mi></math></p>'
    assert [formula.latex for formula in read_body(post).formulas] == ["x"]


def mathjax(inner: str) -> str:
    """Return a formula as MathJax 3 writes it for readers of a screen."""
    return f'<article><mjx-container class="MathJax"><math>{inner}</math></mjx-container></article>'


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ('columnalign="center center"', r"\left|\begin{array}{cc}a&b\\c&d\end{array}\right|"),
        ('columnspacing="1em"', r"\begin{vmatrix}a&b\\c&d\end{vmatrix}"),
    ],
)
def test_brackets_around_an_array_of_mathjax_are_kept(attribute: str, expected: str) -> None:
    cells = "<mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr>"
    cells += "<mtr><mtd><mi>c</mi></mtd><mtd><mi>d</mi></mtd></mtr>"
    page = mathjax(
        f'<mrow data-mjx-texclass="INNER"><mo data-mjx-texclass="OPEN">|</mo><mtable {attribute}>'
        f'{cells}</mtable><mo data-mjx-texclass="CLOSE">|</mo></mrow>'
    )
    (formula,) = read_body(page, "auto").formulas
    assert latex.tokenize(formula.latex) == latex.tokenize(expected)


@pytest.mark.parametrize(
    ("sign", "command"),
    [
        ("≢", "equiv"),
        ("≉", "approx"),
        ("∌", "ni"),
        ("⊬", "vdash"),
        ("⊭", "models"),
        ("⊄", "subset"),
    ],
)
def test_a_sign_with_a_stroke_is_read_as_its_command(sign: str, command: str) -> None:
    page = mathjax(f"<mi>f</mi><mo>{sign}</mo><mn>0</mn>")
    (formula,) = read_body(page, "auto").formulas
    assert latex.tokenize(formula.latex) == latex.tokenize(rf"f\not\{command} 0")
