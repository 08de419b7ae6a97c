r"""LaTeX → tokens. Fragments marked "post" or "formula" stand in the collection."""

from __future__ import annotations

import csv
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutation import check_terms, mutated, real_formulas

from arqmath_bm25.analysis import latex as table
from arqmath_bm25.analysis.latex import MAX_TOKEN, tokenize
from arqmath_bm25.analysis.terms import ngrams, patterns
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


def symbols(latex: str) -> str:
    return " ".join(tokenize(latex))


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\frac{a}{b+1}", "frac a b + 1"),
        (r"\sum_{n=1}^\infty \frac1{n^2}", "sum _ n = 1 ^ infty frac 1 n ^ 2"),
        (r"f:X\to Y", "f : X to Y"),
        (r"x_{12}=3.14", "x _ 12 = 3.14"),
        (r"\alpha\beta", "alpha beta"),
        (r"|x|,\|x\|", "| x | , Vert x Vert"),
        (r"\{a\mid b\}", "{ a | b }"),
        (r"\sqrt[3]{2}", "sqrt [ 3 ] 2"),
        (r"\i\_", r"\i \_"),
        ("", ""),
        (" ", ""),
    ],
)
def test_tokens(latex: str, expected: str) -> None:
    assert symbols(latex) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Unicode, and what people type
        ("½x", r"\frac12x"),
        ("x₁₂+y¹²", "x_{12}+y^{12}"),
        ("f′(x)+g″", "f'(x)+g''"),
        ("f^{′}", r"f^{\prime}"),
        ("0<=x>=y<=>z", r"0\le x\ge y\iff z"),
        # other ways to write it: of 219 inner products and 89 names in a dump
        (r"\left<f,g\right>", r"\langle f,g\rangle"),
        (r"\bigl\lt f,g\bigr\gt", r"\langle f,g\rangle"),
        (r"{\bf R}", r"\mathbf R"),
        (r"\mathop{\rm Hom}(A)+{\rm Hom}", r"\operatorname{Hom}(A)+\mathrm{Hom}"),
        (r"a\equiv b\ (\mathrm{mod}\ n)", r"a\equiv b\pmod n"),
        (r"a\equiv b (\text{mod }n)+(mod\;n)", r"a\equiv b\pmod{n}+\pmod n"),
        # presentation
        (r"\left(\frac{a}{b}\right)", r"\bigl( \dfrac ab \bigr)"),
        (r"\displaystyle\sum\limits_{k}", r"\sum_k"),
        (r"a\,b\;c\quad d\ e~f", "abcdef"),
        (r"\mathbf{x}\cdot{\rm y}", r"x\cdot y"),
        (r"\left.\frac{df}{dx}\right|_{0}", r"\frac{df}{dx}|_0"),
        (r"\color{red}{x}+\textcolor{#f00}{y}", "x+y"),
        (r"\color[rgb]{1,0,0}x", "x"),
        (r"x \tag{1} \label{eq:x}", "x"),
        (r"a\hspace{1cm}b\hskip 2pt c", "abc"),
        (r"\begin{align}a&=b\\ c&=d\end{align}", r"\begin{aligned}a&=b\\&c=d\end{aligned}"),
        # synonyms
        (r"\tfrac12", r"\frac{1}{2}"),
        (r"a\le b", r"a\leqslant b"),
        (r"a\to b", r"a\rightarrow b"),
        (r"x\lt y\gt z", "x<y>z"),
        (r"a\neq b", r"a\not= b"),
        (r"x\not\in A", r"x\notin A"),
        (r"\ldots", r"\cdots"),
        ("1+2+...", r"1+2+\dots"),
        (r"\varepsilon>0", r"\epsilon>0"),
        (r"\mathbb{R}^n", r"\Bbb R^n"),
        (r"\mathbb R", r"\R"),
        (r"\operatorname{lcm}(a,b)", r"\mathrm{lcm}(a,b)"),
        ("sin x", r"\sin x"),
        (r"{n \choose k}", r"\binom{n}{k}"),
        (r"a\pmod n", r"a\bmod n"),
        # scripts, primes, braces
        ("f'", r"f^{\prime}"),
        ("f''(x)", r"f^{\prime\prime}(x)"),
        ("f'_n", "f_n'"),
        ("x^2", "x^{2}"),
        ("x^23", "x^{2}3"),
        (r"\sum^{\infty}_{n=1}", r"\sum_{n=1}^{\infty}"),
        (r"{{x}}", "x"),
        (r"A\xrightarrow[g]{f}B", r"A\underset{g}{\xrightarrow{f}}B"),
        (r"A\xleftarrow[x+y]{}B", r"A\underset{x+y}{\xleftarrow{}}B"),
        (r"\unicode{x222B} f", r"\int f"),
        (r"\unicode[STIXGeneral]{8747}f", r"\int f"),
        ('\\char"222B f+\\char66', r"\int f+B"), (r"\char'101", "A"),
        (r'\char"7B a\char125', r"\{a\}"),
        (r"\sideset{}{^\prime}\sum_n", r"\sum'_n"),
        (r"\sideset{_a^b}{_c^d}\sum", r"{}_a^b\sum_c^d"),
        (r"\root \alpha \of x", r"\sqrt[\alpha]{x}"),
        (r"a\not\implies b\not\iff c\not\to d", r"a\nRightarrow b\nLeftrightarrow c\nrightarrow d"),
        (r"a\centerdot b+\varlimsup c", r"a\cdot b+\limsup c"),
        (r"\footnotesize a\hss\goodbreak b\xspace", "ab"),
        (r"{a\over b}", r"\frac{a}{b}"),
        (r"{\sin(2n+1)x\over\sin x}dx", r"\frac{\sin(2n+1)x}{\sin x}dx"),  # formula 44257
        # arrays
        (r"\begin{array}[]{ccc}1&2\\3&4\end{array}", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),
        # the sentence's punctuation
        ("x=1.", "x=1"),
        ("x=1,", "x=1"),
        # Unicode: formulas 8886, 44258, 412536, 780973
        ("24=3×2^{3}", r"24=3\times 2^3"),
        ("u_{0}–u_{1}", "u_{0}-u_{1}"),
        ("∞²", r"\infty^2"),
        ("S=\\{3k+5j∣k,j∈\\mathbb{N}∪\\{0\\}\\}", r"S=\{3k+5j|k,j\in\mathbb{N}\cup\{0\}\}"),
        ("αβΓλϵ", r"\alpha\beta\Gamma\lambda\epsilon"),
        ("𝐑", "R"),
        ("ℝ", r"\mathbb{R}"),
        ("f’", "f'"),
        # LaTeXML's error text: formulas 4067, 317572
        (r"\begin{aligned} \displaystyle a&\displaystyle amp;=i\end{aligned}", "a=i"),
        (r"(n+1)x^{n}\qvar@construct{$}\par", "(n+1)x^n"),
        (r"\@@eqnarray$a$&$b$", "ab"),
        # HTML that a formula swallowed: formulas 338836, 1409297
        ("</p><p>", ""),
        (r"x</p><p>\enspace", "x"),
    ],
)  # fmt: skip
def test_two_ways_to_write_it(one: str, other: str) -> None:
    assert tokenize(one) == tokenize(other)
    assert table.read(one)[1] == table.read(other)[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x^2", "x_2"),
        (r"\mathbb{R}", "R"),
        (r"\mathcal{F}", "F"),
        (r"a\le b", "a<b"),
        (r"\Rightarrow", r"\rightarrow"),
        (r"\pi", "pi"),
        ("f'", "f"),
        (r"\alpha", r"\Alpha"),
    ],
)
def test_what_means_something_else_stays_apart(one: str, other: str) -> None:
    assert tokenize(one) != tokenize(other)


@pytest.mark.parametrize(
    ("latex", "tokens", "words"),
    [
        (r"x \text{ if } y", "x y", "if"),
        # formula 683444
        (r"0,&\text{ if $x$ is irrational},\\1/b", "0 , x , 1 / b", "if is irrational"),
        (r"\mbox{the \emph{end}", "", r"the \emph{end}"),  # cut off
        (r"\text x", "", "x"),
    ],
)
def test_text_is_words(latex: str, tokens: str, words: str) -> None:
    assert (symbols(latex), " ".join(table.read(latex)[1].split())) == (tokens, words)


def test_definitions_are_not_formulas() -> None:
    # formula 1276289
    assert (
        symbols(r"\newcommand{\+}{^{\dagger}} \newcommand{\angles}[1]{\langle #1 \rangle} x") == "x"
    )
    assert symbols(r"\DeclareMathOperator{\Spec}{Spec}") == ""


@pytest.mark.parametrize(
    "latex", ["}", r"} \\ 1, & \text{if", "{", "x^", "_", "^^", "\\", "a_{", "$"]
)
def test_broken_latex_costs_its_own_tokens(latex: str) -> None:
    assert tokenize("y " + latex)[0] == "y"


_PIECES = [
    *"{}[]^_&$%~'.,<>|!2x ", "\\", r"\frac", r"\text{", r"\left", r"\begin{array}", r"\end{x}",
    r"\over", r"\mathbb", r"\newcommand", "\\color", "ℝ", "\0", "\ud800", "\n", "𝔸", "</p>", "amp;",
    "\\not",
]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)))
def test_nothing_raises_and_tokens_fit_an_index(latex: str) -> None:
    for gram in ngrams(tokenize(latex), 1, 5):
        assert 0 < len(gram) <= 255
        assert not any(character.isspace() for character in gram)


@pytest.mark.parametrize("collection", ["sample", "lite"])
@given(data=st.data())
def test_real_formulas_may_break_anywhere(
    collection: str, data: st.DataObject, request: pytest.FixtureRequest
) -> None:
    formulas = _real(SAMPLE if collection == "sample" else request.getfixturevalue("lite"))
    source = data.draw(mutated(formulas, _PIECES))
    check_terms(lambda text: ngrams(tokenize(text), 1, 5), source, 16)
    check_terms(lambda text: patterns(tokenize(text), 3, 4), source, 8)


@cache
def _real(data: Path) -> list[str]:
    return real_formulas(data / "Formulas" / "latex_representation_v3")


@given(st.lists(st.sampled_from(["x", "y", "-", "+", r"\alpha ", "z"]), min_size=1, max_size=8))
def test_grouping_does_not_change_tokens(pieces: list[str]) -> None:
    plain = tokenize("".join(pieces))
    assert tokenize("{" + "}{".join(pieces) + "}") == plain
    assert tokenize(r"\left(" + "".join(pieces) + r"\right)") == ["(", *plain, ")"]


@pytest.mark.parametrize(
    ("latex", "symbols"),
    [
        ("f'^2", "f ^ prime 2"),  # the prime and what is raised beside it
        ("f'^{2}_n", "f _ n ^ prime 2"),
        ("f^{2}'", "f ^ 2 prime"),
        (r"{a \over b} \over c", "frac frac a b c"),
        (r"a \over b \choose c", "binom frac a b c"),
    ],
)
def test_what_is_raised_stays_and_infix_forms_turn_round(latex: str, symbols: str) -> None:
    assert " ".join(tokenize(latex)) == symbols


def test_long_numbers_and_commands_are_cut() -> None:
    assert all(len(t) <= MAX_TOKEN for t in tokenize("1" * 999 + "\\" + "a" * 999))


def test_ngrams_of_a_formula() -> None:
    tokens = ("a", "b", "c")
    assert ngrams(tokens, 1, 1) == ["a", "b", "c"]
    assert ngrams(tokens, 1, 3) == ["a", "b", "c", "a~b", "b~c", "a~b~c"]
    assert ngrams(tokens, 2, 5) == ["a~b", "b~c", "a~b~c"]
    assert ngrams((), 1, 3) == []


def test_synonyms_lead_to_what_is_no_synonym_itself() -> None:
    for name, token in table.SYNONYMS.items():
        assert table.SYNONYMS.get(token, token) == token or len(token) == 1, (name, token)
        assert name not in table.DROPPED


@pytest.mark.slow
def test_real_formulas_have_tokens(lite: Path) -> None:
    csv.field_size_limit(sys.maxsize)
    silent = total = 0
    for path in sorted((lite / "Formulas" / "latex_representation_v3").glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                total += 1
                words = table.read(row["formula"])[1]
                silent += not tokenize(row["formula"]) and not words.strip()
    assert total == 81_203
    assert silent < 250  # blanks, spacing, definitions, swallowed HTML: 0.3 %


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (r"a=b\\[2pt]c=d", r"a=b\\c=d"),
        (r"a=b\\[ -1.5ex ]c=d", r"a=b\\c=d"),
        (r"a=b\\*c=d", r"a=b\\c=d"),
        (r"\pmatrix{a&b\cr c&d}", r"\begin{pmatrix}a&b\\c&d\end{pmatrix}"),
        (r"\pmatrix{a&b\cr c&d\cr}", r"\begin{pmatrix}a&b\\c&d\end{pmatrix}"),
        (
            r"\pmatrix{\pmatrix{a\cr b}\cr c}",
            r"\begin{matrix}\begin{matrix}a\\b\end{matrix}\\c\end{matrix}",
        ),
        (r"f=\cases{1&x>0\cr 0&x<0}", r"f=\begin{cases}1&x>0\\0&x<0\end{cases}"),
        (r"\eqalign{a&=b\cr c&=d}", r"\begin{aligned}a&=b\\c&=d\end{aligned}"),
        (r"\bbox[yellow,5px]{x^2+y}", "x^2+y"),
        (r"\bbox[10px, border: 2px solid red]{x}", "x"),
        (r"\smash[b]{x^2}+y", "x^2+y"),
        (r"\root 3 \of x", r"\sqrt[3]{x}"),
        (r"\root {n+1} \of {x+y}", r"\sqrt[n+1]{x+y}"),
        (r"\genfrac{}{}{}{0}{a}{b}", r"\frac{a}{b}"),
        (r"\genfrac{(}{)}{0pt}{}{n}{k}", r"\binom{n}{k}"),
        (r"\cfrac[l]{a}{b}", r"\frac{a}{b}"),
        (r"a=b \tag*{(A)}", "a=b"),
        (r"x\hspace*{2em}+y", "x+y"),
        (r"x\mspace{18mu}+y", "x+y"),
        (r"\rule{0pt}{3ex}x+y", "x+y"),
        (r"\rule[-1ex]{0pt}{3ex}x", "x"),
        (r"\left\{a\over2\middle|b\right\}", r"\left\{\frac a2\middle|b\right\}"),
        (r"\operatorname*{arg\,max}_x f", r"\arg\max_x f"),
        (r"\operatorname{arg min}_x f", r"\arg\min_x f"),
        (r"\bra{x}", r"\langle x|"),
        (r"A\ket{\psi}", r"A|\psi\rangle"),
        (r"\braket{a|b}", r"\langle a|b\rangle"),
        (r"\sum_{\substack{i<n}} i", r"\sum_{i<n} i"),
        ("90°", r"90^\circ"),
        ("a=\u0338b", r"a\ne b"),
        (r"A\not\subset B", r"A\nsubset B"),
        (r"\mathbbm{R}", r"\mathbb{R}"),
        (r"\\frac{1}{2}+\\alpha", r"\frac{1}{2}+\alpha"),
        (r"\\sqrt{x}\\times\\left(y\\right)", r"\sqrt{x}\times\left(y\right)"),
        *(
            (f"x{invisible}^2{invisible}", "x^2")
            for invisible in "\u200b\u200e\u2062\ufeff\xad\ufe0e"
        ),
    ],
)
def test_a_formula_written_in_another_way_has_the_same_tokens(written: str, same: str) -> None:
    assert tokenize(written) == tokenize(same) != []


def test_a_command_after_the_end_of_a_row_stays_one() -> None:
    assert tokenize(r"a\\\alpha") == tokenize(r"a\\ \alpha")
    assert tokenize(r"a\\b") == tokenize(r"a \\ b")


def test_the_columns_of_an_environment_are_no_symbols() -> None:
    assert tokenize(r"\begin{IEEEeqnarray}{rCl} a&=&b \end{IEEEeqnarray}") == ["a", "=", "b"]
