"""From runs to judgments: `pool`, annotation by script, `judge`, evaluation; on the sample."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
from program import arqmath, json_of, printed, refused

from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import GRADE_OF_LABEL
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_writing import write_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LABELS = {grade: label for label, grade in GRADE_OF_LABEL.items() if grade is not None}
FORMULAS = SAMPLE / "Formulas" / "latex_representation_v3"


def annotate(batch: Path, results: Path, label: Callable[[dict[str, str], int], str]) -> None:
    """Do what Turkle and its assessors do: Input.* columns copied, Answer.* columns filled in."""
    with (
        batch.open(newline="", encoding="utf-8") as source,
        results.open("w", newline="", encoding="utf-8") as target,
    ):
        rows = list(csv.DictReader(source))
        names = [f"Input.{name}" for name in sorted(rows[0])]
        answers = [f"Answer.grade_{number}" for number in range(1, 6)]
        table = csv.DictWriter(target, ["HITId", *names, *answers], quoting=csv.QUOTE_ALL)
        table.writeheader()
        for hit, row in enumerate(rows):
            table.writerow(
                {"HITId": hit}
                | {f"Input.{name}": value for name, value in row.items()}
                | {a: label(row, n) for n, a in enumerate(answers, 1) if row[f"post_{n}"]}
            )


ROWS = (
    {"id": "thm/1", "title": "Pythagoras", "text": r"In a right triangle \(a^2+b^2=c^2\)."},
    {"id": "2", "text": "<p>A triangle.</p>"},
    {"id": "3", "text": "An identity."},
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Documents of one's own with queries, and runs."""
    monkeypatch.chdir(tmp_path)
    queries = {"id": "q/1", "text": "triangle $x^2$"}, {"id": "q2", "text": "angle"}
    for name, rows in (("corpus", ROWS), ("queries", queries)):
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / f"{name}.jsonl").write_text(lines)
    arqmath("index", "docs", "--data", "mine", "--engine", "flat")
    arqmath("run", "docs", "--data", "mine")
    return tmp_path / "runs" / "mine" / "queries"


def test_documents_of_ones_own_from_runs_to_scores(own: Path, tmp_path: Path) -> None:
    runs = own / "text.trec", own / "both.trec"
    said = printed("pool", *runs, "--depth", 2, "--data", "mine", "-o", "batch.csv")
    assert "1 topic, 2 rows, 2 hits to judge" in said
    with (tmp_path / "batch.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["doc_id"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {"thm/1", "2"}
    titles = [row["title"] for row in rows.values()]
    assert titles[0].startswith("<span>triangle <math")
    assert titles[1] == ""
    assert rows["thm/1"]["hit_1"].startswith("<h3>Pythagoras</h3><div><p>In a right triangle <math")
    assert rows["2"]["hit_1"] == "<div><p>A triangle.</p></div>"  # its id is no title
    annotate(tmp_path / "batch.csv", tmp_path / "results.csv", lambda row, _: "High")
    arqmath("judge", "results.csv", "-o", "qrels.tsv")
    assert (tmp_path / "qrels.tsv").read_text() == "q/1\t0\t2\t3\nq/1\t0\tthm/1\t3\n"
    assert json_of("eval", runs[1], "--qrels", "qrels.tsv", "--data", "mine")[0]["AP(rel=1)"] == 1


def test_macros_beside_the_documents_are_written_out_in_a_batch(own: Path, tmp_path: Path) -> None:
    (tmp_path / "mine" / "macros.tex").write_text("\\newcommand{\\sq}[1]{#1^2}\n")
    with (tmp_path / "mine" / "corpus.jsonl").open("a") as file:
        file.write(json.dumps({"id": "4", "text": r"A triangle with $\sq a$."}) + "\n")
    (own / "x.trec").write_text("q/1 Q0 4 1 1.0 x\n")
    arqmath("pool", own / "x.trec", "--data", "mine", "-o", "batch.csv")
    assert "<msup><mi>a</mi><mn>2</mn></msup>" in (tmp_path / "batch.csv").read_text()


@pytest.mark.parametrize("name", ["=1+2", "+1", "@x", "-1", 'a"onload="x', "<b>", "a&amp;", "${x}"])
def test_ids_that_a_spreadsheet_or_a_page_would_run_are_refused(
    own: Path, name: str, tmp_path: Path
) -> None:
    with (tmp_path / "mine" / "corpus.jsonl").open("a") as file:
        file.write(json.dumps({"id": name, "text": "triangle"}) + "\n")
    (own / "x.trec").write_text(f"q/1 Q0 {name} 1 1.0 x\n")
    pool = ("pool", own / "x.trec", "--data", "mine", "-o", "batch.csv")
    assert "would be read as a formula of a spreadsheet or as HTML" in refused(*pool)
    (own / "x.trec").write_text("q/1 Q0 4 1 1.0 x\n")
    assert "'4' of the runs is not in DATA=mine" in refused(*pool)


def test_task_1_from_runs_to_scores(tmp_path: Path) -> None:
    official = read_qrels(Layout(SAMPLE).qrels("task1", "2020"))
    runs = [tmp_path / f"T-task1-{name}-auto-both-A.tsv" for name in ("up", "down")]
    for run, backwards in zip(runs, (False, True), strict=True):
        rankings = [
            (topic, [Hit(doc, -float(i)) for i, doc in enumerate(sorted(docs, reverse=backwards))])
            for topic, docs in official.items()
        ]
        write_run(run, rankings, "x", "task1")
    batch, results, qrels = (tmp_path / n for n in ("batch.csv", "results.csv", "qrels.tsv"))

    arqmath("pool", *runs, "--depth", 3, "-o", batch)
    annotate(batch, results, lambda row, _: LABELS[official[row["topic_id"]][row["doc_id"]]])
    arqmath("judge", results, "-o", qrels)

    pooled = {
        topic: set(sorted(docs)[:3]) | set(sorted(docs)[-3:]) for topic, docs in official.items()
    }
    judged = read_qrels(qrels)
    assert judged == {
        topic: {doc: official[topic][doc] for doc in docs} for topic, docs in pooled.items()
    }
    # At most six judged answers a topic: all are among the first ten of a prime run.
    relevant = sum(grade >= 2 for grades in judged.values() for grade in grades.values())
    scored = score(Run.read(runs[0], "task1").rankings().topics, judged)
    scores = scored.named(scored.averages())
    assert scores["P(rel=2,judged_only=True)@10"] == pytest.approx(relevant / 10 / len(judged))


@pytest.fixture
def formula_topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.xml"
    path.write_text(
        '<Topics><Topic number="B.1"><Formula_Id>q_1</Formula_Id><Latex>x\\ge0</Latex>'
        "<Title>When is &lt;span class=&quot;math-container&quot; id=&quot;q_1&quot;&gt;$x\\ge0$"
        "&lt;/span&gt;?</Title><Question>Tell me.</Question><Tags>algebra</Tags></Topic></Topics>"
    )
    return path


def test_task_2_shows_formulas_in_posts_and_takes_the_highest_grade(
    tmp_path: Path, formula_topics: Path
) -> None:
    instances = [
        row
        for row in read_formulas(FORMULAS)
        if row.type != "comment" and row.issue not in ("d", "dv")
    ]
    run = tmp_path / "T-task2-x-auto-math-A.tsv"
    run.write_text(
        "".join(
            f"B.1\t{row.formula_id}\t{row.post_id}\t{rank}\t{-rank}\tx\n"
            for rank, row in enumerate(instances[:900], 1)
        )
    )
    posts: dict[str, set[str]] = {}
    for row in instances[:900]:
        posts.setdefault(row.visual_id, set()).add(row.post_id)
        if len(posts) == 60:  # what stands below is not in the pool
            break
    expected = list(posts)

    batch, results, qrels = (tmp_path / n for n in ("batch.csv", "results.csv", "qrels.tsv"))
    options = ("--topics", formula_topics, "--depth", 60, "-o", batch)
    arqmath("pool", run, *options)
    with batch.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["doc_id"] for row in rows} == set(expected)
    for row in rows:
        shown = [row[f"post_{n}"] for n in range(1, 6) if row[f"post_{n}"]]
        assert len(shown) == min(5, len(posts[row["doc_id"]]))
        assert set(shown) <= posts[row["doc_id"]]
        assert row["hit_1"].startswith("<h3>Formula: <")
        assert "<mark class=" in row["hit_1"]
    annotate(batch, results, lambda _, hit: "Low" if hit == 1 else "Medium")
    arqmath("judge", results, "-o", qrels)
    assert read_qrels(qrels) == {"B.1": {doc: 2 if len(posts[doc]) > 1 else 1 for doc in expected}}


def test_pooling_again_gives_the_same_batch_and_another_seed_another(
    tmp_path: Path, formula_topics: Path
) -> None:
    run = tmp_path / "T-task1-x-auto-both-A.tsv"
    docs = list(read_qrels(Layout(SAMPLE).qrels("task1", "2020"))["A.1"])
    write_run(run, [("A.1", [Hit(doc, -float(i)) for i, doc in enumerate(docs)])], "x", "task1")
    batches = []
    for seed in (0, 0, 1):
        arqmath("pool", run, "--seed", seed, "-o", tmp_path / "batch.csv")
        batches.append((tmp_path / "batch.csv").read_bytes())
    assert batches[0] == batches[1] != batches[2]
    first, other = (list(csv.DictReader(batch.decode().splitlines())) for batch in batches[1:])
    assert sorted(row["doc_id"] for row in first) == sorted(row["doc_id"] for row in other)


def test_what_cannot_be_pooled_is_said(tmp_path: Path) -> None:
    task1, task2, task3 = (
        tmp_path / f"T-task{n}-x-auto-both{'-extract' if n == 3 else ''}-A.tsv" for n in (1, 2, 3)
    )
    task1.write_text("A.1\t10027\t1\t1.0\tx\n")
    task2.write_text("B.1\t1\t10027\t1\t1.0\tx\n")
    task3.write_text("A.1\t1\t1.0\tx\tme\tYes.\n")
    output = ("-o", tmp_path / "batch.csv")
    for runs, message in (
        ([task1, task2], "a run of task2"),
        ([task3], "nothing to pool"),
        ([task1], "no hit of the runs may be judged"),  # 10027 is a question
    ):
        assert message in refused("pool", *runs, *output)
    assert not (tmp_path / "batch.csv").exists()


def test_judge_says_what_was_left_out(tmp_path: Path) -> None:
    results = tmp_path / "results.csv"
    header = "Input.topic_id,Input.doc_id,Input.post_1,Answer.grade_1\n"
    results.write_text(header + "A.1,7,7,Do not know\nA.1,8,8,High\n")
    output = arqmath("judge", results, "-o", tmp_path / "qrels.tsv").output
    assert "1 topic, 1 judgment" in output
    assert "1 hit: Do not know" in output
    assert "left out: 1 document" in output
    results.write_text(header + "A.1,7,7,Do not know\n")
    with pytest.raises(InputError):
        arqmath("judge", results, "-o", tmp_path / "none.tsv")
    assert not (tmp_path / "none.tsv").exists()
