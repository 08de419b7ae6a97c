"""The generated collection: in the official formats, consistent with itself, like the real one."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from generation import formulas as grammar
from generation.files import write_collection
from lxml import etree

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.dump import rows
from arqmath_bm25.collection.formulas import FormulaRow, read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.topics import read_topics
from tests.support.parsed_dumps import parsed_rows

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIZE = 6_000_000  # bytes of posts
_SPAN = re.compile(r'<span class="math-container" id="(\d+)">(.*?)</span>')


def write(directory: Path, size: int = SIZE, seed: int = 1, *, slt: bool = True) -> Layout:
    write_collection(directory, size, seed, slt, lambda _: None)
    return Layout(directory)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return write(tmp_path_factory.mktemp("generated") / "collection")


@pytest.fixture(scope="module")
def posts(made: Layout) -> list[dict[str, str]]:
    return [row for _, row in parsed_rows(made.posts(), "posts") if isinstance(row, dict)]


@pytest.fixture(scope="module")
def formulas(made: Layout) -> list[FormulaRow]:
    return list(read_formulas(made.formulas()))


def test_the_xml_is_well_formed_and_has_the_size_asked_for(made: Layout) -> None:
    etree.parse(made.posts(), etree.XMLParser(huge_tree=True))
    assert SIZE <= made.posts().stat().st_size < SIZE + 3_000_000  # a batch more at most
    assert sum(1 for _ in rows(made.dump("PostLinks"), "postlinks"))
    assert PostLinks.read(made.dump("PostLinks"))


def test_posts_are_in_order_of_their_ids_and_answers_behind_their_questions(
    posts: list[dict[str, str]],
) -> None:
    ids = [int(post["Id"]) for post in posts]
    assert ids == sorted(set(ids))
    questions = {post["Id"]: post for post in posts if post["PostTypeId"] == "1"}
    answers = Counter(post["ParentId"] for post in posts if post["PostTypeId"] == "2")
    assert answers.keys() <= questions.keys()
    assert all(int(post["ParentId"]) < int(post["Id"]) for post in posts if "ParentId" in post)
    assert all(int(q["AnswerCount"]) == answers[number] for number, q in questions.items())
    assert answers.total() / len(questions) == pytest.approx(1.416, abs=0.1)  # as the real one


def test_every_span_with_an_id_has_its_row_and_only_deleted_rows_have_none(
    posts: list[dict[str, str]], formulas: list[FormulaRow]
) -> None:
    shown = {}
    for post in posts:
        for kind, content in (
            ("title", read_title(post.get("Title", ""))),
            ("question" if "Title" in post else "answer", read_body(post["Body"])),
        ):
            for formula in content.formulas:
                if formula.formula_id:
                    shown[formula.formula_id] = (post["Id"], kind, formula.latex)
    assert len(shown) > 10_000
    stored = {f.formula_id: f for f in formulas}
    spaces = " ".join
    for number, (post_id, kind, latex) in shown.items():
        row = stored[number]
        assert (row.post_id, row.type) == (post_id, kind)
        assert spaces(row.latex.split()) == spaces(latex.split())
        assert "d" not in row.issue
    for row in formulas:
        if row.formula_id not in shown and row.type != "comment" and row.latex:
            assert "d" in row.issue


def test_formula_ids_count_up_and_comments_have_their_own(formulas: list[FormulaRow]) -> None:
    assert [int(row.formula_id) for row in formulas] == list(range(1, len(formulas) + 1))
    assert all((row.type == "comment") == bool(row.comment_id) for row in formulas)


def test_what_looks_alike_has_one_visual_id(formulas: list[FormulaRow]) -> None:
    visible = [row for row in formulas if row.visual_id and row.latex]
    pairs = {(row.visual_id, row.latex) for row in visible}
    assert len(pairs) == len({v for v, _ in pairs}) == len({latex for _, latex in pairs})


def test_mathml_rows_are_the_same_rows(made: Layout, formulas: list[FormulaRow]) -> None:
    mathml = list(read_formulas(made.formulas("slt")))
    assert [row[:8] for row in mathml] == [row[:8] for row in formulas]
    shown = [
        (row.latex, formula.latex)
        for row, formula in zip(mathml, formulas, strict=True)
        if row.latex and not re.search(r'[<>"%\n]', formula.latex) and formula.latex
    ]
    for text, latex in shown[:2000]:
        math = etree.fromstring(text.replace("&", "&amp;") if "&" in latex else text)
        assert math.get("alttext") == latex
        assert math[0].tag.endswith("semantics")
    blank = sum(not row.latex for row in mathml) / len(mathml)
    assert blank == pytest.approx(0.0019, abs=0.001)  # LaTeXML's failures in the whole collection


def test_the_files_are_what_the_csv_module_writes(made: Layout, tmp_path: Path) -> None:
    for representation in ("latex", "slt"):
        original = made.formulas(representation) / "1.tsv"  # type: ignore[arg-type]
        with original.open(newline="", encoding="utf-8") as file:
            table = list(csv.reader(file, delimiter="\t"))
        with (tmp_path / "copy").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t").writerows(table)
        assert (tmp_path / "copy").read_bytes() == original.read_bytes()


def test_figures_are_those_of_the_real_subset(
    posts: list[dict[str, str]], formulas: list[FormulaRow]
) -> None:
    """Expected values were measured on arqmath-lite."""
    bodies = {
        kind: [read_body(p["Body"]) for p in posts if p["PostTypeId"] == kind] for kind in "12"
    }
    words = {kind: [len(c.prose.split()) for c in bodies[kind]] for kind in "12"}
    instances = {kind: [len(c.formulas) for c in bodies[kind]] for kind in "12"}
    assert np.median(words["1"]) == pytest.approx(56, rel=0.15)
    assert np.median(words["2"]) == pytest.approx(52, rel=0.15)
    assert np.mean(instances["1"]) == pytest.approx(6.95, rel=0.15)
    assert np.mean(instances["2"]) == pytest.approx(12.37, rel=0.2)
    latex = [len(row.latex) for row in formulas]
    assert np.median(latex) == pytest.approx(10, abs=3)
    assert np.quantile(latex, 0.9) == pytest.approx(49, rel=0.3)
    commonest = Counter(row.latex for row in formulas).most_common(1)
    assert commonest[0][0] == "n"
    assert commonest[0][1] / len(formulas) == pytest.approx(0.0192, rel=0.25)
    assert sum(row.type == "comment" for row in formulas) / len(formulas) == pytest.approx(
        0.174, abs=0.02
    )
    without_id = sum(f.formula_id is None for k in "12" for c in bodies[k] for f in c.formulas)
    assert without_id / sum(map(sum, instances.values())) == pytest.approx(0.0156, abs=0.006)


def test_the_known_defects_are_there(
    posts: list[dict[str, str]], formulas: list[FormulaRow]
) -> None:
    text = "\n".join(post["Body"] for post in posts)
    assert '<span class="math-container">' in text
    assert re.search(r"[^\\]\$[^$<]+\$", text)
    assert r"\begin{align}" in _SPAN.sub("", text)
    latex = [row.latex for row in formulas]
    for defect in ('"', "\n", "<"):
        assert any(defect in one for one in latex), defect
    assert any(one.count("{") != one.count("}") for one in latex)
    assert {row.issue for row in formulas} >= {"", "d", "v"}
    assert "" in latex
    assert any(row.visual_id == "" for row in formulas)


def test_topics_are_questions_of_their_own(made: Layout, posts: list[dict[str, str]]) -> None:
    topics = read_topics(made.topics("task1", "2022"))
    assert [topic.topic_id for topic in topics] == [f"A.{n}" for n in range(301, 401)]
    assert not {topic.title for topic in topics} & {post.get("Title") for post in posts}
    for topic, latex, formula_id in (
        (t, t.latex, t.formula_id) for t in read_topics(made.topics("task2", "2022"))
    ):
        here = {f.formula_id: f.latex for f in read_body(topic.question).formulas}
        assert here[formula_id] == latex.strip()


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    def content(name: str, seed: int) -> dict[str, bytes]:
        data = write(tmp_path / name, 100_000, seed, slt=False).data
        files = (path for path in data.rglob("*") if path.is_file())
        return {str(path.relative_to(data)): path.read_bytes() for path in files}

    one = content("one", 1)
    assert one == content("same", 1)
    other = content("other", 2)
    assert one.keys() == other.keys()
    assert all(one[name] != other[name] for name in one)


def test_no_two_numbers_are_the_same_formula() -> None:
    numbers = np.r_[np.arange(50_000), np.arange(60_000_000, 60_050_000)]
    assert len(set(grammar.latex(numbers))) == len(numbers)
    first, second = grammar._first_terms(np.arange(1_000_000))
    assert len(np.unique(first * 10_000 + second)) == 1_000_000


@pytest.mark.slow
def test_distinct_formulas_grow_as_in_the_subset_and_in_the_whole() -> None:
    random, source = np.random.default_rng(1), grammar.Formulas()
    subset = source.draw(random, 81_203)
    assert len(np.unique(subset)) == pytest.approx(40_593, rel=0.03)
    for _ in range(29):
        source.draw(random, 1_000_000)
    # 9.37 million visual ids in 28.3 million instances: a third
    assert source._distinct == pytest.approx(9_370_000 * 29.08 / 28.32, rel=0.05)


def test_the_program_explains_itself_and_overwrites_nothing(tmp_path: Path) -> None:
    program = [sys.executable, str(BENCHMARKS / "generate.py"), str(tmp_path)]
    again = subprocess.run([*program, "--gigabytes", "0.001"], capture_output=True, text=True)
    assert again.returncode == 2
    assert "is there already; remove it" in again.stderr
    assert list(tmp_path.iterdir()) == []
