"""The rules of the labs for runs, one by one, and the defects of real runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.runs.eligible import Eligible, eligible_answers, eligible_formulas
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.rows import EXAMPLES, Findings, Level
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_writing import write_run
from arqmath_bm25.runs.task_rules import RULES, check_teams, detect_task

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.core.labs import LabTask

NAME = {
    "task1": "Team-task1-bm25-auto-both-P.tsv",
    "task2": "Team-task2-bm25-auto-math-P.tsv",
    "task3": "Team-task3-bm25-auto-both-extract-P.tsv",
}


@pytest.fixture
def check(tmp_path: Path):
    """Write rows under an official name and return the findings on them."""

    def findings(rows: str | bytes, task: LabTask = "task1", **lookup) -> list[Finding]:
        path = tmp_path / NAME[task]
        path.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        return every(Run.read(path, task, strict=True).faults(**lookup))

    return findings


class Finding(NamedTuple):
    level: Level
    row: int | None
    rule: str
    message: str


def every(findings: Findings) -> list[Finding]:
    return [
        Finding(breaches.level, example.row, breaches.rule, example.message)
        for breaches in findings.by_rule()
        for example in breaches.examples
    ]


def test_a_run_that_this_package_writes_breaks_no_rule(tmp_path: Path) -> None:
    path = tmp_path / NAME["task1"]
    hits = {"A.1": [Hit("12", 2.0), Hit("7", 2.0)], "A.2": [Hit("3", -1.0)]}
    write_run(path, hits.items(), "bm25", "task1")
    run = Run.read(path, "task1", strict=True)
    assert every(run.faults([("A.1", "A.2")])) == []
    assert (len(run), len(run.topics)) == (3, 2)


@pytest.mark.parametrize(
    ("rows", "level", "row", "rule"),
    [
        ("A.1\t12\t1\t2.0\n", "error", 1, "columns"),
        ("A.1\t12\t1\t2.0\tx\nA.1\t13,2,1.0,x\n", "error", 2, "columns"),
        ("Topic\tPost\tRank\tScore\tRun\nA.1\t12\t1\t2.0\tx\n", "error", 1, "header"),
        ("A.1\t12\t1\t2.0\tx\nA.1\t13\ttwo\t1.0\tx\n", "error", 2, "number"),
        ("A.1\t12\t1\tnan\tx\n", "error", 1, "number"),
        ("A.1\t12\t1\tinf\tx\n", "error", 1, "number"),
        ("A.1\t12\t1\t1e999\tx\n", "error", 1, "number"),
        ("A.1\t12\t1\t1_000\tx\n", "error", 1, "number"),
        ("A.1\t12\t1.5\t1\tx\n", "error", 1, "rank form"),
        ("A.1\t12\t1.0\t2.0\tx\n", "error", 1, "rank form"),
        (b"A.1\t12\t1\t2.0\tx\nA.1\t13\t2\t1.0\t\xfc\n", "error", 2, "encoding"),
        (b"\xef\xbb\xbfA.1\t12\t1\t2.0\tx\n", "error", 1, "byte order mark"),
        ("B.1\t12\t1\t2.0\tx\n", "error", 1, "topic"),
        ("A.01\t12\t1\t2.0\tx\n", "error", 1, "topic"),
        ("A.1\td_12\t1\t2.0\tx\n", "error", 1, "id"),
        ("A.1\t012\t1\t2.0\tx\n", "error", 1, "id"),
        ("A.1\t12\t1\t2.0\tx\nA.1\t12\t2\t1.0\tx\n", "error", 2, "duplicate"),
        ("A.1\t12\t1\t2.0\t\n", "error", None, "run id"),
        ("A.1\t12\t1\t2.0\tx\r\n", "warning", 1, "line end"),
        ("A.1\t12\t1\t2.0\tx\n\nA.1\t13\t2\t1.0\tx\n", "warning", 2, "empty row"),
        ("A.1 12 1 2.0 x\n", "warning", 1, "separator"),
        ("A.1\t12 \t1\t2.0\tx\n", "warning", 1, "separator"),
        ("A.1\tQ0\t12\t1\t2.0\tx\n", "warning", 1, "TREC form"),
        ("A.1\t1\t12\t1\t2.0\tx\n", "warning", 1, "TREC form"),
        ("A.1\t12\t1\t2.0\tx\nA.1\t13\t3\t1.0\tx\n", "warning", 2, "rank order"),
        ("A.1\t12\t0\t2.0\tx\n", "warning", 1, "rank order"),
        ("A.1\t12\t1\t1.0\tx\nA.1\t13\t2\t1.5\tx\n", "warning", 2, "score order"),
        ("A.1\t12\t1\t1.0\tx\nA.1\t13\t2\t1.0\tx\n", "warning", 1, "ties"),
        # Two numbers to Python, one 32-bit float to trec_eval:
        ("A.1\t12\t1\t1.00000001\tx\nA.1\t13\t2\t1.0\tx\n", "warning", 1, "ties"),
        ("A.1\t12\t1\t2.0\tx\nA.1\t13\t2\t1.0\ty\n", "warning", None, "run id"),
    ],
)  # fmt: skip
def test_a_row_of_task_1_breaks_one_rule(check, rows, level, row, rule) -> None:
    assert [finding[:3] for finding in check(rows)] == [(level, row, rule)]


def test_more_than_1000_rows_of_a_topic_are_an_error_at_row_1001(check) -> None:
    rows = "".join(f"A.1\t{doc}\t{doc}\t{-doc}\tx\n" for doc in range(1, 1002))
    (finding,) = check(rows)
    assert finding[:3] == ("error", 1001, "depth")
    assert check(rows.rsplit("A.1", 1)[0]) == []


def test_a_topic_whose_rows_stand_apart_is_one_topic(check) -> None:
    rows = "A.2\t7\t1\t3.0\tx\nA.1\t7\t1\t3.0\tx\nA.2\t7\t2\t1.0\tx\n"
    (finding,) = check(rows)
    assert finding[:3] == ("error", 3, "duplicate")


def test_unknown_and_missing_topics_are_told_by_the_labs(check) -> None:
    rows = "A.1\t12\t1\t2.0\tx\nA.31\t12\t1\t2.0\tx\n"
    labs = [("A.1", "A.2", "A.3"), ("A.201",)]
    unknown, missing = check(rows, labs=labs)
    assert unknown[:3] == ("error", 2, "unknown topic")
    assert "A.31" in unknown.message
    assert missing[:3] == ("warning", None, "missing topic")
    assert "2 of 3 topics have no rows: A.2, A.3" in missing.message  # nothing on the lab of A.201


def test_breaches_are_all_counted_and_a_few_kept(tmp_path: Path) -> None:
    path = tmp_path / NAME["task1"]
    path.write_text("".join(f"A.1\tx\t{rank}\t{-rank}\tx\n" for rank in range(1, 101)))
    run = Run.read(path, "task1", strict=True)
    findings = run.faults()
    assert findings.count("error", "id") == 100
    assert findings.count("error", "duplicate") == 99
    assert len(every(findings)) == 2 * EXAMPLES
    assert findings.by_rule() == run.faults().by_rule()  # asking changes nothing


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\x89PNG\0\n", "row 1: a binary file"), (None, "no such run file")],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content, message) -> None:
    path = tmp_path / NAME["task1"]
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        Run.read(path, "task1", strict=True)


def test_a_run_without_rows_breaks_one_rule(check) -> None:
    assert check("") == [Finding("error", None, "empty", "the run has no rows: no topic has a hit")]


def test_a_rank_may_be_any_number_without_harm(check) -> None:
    form, order = check("A.1\t12\t99999999999999999999\t2.0\tx\n")
    assert form[:3] == ("error", 1, "rank form")
    assert order[:3] == ("warning", 1, "rank order")


# Documents that may not be returned. In the sample, 10027 is a question and 10068 its answer.


@pytest.fixture(scope="module")
def sample_answers() -> Eligible:
    return eligible_answers(PostTable.scan(Layout(SAMPLE).posts()))


def test_task_1_takes_answers_of_the_collection_only(check, sample_answers) -> None:
    rows = "A.1\t10068\t1\t3.0\tx\nA.1\t10027\t2\t2.0\tx\nA.1\t99999999\t3\t1.0\tx\n"
    question, unknown = check(rows, eligible=sample_answers)
    assert question[:3] == ("error", 2, "question id")
    assert unknown[:3] == ("error", 3, "unknown id")


@pytest.fixture
def formulas() -> Eligible:
    """Formula 11 is in post 5, 12 in a comment on it, 13 has issue d."""
    comment, deleted = 1, 2
    formula, visual, post = [11, 12, 13], [900, 901, 902], [5, 5, 6]
    flags = [0, comment, deleted]
    table = np.array([formula, visual, visual, post, flags, visual], np.int32)
    return eligible_formulas(FormulaIds(table))


@pytest.mark.parametrize(
    ("formula", "post", "rule"),
    [
        ("11", "5", None),
        ("11", "6", "post of formula"),
        ("5", "11", "swapped columns"),
        ("12", "5", "comment formula"),
        ("13", "6", "deleted formula"),
        ("14", "5", "unknown id"),
        ("99999999999999999999", "5", "unknown id"),
    ],
)
def test_task_2_takes_formulas_of_posts_with_their_posts(
    check, formulas, formula, post, rule
) -> None:
    found = check(f"B.1\t{formula}\t{post}\t1\t2.0\tx\n", "task2", eligible=formulas)
    assert rule in [finding.rule for finding in found] if rule else found == []


def test_flags_come_from_the_formula_index(tmp_path: Path) -> None:
    (tmp_path / "1.tsv").write_text(
        "id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula\n"
        "11\t5\t5\ttitle\t\t1\t1\t\tx\n12\t5\t5\tcomment\t77\t1\t1\t\tx\n"
        "13\t6\t5\tanswer\t\t1\t1\tdv\tx\n14\t6\t5\tanswer\t\t1\t2\tv\ty\n"
    )
    eligible = eligible_formulas(FormulaIds.read(tmp_path))
    faults = [eligible(*pair) for pair in (("11", "5"), ("12", "5"), ("13", "6"), ("14", "6"))]
    rules = [fault.rule if fault else None for fault in faults]
    assert rules == [None, "comment formula", "deleted formula", None]


def test_trec_form_lacks_the_post_of_task_2(check) -> None:
    trec, post = check("B.1\tQ0\t11\t1\t2.0\tx\n", "task2")
    assert trec[:3] == ("error", 1, "TREC form")
    assert post[:3] == ("error", 1, "id")


# Task 3: one answer a topic.


def answer_row(topic: str = "A.301", rank: int = 1, answer: str = "Yes: $x=1$.") -> str:
    return f"{topic}\t{rank}\t1.5\tbm25\tpost 7\t{answer}\n"


@pytest.mark.parametrize(
    ("rows", "level", "row", "rule"),
    [
        (answer_row() + answer_row(), "error", 2, "duplicate"),
        (answer_row(rank=2), "warning", 1, "rank order"),
        (answer_row(answer="é" * 1201), "error", 1, "answer length"),
        (answer_row(answer="It costs $5."), "warning", 1, "dollars"),
        (answer_row(answer="$$x$$ and $y"), "warning", 1, "dollars"),
        (answer_row(answer="one\ttwo"), "error", 1, "TAB in answer"),
        ("A.301\t1\t1.5\tbm25\tpost 7\n", "error", 1, "columns"),
    ],
)
def test_an_answer_breaks_one_rule(check, rows, level, row, rule) -> None:
    assert [finding[:3] for finding in check(rows, "task3")] == [(level, row, rule)]


@pytest.mark.parametrize(
    "answer", ["", "é" * 1200, r"It costs \$5.", "$a$$b$", r"$$x \text{ if $y$}$$ $z$"]
)
def test_an_answer_that_the_lab_takes(check, answer) -> None:
    assert check(answer_row(answer=answer), "task3") == []


# File names, tasks, teams.


@pytest.mark.parametrize(
    "name",
    ["run.tsv", "Team-task1-bm25-auto-both-P.txt", "Team-task1-b.5-auto-both-P.tsv",
     "Team-task2-bm25-auto-both-P.tsv", "prim_Team-task1-bm25-auto-both-P.tsv"],
)  # fmt: skip
def test_a_file_name_is_not_the_labs(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("A.1\t12\t1\t2.0\tx\n")
    (finding,) = every(Run.read(path, "task1", strict=True).faults())
    assert finding[:3] == ("warning", None, "file name")


def test_the_task_is_told_by_name_or_by_topic(tmp_path: Path) -> None:
    by_name, by_topic, neither = (
        tmp_path / n for n in ("prim_T-task2-x-auto-math-A.tsv", "r", "q")
    )
    by_name.write_text("A.1\t1")
    by_topic.write_bytes(b"\xef\xbb\xbfB.7 1")
    neither.write_text("301 a b c d\n")
    assert (detect_task(by_name), detect_task(by_topic)) == ("task2", "task2")
    with pytest.raises(InputError, match="task=TASK"):
        detect_task(neither)


def test_a_file_of_one_column_tells_no_task(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv.manifest.json"  # as a pattern for runs finds it
    path.write_text('{\n "task": "task1"\n}\n')
    with pytest.raises(InputError, match="row 1: expected the 6 columns of a run"):
        detect_task(path)


def test_a_trec_run_may_have_0_for_q0(tmp_path: Path) -> None:
    path = tmp_path / "r"
    for topic, task in (("A.1", "task1"), ("B.1", "task2"), ("7", "docs")):
        path.write_text(f"{topic} 0 5 1 2.0 mine\n")
        assert detect_task(path) == task


def test_grades_have_the_names_of_the_guidelines() -> None:
    for task in ("task1", "task2", "task3"):
        assert RULES[task].grades == {3: "high", 2: "medium", 1: "low", 0: "not relevant"}
        assert RULES[task].relevant == 2
    assert RULES["nlps"].grades == {1: "premise"}
    assert RULES["nlps"].relevant == 1


def test_a_team_has_five_runs_and_one_primary(tmp_path: Path) -> None:
    names = [f"Team-task1-r{i}-auto-both-{'P' if i < 2 else 'A'}.tsv" for i in range(6)]
    runs = []
    for name in [*names, "Other-task1-r-auto-both-P.tsv"]:
        (tmp_path / name).write_text("A.1\t12\t1\t2.0\tx\n")
        run = Run.read(tmp_path / name, "task1", strict=True)
        runs.append((run.path, run.task, run.faults()))
    check_teams(runs)
    found = {path.name: [f.rule for f in every(findings)] for path, _, findings in runs}
    assert found.pop(names[1]) == ["primary run"]
    assert found.pop(names[5]) == ["runs of a team"]
    assert not any(found.values())


# Three official runs of 2020. Their defects are counted with awk, sort and uniq.


@pytest.mark.parametrize(
    ("name", "rows", "topics", "tied_topics"),
    [
        ("Linked_MSE.tsv", 768, 71, 51),
        ("prim_MIRMU-task1-Ensemble-auto-both-A.tsv", 13905, 77, 77),
        ("prim_MathDowsers-task1-alpha05noReRank-auto-both-A.tsv", 8421, 77, 4),
    ],
)
def test_real_runs_are_read_and_their_defects_reported(
    shared: Path, name: str, rows: int, topics: int, tied_topics: int
) -> None:
    run = Run.read(shared / "data" / "arqmath1-runs" / name, "task1", strict=True)
    count = run.faults().count
    assert (len(run), len(run.topics)) == (rows, topics)
    assert count("error") == 0
    assert count(rule="line end") == count(rule="TREC form") == rows
    assert count(rule="ties") == tied_topics
    assert count(rule="file name") == 1


def test_an_answer_in_quotes_has_the_length_that_it_has_without_them(check) -> None:
    answer = '"' + "x" * 599 + '""' + "y" * 600 + '"'  # 1,200 characters, one of them a quote
    assert check(f"A.301\t1\t1.0\tx\tpost 7\t{answer}\n", "task3") == []
    (finding,) = check(f'A.301\t1\t1.0\tx\tpost 7\t{answer[:-1]}z"\n', "task3")
    assert finding[:3] == ("error", 1, "answer length")


def test_a_quote_that_is_left_open_swallows_no_topic_here(check) -> None:
    rows = ("A.301\t1\t1.0\tx\tpost 7\t\"Open.\nA.302\t1\t1.0\tx\tpost 7\tFine.\n"
            "A.303\t1\t1.0\tx\t\"post 7\tOpen.\n")  # fmt: skip
    labs = [("A.301", "A.302", "A.303")]
    assert [finding[:3] for finding in check(rows, "task3", labs=labs)] == [
        ("error", 1, "open quote"), ("error", 3, "open quote"),
    ]  # fmt: skip


def test_blanks_within_a_column_are_no_fault(check) -> None:
    rows = "A.301\t1\t2.0\tx\tpost 7\tAn answer with blanks.\n"
    assert "separator" not in [finding.rule for finding in check(rows, "task3")]
