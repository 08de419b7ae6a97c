"""A repaired run breaks no rule, says the same as before, and every change is accounted for."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.runs.eligible import EligibleFormulas
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.repair import repair, repaired_path
from arqmath_bm25.runs.rows import Row, read_run
from arqmath_bm25.runs.rules import validate
from arqmath_bm25.runs.run import Run, best
from arqmath_bm25.runs.task_rules import RULES

OFFICIAL = "Team-task1-bm25-auto-both-P.tsv"


def repaired(tmp_path: Path, rows: str, task="task1", **lookup) -> tuple[list[str], dict[str, int]]:
    source, target = tmp_path / "run.txt", tmp_path / OFFICIAL
    source.write_text(rows)
    changes = repair(source, target, task, **lookup)
    return target.read_text().splitlines(), dict(changes)


def test_rows_are_put_in_the_labs_form(tmp_path: Path) -> None:
    lines, changes = repaired(
        tmp_path,
        "topic post rank score run\n"
        "A.2 Q0 7 1 3 bm25\r\n"  # TREC's form, blanks, CRLF
        "A.1\t9\t5\t1.5\tbm25\n"
        "A.1\t13\t6\t2.5\tother\n"
        "A.1\t9\t7\t9.5\tbm25\n"
        "A.1\tx9\t8\t0.5\tbm25\n"
        "B.1\t9\t1\t0.5\tbm25\n",
    )
    assert lines == ["A.2\t7\t1\t3.0\tbm25", "A.1\t13\t1\t2.5\tbm25", "A.1\t9\t2\t1.5\tbm25"]
    assert changes == {
        "left out: header": 1,
        "columns parted by single TABs": 2,
        "CRLF made LF": 1,
        "TREC's form made the lab's": 1,
        "given the one run id": 1,
        "left out: duplicate": 1,
        "left out: id": 1,
        "left out: topic": 1,
        "put in the order of scores": 2,
        "given another rank": 2,
    }


def test_ties_are_parted_in_the_order_of_trec_eval(tmp_path: Path) -> None:
    rows = "".join(f"A.1\t{doc}\t{rank}\t5\tx\n" for rank, doc in enumerate(("10", "9", "13"), 1))
    lines, changes = repaired(tmp_path, rows)
    assert [line.split("\t")[1] for line in lines] == ["9", "13", "10"]
    assert lines[0] == "A.1\t9\t1\t5.0\tx"
    assert changes["given a score without a tie"] == 2


def test_a_topic_is_cut_below_its_best_1000(tmp_path: Path) -> None:
    rows = "".join(f"A.1\t{doc}\t{doc}\t{doc}\tx\n" for doc in range(1, 1006))
    lines, changes = repaired(tmp_path, rows)
    assert [line.split("\t")[1] for line in lines] == [str(doc) for doc in range(1005, 5, -1)]
    assert changes["left out: below rank 1,000"] == 5


def test_unknown_topics_are_left_out(tmp_path: Path) -> None:
    lines, changes = repaired(tmp_path, "A.1\t9\t1\t1.0\tx\nA.31\t9\t1\t1.0\tx\n", labs=[("A.1",)])
    assert lines == ["A.1\t9\t1\t1.0\tx"]
    assert changes == {"left out: unknown topic": 1}


def test_formulas_get_their_posts_or_are_left_out(tmp_path: Path) -> None:
    # Formulas 11 and 14 in post 5, 12 in a comment on 5, 13 with issue d.
    visual = [1, 2, 3, 4]
    ids = [[11, 12, 13, 14], visual, visual, [5, 5, 5, 5], [0, 1, 2, 0], visual]
    eligible = EligibleFormulas(FormulaIds(np.array(ids, np.int32)))
    pairs = ("5\t11", "14\t6", "12\t5", "13\t5", "15\t5", "11\t5")
    rows = "".join(f"B.1\t{pair}\t{n}\t{-n}\tx\n" for n, pair in enumerate(pairs, 1))
    lines, changes = repaired(tmp_path, rows, "task2", eligible=eligible)
    # Of a repeated formula the last score counts, as in the evaluation.
    assert lines == ["B.1\t14\t5\t1\t-2.0\tx", "B.1\t11\t5\t2\t-6.0\tx"]
    assert changes == {
        "put right: swapped columns": 1,
        "put right: post of formula": 1,
        "left out: comment formula": 1,
        "left out: deleted formula": 1,
        "left out: unknown id": 1,
        "left out: duplicate": 1,
        "put in the order of scores": 2,
        "given another rank": 2,
    }


def test_posts_of_formulas_are_not_invented(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 1: no post.*--data"):
        repaired(tmp_path, "B.1\tQ0\t11\t1\t1.0\tx\n", "task2")
    assert [path.name for path in tmp_path.iterdir()] == ["run.txt"]


def test_nothing_is_written_over_the_run_or_of_nothing(tmp_path: Path) -> None:
    run = tmp_path / OFFICIAL
    run.write_text("A.1\tpost\t1\t1.0\tx\n")
    with pytest.raises(InputError, match="overwrite"):
        repair(run, run, "task1")
    with pytest.raises(InputError, match="no row of this run is valid"):
        repair(run, tmp_path / "other.tsv", "task1")
    assert [path.name for path in tmp_path.iterdir()] == [OFFICIAL]


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("prim_" + OFFICIAL, OFFICIAL),
        ("Team-task1-bm25-auto-both-p.txt", OFFICIAL),
        (OFFICIAL, "Team-task1-bm25-auto-both-P.fixed.tsv"),
        ("run.txt", "run.fixed.tsv"),
    ],
)
def test_the_copy_has_the_official_name_if_it_is_free(tmp_path: Path, name, copy) -> None:
    (tmp_path / name).touch()
    assert repaired_path(tmp_path / name) == tmp_path / copy


def test_answers_are_made_valid(tmp_path: Path) -> None:
    rows = (
        "A.301\t3\t2\tx\tpost 7\tLet $x^2$\tcost $5.\n"
        "A.301\t1\t1\tx\tpost 8\tAgain.\n"
        f"A.302\t1\t1\ty\tpost 9\t{'One sentence of $a+b$. ' * 60}\n"
    )
    source, target = tmp_path / "run.txt", tmp_path / OFFICIAL.replace("task1", "task3")
    source.write_text(rows)
    repair(source, target, "task3")
    first, second = read_run(target, "task3")
    assert (first.rank, first.answer) == (1, r"Let $x^2$ cost \$5.")
    assert (second.topic_id, second.run_id) == ("A.302", "x")
    assert second.answer == ("One sentence of $a+b$. " * 52).strip()  # 23 characters each
    assert validate(target, "task3").findings.count("error") == 0


def test_open_quotes_are_doubled_and_nothing_is_lost(tmp_path: Path) -> None:
    rows = ('A.301\t1\t1\tx\ts\t"Open $x$.\nA.302\t1\t1\tx\ts\t"""Two\n""lines"\n'
            'A.303\t1\t1\tx\ts\t"Last.')  # fmt: skip
    source, target = tmp_path / "run.txt", tmp_path / OFFICIAL.replace("task1", "task3")
    source.write_text(rows)
    assert repair(source, target, "task3") == {"quotes doubled": 2}
    with target.open(newline="") as file:  # as the official scripts read it
        answers = {row[0]: row[5] for row in csv.reader(file, delimiter="\t")}
    assert answers == {"A.301": '"Open $x$.', "A.302": '"Two "lines', "A.303": '"Last.'}
    assert validate(target, "task3").findings.count("error") == 0


fields = st.one_of(
    st.sampled_from(["A.1", "A.2", "7", "9", "10", "1", "2", "3", "5.0", "-1", "Q0", "x", "y", ""]),
    st.floats(allow_nan=True).map(repr),
    st.text(st.sampled_from("A1.x\xe9\u2028 \r"), max_size=3),
)
rows_of_the_lab = st.builds(
    "A.{}\t{}\t{}\t{!r}\tx".format,
    st.integers(1, 3), st.integers(1, 12), st.integers(-1, 5),
    st.one_of(st.floats(), st.sampled_from([0.0, 1.0, 1e-46, 1e300, -1e300, 3.4e38])),
)  # fmt: skip
rows_of_anyone = st.lists(fields, max_size=7).flatmap(
    lambda row: st.sampled_from(["\t", " "]).map(lambda separator: separator.join(row))
)


@given(
    st.lists(st.one_of(rows_of_the_lab, rows_of_anyone), max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
)
@example(["A.1\t7\t1e300\t0.0\tx", "A.1\t9\t1000000001.0\t1.0\tx"], "\n", "")
@example(["A.1\t7\t1\t-inf\tx", "A.1\t9\t1\t-1e300\tx", "A.1\t10\t1\t-1e300\tx"], "\n", "")
@settings(deadline=None)
def test_a_repaired_run_breaks_no_rule_and_keeps_its_order(rows, line_end, mark) -> None:
    with TemporaryDirectory() as directory:
        source, target = Path(directory, "run"), Path(directory, OFFICIAL)
        source.write_bytes((mark + line_end.join(rows) + line_end).encode())
        try:
            repair(source, target, "task1")
        except InputError as error:
            assert re.search("no row of this run is valid|is empty", str(error))  # noqa: PT017
            return
        report = validate(target, "task1")
        assert [f for examples, _ in report.findings.by_rule() for f in examples] == []
        before = _orders(source, target)
        after = {}
        for row in read_run(target):
            after.setdefault(row.topic_id, []).append(row.doc_id)
        assert after == before


answer_rows = st.builds(
    "A.{}\t1\t{}\tx\t{}\t{}".format,
    st.integers(1, 4), st.integers(0, 9), st.text(st.sampled_from('s" '), max_size=4),
    st.text(st.sampled_from('ab$ "\t\n\r\\'), max_size=20),
)  # fmt: skip


@given(st.lists(st.one_of(answer_rows, st.text(st.sampled_from('A.1\t"x\n'), max_size=12))))
@settings(deadline=None)
def test_repaired_answers_are_valid_and_read_by_the_labs_scripts(rows: list[str]) -> None:
    with TemporaryDirectory() as directory:
        target = Path(directory, OFFICIAL.replace("task1", "task3"))
        source = Path(directory, "run")
        source.write_bytes("\n".join(rows).encode())
        try:
            repair(source, target, "task3")
        except InputError as error:
            assert re.search("no row of this run is valid|is empty", str(error))  # noqa: PT017
            return
        assert validate(target, "task3").findings.count("error") == 0
        with target.open(newline="", encoding="utf-8") as file:
            official = [[row[0], row[5]] for row in csv.reader(file, delimiter="\t")]
        assert official == [[row.topic_id, row.answer] for row in read_run(target, "task3")]
        topics = {row.topic_id for row in read_answers_or_none(source)}
        assert topics <= {topic for topic, _ in official}


def read_answers_or_none(path: Path) -> list[Row]:
    try:
        return [row for row in read_run(path, "task3") if RULES["task3"].is_topic(row.topic_id)]
    except InputError:
        return []


def _orders(source: Path, target: Path) -> dict[str, list[str]]:
    """Return what trec_eval makes of the rows of `source` that can be read one by one."""
    orders: dict[str, dict[str, float]] = {}
    for line in source.read_bytes().split(b"\n"):
        columns = [c.strip() for c in (line.split(b"\t") if b"\t" in line else line.split())]
        if len(columns) == 6 and columns[1] not in (b"Q0", b"0", b"1"):
            continue  # a column too many, which read_run takes for TREC's Q0
        single = target.with_name("single")
        single.write_bytes(line.removeprefix("\ufeff".encode()) + b"\n")
        try:
            row = next(read_run(single))
        except InputError:
            continue
        if RULES["task1"].is_topic(row.topic_id) and re.fullmatch("0|[1-9][0-9]*", row.doc_id):
            orders.setdefault(row.topic_id, {}).setdefault(row.doc_id, row.score)
    limit = 3e38  # larger scores are ties to us as to 32-bit floats
    return {
        topic: best({d: max(-limit, min(limit, s)) for d, s in docs.items()}, 1000)
        for topic, docs in orders.items()
    }


@pytest.mark.parametrize(
    "name", ["Linked_MSE.tsv", "prim_MIRMU-task1-Ensemble-auto-both-A.tsv"]
)  # fmt: skip
def test_repaired_real_runs_rank_as_before(shared: Path, tmp_path: Path, name: str) -> None:
    run, target = shared / "data" / "arqmath1-runs" / name, tmp_path / OFFICIAL
    repair(run, target, "task1")
    report = validate(target, "task1")
    assert report.findings.count() == 0
    before, after = (
        Run.read(run, "task1").rankings().topics,
        Run.read(target, "task1").rankings().topics,
    )
    assert {t: best(r, 1000) for t, r in before.items()} == {
        topic: best(ranking, 1000) for topic, ranking in after.items()
    }
