"""Content MathML is read as an operator tree. Fragments are written by hand, as LaTeXML writes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import check_terms, mutated

from arqmath_bm25.analysis.content_mathml import read
from arqmath_bm25.analysis.symbol_layout import paths

SUB = '<csymbol cd="ambiguous">subscript</csymbol>'
SUPER = '<csymbol cd="ambiguous">superscript</csymbol>'
MISSING = '<cerror><csymbol cd="ambiguous">missing-subexpression</csymbol></cerror>'
SQUARE = f'<apply>{SUPER}<ci>𝑥</ci><cn type="integer">2</cn></apply>'


def math(content: str, alttext: str = "") -> str:
    return (
        f'<math alttext="{alttext}" display="block" encoding="MathML-Content" '
        f'xmlns="http://www.w3.org/1998/Math/MathML">{content}</math>'
    )


def pairs(content: str) -> set[str]:
    """Return the pairs of a formula but for those with an end mark."""
    return {pair for pair in paths(read(math(content))[0], 2, 2) if not pair.endswith("~0~")}


def symbols(content: str) -> list[str]:
    return [symbol for symbol in read(math(content))[0].symbols if symbol]


def test_arguments_hang_on_their_operator_by_their_place() -> None:
    assert paths(read(math(f"<apply><minus/>{SQUARE}<cn>1</cn></apply>"))[0], 2, 2) == [
        "~1~minus", "minus~1~superscript", "superscript~1~x", "superscript~2~2", "minus~2~1",
        "x~0~", "2~0~", "1~0~",
    ]  # fmt: skip
    assert paths(read(math("<ci>𝑛</ci>"))[0], 2, 3) == ["~1~n", "n~0~", "~1~n~0~"]


def test_places_mean_nothing_where_an_operator_commutes() -> None:
    one = "<apply><eq/><apply><plus/><ci>a</ci><ci>b</ci></apply><ci>c</ci></apply>"
    other = "<apply><eq/><ci>c</ci><apply><plus/><ci>b</ci><ci>a</ci></apply></apply>"
    assert pairs(one) == pairs(other) == {"~1~eq", "eq~c~plus", "plus~c~a", "plus~c~b", "eq~c~c"}
    assert pairs("<apply><lt/><ci>a</ci><ci>b</ci></apply>") == {"~1~lt", "lt~1~a", "lt~2~b"}


def test_tokens_are_in_polish_notation() -> None:
    sum_ = f"<apply><divide/><apply><plus/>{SQUARE}<ci>𝜋</ci></apply><cn>2.5</cn></apply>"
    assert symbols(sum_) == ["divide", "plus", "superscript", "x", "2", "pi", "2.5"]


def test_scripts_do_not_come_between_an_operator_and_its_argument() -> None:
    lower = f"<apply>{SUB}<int/><cn>0</cn></apply>"
    integral = f"<apply><apply>{SUPER}{lower}<cn>1</cn></apply><ci>f</ci></apply>"
    assert pairs(integral) == {
        "~1~superscript", "superscript~1~subscript", "subscript~1~int", "subscript~2~0",
        "superscript~2~1", "int~1~f",
    }  # fmt: skip
    assert "int~1~f" in pairs("<apply><int/><ci>f</ci></apply>")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "<apply><root/><degree><cn>3</cn></degree><ci>x</ci></apply>",
            {"~1~root", "root~degree~3", "root~1~x"},
        ),
        (
            '<bind><csymbol cd="latexml">for-all</csymbol><bvar><ci>x</ci></bvar><ci>p</ci></bind>',
            {"~1~for-all", "for-all~bvar~x", "for-all~1~p"},
        ),
        ("<set><cn>1</cn><cn>2</cn></set>", {"~1~set", "set~c~1", "set~c~2"}),
        (
            '<interval closure="open"><cn>0</cn><cn>1</cn></interval>',
            {"~1~interval-open", "interval-open~1~0", "interval-open~2~1"},
        ),
        (
            "<matrix><matrixrow><ci>a</ci><ci>b</ci></matrixrow></matrix>",
            {"~1~matrix", "matrix~1~matrixrow", "matrixrow~1~a", "matrixrow~2~b"},
        ),
        (
            '<cerror><csymbol cd="ambiguous">fragments</csymbol><csymbol cd="unknown">P</csymbol>'
            "<leq/><apply><divide/><cn>1</cn><cn>2</cn></apply><ci>normal-]</ci></cerror>",
            {"~1~fragments", "fragments~n~P", "P~n~leq", "leq~n~divide", "divide~1~1",
             "divide~2~2", "divide~n~]"},
        ),
        (f"<apply><divide/>{MISSING}<ci>x</ci></apply>", {"~1~divide", "divide~2~x"}),
        ("<apply><ci>¯</ci><ci>ℝ</ci></apply>", {"~1~bar", "bar~1~bbR"}),
        ("<apply><in/><ci>normal-Γ</ci><ci>bold-A</ci></apply>", {"~1~in", "in~1~Gamma", "in~2~A"}),
        ("<ci><mover><mi>x</mi><mo>¯</mo></mover></ci>", {"~1~barx"}),
    ],
)  # fmt: skip
def test_elements(content: str, expected: set[str]) -> None:
    assert pairs(content) == expected


@pytest.mark.parametrize("share", ["", "<share/>", '<share href="#.cmml"></share>'])
def test_a_relation_in_a_chain_shares_a_side_with_the_one_before(share: str) -> None:
    right = "<apply><times/><cn>2</cn><ci>b</ci></apply>"
    chain = (
        f"<apply><and/><apply><lt/><ci>a</ci>{right}</apply>"
        f"<apply><leq/>{share}<ci>c</ci></apply></apply>"
    )
    assert pairs(chain) == {
        "~1~and", "and~c~lt", "lt~1~a", "lt~2~times", "times~c~2", "times~c~b", "and~c~leq",
        "leq~1~times", "leq~2~c",
    }  # fmt: skip
    assert "times~0~" not in paths(read(chain)[0], 2, 2)


def test_text_becomes_words() -> None:
    content = "<apply><times/><ci>x</ci><ci><mtext> if even</mtext></ci></apply>"
    assert symbols(content) == ["times", "x"]
    assert read(math(content))[1].split() == ["if", "even"]


@pytest.mark.parametrize(
    ("defect", "content"),
    [
        (math("<apply><ci><</ci><ci>a</ci></apply>"), "<apply><ci>&lt;</ci><ci>a</ci></apply>"),
        (math("<ci>a</ci>", alttext='a<b & c>d" <ci>'), "<ci>a</ci>"),
        ("<apply><plus/><ci>a<ci>b</ci></apply>", "<apply><plus/><ci>a</ci><ci>b</ci></apply>"),
        ("<apply><sin/><ci>a", "<apply><sin/><ci>a</ci></apply>"),  # cut off
        ("</apply></ci><ci>a</ci></apply>", "<ci>a</ci>"),
        ("<apply><sin></sin><p><ci>a</ci></p>", "<apply><sin/><ci>a</ci></apply>"),
        ("<ns0:apply><ns0:sin /><ns0:ci>a</ns0:ci>", "<apply><sin/><ci>a</ci></apply>"),
        (
            "<?xml version='1.0'?>\n<apply>\n  <gt/>\n <ci>𝑎</ci>\n  <cn>0</cn>\n</apply>",
            "<apply><gt/><ci>a</ci><cn>0</cn></apply>",
        ),
        ("<merror><mtext>\\gt</mtext></merror>", "<ci>></ci>"),  # a command LaTeXML did not know
    ],
)
def test_defects_of_the_files_are_repaired(defect: str, content: str) -> None:
    assert paths(read(defect)[0], 2, 3) == paths(read(math(content))[0], 2, 3)


def test_empty_input_has_no_symbol() -> None:
    assert read("") == read(math("")) == (([""], [0], [""]), "")


NAMES = "math apply bind cerror ci cn csymbol mtext share bvar degree set matrix lt and".split()
MARKUP = [
    *(f"<{name}>" for name in NAMES), *(f"</{name}>" for name in NAMES), "<plus/>", "<and/>",
    "<lt/>", "<share/>", SUB, SUPER, *'x2+<>&;"', "→", "~", 'alttext="', " ",
]  # fmt: skip
FORMULAS = [
    math(f"<apply><plus/>{SQUARE}<apply><sin/><ci>𝑥</ci></apply><cn>1</cn></apply>", r"x^2+\sin x"),
    math(
        f"<apply><and/><apply><lt/><cn>0</cn><apply>{SUB}<ci>𝑎</ci><ci>𝑛</ci></apply></apply>"
        "<apply><lt/><share href='#.cmml'/><infinity/></apply></apply>"
    ),
    math(
        f"<apply><eq/><apply><apply>{SUPER}<apply>{SUB}<sum/><cn>1</cn></apply><infinity/></apply>"
        f"<apply><divide/><cn>1</cn>{SQUARE}</apply></apply><ci><mtext> finite</mtext></ci></apply>"
    ),
]


@given(st.one_of(st.lists(st.sampled_from(MARKUP), max_size=60).map("".join), st.text()))
def test_any_string_is_a_tree(markup: str) -> None:
    tree, _ = read(markup)
    assert len(tree.symbols) == len(tree.parents) == len(tree.edges)
    for node in range(1, len(tree.symbols)):  # every node leads back to the start mark
        steps = 0
        while node:
            node, steps = tree.parents[node], steps + 1
            assert steps < len(tree.symbols)


@given(mutated(FORMULAS, MARKUP))
@settings(deadline=None)
def test_formulas_may_break_anywhere(source: str) -> None:
    check_terms(lambda text: paths(read(text)[0], 2, 3), source, 10)


@pytest.mark.parametrize(
    "unit",
    ["<apply>", "<ci>", "<mtext>", "<share/>", "<apply><plus/><ci>x</ci>", "</apply>", "<a",
     f"<apply><apply>{SUPER}", '<math alttext="'],
)  # fmt: skip
def test_time_is_linear_in_length_at_any_depth(unit: str) -> None:
    def seconds(times: int) -> float:
        best = 1e9
        for _ in range(3):
            began = time.process_time()
            paths(read(unit * times)[0], 2, 3)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(16_000) < 12 * seconds(4_000) + 0.05  # 4 if linear, 16 if quadratic
