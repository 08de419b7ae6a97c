r"""Whole books of several forms: titles by macros, blueprints, PreTeXt, org, Typst."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from program import arqmath
from test_dialects import read

if TYPE_CHECKING:
    from pathlib import Path

HEADER = r"""\newcommand{\tph}[2]{\texorpdfstring{#1}{#2}}
\title{\textbf{Part \npart}\\{\Huge\ncourse\unskip}\thanks{Draft}}
\newcommand{\lecture}[1]{\section{Lecture \nterm: #1}}"""
SUBJECTS = "Rings Fields Groups Modules Lattices Graphs Knots Sheaves Schemes Tori Braids".split()
# Of a subject: a source whose title, or heading, has it by macros alone.
SOURCES = [
    r"""\documentclass{article}\def\npart{IA}\def\nterm{One}\def\ncourse{SUBJECT I}\input{header}
\begin{document}\maketitle\lecture{On \tph{$x$}{x}} Text.\end{document}""",
    r"""\documentclass{book}\newcommand{\subject}{SUBJECT}\newcommand{\ofthe}[1]{Theory of the #1}
\title{\ofthe{\subject}}\begin{document}\chapter{The \subject} Text.\end{document}""",
    r"""\documentclass{article}\newcommand\course[2]{\def\ncourse{#1 (#2)}}\def\subject{SUBJECT}
\title{Course \subject: $\subject_1$}\begin{document}Text.\end{document}""",
    r"""\documentclass{article}\newcommand*{\kind}[1][Notes]{#1 on}\def\SUBJECTs{SUBJECT II}
\title{\kind{} \SUBJECTs}\begin{document}\section{\kind[Ideas]{} \SUBJECTs} Text.\end{document}""",
    r"""\documentclass{book}\renewcommand{\partname}{Book}\newcommand{\unit}[1]{\part{#1 for all}}
\def\subject{SUBJECT}\begin{document}\unit{\subject}
\chapter{First of \subject} Text.\end{document}""",
    r"""\documentclass{article}\let\old\emph\def\a{\old{SUBJECT}}\def\b{\a{} and friends}
\title[Short]{\b}\begin{document}Text.\end{document}""",
]


def test_titles_that_macros_write_are_66_different_ones(tmp_path: Path) -> None:
    files = {"header.tex": HEADER}
    for number, source in enumerate(SOURCES):
        for subject in SUBJECTS:
            files[f"{subject}{number}.tex"] = source.replace("SUBJECT", subject)
    rows = read(tmp_path, files)
    titles = [row["title"] for row in rows]
    assert len(set(titles)) == len(titles) == 66
    for row in rows:
        assert row["id"][: row["id"].index(".tex") - 1] in row["title"]
        assert "\\" not in row["title"]


def test_references_are_learnt_from_a_blueprint_alone(tmp_path: Path) -> None:
    kinds = "cover subset image union product quotient limit cone".split()
    lemmas = [r"\begin{lemma}\label{tube}\lean{Tube}\leanok Along fibres one shrinks.\end{lemma}"]
    for kind in kinds:
        statement = rf"\label{{{kind}}}\uses{{tube}} Each compact {kind} is closed."
        lemmas.append(rf"\begin{{lemma}}{statement}\end{{lemma}}\begin{{proof}}Clear.\end{{proof}}")
        lemmas.append(rf"\begin{{lemma}}\label{{o:{kind}}}\uses{{o:x}} Open {kind}.\end{{lemma}}")
    (tmp_path / "notes").mkdir()
    begin, end = r"\documentclass{report}\usepackage{blueprint}\begin{document}", r"\end{document}"
    (tmp_path / "notes" / "web.tex").write_text(begin + "\n".join(lemmas) + end)

    place = ("--data", tmp_path / "notes", "--indexes", tmp_path / "i")
    arqmath("index", "docs", *place)
    found = {}
    for variant in ("both", "cited"):
        query = "each compact graph is closed"
        printed = arqmath(
            "search", "docs", query, "--variant", variant, "-k", 20, "--json", *place
        ).stdout
        found[variant] = [hit["doc_id"] for hit in json.loads(printed)["results"]]
    assert "web.tex#tube" not in found["both"]
    assert "web.tex#tube" in found["cited"]


@pytest.mark.parametrize("query", [("group tag:algebra",), ("group", "--tag", "Algebra/groups")])
def test_a_search_chooses_by_the_tags_of_front_matter(
    tmp_path: Path, query: tuple[str, ...]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("---\ntags: [algebra/groups]\n---\n# A\n\nA group.\n")
    (tmp_path / "notes" / "b.md").write_text("# B\n\nA group, a group.\n")
    place = ("--data", tmp_path / "notes", "--indexes", tmp_path / "i")
    arqmath("index", "docs", *place)
    printed = arqmath("search", "docs", *query, "--json", *place).stdout
    assert [hit["doc_id"] for hit in json.loads(printed)["results"]] == ["a.md#a"]


def test_forty_statements_of_pretext_are_documents_with_all_formulas(tmp_path: Path) -> None:
    kinds = "theorem lemma corollary definition example exercise remark proposition".split()
    chapters = {}
    for chapter in range(5):
        statements = []
        for kind in kinds:
            name = f"{kind}-{chapter}"
            me = rf"<me>\set{{y}}_{{{chapter}}}\lt {len(kind)}</me>"
            rows = rf"<md><mrow>a \amp= {chapter}</mrow><mrow>b \amp= {len(kind)}</mrow></md>"
            statements.append(
                f'<{kind} xml:id="{name}"><statement><p>The {name} of <m>x_{chapter}</m>: {me}</p>'
                f"</statement><proof><p>By {rows}</p></proof></{kind}>"
            )
        section = f'<section xml:id="s{chapter}"><title>More</title>{"".join(statements)}</section>'
        text = f"<chapter xml:id='c{chapter}'><title>Part {chapter}</title>{section}</chapter>"
        chapters[f"src/c{chapter}.ptx"] = text
    included = "".join(f'<xi:include href="c{chapter}.ptx"/>' for chapter in range(5))
    book = (
        '<pretext xmlns:xi="http://www.w3.org/2001/XInclude"><docinfo><macros>\\newcommand{\\set}'
        f"[1]{{\\{{#1\\}}}}</macros></docinfo><book><title>Book</title>{included}</book></pretext>"
    )
    rows = read(tmp_path, {"src/main.ptx": book} | chapters)
    statements = {row["id"].partition("#")[2]: row for row in rows if row["type"] != "section"}
    assert len(statements) == 40
    for name, row in statements.items():
        kind, _, chapter = name.partition("-")
        assert row["title"] == f"Book › Part {chapter} › More › {kind.capitalize()}"
        assert row["kind"] == "pretext"
        assert row["formulas"] == [
            f"x_{chapter}",
            rf"\{{y\}}_{{{chapter}}}< {len(kind)}",
            rf"\begin{{aligned}}a &= {chapter}\\b &= {len(kind)}\end{{aligned}}",
        ]


FORMULAS = r"""x^2+y^2=z^2;\int_0^1 f(x)\,dx;\sum_{k=1}^n k;\frac{a}{b};\sqrt{2};\alpha+\beta
A\cap B;\lim_{n\to\infty} a_n;f\colon A\to B;\mathbb{Z}/n\mathbb{Z}
\begin{pmatrix}1&0\\0&1\end{pmatrix};|G|
a\equiv b \pmod m;\nabla\cdot F;\|v\|\le 1;\binom{n}{k};\forall x\in X;e^{i\pi}=-1;x_1,x_2
\zeta(s)"""


def test_formulas_of_org_are_those_of_latex(tmp_path: Path) -> None:
    formulas = FORMULAS.replace("\n", ";").split(";")
    org, tex = [], []
    for number, latex in enumerate(formulas):
        marked = (f"${latex}$", rf"\({latex}\)", f"\\[{latex}\\]")[number % 3]
        org.append(f"* Word{number}\nLet {marked} be.\n")
        tex.append(f"\\section{{Word{number}}} Let {marked} be.\n")
    assert len(formulas) == 20
    for name, text in (("a.org", org), ("b.tex", tex)):
        rows = read(tmp_path / name, {name: "".join(text)})
        assert [row["formulas"] for row in rows] == [[latex] for latex in formulas]


def test_formulas_of_typst_are_words_and_this_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formulas = "x^2 sum_(k=1)^n alpha/beta sqrt(2) A inter B lim_(n->oo)".split()
    text = "\n".join(f"= Part\nLet ${formula}$ be." for formula in formulas)
    rows = read(tmp_path, {"a.typ": text})
    assert [row["words"] for row in rows] == [f"Let {formula} be." for formula in formulas]
    assert "formulas of Typst and PDF are read as words" in capsys.readouterr().err
