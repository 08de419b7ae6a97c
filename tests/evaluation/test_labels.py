"""Annotations become judgments; whatever is not clear is refused with its row."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.judging.judge import (
    HitKey,
    JudgedBatch,
    agreements,
    kappa,
    read_adjudication,
    read_annotations,
    write_disagreements,
)
from arqmath_bm25.evaluation.judging.judge import judge as judge_annotations

if TYPE_CHECKING:
    from pathlib import Path


def judge(*paths: Path, **settings) -> JudgedBatch:
    return judge_annotations(read_annotations(paths), **settings)


@pytest.fixture
def results(tmp_path: Path):
    """Write a results CSV as Turkle does: every cell quoted, CRLF, columns of its own."""

    def write(*rows: tuple[str, str, dict[str, str]], by: str = "", comment: str = "") -> Path:
        names = ["HITId", "WorkerId", "Input.topic_id", "Input.doc_id"]
        names += [f"Input.post_{n}" for n in range(1, 6)] + ["Input.hit_1"]
        names += [f"Answer.grade_{n}" for n in range(1, 3)] + ["Turkle.Username"]
        names += ["Answer.comment_1"]
        path = tmp_path / f"results{by}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, names, quoting=csv.QUOTE_ALL, restval="")
            table.writeheader()
            for topic, doc, labels in rows:
                row = {"Input.topic_id": topic, "Input.doc_id": doc, "Input.hit_1": "two\nlines"}
                row |= {"Turkle.Username": by, "Answer.comment_1": comment}
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
            ("B.1", "902", {"105": "High", "106": "Low"}),
        )
    )
    assert judged.qrels == {"B.1": {"900": 2, "901": 0, "902": 3}}


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
        (b"\xff\xfe\x00", "not UTF-8 text"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        judge(path)


# Two assessors


@pytest.fixture
def both(results) -> tuple[Path, Path]:
    return (
        results(
            ("A.1", "7", {"7": "High"}), ("A.1", "8", {"8": "Low"}), ("A.1", "9", {"9": "Low"}),
            ("B.1", "900", {"101": "Low", "102": "Do not know"}), by="ann", comment="=1+1",
        ),
        results(
            ("A.1", "8", {"8": "Medium"}), ("A.1", "7", {"7": "High"}),
            ("B.1", "900", {"101": "Not relevant", "102": "Medium"}), by="bob",
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "qrels"),
    [
        ("first", {"A.1": {"7": 3, "8": 1, "9": 1}, "B.1": {"900": 1}}),
        ("highest", {"A.1": {"7": 3, "8": 2, "9": 1}, "B.1": {"900": 2}}),
        ("majority", {"A.1": {"7": 3, "8": 2, "9": 1}, "B.1": {"900": 2}}),  # one to one: the best
    ],
)
def test_a_named_rule_settles_what_assessors_disagree_on(both, rule, qrels) -> None:
    judged = judge(*both, rule=rule)
    assert judged.qrels == qrels
    assert judged.settled == 3
    unsettled = r"bob\.csv: row 2: post 8 .* in row 3 of .*ann\.csv 'Low'; .* name a rule: highest"
    with pytest.raises(InputError, match=unsettled):
        judge(*both)


def test_most_assessors_outvote_the_best_grade(both, results) -> None:
    third = results(("A.1", "8", {"8": "Low"}), by="eve")
    assert judge(*both, third, rule="majority").qrels["A.1"]["8"] == 1
    assert judge(*both, third, rule="highest").qrels["A.1"]["8"] == 2


def test_an_adjudicated_file_goes_before_the_rule(both, tmp_path: Path) -> None:
    path = tmp_path / "disputed.csv"
    assert write_disagreements(path, read_annotations(both)) == 3
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["doc_id"], row["post_id"]) for row in rows] == [
        ("8", "8"), ("900", "101"), ("900", "102"),
    ]  # fmt: skip
    assert (rows[0]["label of ann"], rows[0]["label of bob"]) == ("Low", "Medium")
    assert rows[0]["comment of ann"] == "'=1+1"  # nothing that a spreadsheet computes
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        for row, label in zip(rows, ("High", "System failure", ""), strict=True):
            table.writerow(row | {"label": label})
    filled_in = path.read_bytes()
    with pytest.raises(InputError, match="filled in labels; name another file"):
        write_disagreements(path, read_annotations(both))
    assert path.read_bytes() == filled_in
    settled = read_adjudication(path)
    assert settled == {
        HitKey("A.1", "8", "8"): "High", HitKey("B.1", "900", "101"): "System failure",
    }  # fmt: skip
    judged = judge(*both, rule="first", adjudicated=settled)
    assert judged.qrels == {"A.1": {"7": 3, "8": 3, "9": 1}}
    assert judged.without_grade == 1
    path.write_text("topic_id,doc_id,post_id,label\nA.1,8,8,good\n")
    with pytest.raises(InputError, match="row 2: label is 'good'; expected one of High"):
        read_adjudication(path)


def test_disagreements_never_replace_another_file(both, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("topic,grade\nA.1,3\n")
    with pytest.raises(InputError, match="no column topic_id"):
        write_disagreements(path, read_annotations(both))
    assert path.read_text() == "topic,grade\nA.1,3\n"


def test_agreement_is_that_of_hits_to_which_both_gave_a_grade(both) -> None:
    annotations = read_annotations(both)
    (overall,) = agreements(annotations)
    assert (overall.assessors, overall.hits) == (("ann", "bob"), 3)
    # ann 3 1 1, bob 3 2 0: one of three is equal; by chance 1/9 (grade 3).
    # So (3/9 - 1/9) / (1 - 1/9).
    assert overall.kappa == pytest.approx(1 / 4)
    # Squares 0 1 1 observed; by chance 0 1 9, 4 1 1, 4 1 1 over 3.
    assert overall.quadratic == pytest.approx(1 - 2 / ((0 + 1 + 9 + 2 * (4 + 1 + 1)) / 3))
    # Relevant: ann yes no no, bob yes yes no: 2/3 beside 4/9 by chance.
    assert overall.binary == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
    of_topic = {hit: notes for hit, notes in annotations.items() if hit.topic_id == "B.1"}
    assert math.isnan(agreements(of_topic)[0].binary)


def test_kappa_is_that_of_the_published_example() -> None:
    """Two psychiatrists, 100 patients, three diagnoses (J. Cohen, Psychological Bulletin 1968)."""
    counts = np.array([[44, 7, 9], [5, 20, 5], [1, 3, 6]])
    pairs = np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)
    assert len(pairs) == 100
    assert kappa(pairs, 1 - np.eye(3)) == pytest.approx(0.492, abs=5e-4)
    costs = np.array([[0.0, 1, 3], [1, 0, 6], [3, 6, 0]])
    assert kappa(pairs, costs) == pytest.approx(0.348, abs=5e-4)
