"""One run in every form that its task knows: read once, and the same to every command."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import ir_measures
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_objects import measure_of
from program import arqmath, json_of
from run_rows import read_run

import arqmath_bm25 as arq
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.qrels import write_qrels
from arqmath_bm25.runs.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula\n"
# Formula n stands in post 100 + n // 4; every third formula looks like the one before it.
# There is no formula 1: alone in a run it cannot be told from TREC's second column.
FORMULAS = range(2, 60)
POST = {n: 100 + n // 4 for n in FORMULAS}
VISUAL = {n: 9000 + n - (n % 3 == 0) for n in FORMULAS}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def collection(folder: Path) -> CollectionFiles:
    """Make a collection of formulas alone."""
    formulas = folder / "data" / "Formulas" / "latex_representation_v3"
    formulas.mkdir(parents=True, exist_ok=True)
    (formulas / "1.tsv").write_text(
        HEADER
        + "".join(
            f"{n}\t{POST[n]}\t{POST[n]}\tanswer\t\t{VISUAL[n]}\t{VISUAL[n]}\t\tx\n"
            for n in FORMULAS
        )
    )
    return CollectionFiles(folder / "data", folder / "indexes")


Rows = list[tuple[str, int, float]]  # topic, document, score


def lab1(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t{doc}\t{rank}\t{score!r}\tx\n"


def lab2(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t{doc}\t{POST[doc]}\t{rank}\t{score!r}\tx\n"


def exchanged(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t{POST[doc]}\t{doc}\t{rank}\t{score!r}\tx\n"


def trec(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic} Q0 {doc} {rank} {score!r} x\r\n"


def trec_with_1(topic: str, doc: int, rank: int, score: float) -> str:
    return f"{topic}\t1\t{doc}\t{rank}.0\t{score!r}\tx\n"


def written(folder: Path, name: str, rows: Rows, form: Callable[..., str]) -> Path:
    ranks: dict[str, int] = {}
    lines = []
    for topic, doc, score in rows:
        ranks[topic] = ranks.get(topic, 0) + 1
        lines.append(form(topic, doc, ranks[topic], score))
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    data = "".join(lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def random_rows(letter: str) -> st.SearchStrategy[Rows]:
    return st.lists(
        st.tuples(
            st.sampled_from([f"{letter}.1", f"{letter}.2", f"{letter}.3"]),
            st.sampled_from(FORMULAS),
            st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 2.00000001, 16777217.0]),
        ),
        min_size=3,
        max_size=40,
    ).filter(lambda rows: {row[0] for row in rows} >= {f"{letter}.1"})


FORMS = {
    "A": {"lab": lab1, "trec": trec, "trec_with_1": trec_with_1},
    "B": {"lab": lab2, "trec": trec, "trec_with_1": trec_with_1, "exchanged": exchanged},
}


def check_alike(letter: str, rows: Rows, data: bool) -> None:
    """Hold what every form of a run comes to against that of the lab's form."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        place = collection(folder)
        key = VISUAL if letter == "B" else {n: n for n in FORMULAS}
        qrels = {f"{letter}.{t}": {str(key[n]): n % 4 for n in FORMULAS if n % 2} for t in (1, 2)}
        write_qrels(folder / "qrels.v3.tsv", qrels)
        task = f"task{'AB'.index(letter) + 1}"
        evaluator = Evaluator(place, qrels=folder / "qrels.v3.tsv")
        files = arq.Collection(place.layout.data, place.indexes)
        frame_of_qrels = files.qrels(task, folder / "qrels.v3.tsv")  # type: ignore[arg-type]
        other = written(folder, "other.tsv", [(t, 7, 1.0) for t in qrels], FORMS[letter]["lab"])
        expected: Any = None
        for form in FORMS[letter]:
            for end in ("tsv", "tsv.gz")[: 1 + (form == "trec")]:
                path = written(folder, f"{form}.{end}", rows, FORMS[letter][form])
                read = Run.read(path, task, evaluator.open_ids)  # type: ignore[arg-type]
                fused = folder / f"fused-{form}.{end}"
                given = ["--data", place.layout.data, "--indexes", place.indexes] if data else []
                arqmath("fuse", path, other, "-o", fused, "--task", task, *given,
                        "--format", "lab" if letter == "A" else "trec")  # fmt: skip
                strict = Run.read(path, task, strict=True)  # type: ignore[arg-type]
                frame = arq.read_run(path)
                with warnings.catch_warnings(action="ignore"):
                    of_frame = arq.evaluate(frame, frame_of_qrels, per_topic=True)
                scores = evaluator.score_run(read, evaluator.qrels).score.values
                assert of_frame.to_dict("index") == scores, (form, end)
                found = (
                    scores,
                    [list(hits.items()) for hits in read.rankings().topics.values()],
                    [row[1:5] for row in read_run(fused, task)],  # type: ignore[arg-type]
                    (len(strict), len(strict.topics), strict.faults().count(rule="ties")),
                )
                expected = expected or found
                assert found == expected, (form, end)


@given(random_rows("A"))
@settings(deadline=None, max_examples=6)
def test_answers_are_the_same_run_in_every_form(rows: Rows) -> None:
    check_alike("A", rows, data=False)


@given(random_rows("B"))
@settings(deadline=None, max_examples=6)
def test_formulas_are_the_same_run_in_every_form(rows: Rows) -> None:
    check_alike("B", rows, data=True)


# Each of the following failed when every command read rows by itself.


def test_fuse_puts_no_post_into_the_column_of_formulas(folder: Path) -> None:
    rows = [("B.1", n, 60.0 - n) for n in FORMULAS]
    right = written(folder, "right.tsv", rows, lab2)
    wrong = written(folder, "wrong.tsv", rows, exchanged)
    output = folder / "fused.tsv"
    said = arqmath("fuse", right, wrong, "-o", output).output
    assert "wrong.tsv: columns 2 and 3 (formula, post) are exchanged; put right" in said
    assert {(int(r.doc_id), int(r.post_id)) for r in read_run(output, "task2")} == set(POST.items())
    # Each formula in a post of its own: the run alone does not say which column is which.
    alone = [("B.1", n, 60.0 - n) for n in FORMULAS if n % 4 == 0]
    right, wrong = written(folder, "r.tsv", alone, lab2), written(folder, "w.tsv", alone, exchanged)
    with pytest.raises(
        InputError, match=r"w\.tsv: what is a formula here is a post in .*data=DATA"
    ):
        arqmath("fuse", right, wrong, "-o", folder / "none.tsv")
    place = collection(folder)
    given = ("--data", place.layout.data, "--indexes", place.indexes)
    arqmath("fuse", right, wrong, "-o", output, *given)
    assert all(POST[int(row.doc_id)] == int(row.post_id) for row in read_run(output, "task2"))


def test_of_a_repeated_formula_every_command_takes_the_last_score(folder: Path) -> None:
    place = collection(folder)
    rows = [("B.1", 2, 9.0), ("B.1", 4, 5.0), ("B.1", 7, 3.0), ("B.1", 2, 1.0)]
    path = written(folder, "run.tsv", rows, lab2)
    write_qrels(folder / "qrels.v3.tsv", {"B.1": {"9002": 3, "9004": 1}})
    evaluator = Evaluator(place, qrels=folder / "qrels.v3.tsv")
    read = Run.read(path, ids=evaluator.open_ids)
    assert list(evaluator.score_run(read, evaluator.qrels).ranked.topics["B.1"]) == [
        "9004",
        "9007",
        "9002",
    ]
    assert list(read.rankings().rows["B.1"]) == ["9004", "9007", "9002"]
    same = written(folder, "same.tsv", rows, lab2)
    for command in (["fuse", path, same], ["convert", path]):
        arqmath(*command, "-o", folder / "out.tsv")
        found = [row.doc_id for row in read_run(folder / "out.tsv", "task2")]
        assert found == ["4", "7", "2"], command


def test_validate_reads_what_convert_packs(folder: Path) -> None:
    run = written(folder, "T-task1-x-auto-both-A.tsv", [("A.1", 7, 2.0), ("A.1", 8, 1.0)], lab1)
    packed = folder / "run.trec.gz"
    arqmath("convert", run, "--format", "trec", "-o", packed)
    (found,) = json_of("validate", packed)
    assert (found["rows"], found["topics"], found["errors"]) == (2, 1, 0)


def test_a_line_without_end_in_a_packed_run_is_refused(folder: Path) -> None:
    path = folder / "run.tsv.gz"
    path.write_bytes(gzip.compress(b"A" * (1 << 24)))
    for read in (lambda: list(read_run(path)), lambda: Run.read(path, strict=True)):
        with pytest.raises(InputError, match=r"row 1: a line of more than 4 MB; expected a run"):
            read()


@pytest.mark.parametrize("score", [".5", "+3", "1e-3"])
def test_a_trec_run_is_of_task_1_whatever_its_first_score(folder: Path, score: str) -> None:
    path = folder / "run.trec"
    path.write_text(f"A.1 Q0 7 1 {score} x\n")
    assert Run.read(path).task == "task1"


def test_a_run_of_visual_ids_is_scored_as_it_stands(folder: Path) -> None:
    place = collection(folder)
    qrels = {"B.1": {"9001": 3, "9004": 1, "9007": 0, "77777": 2}}  # the last is in no index
    write_qrels(folder / "qrels.v3.tsv", qrels)
    (folder / "run.trec").write_text(
        "".join(f"B.1 Q0 {doc} {n} {-n} x\n" for n, doc in enumerate(("9001", "77777", "9004"), 1))
    )
    evaluator = Evaluator(place, qrels=folder / "qrels.v3.tsv")
    run = Run.read(folder / "run.trec", ids=evaluator.open_ids)
    scored = evaluator.score_run(run, evaluator.qrels)
    assert scored.score.values["B.1"]["ndcg_prime"] == pytest.approx(1.0)
    hits = list(scored.ranked.rows["B.1"].items())
    # Shown is an instance of the formula: 9004 is the visual id of formula 4, of post 101.
    assert [(doc, *row.post_and_formula) for doc, row in hits[1:]] == [
        ("77777", "", ""),
        ("9004", "101", "4"),
    ]
    assert any("holds visual ids" in note for note in scored.score.warnings)
    # Scoring leaves the run as it was read: its rows are taken for formulas.
    assert run.form == "trec"
    assert run.rankings().topics == {"B.1": {}}


# What has to be known of scores reaches whoever decides.


def frames(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """Return two runs of the sample, one better than the other, and judgments."""
    files = arq.sample(folder / "indexes")
    qrels = files.qrels("task1", 2021)
    run = qrels.assign(score=qrels["label"].astype(float))[["qid", "docno", "score"]]
    return run, run.assign(score=-run["score"]), qrels


def test_compare_says_what_eval_says(folder: Path) -> None:
    qrels = {f"A.{topic}": {str(doc): doc % 4 for doc in range(8)} for topic in (1, 2, 3)}
    write_qrels(folder / "q", qrels)
    rows = [(topic, doc, float(-doc)) for topic in qrels for doc in range(8)]
    first = written(folder, "first.tsv", rows, lab1)
    rows = [(topic, doc, float(doc)) for topic in qrels for doc in range(5)]
    written(folder, "second.tsv", [*rows, ("A.1", 99, 0.0)], lab1)
    given = (first, folder / "second.tsv", "--qrels", folder / "q")
    found = json_of("compare", *given)
    (prime, *_) = found["warnings"]
    assert prime.startswith("first: every row is judged")
    assert f"warning: {prime}"[:60] in arqmath("compare", *given).output
    with pytest.warns(arq.ScoreWarning, match="every row is judged"):
        frame = arq.compare(
            {path.stem: arq.read_run(path) for path in given[:2]},  # type: ignore[union-attr, arg-type]
            pd.DataFrame([(t, d, g) for t in qrels for d, g in qrels[t].items()],
                         columns=["qid", "docno", "label"]),
        )  # fmt: skip
    (row,) = found["comparisons"]
    assert frame.iloc[0].to_dict() == row
    assert frame.attrs["warnings"] == found["warnings"]


def test_a_verdict_that_other_measures_contradict_says_so(folder: Path) -> None:
    # The first run finds all of grade 1, the second one document of grade 2.
    qrels = {f"A.{t}": {"1": 1, "2": 1, "3": 1, "4": 2, "5": 0} for t in (1, 2)}
    write_qrels(folder / "q", qrels)
    first = written(folder, "a.tsv", [(t, d, -float(d)) for t in qrels for d in (1, 2, 3, 9)], lab1)
    second = written(folder, "b.tsv", [(t, d, -float(d)) for t in qrels for d in (4, 9)], lab1)
    found = json_of("compare", first, second, "--qrels", folder / "q")
    assert found["comparisons"][0]["difference"] < 0
    assert found["warnings"][-1] == (
        "b against a: AP(rel=2,judged_only=True), P(rel=2,judged_only=True)@10, Bpref(rel=2) say "
        "the opposite of nDCG(judged_only=True)"
    )


def test_official_runs_have_no_false_warning_where_data_was_not_given(
    shared: Path, lite: Path, folder: Path
) -> None:
    qrels = lite / "Evaluation/ Scripts & Qrels/ARQMath-1/Task 1 /qrel_official_task1"
    run = shared / "data/arqmath1-runs/prim_MIRMU-task1-Ensemble-auto-both-A.tsv"
    arq.sample(folder / "indexes").index("task1")  # so that the sample's posts are known
    (found,) = json_of("eval", run, "--qrels", qrels)
    assert round(found["nDCG(judged_only=True)"], 4) == 0.2378
    assert [note for note in found["warnings"] if "collection" in note] == []
    for command in (["eval", run], ["report", run, "-o", folder / "report"]):
        with pytest.raises(InputError, match="give data=DATA"):
            arqmath(*command)


def test_the_note_under_a_headline_says_what_was_averaged(folder: Path) -> None:
    write_qrels(folder / "q", {f"A.{t}": {"1": 2, "2": 0} for t in (1, 2, 3)})
    rows = [("A.1", 1, 1.0), ("A.1", 9, 0.5), ("A.2", 9, 1.0)]
    said = arqmath("eval", written(folder, "r.tsv", rows, lab1), "--qrels", folder / "q").output
    assert "averaged over the 1 topics with a judged hit, not all 3: nDCG′ 1.0000" in said
    assert "averaged over the 2 topics that the run has, not all 3: judged@10 0.2500" in said


def test_judgments_of_relevant_documents_only_get_full_measures(folder: Path) -> None:
    write_qrels(folder / "q", {"A.1": {"1": 3, "2": 2}, "A.2": {"1": 2}})
    run = written(folder, "r.tsv", [("A.1", 7, 2.0), ("A.1", 1, 1.0), ("A.2", 1, 1.0)], lab1)
    said = arqmath("eval", run, "--qrels", folder / "q").output
    assert "MAP" in said
    assert "MAP′" not in said
    assert "list relevant documents only" in said
    same = written(folder, "s.tsv", [("A.1", 7, 2.0), ("A.1", 1, 1.0), ("A.2", 1, 1.0)], lab1)
    found = json_of("compare", run, same, "--qrels", folder / "q")
    assert found["measure"] == "nDCG"


def test_topics_with_a_grade_and_whole_rankings_can_be_scored(folder: Path) -> None:
    write_qrels(folder / "q", {"A.1": {"1": 1, "2": 0}, "A.2": {"3": 2, "5": 0}})
    rows = [("A.2", n, -float(n)) for n in range(10, 1010)]
    path = written(folder, "r.tsv", [*rows, ("A.2", 3, -9999.0)], lab1)
    given = ("eval", path, "--qrels", folder / "q", "--measure", "AP(rel=2)")
    (found,) = json_of(*given, "--topics-with-grade", 2)
    assert (found["topics"], found["AP(rel=2)"]) == (1, 0.0)
    (found,) = json_of(*given, "--topics-with-grade", 2, "--no-cut")
    assert found["AP(rel=2)"] == pytest.approx(1 / 1001)
    with pytest.raises(InputError, match="no topic has a grade of 3 or more"):
        arqmath(*given, "--topics-with-grade", 3)


def test_clear_words_for_what_cannot_be_told(folder: Path) -> None:
    write_qrels(folder / "q", {"A.1": {"1": 3, "2": 0, "9" * 5000: 1}, "A.2": {"1": 2}})
    runs = [
        written(folder, f"T-task1-{name}-auto-both-A.tsv", [("A.1", 1, 1.0), ("A.2", 8, 1.0)], lab1)
        for name in "ab"
    ]
    with pytest.raises(InputError, match=r"--by Category: give the labels .* --topic-info"):
        arqmath("eval", *runs, "--qrels", folder / "q", "--by", "Category")
    place = arq.Collection(arq.sample().layout.data, folder / "indexes")
    place.index("task1")  # so that coverage is looked at
    data = ("--data", place.layout.data, "--indexes", place.indexes)
    assert "0.5" in arqmath("eval", *runs, "--qrels", folder / "q", *data).output


@pytest.mark.parametrize("label", [-10, 1.9, 10**30, 2147483648, "x", float("inf")])
def test_labels_of_frames_are_those_of_files(label: Any) -> None:
    qrels = pd.DataFrame({"qid": ["A.1", "A.1"], "docno": ["1", "2"], "label": [3, label]})
    run = pd.DataFrame({"qid": ["A.1"], "docno": ["1"], "score": [1.0]})
    with pytest.raises(InputError, match="qrels: row 1: grade is "):
        arq.evaluate(run, qrels.astype({"label": object}))
    whole = qrels.assign(label=[3.0, 2.0])
    with pytest.warns(arq.ScoreWarning):
        assert arq.evaluate(run, whole, measures=["RR(rel=3)"])["RR(rel=3)"] == 1.0


def test_judgments_of_formulas_that_lost_their_attrs_score_the_same_or_raise(folder: Path) -> None:
    files = arq.sample(folder / "indexes")
    index, qrels = files.index("task2"), files.qrels("task2", 2022)
    run = index.run(files.topics("task2", 2022), depth=50)
    found = arq.evaluate(run, qrels)
    assert found["nDCG(judged_only=True)"] > 0.1
    qrels.to_csv(folder / "q.csv", index=False)
    lost = pd.read_csv(folder / "q.csv")
    assert arq.evaluate(run, lost)["ndcg_prime"] == pytest.approx(found["nDCG(judged_only=True)"])
    with pytest.raises(InputError, match="their attrs are lost"):
        arq.evaluate(run.drop(columns="visual_id"), lost)


def test_runs_of_frames_are_fused_and_measured_as_files_are(folder: Path) -> None:
    better, worse, qrels = frames(folder)
    for name, run in (("a", better), ("b", worse)):
        arq.write_run(run, folder / f"{name}.tsv")
    better, worse = (arq.read_run(folder / f"{name}.tsv") for name in "ab")
    fused = arq.fuse({"a": better, "b": worse}, "weighted", weights=[1, 0.3])
    arq.write_run(fused, folder / "fused.tsv")
    arqmath("fuse", "a.tsv", "b.tsv", "--method", "weighted", "--weights", "1,0.3", "-o", "f.tsv")
    assert [row[1:5] for row in read_run(Path("f.tsv"))] == [
        row[1:5] for row in read_run(Path("fused.tsv"))
    ]
    names = ["nDCG@10", "AP(rel=2)", "ndcg_prime"]
    table = arq.evaluate(better, qrels, per_topic=True, measures=names)
    assert list(table) == names
    expected = dict(ir_measures.calc_aggregate(
        map(measure_of, names[:2]),
        {q: {d: int(g) for d, g in zip(t["docno"], t["label"], strict=True)}
         for q, t in qrels.groupby("qid")},
        {q: dict(zip(t["docno"], t["score"], strict=True)) for q, t in better.groupby("qid")},
    ))  # fmt: skip
    for name, value in expected.items():
        assert table[str(name)].mean() == pytest.approx(value)
    faults = {
        "one run alone": lambda: arq.fuse([better]),
        "3 weights for 2 runs": lambda: arq.fuse([better, worse], weights=[1, 2, 3]),
        "expected numbers from 0": lambda: arq.fuse([better, worse], weights=[1, -1]),
        "two runs or more": lambda: arq.compare([better], qrels),
    }
    for message, fault in faults.items():
        with pytest.raises(InputError, match=message):
            fault()


@pytest.mark.parametrize(
    "name", ["run.trec", "team-task1-x-auto-both-P.tsv", "t-task2-x-auto-both-P.tsv"]
)
def test_a_run_without_rows_is_an_empty_frame(folder: Path, name: str) -> None:
    (folder / name).write_text("")
    frame = arq.read_run(folder / name)
    assert len(frame) == 0
    assert list(frame)[:4] == ["qid", "docno", "score", "rank"]


def test_a_run_without_rows_is_an_empty_table(tmp_path: Path) -> None:
    run = tmp_path / "none.trec"
    run.touch()
    table = arq.read_run(run)
    assert len(table) == 0
    assert list(table) == ["qid", "docno", "score", "rank"]
