"""Content MathML and LaTeX of one formula give one operator tree."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import check_terms
from test_operator_tree import shown, tree

from arqmath_bm25.analysis import content_mathml
from arqmath_bm25.analysis.content_operators import from_content
from arqmath_bm25.analysis.formula import FormulaAnalyzer
from arqmath_bm25.analysis.operator_paths import OperatorTree, blind, operator_paths
from arqmath_bm25.analysis.settings import FormulaAnalysisSettings
from arqmath_bm25.collection.layout import Layout

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
TAGS = """<apply> </apply> <eq/> <plus/> <minus/> <times/> <ci>f</ci> <ci>d</ci> <cn>2</cn> <int/>
<list> </list> <matrix> </matrix> <matrixrow> </matrixrow> <share/> <and/> <lt/> <root/> <degree>
</degree> <csymbol>superscript</csymbol> <csymbol>subscript</csymbol> <csymbol>fragments</csymbol>
<interval> </interval> <cerror> </cerror>""".split()


def content(markup: str) -> OperatorTree:
    """Read Content MathML in shorthand: (op a b) is <apply>, a name an element, x and 2 leaves."""
    elements = []
    for word in markup.replace("(", " ( ").replace(")", " ) ").split(" "):
        match word:
            case "(":
                elements.append("<apply>")
            case ")":
                elements.append("</apply>")
            case "sup" | "sub":
                elements.append(f'<csymbol cd="ambiguous">{word}erscript</csymbol>'.replace(
                    "suberscript", "subscript"))  # fmt: skip
            case "":
                pass
            case _ if word.startswith("<"):
                elements.append(word)
            case _ if len(word) == 1:
                elements.append(f"<cn>{word}</cn>" if word.isdigit() else f"<ci>{word}</ci>")
            case _:
                elements.append(f"<{word}/>")
    return from_content(content_mathml.read("".join(elements))[0])


@pytest.mark.parametrize(
    ("latex", "markup"),
    [
        ("x^2-2x+1", "(plus (minus (sup x 2) (times 2 x)) 1)"),
        ("-a+b", "(plus (minus a) b)"),
        ("f(x)=ax", "(eq (times f x) (times a x))"),
        ("f'(x)", "(times (sup f <ci>′</ci>) x)"),
        ("x(1,2)", '(times x <interval\u00a0closure="open"> 1 2 </interval>)'),
        ("a>b", "(gt a b)"),
        (r"a<b \le c", "(and (lt a b) (leq <share/> c))"),
        (r"a=b=c", "(and (eq a b) (eq <share/> c))"),
        (r"a=b=c", "(and (eq a b) (eq c))"),  # as in the lab's files
        (r"\sqrt x + \sqrt[n]{x}", "(plus (root x) (root <degree> n </degree> x))"),
        (r"\ln x", "(ln x)"),
        (r"\frac{a}{b} / c", "(divide (divide a b) c)"),
        (r"\sum_{k=0}^n k", "((sup (sub sum (eq k 0)) n) k)"),
        (r"\sin^2 x", "((sup sin 2) x)"),
        (r"\int_0^1 x\,dx",
         "((sup (sub int 0) 1) (times x (<csymbol>differential-d</csymbol> x)))"),
        (r"x_i^2", "(sup (sub x i) 2)"),
        (r"x^2_i", "(sub (sup x 2) i)"),
        (r"x, y=1", "<list> x (eq y 1) </list>"),
        (r"\{1,2\}", "<set> 1 2 </set>"),
        (r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}",
         "<matrix> <matrixrow> a b </matrixrow> <matrixrow> c d </matrixrow> </matrix>"),
        (r"\begin{pmatrix} n \\ k \end{pmatrix}",
         "<matrix> <matrixrow> n </matrixrow> <matrixrow> k </matrixrow> </matrix>"),
    ],
)  # fmt: skip
def test_both_sources_give_the_same_tree(latex: str, markup: str) -> None:
    read, other = tree(latex), content(markup)
    assert sorted(operator_paths(read)) == sorted(operator_paths(other)), shown(other)


def test_the_field_is_the_same_for_every_source() -> None:
    opt = FormulaAnalyzer(FormulaAnalysisSettings(source="opt"), ("operators",))
    slt = FormulaAnalyzer(FormulaAnalysisSettings(source="slt"), ("operators",))
    latex = FormulaAnalyzer(FormulaAnalysisSettings(), ("operators",))
    expected = sorted(latex.latex("a-b^2")["operators"])
    power = '<apply><csymbol cd="ambiguous">superscript</csymbol><ci>b</ci><cn>2</cn></apply>'
    content = f"<math><apply><minus/><ci>a</ci>{power}</apply></math>"
    layout = "<math><mi>a</mi><mo>-</mo><msup><mi>b</mi><mn>2</mn></msup></math>"
    assert sorted(opt.mathml(content)["operators"]) == expected
    assert sorted(slt.mathml(layout)["operators"]) == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(TAGS), max_size=60).map("".join))
def test_any_markup_has_a_tree(markup: str) -> None:
    def terms(source: str) -> list[str]:
        read = from_content(content_mathml.read(source)[0])
        return operator_paths(read) + operator_paths(blind(read))

    check_terms(terms, markup, for_each_character=20)


@pytest.mark.slow
@pytest.mark.parametrize("tag", ["<apply><times/>", "<apply><plus/><ci>x</ci>", "<apply><minus/>",
                                 "<list>", "<ci>f</ci>", "<apply><csymbol>superscript</csymbol>",
                                 "<apply><csymbol>fragments</csymbol><ci>x</ci>"])  # fmt: skip
def test_time_grows_with_the_depth(tag: str) -> None:
    def seconds(count: int) -> float:
        layout = content_mathml.read("<apply><times/>" + tag * count)[0]
        best = float("inf")
        gc.disable()
        for _ in range(3):
            began = time.process_time()
            from_content(layout)
            best = min(best, time.process_time() - began)
        gc.enable()
        return best

    assert seconds(16_000) < 2.6**3 * seconds(2_000)


def test_official_trees_agree_with_ours(lite: Path) -> None:
    import operator_agreement

    found = list(operator_agreement.pairs(Layout(lite)))
    count, dice, same = operator_agreement.agreement(found)
    assert count == 2_898
    assert dice > 0.84
    assert same > 0.77
    _, dice, same = operator_agreement.agreement(pair for pair in found if pair.whole)
    assert dice > 0.90
    assert same > 0.85
