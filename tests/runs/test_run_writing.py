"""Run files: what is written, what is tolerated, what is refused."""

from __future__ import annotations

import csv
import gzip
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_rows import read_run

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RunName, parse_run_name
from arqmath_bm25.core.records import Hit
from arqmath_bm25.runs.rows import RunRow
from arqmath_bm25.runs.run_writing import separated, write_run


def run_file(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_labs_form_is_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.tsv"
    rows = write_run(path, [("A.1", [Hit("30", 2.5), Hit("4", 2.5)]), ("A.2", [])], "id", "task1")
    assert rows == 2
    assert path.read_bytes() == b"A.1\t30\t1\t2.5\tid\nA.1\t4\t2\t2.49999976\tid\n"
    write_run(path, [("A.1", [Hit("30", 2.5)])], "id", "task1", "trec")
    assert path.read_text() == "A.1\tQ0\t30\t1\t2.5\tid\n"


def test_a_run_is_complete_or_absent(tmp_path: Path) -> None:
    def failing() -> object:
        yield "A.1", [Hit("1", 1.0)]
        raise KeyboardInterrupt

    path = tmp_path / "run.tsv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_run(path, failing(), "id", "task1")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "A.1\t30\t1\t2.5\tr\nA.1\t4\t2\t1\tr\n",
        "A.1\t30\t1\t2.5\tr\r\nA.1\t4\t2\t1\tr",  # CRLF, no last newline
        "A.1 30 1 2.5 r\n\nA.1   4 2 1 r\n",  # blanks, an empty line
        "A.1\tQ0\t30\t1\t2.5\tr\nA.1\tQ0\t4\t2\t1\tr\n",  # TREC
        "A.1 1 30 1.0 2.5 r\nA.1 1 4 2 1 r\n",  # TREC with 1 for Q0, ranks as floats
        "\ufeffA.1\t30\t1\t2.5\tr\nA.1\t4\t2\t1\tr\n",
    ],
)
def test_what_submissions_hold_is_read(tmp_path: Path, text: str) -> None:
    rows = list(read_run(run_file(tmp_path / "r", text)))
    assert [row[1:] for row in rows] == [
        ("A.1", "30", 1, 2.5, "r", "", "", ""),
        ("A.1", "4", 2, 1.0, "r", "", "", ""),
    ]
    assert rows[0].line == 1


def test_task2_and_task3_rows(tmp_path: Path) -> None:
    path = run_file(tmp_path / "t2", "B.1\t77\t30\t1\t2.5\tr\n")
    assert list(read_run(path, "task2")) == [RunRow(1, "B.1", "77", 1, 2.5, "r", "30")]
    path = run_file(tmp_path / "t2", "B.1\tQ0\t77\t1\t2.5\tr\n")
    assert list(read_run(path, "task2")) == [RunRow(1, "B.1", "77", 1, 2.5, "r", "")]
    path = run_file(tmp_path / "t3", "A.301\t1\t2.5\tr\tpost 30\tIt is $x y$ so.\n")
    assert list(read_run(path, "task3")) == [
        RunRow(1, "A.301", "30", 1, 2.5, "r", "", "post 30", "It is $x y$ so.")
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"A.1\t30\t1\t2.5\n",
            "row 1: expected 5 columns (topic, post, rank, score, run id; or TREC form), found 4",
        ),
        (b"A.1\t3\t1\t2\tr\nTopic\tPost\tRank\tScore\tRun\n", "row 2: rank is 'Rank'"),
        (b"A.1\t30\t1\tnan\tr\n", "row 1: score is 'nan'; expected a finite number"),
        (b"A.1\t30\t1\t1e999\tr\n", "row 1: score is '1e999'; expected a finite number"),
        (b"\x00\x01\x02", "row 1: a binary file"),
        (b"A.1\t\xff\n", "row 1: not UTF-8"),
    ],
)
def test_what_is_no_run_is_refused_with_its_row(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = run_file(tmp_path / "run.tsv", content)
    with pytest.raises(InputError) as error:
        list(read_run(path))
    assert message in str(error.value)
    assert str(path) in str(error.value)


def official_answers(path: Path) -> list[list[str]]:
    """Read a Task 3 run as the lab's scripts do."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t"))


@given(st.lists(st.text(st.sampled_from('ab$ "\t\n\\'), max_size=12), min_size=1, max_size=6))
@settings(deadline=None)
def test_answers_that_are_written_are_read_alike_by_us_and_the_labs_scripts(
    answers: list[str],
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.tsv")
        rows = [(f"A.{n}", [Hit("7", 1.5, text=text)]) for n, text in enumerate(answers, 1)]
        assert write_run(path, rows, "x", "task3") == len(rows)
        assert [(row[0], row[5]) for row in official_answers(path)] == [
            (topic, hit.text) for topic, (hit,) in rows
        ]
        assert [(row.topic_id, row.answer) for row in read_run(path, "task3")] == [
            (topic, hit.text) for topic, (hit,) in rows
        ]


def test_an_answer_is_written_in_quotes_where_it_needs_them(tmp_path: Path) -> None:
    rows = [("A.1", [Hit("7", 1.5, text='so "b"\nholds')]), ("A.2", [Hit("8", 2, text="$x$")])]
    write_run(tmp_path / "t3", rows, "x", "task3")
    assert (tmp_path / "t3").read_text() == (
        'A.1\t1\t1.5\tx\tpost 7\t"so ""b""\nholds"\nA.2\t1\t2\tx\tpost 8\t$x$\n'
    )


def test_answers_in_quotes_are_unquoted_as_the_labs_scripts_do(tmp_path: Path) -> None:
    path = run_file(
        tmp_path / "t3",
        'A.301\t1\t2\tr\t"post 30"\t"He says ""yes"".\nAnd\tmore."\r\n'
        '\n"A.302"\t1\t1\tr\ts\tquotes "inside" stay\nA.303\t1\t1\tr\ts\t"so" do these',
    )
    read = [[row.topic_id, row.sources, row.answer] for row in read_run(path, "task3")]
    assert read == [[row[0], *row[4:]] for row in official_answers(path) if row]
    assert read[0] == ["A.301", "post 30", 'He says "yes".\nAnd\tmore.']
    assert [row.line for row in read_run(path, "task3")] == [1, 4, 5]


@pytest.mark.parametrize("rest", ["A.302\t1\t1\tr\ts\tfine\n", "not a row\n", ""])
def test_a_quote_that_is_left_open_is_refused_with_its_row(tmp_path: Path, rest: str) -> None:
    rows = f'A.300\t1\t1\tr\ts\tfine\nA.301\t1\t2\tr\ts\t"Let $x$ be\n{rest}'
    path = run_file(tmp_path / "t3", rows)
    with pytest.raises(InputError, match="row 2: a column begins with a quote that is not closed"):
        list(read_run(path, "task3"))


def separated_one_by_one(scores: list[float]) -> list[float]:
    result, below = [], np.float32(np.inf)
    with np.errstate(over="ignore"):
        for score in scores:
            below = min(np.float32(score), np.nextafter(below, np.float32(-np.inf)))
            result.append(float(below))
    return result


@given(st.lists(st.one_of(st.floats(allow_nan=False), st.sampled_from([0.0, -0.0, 1e-45, 1.0]))))
@settings(deadline=None)
def test_scores_are_separated_as_one_by_one(scores: list[float]) -> None:
    expected = separated_one_by_one(scores)
    assert list(map(repr, separated(scores))) == list(map(repr, expected))


@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32)))
def test_separated_scores_leave_no_tie_in_trec_evals_floats(scores: list[float]) -> None:
    scores.sort(reverse=True)
    result = separated(scores)
    read_back = np.array([f"{score:.9g}" for score in result]).astype(np.float32)
    assert (np.diff(read_back) < 0).all()
    assert all(low <= np.float32(score) for low, score in zip(result, scores, strict=True))
    if len(set(scores)) == len(scores):
        assert result == scores  # nothing is changed without need


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("T-task1-bm25v5-auto-text-A", RunName("T", "task1", "bm25v5", "text", primary=False)),
        ("T-task2-a-b.c-manual-math-P", RunName("T", "task2", "a-b.c", "math", True, manual=True)),
        (
            "T-task3-x-auto-both-extract-P",
            RunName("T", "task3", "x", "both", True, method="extract"),
        ),
    ],
)
def test_official_names(stem: str, name: RunName) -> None:
    assert parse_run_name(stem) == name
    assert str(name) == stem


@pytest.mark.parametrize(
    "stem",
    ["run", "T-task4-x-auto-text-A", "T-task1-x-auto-text-extract-A", "T-task3-x-auto-text-A", ""],
)
def test_other_names_are_not_official(stem: str) -> None:
    assert parse_run_name(stem) is None


def test_a_zip_holds_one_run_as_the_premise_task_asks(tmp_path: Path) -> None:
    hits = [("s1", [Hit("p1", 1.0), Hit("p2", 0.5)])]
    for name in ("predict.zip", "again.ZIP"):
        write_run(tmp_path / name, hits, "x", "nlps", by_user=True)
    with zipfile.ZipFile(tmp_path / "predict.zip") as archive:
        assert archive.namelist() == ["predict.txt"]
        assert archive.read("predict.txt") == b"s1\tp1\ns1\tp2\n"
    write_run(tmp_path / "run.zip", [("A.1", [Hit("7", 1.0)])], "x", "task1", "trec")
    assert zipfile.ZipFile(tmp_path / "run.zip").namelist() == ["run.trec"]
    first = (tmp_path / "predict.zip").read_bytes()
    write_run(tmp_path / "predict.zip", hits, "x", "nlps", by_user=True)
    assert (tmp_path / "predict.zip").read_bytes() == first


@pytest.mark.parametrize(
    "name",
    [
        "r.bz2",
        "r.xz",
        "r.tsv.zst",
        "r.parquet",
        "r.parquet.gz",
        "r.7z",
        "r.JSON",
        "r.csv",
        "r.xlsx",
    ],
)
def test_a_name_that_promises_another_form_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"is not written: .*\.gz"):
        write_run(tmp_path / name, [("A.1", [Hit("7", 1.0)])], "x", "task1", by_user=True)
    assert not list(tmp_path.iterdir())


def test_an_ending_may_have_capitals(tmp_path: Path) -> None:
    write_run(tmp_path / "R.TSV.GZ", [("A.1", [Hit("7", 1.0)])], "x", "task1", by_user=True)
    assert gzip.decompress((tmp_path / "R.TSV.GZ").read_bytes()) == b"A.1\t7\t1\t1\tx\n"
