"""NTCIR-12, formula browsing: pages, topics and judgments by the published formats."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from program import arqmath, refused

from arqmath_bm25.collection.own_documents import read_documents
from arqmath_bm25.core.errors import InputError

sys.path.append(str(Path(__file__).parents[2] / "tools"))
from ntcir import formula_latex, write_formulas

M = 'xmlns:m="http://www.w3.org/1998/Math/MathML"'


def math(latex: str, attributes: str = "") -> str:
    return (
        f"<m:math {M} {attributes}><m:semantics><m:mi>x</m:mi>"
        f'<m:annotation encoding="application/x-tex">{latex}</m:annotation></m:semantics></m:math>'
    )


WILDCARD = math(r"\frac{\qvar@construct{a}}{n!}")
TOPICS = f"""<?xml version="1.0" encoding="UTF-8"?>
<topics xmlns="http://ntcir-math.nii.ac.jp/" xmlns:mws="http://search.mathweb.org/ns">
  <topic><num>NTCIR12-MathWiki-1</num><type>Content-Formula</type>
    <query><formula id="f.0">{math(r"x^{2}+y^{2}=z^{2}")}</formula></query></topic>
  <topic><num>NTCIR12-MathWiki-2</num>
    <query><formula id="f.0">{WILDCARD}</formula></query></topic>
</topics>
"""
QRELS = """NTCIR12-MathWiki-1 xxx Pythagoras:0 4
NTCIR12-MathWiki-1 xxx Series:1 1
NTCIR12-MathWiki-1 xxx Series:0 0
NTCIR12-MathWiki-2 xxx Series:0 3
"""
# As the organisers wrote them: names without a prefix, LaTeX in an annotation alone, with `%` where
# a long line is broken, wildcards by numbers, and grades with a point.
PUBLISHED_TOPICS = r"""<?xml version="1.0" encoding="UTF-8"?>
<topics xmlns="http://www.w3.org/1998/Math/MathML">
  <topic>
    <num>NTCIR12-MathWiki-7</num>
    <query>
      <formula id="f.0">
        <math>
          <semantics>
            <mrow><qvar>*1*</qvar><mo>=</mo><mi>w</mi></mrow>
            <annotation-xml encoding="MathML-Content">
              <apply><eq/><qvar>*1*</qvar><ci>w</ci></apply>
            </annotation-xml>
            <annotation encoding="application/x-tex">\qvar{*1*}&amp;=\begin{cases}w\leq%
\qvar{*2*}\end{cases}\ </annotation>
          </semantics>
        </math>
      </formula>
    </query>
  </topic>
</topics>
"""
PUBLISHED_QRELS = """NTCIR12-MathWiki-7 xxx Catalan's_constant:16 4.0
NTCIR12-MathWiki-7 xxx Portal:Algebra::Selected_article::4:0 0.0
"""


@pytest.fixture
def ntcir(tmp_path: Path) -> Path:
    folder = tmp_path / "wiki"
    pages = folder / "MathTagArticles" / "wpmath0000001" / "Articles"
    pages.mkdir(parents=True)
    (folder / "NTCIR12-MathWikiFrm.xml").write_text(TOPICS)
    (folder / "NTCIR12_MathWiki-qrels_judge.dat").write_text(QRELS)
    (pages / "Pythagoras.html").write_text(f"<html><p>{math('a^2+b^2=c^2')}</p></html>")
    two = math(r"\frac{x^n}{n!}") + " and " + math("x^2+1", 'id="Series:1"')
    (pages / "Series.html").write_text(f"<html><body>{two}</body></html>")
    return folder


def test_every_formula_of_a_page_is_a_document(ntcir: Path, tmp_path: Path) -> None:
    directory = tmp_path / "written"
    write_formulas(ntcir, directory)
    found = {row.doc_id: row.text for row, _ in read_documents(directory / "corpus.jsonl")}
    assert found == {
        "Pythagoras:0": "$a^2+b^2=c^2$",
        "Series:0": r"$\frac{x^n}{n!}$",
        "Series:1": "$x^2+1$",
    }


@pytest.mark.parametrize(
    ("element", "latex"),
    [
        (math(r"\frac{\qvar@construct{a}}{n!}"), r"\frac{{}}{n!}"),
        (math(r"\qvar{x}+1"), "{}+1"),
        ('<math><mrow><mws:qvar name="x"/><mo>+</mo><mn>2</mn></mrow></math>', "{}+2"),
    ],
)
def test_a_wildcard_asks_for_nothing_where_it_stands(element: str, latex: str) -> None:
    assert formula_latex(element).replace(" ", "") == latex


def test_files_as_the_organisers_wrote_them(tmp_path: Path) -> None:
    """Judgments have also been given out as `judge.dat`."""
    folder = tmp_path / "wiki"
    folder.mkdir()
    (folder / "NTCIR12-MathWikiFormula-queries-participants.xml").write_text(PUBLISHED_TOPICS)
    (folder / "judge.dat").write_text(PUBLISHED_QRELS)
    (folder / "how we judge.pdf").write_bytes(b"%PDF-1.5")
    first = math(r"w\leq 1\ ", 'id="Catalan\'s_constant:16"')
    second = math("w", 'id="Catalan\'s_constant:17"')
    (folder / "Catalan's_constant.html").write_text(f"{first} and {second}")
    (folder / "Portal:Algebra::Selected_article::4.html").write_text(math("x+y"))

    directory = tmp_path / "written"
    write_formulas(folder, directory)
    found = {row.doc_id: row.text for row, _ in read_documents(directory / "corpus.jsonl")}
    assert found == {
        "Catalan's_constant:16": r"$w\leq 1\ $",
        "Catalan's_constant:17": "$w$",
        "Portal:Algebra::Selected_article::4:0": "$x+y$",
    }
    (query,) = (row for row, _ in read_documents(directory / "queries.jsonl"))
    assert query.doc_id == "NTCIR12-MathWiki-7"
    assert query.text == r"${}&=\begin{cases}w\leq {}\end{cases}\ $"
    qrels = (directory / "qrels/test.tsv").read_text().splitlines()
    assert qrels[1:] == [
        "NTCIR12-MathWiki-7\tCatalan's_constant:16\t4",
        "NTCIR12-MathWiki-7\tPortal:Algebra::Selected_article::4:0\t0",
    ]


def test_topics_are_ranked_and_scored_partially_and_fully(ntcir: Path, tmp_path: Path) -> None:
    write_formulas(ntcir, tmp_path / "corpus" / "wiki")
    where = ("--data", tmp_path / "corpus" / "wiki", "--indexes", tmp_path / "i")
    arqmath("index", "docs", *where)
    arqmath("run", "docs", *where, "--variant", "math", "--runs", tmp_path / "r")
    (run,) = (tmp_path / "r" / "wiki" / "queries").glob("*.trec")
    first: dict[str, str] = {}
    for row in run.read_text().splitlines():
        topic, _, document, *_ = row.split()
        first.setdefault(topic, document)
    assert first == {"NTCIR12-MathWiki-1": "Pythagoras:0", "NTCIR12-MathWiki-2": "Series:0"}

    measures = ("--measure", "Bpref(rel=1)", "--measure", "Bpref(rel=3)")
    arqmath("eval", run, *where, *measures, "--json", tmp_path / "scores.json")
    (scored,) = json.loads((tmp_path / "scores.json").read_text())
    assert scored["Bpref(rel=3)"] == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("NTCIR12-MathWikiFrm.xml", "<topics>ntcir</topics>", "there are no topics"),
        (
            "NTCIR12-MathWikiFrm.xml",
            "<topics>ntcir<topic><num>1</num></topic></topics>",
            "topic 1 lacks a number or a formula",
        ),
        ("NTCIR12_MathWiki-qrels_judge.dat", "1 2 3\n", "line 1: expected topic, a column"),
    ],
)
def test_faulty_files_are_one_message(
    name: str, text: str, message: str, ntcir: Path, tmp_path: Path
) -> None:
    (ntcir / name).write_text(text)
    with pytest.raises(InputError, match=message):
        write_formulas(ntcir, tmp_path / "written")


def test_the_script_is_named_where_the_folder_is_given(ntcir: Path, tmp_path: Path) -> None:
    said = refused("index", "docs", "--data", ntcir, "--indexes", tmp_path / "i")
    assert f"python tools/ntcir.py {ntcir} OUT" in said
