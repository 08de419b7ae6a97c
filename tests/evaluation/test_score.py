"""Scores of runs: published numbers, the defects of real submissions, answers of Task 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from run_rows import read_run

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import year_of
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.qrels import write_qrels
from arqmath_bm25.evaluation.score import RunScore, read_answer_map, score, score_answers
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import detect_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QRELS = {"A.1": {"11": 3, "12": 0, "13": 2, "9": 1}, "A.2": {"21": 1, "22": 2}, "A.3": {"31": 2}}
ROWS = [
    ("A.1", "99", 1, 9.0), ("A.1", "9", 2, 5.0), ("A.1", "13", 3, 5.0), ("A.1", "11", 4, 1.5),
    ("A.2", "22", 1, 3.0), ("A.2", "21", 2, 2.0),
]  # fmt: skip


# Published numbers. nDCG′, MAP′ and P′@10 over the 77 topics of ARQMath-1; P@10 of the lab's
# table is unprimed. Averages over the run's own 71 topics are those of the table's first printing.


@pytest.fixture(scope="module")
def evaluator(lite: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluator:
    return Evaluator(CollectionFiles(lite, tmp_path_factory.mktemp("ids")))


@pytest.mark.parametrize(
    ("run", "topics", "expected"),
    [
        ("prim_MathDowsers-task1-alpha05noReRank-auto-both-A", 77,
         {"nDCG(judged_only=True)": 0.3446, "AP(rel=2,judged_only=True)": 0.1393,
          "P(rel=2,judged_only=True)@10": 0.1623, "Bpref(rel=2)": 0.1261}),
        ("prim_MIRMU-task1-Ensemble-auto-both-A", 77,
         {"nDCG(judged_only=True)": 0.2378, "AP(rel=2,judged_only=True)": 0.0641,
          "P(rel=2,judged_only=True)@10": 0.1390}),
        ("Linked_MSE", 71,
         {"nDCG(judged_only=True)": 0.2791, "AP(rel=2,judged_only=True)": 0.1937,
          "P(rel=2,judged_only=True)@10": 0.3857, "P(rel=2)@10": 0.3844}),
    ],
)  # fmt: skip
def test_official_runs_have_their_published_scores(
    evaluator: Evaluator, shared: Path, run: str, topics: int, expected: dict[str, float]
) -> None:
    scored = evaluator.score(shared / "data" / "arqmath1-runs" / f"{run}.tsv")
    assert scored.task == "task1"
    assert scored.judgments.file.name == "qrel_official_task1"
    numbers = scored.to_json()
    assert (numbers["topics"], numbers["topics_in_run"]) == (77, topics)
    assert {key: round(numbers[key], 4) for key in expected} == expected
    if topics == 77:
        key = "nDCG(judged_only=True)"
        assert numbers["run_topics_only"][key] == numbers[key]


def test_a_collection_that_lacks_most_judged_posts_is_told(
    lite: Path, shared: Path, tmp_path: Path
) -> None:
    collection = CollectionFiles(lite, tmp_path)
    assert collection.posts  # a table is there already: for this alone none is made
    evaluator = Evaluator(collection)
    scored = evaluator.score(shared / "data/arqmath1-runs/Linked_MSE.tsv")
    assert isinstance(scored.score, RunScore)
    assert scored.score.warnings[0].startswith(  # 419 + 78 + 56 + 69 judged answers are in it
        "of 39,124 judged documents the collection has 622: "
    )
    assert (scored.year, scored.to_json()["year"]) == ("2020", "2020")


def test_a_run_without_some_topics_has_two_averages(evaluator: Evaluator, shared: Path) -> None:
    numbers = evaluator.score(shared / "data" / "arqmath1-runs" / "Linked_MSE.tsv").to_json()
    own = numbers["run_topics_only"]
    assert (numbers["rows"], numbers["rows_judged"]) == (768, 723)
    assert round(own["nDCG(judged_only=True)"], 4) == 0.3026
    assert round(own["AP(rel=2,judged_only=True)"], 4) == 0.2100
    assert round(own["P(rel=2,judged_only=True)@10"], 4) == 0.4183
    assert round(own["P(rel=2)@10"], 4) == 0.4169


def lab(topic: str, doc: str, rank: int, value: float) -> str:
    return f"{topic}\t{doc}\t{rank}\t{value}\tbm25\n"


def trec(topic: str, doc: str, rank: int, value: float) -> str:
    return f"{topic}\tQ0\t{doc}\t{rank}\t{value}\tbm25\n"


def trec_with_blanks(topic: str, doc: str, rank: int, value: float) -> str:
    return f"{topic} 1 {doc}  {rank} {value} bm25\n"


def without_ranks(topic: str, doc: str, rank: int, value: float) -> str:
    return f"{topic}\t{doc}\t{1000 - rank}.0\t{value:e}\tbm25\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.tsv"
    path.write_bytes(text.encode())
    return path


def numbers_of(path: Path) -> dict[str, float]:
    return score(Run.read(path, "task1").rankings().topics, QRELS).averages()


@pytest.mark.parametrize("form", [trec, trec_with_blanks, without_ranks])
def test_columns_separators_ranks_and_number_forms_do_not_matter(
    tmp_path: Path, form: Callable[[str, str, int, float], str]
) -> None:
    expected = numbers_of(written(tmp_path, "".join(lab(*row) for row in ROWS)))
    assert numbers_of(written(tmp_path, "".join(form(*row) for row in ROWS))) == expected


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(lambda text: text.removesuffix("\n"), id="no last newline"),
        pytest.param(lambda text: text.replace("\n", "\n\n"), id="empty lines"),
        pytest.param(lambda text: text.replace("\t", " \t "), id="blanks beside TABs"),
        pytest.param(lambda text: "\ufeff" + text, id="byte order mark"),
        pytest.param(lambda text: text + "A.1\t9\t5\t0.1\tbm25\n", id="repeated row"),
        pytest.param(lambda text: text + "A.999\t9\t1\t0.1\tbm25\n", id="unjudged topic"),
        pytest.param(
            lambda text: "".join(sorted(text.splitlines(keepends=True), reverse=True)), id="order"
        ),
        pytest.param(
            lambda text: "".join([*text.splitlines(True)[1:], text.splitlines(True)[0]]),
            id="a topic out of order",
        ),
    ],
)
def test_defects_of_real_submissions_do_not_change_the_scores(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    text = "".join(lab(*row) for row in ROWS)
    expected = numbers_of(written(tmp_path, text))
    assert numbers_of(written(tmp_path, change(text))) == expected


def test_many_equal_scores_give_the_same_numbers_in_any_order(tmp_path: Path) -> None:
    rows = [lab("A.1", doc, rank, -1) for rank, doc in enumerate(["9", "11", "12", "13", "7"], 1)]
    backwards = numbers_of(written(tmp_path, "".join(reversed(rows))))
    assert numbers_of(written(tmp_path, "".join(rows))) == backwards
    # Descending strings: 9 (grade 1), 7, 13 (2), 12 (0), 11 (3).
    assert backwards["map"] * 3 == pytest.approx((1 / 3 + 2 / 5) / 2)


def test_a_topic_without_judged_documents_counts_as_missing_for_primed_measures() -> None:
    result = score({"A.1": {"11": 2.0, "13": 1.0}, "A.2": {"77": 1.0}}, QRELS)
    own = result.averages_of_run_topics()
    assert result.averages()["p10_prime"] == pytest.approx(0.2 / 3)
    assert own["p10_prime"] == pytest.approx(0.2)  # A.1 alone
    assert own["p10"] == pytest.approx(0.1)  # A.1 and A.2
    assert own["judged_at_10"] == pytest.approx(0.5)


def test_what_was_judged_is_counted() -> None:
    numbers = score({"A.1": {"11": 3.0, "99": 2.0, "98": 1.0, "12": 0.5}}, QRELS).to_json()
    assert (numbers["topics"], numbers["topics_in_run"]) == (3, 1)
    assert (numbers["rows"], numbers["rows_judged"], numbers["judged_rate"]) == (4, 2, 0.5)
    assert numbers["Judged@10"] == pytest.approx(0.5 / 3)


def test_qrels_of_another_task_are_refused() -> None:
    with pytest.raises(InputError, match=r"run has B\.1 … B\.2, the qrels A\.1 … A\.3"):
        score({"B.1": {"11": 1.0}, "B.2": {"12": 1.0}}, QRELS)


def test_ids_of_another_kind_are_warned_of() -> None:
    judged = {"A.1": {str(number): number % 4 for number in range(100)}}
    ids_of_questions = {"A.1": {str(number): 1.0 for number in range(96, 200)}}
    (warning,) = score(ids_of_questions, judged).warnings
    assert "only 4 of the 100 judged ids are among the 104 ids of the run" in warning


def test_a_run_over_a_part_of_the_collection_is_not_taken_for_ids_of_another_kind() -> None:
    # 30 of 1,000 judged ids can be found at all, since the part has only 60 documents.
    judged = {f"A.{n}": {str(d): d % 2 for d in range(n, 1000)} for n in (1, 2)}
    part = {f"A.{n}": {str(number): 1.0 for number in range(970, 1030)} for n in (1, 2)}
    assert score(part, judged).warnings == ()


def test_a_prime_run_is_recognised() -> None:
    (warning,) = score({"A.1": {"11": 2.0, "12": 1.0}}, QRELS).warnings
    assert "as in a prime run" in warning


def test_rows_that_do_not_count_are_reported(tmp_path: Path) -> None:
    rows = [lab("A.1", str(number), 1, -number) for number in range(1003)]
    write_qrels(tmp_path / "q", QRELS)
    scored = Evaluator(CollectionFiles(tmp_path, tmp_path), qrels=tmp_path / "q").score(
        written(tmp_path, "".join([*rows, rows[0]]))
    )
    assert isinstance(scored.score, RunScore)
    assert scored.score.warnings == (
        "rows that repeat a document of their topic: 1",
        "documents left out below the best 1,000 of their topic: 3",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04\x00\x00", "a zip archive; unpack it first"),
        (b"A.1\t11\t1\t2.0\tr\nA.1\t12\tx\n", "row 2: expected 5 .* found 3"),
        (
            b"topic\tpost\trank\tscore\trun\n",
            "row 1: a header: 'topic post .* none",
        ),
        (b"A.1\t11\t1\tnan\tr\n", "row 1: score is 'nan'"),
    ],
)
def test_a_file_that_is_no_run_is_refused_with_its_row(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "run.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_run(path))


# Task 3: one answer per topic.


def test_answers_are_averaged_over_judged_topics_and_failures_count_zero() -> None:
    qrels = {"A.1": {"d_1": 3, "d_2": 0}, "A.2": {"d_1": 5}, "A.3": {"d_1": 2}, "A.4": {"d_1": 6}}
    answers = {"A.1": "d_1", "A.2": "d_1", "A.3": "d_1", "A.4": "d_1", "A.9": "d_1"}
    result = score_answers(answers, qrels)
    assert {t: values["ar"] for t, values in result.values.items()} == {
        "A.1": 3, "A.2": 0, "A.3": 2, "A.4": 0
    }  # fmt: skip
    assert result.to_json() == {
        "warnings": [],
        "topics": 4, "topics_in_run": 5, "topics_judged": 4, "AR": 1.25, "P@1": 0.5, "relevant": 2,
    }  # fmt: skip


def test_an_answer_without_judgment_leaves_its_topic_out() -> None:
    result = score_answers({"A.1": "d_1", "A.2": "d_7"}, {"A.1": {"d_1": 1}, "A.2": {"d_1": 3}})
    found = result.to_json()
    assert (found["AR"], found["P@1"], found["topics_judged"], found["topics"]) == (1, 0, 1, 2)
    with pytest.raises(InputError, match="none of the run's answers is judged"):
        score_answers({"A.1": "11"}, {"A.1": {"d_1": 1}})


def test_the_answer_map_names_the_answer_of_every_run(tmp_path: Path) -> None:
    path = tmp_path / "map.tsv"
    path.write_text("GPT3\tA.301\td_1\r\nrun5\tA.301\td_2\nrun5\tA.302\td_1\n")
    assert read_answer_map(path) == {
        "GPT3": {"A.301": "d_1"},
        "run5": {"A.301": "d_2", "A.302": "d_1"},
    }
    path.write_text("GPT3\tA.301\td_1\nGPT3\tA.301\td_2\n")
    with pytest.raises(InputError, match=r"row 2: a second answer of GPT3 to topic A\.301"):
        read_answer_map(path)


def test_the_top_answer_has_the_best_score_then_lowest_rank_then_largest_id(tmp_path: Path) -> None:
    rows = [
        ("A.1", "7", 1, 2.0), ("A.1", "8", 9, 3.0),
        ("A.2", "7", 2, 2.0), ("A.2", "8", 1, 2.0),
        ("A.3", "10", 1, 2.0), ("A.3", "9", 1, 2.0),
    ]  # fmt: skip
    path = written(tmp_path, "".join(lab(*row) for row in rows))
    assert {
        t: next(iter(docs)) for t, docs in Run.read(path, "task3").rankings().topics.items()
    } == {"A.1": "8", "A.2": "8", "A.3": "9"}


def test_a_task_1_run_can_be_scored_as_answers(tmp_path: Path) -> None:
    write_qrels(tmp_path / "q", QRELS)
    path = written(tmp_path, "".join(lab(*row) for row in ROWS))
    scored = Evaluator(CollectionFiles(tmp_path, tmp_path), qrels=tmp_path / "q").score(
        path, "task3"
    )
    assert scored.task == "task3"
    assert scored.to_json()["AR"] == 2.0  # 22 for A.2; 99 for A.1 is not judged


def test_a_task_3_run_is_scored_through_the_answer_map(tmp_path: Path) -> None:
    run = tmp_path / "TeamX-task3-gpt-auto-both-generate-P.tsv"
    run.write_text("A.1\t1\t1.0\tgpt\tmodel\tIt is $2$.\nA.2\t1\t1.0\tgpt\tmodel\tNo.\n")
    write_qrels(tmp_path / "q", {"A.1": {"d_1": 3, "d_2": 1}, "A.2": {"d_2": 2}})
    (tmp_path / "map").write_text("other\tA.1\td_1\ngpt\tA.1\td_2\ngpt\tA.2\td_2\n")
    evaluator = Evaluator(
        CollectionFiles(tmp_path, tmp_path), qrels=tmp_path / "q", answer_map=tmp_path / "map"
    )
    assert evaluator.score(run).to_json()["AR"] == 1.5
    assert [one.run for one in evaluator.score_answer_map()] == ["other", "gpt"]
    with pytest.raises(InputError, match="answer_map=FILE"):
        Evaluator(CollectionFiles(tmp_path, tmp_path)).score(run)


# Which task, which year.


@pytest.mark.parametrize(
    ("name", "row", "task"),
    [
        ("TeamX-task2-a-auto-math-P.tsv", "B.1\t5\t6\t1\t2.0\tr", "task2"),
        ("prime_TeamX-task1-a-auto-math-P.tsv", "A.1\t5\t1\t2.0\tr", "task1"),
        ("x.tsv", "A.1\t5\t1\t2.0\tr", "task1"),
        ("x.trec", "A.1 Q0 5 1 2.0 r", "task1"),
        ("x.tsv", "B.1\t5\t6\t1\t2.0\tr", "task2"),
        ("x.tsv", "A.1\t1\t2.0\tr\tsource\tThe answer is $5$.", "task3"),
        ("predict.txt", "123\t456", "nlps"),
    ],
)
def test_the_task_is_told_by_the_name_else_by_the_columns(
    tmp_path: Path, name: str, row: str, task: str
) -> None:
    path = tmp_path / name
    path.write_text(row + "\n")
    assert detect_task(path) == task


@pytest.mark.parametrize(
    ("topics", "year"),
    [(["A.1", "A.100"], "2020"), (["B.201", "B.300"], "2021"), (["A.301", "A.400"], "2022")],
)
def test_the_year_is_told_by_the_topics(topics: list[str], year: str) -> None:
    assert year_of(topics) == year


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (["A.101"], "topic 'A.101' is of none of the labs"),
        (["A.0"], "none of the labs"),
        (["A.401"], "none of the labs"),
        (["MATH-7"], "'MATH-7' .* qrels=FILE"),
        (["A.1", "A.201"], r"more than one year, A\.1 \(2020\) and A\.201 \(2021\)"),
    ],
)
def test_topics_of_no_year_or_of_two_are_refused(topics: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        year_of(topics)
