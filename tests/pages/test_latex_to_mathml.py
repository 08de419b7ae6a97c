"""LaTeX is drawn by browsers as MathML; what cannot be read is shown as it was written."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from mathml_structure import structure

from arqmath_bm25.analysis import latex as tables
from arqmath_bm25.analysis.excerpts import excerpt
from arqmath_bm25.analysis.html import Formula, read_title
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.pages import latex_to_mathml
from arqmath_bm25.pages.latex_to_mathml import render
from arqmath_bm25.pages.post_html import PostWriter


def tree(latex: str, display: bool = False) -> etree._Element:
    return etree.fromstring(render(latex, display))


def test_structure_is_that_of_the_formula() -> None:
    math = tree(r"\sum_{n=1}^\infty \frac1{n^2}")
    assert [e.text for e in math.iterfind(".//mfrac/mn")] == ["1"]
    assert [e.text for e in math.iterfind(".//mfrac//msup/*")] == ["n", "2"]
    assert math.get("title") == r"\sum_{n=1}^\infty \frac1{n^2}"  # shown where the pointer is
    assert math.findtext("munderover/mo") == "∑"  # inline, browsers put its limits beside it
    assert tree(r"\sum_{n=1}^\infty n", display=True).find(".//munderover") is not None


@pytest.mark.parametrize(
    ("latex", "letters"),
    [
        (r"\mathbb{R}", "ℝ"),  # Unicode had it before it had an alphabet of them
        (r"\mathbb{A}", "𝔸"),
        (r"\mathcal{B}", "ℬ"),
        (r"\mathfrak{g}", "𝔤"),
        (r"\mathfrak{C}", "ℭ"),
        (r"\mathbf{v}", "𝐯"),
        (r"\mathbf{1}", "𝟏"),
    ],
)
def test_alphabets_are_unicode_letters(latex: str, letters: str) -> None:
    assert "".join(tree(latex).itertext()) == letters


# How commands are written with their arguments.
_USES = (
    r"x \NAME y", r"\NAME{x}", r"\NAME{x}{y}", r"\NAME(x)", r"\NAME 1em x", r"\NAME{1em}{2em}x",
    r"\NAME{red}{x}",
)  # fmt: skip
_NOT_COMMANDS = {"left", "right", "limits", "nolimits", "/", "-", "cr", "hline", "colorbox"}
_NOT_COMMANDS |= {"mkern", "mskip", "mspace", "newcommand", "renewcommand", "DeclareMathOperator"}
_NOT_COMMANDS |= {"<", "*", "[", "]"}


def test_commands_that_have_a_meaning_as_terms_are_drawn() -> None:
    names = {
        *tables.DROPPED,
        *tables.SYNONYMS,
        *tables.ACCENTS,
        *tables._TEXT,
        *tables._WITH_ARGUMENT,
    }
    names |= set(tables._ALPHABETS)
    missing = {
        name
        for name in names - _NOT_COMMANDS
        if all(render(use.replace("NAME", name)).startswith("<code") for use in _USES)
    }
    assert not missing


def test_what_is_drawn_for_a_command_has_the_same_terms() -> None:
    for name in latex_to_mathml._NAMES.keys() - {"varprojlim", "varinjlim"}:
        use = rf"x \{name} y"
        assert tables.tokenize(latex_to_mathml._rewrite(use)) == tables.tokenize(use), use


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\cfrac[l]{a}{b}", r"\cfrac{a}{b}"),
        (r"\\frac{a}{b}", r"\frac{a}{b}"),
        (r"\smash[b]{x}", r"{x}"),
        (r"\root \alpha \of x", r"\sqrt[\alpha]x"),
        (r"\unicode{x222B}", r"\int"),
        (r'\char"222B', r"\int"),
        (r"\displaylines{a\cr b}", r"\begin{gathered}a\\b\end{gathered}"),
        (r"\bordermatrix{a&b\cr c&d}", r"\begin{matrix}a&b\\c&d\end{matrix}"),
        (r"\begin{gathered}a\\*b\\[2pt]c\end{gathered}", r"\begin{gathered}a\\b\\c\end{gathered}"),
        (r"\begin{gathered}a\\C\end{gathered}", r"\begin{gathered}a\\{C}\end{gathered}"),
        (r"\rule[1pt]{0pt}{3ex}x", "x"),
        (r"\ensuremath{x}\xspace", "x"),
        (r"\begin{tabular}{c|c}a&b\end{tabular}", r"\begin{array}{c|c}a&b\end{array}"),
        (r"a\not\implies b", r"a\nRightarrow b"),
    ],
)
def test_formulas_written_in_other_ways_are_drawn_alike(one: str, other: str) -> None:
    drawn = [structure(render(form)) for form in (one, other)]
    assert drawn[0] == drawn[1]


def test_upright_letters_stay_upright() -> None:
    d, x = tree(r"\mathrm{d}x").iter("mi")
    assert (d.get("mathvariant"), x.get("mathvariant")) == ("normal", None)


@pytest.mark.parametrize("latex", ["f'", r"f^{\prime}", "f''"])
def test_primes_stand_beside_their_letter(latex: str) -> None:
    assert tree(latex).find(".//msup") is None  # as scripts they would be tiny


def test_scripts_have_one_base() -> None:
    (power,) = tree(r"\binom nk^2").iter("msup")
    assert len(power) == 2


def test_a_commutative_diagram_is_a_table_of_objects_and_arrows() -> None:
    rows = tree(
        r"\begin{CD} A @>f>> B @= C\\ @VgVV @AA{h}A @| \\ C @>>k> D @<<< E \end{CD}"
    ).findall(".//mtr")
    assert [["".join(cell.itertext()) for cell in row] for row in rows] == [
        ["A", "→f", "B", "=", "C"],
        ["g↓", "", "↑h", "", "‖", ""],
        ["C", "→k", "D", "←", "E"],
    ]
    assert len(rows[0].findall(".//mover")) == len(rows[2].findall("mtd[2]//munder/mrow/mi")) == 1


def test_angle_brackets_may_be_typed_as_relations() -> None:
    assert "".join(tree(r"\left\lt f,g\right\gt").itertext()) == "⟨f,g⟩"


def test_columns_may_be_escaped_once_too_often() -> None:
    latex = r"\begin{align*}a&amp;=b\end{align*}"
    assert [e.text for e in tree(latex).iter("mo")] == ["="]
    assert len(list(tree(latex).iter("mtd"))) == 2


def test_rows_of_align_are_not_numbered() -> None:
    assert "(1)" not in render(r"\begin{align}a&=b\end{align}")


@pytest.mark.parametrize("latex", ["", " ", r"\frac{", "x^y^z", r"\left(", r"\begin{matrix}a"])
def test_what_cannot_be_read_is_shown_as_written(latex: str) -> None:
    code = etree.fromstring(render(latex))
    assert (code.tag, code.get("class"), code.text or "") == ("code", "latex", latex)


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\mbox{&lt;script&gt;alert(1)&lt;/script&gt;}",
        "<img src=x onerror=alert(1)>",
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(javascript:alert(1))}{x}",
        r"\class{x\" onclick=\"alert(1)}{y}",
        r"\color{red\" onclick=\"alert(1)}{y}",
        r"\text{</mtext></math><script>alert(1)</script>}",
        r"\frac{</code><script>alert(1)</script>",
        '" onmouseover="alert(1)',
    ],
)
def test_latex_cannot_become_html(latex: str) -> None:
    for element in etree.fromstring(render(latex)).iter():
        assert re.fullmatch("m[a-z]+|none|code", element.tag)
        assert not {"href", "style", "onclick", "onmouseover", "id"} & set(element.attrib)


@pytest.mark.parametrize(
    "latex",
    [
        r"\def\a{\b\b}\def\b{\c\c}" * 20 + r"\a",
        "{" * 20_000 + "x" + "}" * 20_000,
        r"\frac" * 3_000,
        "x" * 100_000,
    ],
)
def test_hostile_latex_takes_no_time(latex: str) -> None:
    began = time.process_time()
    assert "<code" in render(latex)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "piece", [r"\{", "(", r"x\langle ", r"{(}", r"\sin(", r"(\sqrt{)}", r"\lvert x"]
)
def test_brackets_that_nobody_closes_take_no_time(piece: str) -> None:
    began = time.process_time()
    render(piece * 60, True)  # math-core alone doubles its time with each of them
    assert time.process_time() - began < 1


def test_a_long_table_is_drawn() -> None:
    rows = r"\\ ".join(f"a_{{{n}}}&=[{n},{n + 1})" for n in range(40))
    assert len(list(tree(rf"\begin{{align}}{rows}\end{{align}}").iter("mtr"))) == 40


def test_nesting_cannot_end_the_process() -> None:
    nested = [
        r"\sqrt[3]" * 600 + "x",
        "{" * 2400 + "x" + "}" * 2400,
        r"\left(" * 450 + "x" + r"\right)" * 350,
        r"\frac1" * 800 + "x",
        "x^{" * 1200 + "y" + "}" * 1200,
    ]
    script = (
        "import sys, threading; from arqmath_bm25.pages.latex_to_mathml import render;"
        "threading.stack_size(512 << 10);"
        "draw = lambda: [print(render(latex)[:5]) for latex in sys.argv[1:]];"
        "thread = threading.Thread(target=draw); thread.start(); thread.join()"
    )
    ran = subprocess.run([sys.executable, "-c", script, *nested], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.split()) == (
        0,
        ["<code", "<math", "<code", "<code", "<code"],
    )


def test_a_platform_without_the_converter_shows_latex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latex_to_mathml, "_CONVERTER", None)
    assert render(r"a+\aleph") == r'<code class="latex">a+\aleph</code>'


def test_colours_and_rules_are_classes_since_pages_allow_no_style() -> None:
    html = render(r"\begin{array}{r|l}1&\color[rgb]{1,0,0}{2}\\\hline3&4\end{array}")
    assert " style=" not in html
    classes = {name for e in etree.fromstring(html).iter() for name in e.get("class", "").split()}
    assert classes == {"right", "left", "line-right", "line-top", "red"}


@pytest.mark.parametrize("rows", [r"1&2\\3&4", r"1&2\\\hline3&4", r"1&\begin{matrix}5\end{matrix}"])
@pytest.mark.parametrize("columns", ["c|c", "|cc|", "cc"])
def test_a_rule_behind_the_last_row_is_the_border_of_its_table(columns: str, rows: str) -> None:
    math = tree(rf"\begin{{array}}{{{columns}}}{rows}\\\hline\end{{array}}")
    plain = tree(rf"\begin{{array}}{{{columns}}}{rows}\end{{array}}")
    assert len(list(math.iter("mtr"))) == len(list(plain.iter("mtr")))
    if "matrix" not in rows:
        assert "line-bottom" in (math.find(".//mtable").get("class")).split()


def test_macros_hold_for_the_rest_of_a_post() -> None:
    post = r"<p>$\newcommand{\norm}[1]{\lVert#1\rVert}$ Let $\norm{x}=1$.</p>"
    html = PostWriter().body(post)
    assert "code" not in html
    assert html.count("‖") == 2
    assert html.count("<math") == 1


@given(st.text(st.sampled_from("\\{}^_&<>\"'$ abfrctex12()[]\n\x00é"), max_size=60))
def test_whatever_comes_in_well_formed_markup_goes_out(latex: str) -> None:
    assert tree(latex).tag in ("math", "code")


def test_nearly_every_formula_of_a_collection_can_be_drawn() -> None:
    formulas = [row.latex for row in read_formulas(Layout(SAMPLE).formulas())]
    failed = [latex for latex in formulas if render(latex).startswith("<code")]
    assert len(formulas) > 1000
    assert failed == []


CORPUS = Path(__file__).parents[1] / "support" / "formulas.tsv"
# What is not drawn as MathJax draws it, and why.
DIFFERENT = {
    r"\DeclareMathOperator{\lcm}{lcm}": "a definition; macros of a post are written out before",
    r"s\not\implies t": "LaTeX: math-core refuses a stroke through what has space around it",
    r"\sideset{}{'}\sum_{d}f(d)": "a script before or after a sum: other elements, the same places",
    r"$x+y$": "MathJax shows the dollars, which are an accident",
}


def test_formulas_are_drawn_as_mathjax_draws_them() -> None:
    rows = [line.split("\t") for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    kinds = {kind for kind, _, _ in rows}
    assert len(rows) >= 200
    assert len(kinds) >= 60
    different = set()
    for _, latex, expected in rows:
        html = render(latex, True)
        if html.startswith("<code") or structure(html) != expected:
            different.add(latex)
    assert different == set(DIFFERENT)


def test_words_of_the_query_are_marked_by_their_stem() -> None:
    writer = PostWriter([read_title("Does the series $a^2+b^2=c^2$ converge?")])
    assert writer.prose("It converges; the serious one") == (
        "It <mark>converges</mark>; the serious one"
    )


def test_formulas_of_the_query_are_marked_however_they_are_written() -> None:
    writer = PostWriter([read_title(r"Is $\frac{a}{b} \le 1$?")])
    assert writer.formula(Formula(r"{a \over b}\leq 1", "7")).startswith("<mark>")
    assert not writer.formula(Formula(r"\frac{a}{c} \le 1", "7")).startswith("<mark>")
    assert writer.formula(Formula("z", "7"), formula_id="7").startswith('<mark class="found">')


def test_pictures_become_links() -> None:
    html = PostWriter().body(
        '<p><a href="https://x.y/big.png"><img src="https://x.y/s.png" alt="a &lt;b&gt;"></a> '
        '<img src="https://x.y/t.png"></p>'
    )
    rel = 'rel="noopener noreferrer nofollow"'
    assert html == (
        f'<p><a class="picture" href="https://x.y/s.png" {rel}>[picture: a &lt;b&gt;]</a> '
        f'<a class="picture" href="https://x.y/t.png" {rel}>[picture]</a></p>'
    )


def test_an_excerpt_ends_between_words_and_formulas() -> None:
    content = read_title(r"one two $\alpha+\beta$ three four")
    assert excerpt(content, 100) == content
    assert excerpt(content, 6).pieces == ("one", " …")
    formula = Formula(r"\alpha+\beta", None)
    assert excerpt(content, 28).pieces == ("one two ", formula, " three", " …")
