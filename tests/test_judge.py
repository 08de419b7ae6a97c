"""Annotations become judgments; whatever is not clear is refused with its row."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation.judge import judge

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def results(tmp_path: Path):
    """Write a results CSV as Turkle does: every cell quoted, CRLF, columns of its own."""

    def write(*rows: tuple[str, str, dict[str, str]]) -> Path:
        names = ["HITId", "WorkerId", "Input.topic_id", "Input.doc_id"]
        names += [f"Input.post_{n}" for n in range(1, 6)] + ["Input.hit_1"]
        names += [f"Answer.grade_{n}" for n in range(1, 3)] + ["Turkle.Username"]
        path = tmp_path / "results.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, names, quoting=csv.QUOTE_ALL, restval="")
            table.writeheader()
            for topic, doc, labels in rows:
                row = {"Input.topic_id": topic, "Input.doc_id": doc, "Input.hit_1": "two\nlines"}
                for number, (post, label) in enumerate(labels.items(), 1):
                    row |= {f"Input.post_{number}": post, f"Answer.grade_{number}": label}
                table.writerow(row)
        return path

    return write


def test_labels_become_grades_in_the_order_of_topics_and_ids(results) -> None:
    judged = judge(
        results(
            ("A.10", "7", {"7": "High"}),
            ("A.9", "12", {"12": "Medium"}),
            ("A.9", "3", {"3": "Low"}),
            ("A.9", "5", {"5": "Not relevant"}),
        )
    )
    assert judged.qrels == {"A.9": {"3": 1, "5": 0, "12": 2}, "A.10": {"7": 3}}
    assert list(judged.qrels) == ["A.9", "A.10"]
    assert list(judged.qrels["A.9"]) == ["3", "5", "12"]


def test_a_formula_has_the_highest_grade_of_its_instances(results) -> None:
    judged = judge(
        results(
            ("B.1", "900", {"101": "Low", "102": "Medium"}),
            ("B.1", "901", {"103": "Do not know", "104": "Not relevant"}),
        )
    )
    assert judged.qrels == {"B.1": {"900": 2, "901": 0}}


def test_no_judgment_is_left_out_and_counted(results) -> None:
    judged = judge(
        results(
            ("A.1", "7", {"7": "System failure"}),
            ("A.1", "8", {"8": "Do not know"}),
            ("A.1", "9", {"9": "Low"}),
        )
    )
    assert judged.qrels == {"A.1": {"9": 1}}
    assert judged.labels == {"System failure": 1, "Do not know": 1, "Low": 1}
    assert judged.without_grade == 2


def test_assessors_who_agree_count_once(results) -> None:
    judged = judge(results(("A.1", "7", {"7": "High"}), ("A.1", "7", {"7": "High"})))
    assert judged.qrels == {"A.1": {"7": 3}}
    assert judged.labels == {"High": 1}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("A.1", "7", {"7": "High"}), ("A.1", "7", {"7": "Low"})],
            r"row 3: post 7 for topic A\.1 is 'Low', in row 2 'High'",
        ),
        ([("A.1", "7", {"7": "high"})], r"row 2: Answer\.grade_1 is 'high'; expected one of High"),
        ([("A.1", "7", {"7": ""})], r"row 2: Answer\.grade_1 is ''"),
        ([("A.1", "", {"7": "High"})], r"row 2: .*Input\.doc_id is empty"),
    ],
)
def test_what_is_not_clear_is_refused(results, rows, message) -> None:
    with pytest.raises(InputError, match=message):
        judge(results(*rows))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"topic_id,doc_id\nA.1,7\n", r"row 1: no column Input\.topic_id"),
        (b"", r"row 1: no column Input\.topic_id"),
        (b"\xff\xfe\x00", "not a CSV file in UTF-8"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        judge(path)
