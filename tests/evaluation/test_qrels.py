"""Judgments as the official files hold them, and what is said of files that are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.qrels import read_qrels, write_qrels

if TYPE_CHECKING:
    from pathlib import Path


def qrels_file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "qrels.tsv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        b"A.1\t0\t11\t3\nA.1\t0\t9\t0\nA.2\t0\t11\t1\n",
        b"A.1\t0\t11\t3\r\nA.1\t0\t9\t0\r\nA.2\t0\t11\t1\r\n",
        b"A.1\t0\t11\t3\r\nA.1\t0\t9\t0\r\nA.2\t0\t11\t1",  # 2021 Task 2 ends like this
        b"A.1 0 11 3\nA.1  0  9  0\n\nA.2 Q0 11 1\n",
        b"A.1\t0\t11\t3.0\nA.1\t0\t9\t0.0\nA.2\t0\t11\t1.0\n",  # 2020 Task 2
        b"\xef\xbb\xbfA.1\t0\t11\t3\nA.1\t0\t9\t0\nA.2\t0\t11\t1\nA.2\t0\t11\t1\n",
    ],
)
def test_line_ends_separators_and_number_forms_do_not_matter(
    tmp_path: Path, content: bytes
) -> None:
    qrels = read_qrels(qrels_file(tmp_path, content))
    assert qrels == {"A.1": {"11": 3, "9": 0}, "A.2": {"11": 1}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\r\n\n", "empty"),
        (b"A.1\t0\t11\t3\nA.1\t0\t9\n", "row 2: expected the 4 columns .* found 3"),
        (b"A.1\t11\t1\t9.5\tbm25\n", "row 1: .* found 5; this looks like a run"),
        (b"A.1\t0\t11\t2.5\n", "row 1: grade is '2.5'; expected a whole number from -9 to 9$"),
        (b"A.1\t0\t11\t-12\n", "row 1: grade is '-12'"),
        (b"A.1\t0\t11\t2\nA.1\t0\t12\t2147483647\n", "row 2: grade is '2147483647'"),
        (b"A.1\t0\t2\t1234\n", "row 1: grade is '1234'; .*; columns 3 and 4 seem to have ch"),
        (b"A.1\t1234\t0\t2\n", "row 1: column 2 is '1234'; expected 0: the columns of qrels"),
        (b"0\tA.1\t1234\t2\n", "row 1: column 2 is 'A.1'; expected 0"),
        (b"A.1\t1234\tQ0\t2\n", "row 1: column 2 is '1234'; expected 0"),
        (b"A.1\tdoc\t1.0\t2\n", "row 1: column 2 is 'doc'; expected 0"),
        (b"A.1\txxx\t1234\thigh\n", "row 1: grade is 'high'"),
        (b"topic\t0\tdoc\tgrade\n", "row 1: grade is 'grade'"),
        (b"A.1\t0\t11\tnan\n", "row 1: grade is 'nan'"),
        (b"A.1\t0\t11\tinf\n", "row 1: grade is 'inf'"),
        (b"A.1\t0\t11\t3\nA.1\t0\t11\t2\n", "row 2: 11 has grade 2 for topic A.1 .* 3 in an"),
        (b"A.1\t0\t11\t3\n\x00\x01\x02", "row 2: a binary file"),
        (b"\x89PNG\r\n\x1a\n", "row 1: not UTF-8"),
    ],
)
def test_a_file_that_is_no_qrels_is_refused_with_its_row(
    tmp_path: Path, content: bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_qrels(qrels_file(tmp_path, content))


@pytest.mark.parametrize("iteration", ["xxx", "12", "-", "N/A", "q0", "ITER", "1.5"])
def test_any_word_is_an_iteration_as_for_trec_eval(tmp_path: Path, iteration: str) -> None:
    """NTCIR-12 has "xxx" in the second column of its judgments, and grades as 1.0."""
    rows = f"M-1 {iteration} Page:1 0.0\nM-1 {iteration} Page:197 4.0\n"
    assert read_qrels(qrels_file(tmp_path, rows.encode())) == {"M-1": {"Page:1": 0, "Page:197": 4}}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.tsv: no such qrels file"):
        read_qrels(tmp_path / "nowhere.tsv")


def test_what_is_written_is_read_back_in_its_order(tmp_path: Path) -> None:
    qrels = {"A.2": {"9": 0, "11": 3}, "A.1": {"7": 1}}
    path = tmp_path / "new" / "qrels.tsv"
    write_qrels(path, qrels)
    assert path.read_bytes() == b"A.2\t0\t9\t0\nA.2\t0\t11\t3\nA.1\t0\t7\t1\n"
    assert read_qrels(path) == qrels
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("file", "topics", "rows", "relevant"),
    [  # the labs' overviews: topics, judgments, and those of grade 2 and 3
        ("ARQMath-1/Task 1 /qrel_official_task1", 77, 39_124, 1_071 + 733),
        ("ARQMath-2/Task1/Qrel Files/qrel_task1_2021_test.tsv", 71, 31_788, 1_097 + 864),
        ("ARQMath-1/Task2/qrel_with_formula_ids/qrel_task2.tsv", 45, 12_115, 553 + 2_954),
        (
            "ARQMath-2/Task2/Qrel Files/qrel_task2_2021_test_official_evaluation.tsv",
            58, 8_108, 859 + 933,
        ),
        ("ARQMath-1/Task2/qrel_task2_2020_visual_id.tsv", 74, 10_575, 619 + 838),
    ],
)  # fmt: skip
def test_official_files_have_the_published_numbers_of_judgments(
    lite: Path, file: str, topics: int, rows: int, relevant: int
) -> None:
    qrels = read_qrels(lite / "Evaluation" / " Scripts & Qrels" / file)
    grades = [grade for judged in qrels.values() for grade in judged.values()]
    assert (len(qrels), len(grades)) == (topics, rows)
    assert sum(grade >= 2 for grade in grades) == relevant


@pytest.mark.parametrize(
    "row",
    [
        '{"query-id": "q1", "corpus-id": "7", "score": 2}',
        '{"query_id": "q1", "doc_id": "7", "relevance": 2, "iteration": "0"}',
        '{"qid": "q1", "docno": 7, "label": 2.0}',
        '\ufeff  {"topic": "q1", "docid": "7", "grade": "2"}',
    ],
)
def test_judgments_may_be_json_lines(tmp_path: Path, row: str) -> None:
    assert read_qrels(qrels_file(tmp_path, f"{row}\n\n".encode())) == {"q1": {"7": 2}}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"query-id": "q1", "score": 2}', r"row 2: corpus-id: Field required; expected a judgm"),
        ('{"query-id": "q1", "corpus-id": "7", "score": 12}', "row 2: grade is '12'; expected a"),
        ('{"query-id": "q", "corpus-id": "7", "score": 1}', "row 2: 7 has grade 1 for topic q he"),
        ("q 0 8 1", "row 2: Invalid JSON"),
    ],
)
def test_a_row_of_json_that_is_no_judgment_is_named(tmp_path: Path, row: str, message: str) -> None:
    first = '{"query-id": "q", "corpus-id": "7", "score": 0}'
    with pytest.raises(InputError, match=message):
        read_qrels(qrels_file(tmp_path, f"{first}\n{row}\n".encode()))
