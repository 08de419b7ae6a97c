r"""Texts of other programs that were once read badly, each varied in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import arqmath_bm25 as arq
from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.analysis.latex import tokenize

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [
        "A loan of $600 in May at interest, and a later note for $660.",
        "Loan of $n$ notes at $2 each; interest is $3n$, i.e. $5 more.",
        "$1,000 at interest of 5 % yields $1,050 in a year",
        "Pay $5 now or $6 with interest, $7 at the end.",
        "interest of $HOME and $PATH in dollars",
    ],
)
def test_words_between_prices_are_words(text: str) -> None:
    assert "interest" in arq.analyze(text)["words"]


@pytest.mark.parametrize("character", "\u200b\u200e\u2062\ufeff\u00ad\u2060\u2069\ufe0e")
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_characters_that_nobody_sees_are_no_symbols(character: str, place: int) -> None:
    latex = "x^2"
    assert tokenize(latex[:place] + character + latex[place:]) == tokenize(latex)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("证明素数有无穷多个", "素数"),
        ("三角形的面积", "三角形"),
        ("フェルマーの小定理を示せ", "小定理"),
        ("ひらがなで書く", "ひらがな"),
        ("삼각형의 넓이", "삼각형의"),
        ("त्रिभुज का क्षेत्रफल", "त्रिभुज"),
        ("число простое", "простое"),
    ],
)
def test_words_of_other_scripts_are_found(text: str, query: str) -> None:
    words = arq.analyze(query)["words"]
    assert words
    assert set(words) <= set(arq.analyze(text)["words"])


@pytest.mark.parametrize(
    ("markup", "latex"),
    [
        ('<math><mrow><mi>a</mi><mo>+</mo><semantics><mi>b</mi><annotation encoding='
         '"application/x-tex">b</annotation></semantics></mrow></math>', "a+b"),
        ('<math alttext="\\EulerGamma@{z}"><mi>Γ</mi><mo>(</mo><mi>z</mi><mo>)</mo></math>',
         r"\Gamma(z)"),
        ('<math alttext="\\BesselJ{\\nu}@{x}"><msub><mi>J</mi><mi>ν</mi></msub><mo>(</mo><mi>x</mi>'
         "<mo>)</mo></math>", r"J_\nu(x)"),
        ('<math alttext="x squared plus y"><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mi>y</mi>'
         "</math>", "x^2+y"),
        ('<math alttext="x+y"><mi>q</mi></math>', "x+y"),
    ],
)  # fmt: skip
def test_mathml_is_the_whole_formula(markup: str, latex: str) -> None:
    (formula,) = read_body(markup).formulas
    assert tokenize(formula.latex) == tokenize(latex)


@pytest.mark.parametrize(
    ("defined", "plain"),
    [
        (r"\def\norm#1{\|#1\|} \norm{x}", r"\|x\|"),
        (r"\newcommand{\R}{\mathbb{R}} \R^n", r"\mathbb R^n"),
        (r"\let\eps\varepsilon \eps<1", r"\varepsilon<1"),
        (r"\DeclareMathOperator{\Hom}{Hom}\Hom(A,B)", r"\operatorname{Hom}(A,B)"),
        (r"\newcommand{\p}[2][2]{#2^{#1}} \p{x}+\p[3]{y}", "x^2+y^3"),
    ],
)
def test_macros_are_expanded_before_formulas_are_compared(defined: str, plain: str) -> None:
    assert arq.formula_similarity(defined, plain) == 1.0


@pytest.mark.parametrize(
    "latex",
    [r"\frac{1}{2}+\alpha", r"\sqrt{x}", r"\sum_{n}\lambda_n", r"\left(x\right)", r"\sin x"],
)
def test_backslashes_that_were_escaped_too_often_are_one(latex: str) -> None:
    assert tokenize(latex.replace("\\", "\\\\")) == tokenize(latex)


KINDS = {
    "tex": "\\documentclass{{article}}\\begin{{document}}\\section{{On {0}}}\n"
    "\\emph{{We}} study {0} $x^{1}$.\\end{{document}}",
    "md": "# On {0}\n\nWe **study** {0} $x^{1}$ and `$HOME`.",
    "html": "<!DOCTYPE html><html><head><title>On {0}</title></head><body><nav>menu</nav><p align="
    'center>We study {0} <span class="math inline">\\(x^{1}\\)</span>.</body></html>',
}


def test_every_file_of_a_mixed_folder_is_found_by_its_own_words(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    endings = ["tex"] * 8 + ["md"] * 11 + ["html"] * 7
    names = [f"topic{chr(97 + number)}{chr(97 + number)}" for number in range(26)]
    for number, (ending, name) in enumerate(zip(endings, names, strict=True)):
        text = KINDS[ending].format(f"{name} spaces", number)
        (folder / f"{name}.{ending}").write_text(text, encoding="utf-8")

    index = arq.Collection(folder, tmp_path / "i").index("docs", engine="flat")

    for name in names:
        assert index.search(f"{name} spaces", k=1)["docno"].tolist()[0].startswith(name)
    assert index.search("documentclass nav emph doctype", k=9).empty
