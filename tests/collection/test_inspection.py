"""What every file of a distribution holds, and whether it is the one that was published."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

import pytest
from program import arqmath

from arqmath_bm25.collection import dump
from arqmath_bm25.collection.inspection import FileReport, files_in, inspect
from arqmath_bm25.collection.published import official
from arqmath_bm25.core.errors import InterruptedWorkError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers.local import Processes

if TYPE_CHECKING:
    from pathlib import Path

POSTS_FILE = "Collection/Posts.V1.3.xml"
# Question 1 with answers 2 and 3, an answer to a question that is not there, and what is broken.
POSTS = """<?xml version="1.0" ?>
<posts>
   <row Id="1" PostTypeId="1" CreationDate="2012-03-04T05:06:07.008" Body="Q"/>
   <row Id="2" PostTypeId="2" CreationDate="2011-12-31T00:00:00.000" Body="A" ParentId="1"/>
   <row Id="3" PostTypeId="2" CreationDate="then" Body="B" ParentId="1"/>
   <row Id="4" PostTypeId="2" Body="C" ParentId="99"/>
   <row Id="5" PostTypeId="2" Body="C"/>
   <row Id="6" PostTypeId="4" CreationDate="2019-01-01T00:00:00.000" Body="wiki"/>
   <row Id="6" PostTypeId="7" Body="again"/>
   <row Id="7" PostTypeId="1"/>
   <row Id="8" PostTypeId="1" Body="<"/>
</posts>
"""
FORMULAS = """id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula
1\t1\t1\ttitle\t\t4\t4\t\tx^2
2\t1\t1\tquestion\t\t5\t6\tv\t"a
b"
3\t2\t1\tanswer\t\t5\t5\td\t
x\t2\t1\tcomment\t9\t5\t6\tdv\tx
0\t2\t1\tcomment\t9\t5\t6\tdv\tx
"""


def reports_of(data: Path) -> dict[str, FileReport]:
    return {path: inspect(data, path, file) for path, file in files_in(data).items()}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for path, text in {
        "Collection/Posts.V1.2.xml": POSTS,
        "Formulas/latex_representation_v3/1.tsv": FORMULAS,
        official("qrels", "task1")["2020"]: "A.1\t0\t2\t3\r\nA.1\t0\t3\t0.0\r\n"
        "A.2\t0\t2\t1\r\n\r\nA.2\t0\t2\t1",
        official("qrels", "task1")["2021"]: "2\t0\tA.1\t3\nA.1\t0\t2\t4\nA.1\t0\t2\n",
        official("topics", "task1")["2020"]: "<Topics><Topic",
        "Votes.xml": "",
        "Users.xml": "<html></html>",
        "Other.xml": "<other/>",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def test_every_row_is_counted_by_what_it_is(data: Path) -> None:
    found = reports_of(data)
    posts = found["Collection/Posts.V1.2.xml"]
    assert (posts.rows, posts.first, posts.last) == (9, "2011-12-31", "2019-01-01")
    assert posts.counts == {"questions": 1, "answers": 4, "wikis": 1, "others": 1}
    assert posts.defects == {
        "rows without Id, PostTypeId or Body": 1,
        "broken rows": 1,
        "rows with a repeated Id": 1,
        "answers without their question": 2,
    }
    formulas = found["Formulas/latex_representation_v3"]
    assert formulas.rows == 5
    assert formulas.counts == {
        "title": 1, "question": 1, "answer": 1, "comment": 2,
        "issue v": 1, "issue d": 1, "issue dv": 2, "without formula": 1,
    }  # fmt: skip
    assert formulas.defects == {"formulas without id or post": 2}
    qrels = found[official("qrels", "task1")["2020"]]
    assert (qrels.rows, qrels.defects) == (4, {"repeated judgments": 1})
    assert qrels.counts == {"grade 3": 1, "grade 0": 1, "grade 1": 2, "topics": 2}
    wrong = {"rows that are not topic, 0, id, grade 0-3": 3}
    assert found[official("qrels", "task1")["2021"]].defects == wrong


def test_what_cannot_be_read_keeps_nothing_from_being_read(data: Path) -> None:
    found = reports_of(data)
    for path, problem in {
        official("topics", "task1")["2020"]: "not a topic file",
        "Votes.xml": "the file is empty",
        "Users.xml": "expected the root element <users>, found <html>",
    }.items():
        assert found[path].status == "unreadable"
        assert problem in found[path].problem
    assert found["Collection/Posts.V1.3.xml"].status == "missing"
    assert "Other.xml" not in found


def test_processes_find_the_same(lite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = inspect(lite, POSTS_FILE, None)
    monkeypatch.setattr(dump, "_RANGE", 1 << 22)  # several, so that processes are started
    together = inspect(lite, POSTS_FILE, None, Processes(2))
    assert together == alone


def test_a_lost_worker_ends_it(lite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "_RANGE", 1 << 22)
    with pytest.raises(InterruptedWorkError):
        inspect(lite, POSTS_FILE, None, _Lost(2))


class _Lost(Processes):
    def map(self, work: object, jobs: object) -> NoReturn:
        raise InterruptedWorkError("a worker process was killed")


@pytest.mark.slow
def test_the_real_subset_beside_the_official_collection(lite: Path) -> None:
    found = reports_of(lite)
    published = [report for report in found.values() if report.status == "as published"]
    assert len(published) == 11  # topics, judgments, formulas of topics
    posts = found[POSTS_FILE]
    assert (posts.rows, posts.status) == (6_164, "not known")
    assert posts.counts == {"questions": 2_769, "answers": 3_395}
    qrels = found[official("qrels", "task1")["2020"]]
    assert [qrels.counts[f"grade {grade}"] for grade in range(4)] == [35_051, 2_269, 1_071, 733]
    formulas = found["Formulas/slt_representation_v3"]
    assert formulas.counts["comment"] == 14_145
    assert formulas.counts["issue d"] == 4_825
    assert found["Collection/Comments.V1.3.xml"].rows == 16_712


def test_real_files_of_the_archive(shared: Path) -> None:
    found = reports_of(shared / "data" / "se-archive")
    assert found.keys() == {f"{name}.xml" for name in "Badges PostLinks Posts Tags Votes".split()}
    assert all(report.status == "not known" and not report.defects for report in found.values())
    assert found["Posts.xml"].counts == {"questions": 257, "answers": 341, "wikis": 26}
    assert found["Badges.xml"].rows == 3000
    assert (found["Votes.xml"].first, found["Votes.xml"].last) == ("2012-01-31", "2012-12-31")


def test_another_file_of_the_same_size_differs(lite: Path, tmp_path: Path) -> None:
    path = official("qrels", "task1")["2020"]
    judgments = (lite / path).read_bytes()
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_bytes(judgments[:-3] + b"3" + judgments[-2:])
    report = reports_of(tmp_path)[path]
    assert (report.status, report.problem) == ("differs", "SHA-256 is not 6b8c248e6a70a79b…")


def test_the_command_prints_a_table_or_json(data: Path) -> None:
    said = arqmath("inspect", data).stdout
    assert "4 answers, 1 questions, 1" in said
    assert "missing: Collection/Posts.V1.3.xml\n" in said
    assert "missing (optional): Collection/PostLinks.V1.3.xml\n" in said
    told = json.loads(arqmath("inspect", data, "--json").stdout)
    assert {report["path"]: report["rows"] for report in told}["Collection/Posts.V1.2.xml"] == 9
    assert len(json.loads(arqmath("inspect", "--json").stdout)) == len(reports_of(SAMPLE))
