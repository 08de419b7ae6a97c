"""Task 2: visually distinct rankings and judgments, by hand, from formula TSVs v2 and v3."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import COLUMNS
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.qrels import (
    by_visual_id,
    coverage_notes,
    kind_of_name,
    read_qrels,
    write_qrels,
)
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.runs.formula_ids import FormulaIds
from arqmath_bm25.runs.run import Rankings, Run
from arqmath_bm25.runs.run_rules import best

# formula, post, type, visual id, issue
FORMULAS = [
    (101, 10, "question", 7, ""), (102, 10, "question", 8, ""), (103, 11, "answer", 7, ""),
    (104, 11, "answer", 9, ""), (105, 11, "comment", 8, ""), (106, 12, "title", 10, "d"),
    (107, 12, "answer", 11, "dv"), (108, 12, "answer", 12, "v"), (109, 12, "answer", "", ""),
]  # fmt: skip


@pytest.fixture(params=["v2", "v3"])
def formulas(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a directory with two files of the same formulas in the columns of v2 or v3."""
    folder = tmp_path / "Formulas" / f"latex_representation_{request.param}"
    folder.mkdir(parents=True)
    for number, part in ((1, FORMULAS[:5]), (2, FORMULAS[5:])):
        lines = ["\t".join(COLUMNS[request.param])]
        for formula, post, kind, visual, issue in part:
            middle = [visual] if request.param == "v2" else ["", 99_999, visual, issue]
            lines.append("\t".join(map(str, [formula, post, 10, kind, *middle, "x"])))
        (folder / f"{number}.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def ids(formulas: Path) -> FormulaIds:
    return FormulaIds.read(formulas)


def read_formula_rankings(path: Path, ids: FormulaIds, depth: int | None = 1000) -> Rankings:
    return Run.read(path, "task2", lambda: ids).rankings(depth)


def run_of(tmp_path: Path, rows: list[tuple[str, int | str, int, float]]) -> Path:
    """Write a Task 2 run of rows: topic, formula, post, score."""
    path = tmp_path / "run.tsv"
    path.write_text("".join(f"{t}\t{f}\t{p}\t1\t{s}\trun\n" for t, f, p, s in rows))
    return path


def test_the_best_instance_of_a_visual_id_stands_for_it(tmp_path: Path, ids: FormulaIds) -> None:
    rows = [("B.1", 103, 11, 1.0), ("B.1", 104, 11, 2.0), ("B.1", 101, 10, 3.0)]
    rankings = read_formula_rankings(run_of(tmp_path, rows), ids)
    assert rankings.topics == {"B.1": {"7": 3.0, "9": 2.0}}
    assert rankings.notes == []


def test_of_equal_scores_the_first_row_comes_first_then_visual_ids_descend(
    tmp_path: Path, ids: FormulaIds
) -> None:
    # 102 and 105 share visual id 8; all scores are equal, so trec_eval orders 9, 8, 7, 12.
    rows = [("B.1", f, p, 5.0) for f, p in ((102, 10), (105, 11), (101, 10), (108, 12), (104, 11))]
    ranking = read_formula_rankings(run_of(tmp_path, rows), ids).topics["B.1"]
    assert list(ranking) == best(ranking) == ["9", "8", "7", "12"]


def test_an_id_beyond_32_bits_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "1.tsv"
    header = "\t".join(COLUMNS["v2"])
    for largest, fits in ((2**31 - 1, True), (2**31, False)):
        path.write_text(f"{header}\n{largest}\t10\t10\tanswer\t7\tx\n")
        if fits:
            assert FormulaIds.read(path).formula.tolist() == [largest]
        else:
            with pytest.raises(InputError, match="an id is larger than 2147483647"):
                FormulaIds.read(path)


def test_unknown_formulas_are_skipped_and_counted(tmp_path: Path, ids: FormulaIds) -> None:
    unknown: list[int | str] = [999, "q_1", "0101", 10**12, 109]  # 109 has no visual id
    rows: list[tuple[str, int | str, int, float]] = [
        ("B.1", formula, 10, 9.0 - at) for at, formula in enumerate(unknown)
    ]
    rankings = read_formula_rankings(run_of(tmp_path, [*rows, ("B.1", 101, 10, 1.0)]), ids)
    assert rankings.topics == {"B.1": {"7": 1.0}}
    assert (rankings.counts["unknown"], rankings.counts["repeated"]) == (5, 0)


def test_instances_of_comments_and_deleted_formulas_are_kept_and_counted(
    tmp_path: Path, formulas: Path, ids: FormulaIds
) -> None:
    rows = [("B.1", f, p, 9.0 - f / 100) for f, p, _, visual, _ in FORMULAS if visual]
    rankings = read_formula_rankings(run_of(tmp_path, rows), ids)
    assert set(rankings.topics["B.1"]) == {"7", "8", "9", "10", "11", "12"}
    assert rankings.counts["comments"] == 1
    assert rankings.counts["deleted"] == (
        2 if formulas.name.endswith("v3") else 0
    )  # v2 has no issue column
    assert rankings.notes[0] == "instances in comments, which must not be returned: 1"


def test_of_a_repeated_formula_the_last_score_counts_at_the_first_position(
    tmp_path: Path, ids: FormulaIds
) -> None:
    rows = [("B.1", 101, 10, 1.0), ("B.1", 104, 11, 5.0), ("B.1", 101, 10, 5.0)]
    rankings = read_formula_rankings(run_of(tmp_path, rows), ids)
    assert rankings.topics["B.1"] == {"7": 5.0, "9": 5.0}
    assert rankings.counts["repeated"] == 1
    lowered = [("B.1", 101, 10, 9.0), ("B.1", 104, 11, 5.0), ("B.1", 101, 10, 1.0)]
    assert list(read_formula_rankings(run_of(tmp_path, lowered), ids).topics["B.1"]) == ["9", "7"]


def test_distinct_formulas_are_cut_and_not_their_instances(tmp_path: Path, ids: FormulaIds) -> None:
    # 101 and 103 look alike: the lab allows more than 1,000 instances for their sake.
    rows = [("B.1", 101, 10, 4.0), ("B.1", 103, 10, 3.5), ("B.1", 104, 11, 3.0)]
    path = run_of(tmp_path, [*rows, ("B.2", 104, 11, 3.0)])
    for depth, first in ((2, {"7": 4.0, "9": 3.0}), (1, {"7": 4.0})):
        rankings = read_formula_rankings(path, ids, depth)
        assert rankings.topics == {"B.1": first, "B.2": {"9": 3.0}}
        assert rankings.counts["cut"] == 2 - depth


@pytest.mark.parametrize(
    "form", ["{t}\t{p}\t{f}\t1\t{s}\tr\n", "{t}\t1\t{f}\t1\t{s}\tr\n", "{t} Q0 {f} 1 {s} r\n"]
)
def test_swapped_columns_and_trec_form_are_understood(
    tmp_path: Path, ids: FormulaIds, form: str
) -> None:
    rows = [("B.1", 101, 10, 3.0), ("B.1", 104, 11, 2.0), ("B.2", 108, 12, 1.0)]
    path = tmp_path / "run.tsv"
    path.write_text("".join(form.format(t=t, f=f, p=p, s=s) for t, f, p, s in rows))
    rankings = read_formula_rankings(path, ids)
    assert rankings.topics == {"B.1": {"7": 3.0, "9": 2.0}, "B.2": {"12": 1.0}}
    assert ("columns 2 and 3 (formula, post) are exchanged" in rankings.notes) == ("{p}" in form)

    posts = {"101": "10", "104": "11"}
    if "{p}" not in form:  # TREC's form has no posts.
        posts = dict.fromkeys(posts, "")
    read = Run.read(path, "task2", lambda: ids).topics["B.1"]
    assert {row.doc_id: row.post_id for row in read} == posts


def test_judgments_by_visual_id_are_taken_as_they_are(ids: FormulaIds) -> None:
    qrels = {"B.1": {"7": 2, "8": 0, "77": 1}}
    assert by_visual_id(qrels, ids, Path("qrels"))[1:] == (qrels, "visual", (), 2)


def test_judgments_by_formula_id_are_re_keyed_with_the_highest_grade(ids: FormulaIds) -> None:
    qrels = {"B.1": {"101": 1, "103": 3, "102": 0, "999": 2, "109": 3}, "B.2": {"999": 3}}
    found = by_visual_id(qrels, ids, Path("qrels"))
    assert found.qrels == {"B.1": {"7": 3, "8": 0}}
    assert found.notes == (
        "the judgments name formulas, which count by their visual ids, the highest grade of each: "
        "3 of 5 are in the formula index, 1 of 2 topics have any",
    )


@pytest.mark.usefixtures("formulas")
def test_a_task_2_run_is_scored_by_visual_id(tmp_path: Path) -> None:
    rows = [
        ("B.1", 104, 11, 9.0),  # 9, not judged
        ("B.1", 103, 11, 8.0), ("B.1", 101, 10, 7.0),  # both are 7: grade 3
        ("B.1", 102, 10, 6.0),  # 8: grade 0
    ]  # fmt: skip
    path = run_of(tmp_path, rows)
    for name, qrels in (
        ("visual", {"B.1": {"7": 3, "8": 0}, "B.2": {"12": 2}}),
        ("formula", {"B.1": {"101": 1, "103": 3, "102": 0}, "B.2": {"108": 2}}),
    ):
        write_qrels(tmp_path / name, qrels)
        evaluator = Evaluator(CollectionFiles(tmp_path, tmp_path), qrels=tmp_path / name)
        numbers = evaluator.score(path).to_json()
        assert (numbers["task"], numbers["rows"], numbers["rows_judged"]) == ("task2", 3, 2)
        assert numbers["nDCG(judged_only=True)"] == pytest.approx(1 / 2)
        assert numbers["AP(rel=2)"] == pytest.approx((1 / 2) / 2)  # 7 stands second, behind 9


def test_the_ids_are_read_once_and_kept_until_the_files_change(
    tmp_path: Path, formulas: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = tmp_path / "indexes"
    caplog.set_level("INFO", "arqmath_bm25")
    first = FormulaIds.load(formulas, cache)
    assert caplog.messages == ["Reading visual ids, once"]
    kept = {path.name for path in cache.iterdir()}
    second = FormulaIds.load(formulas, cache)
    assert len(caplog.messages) == 1
    assert np.array_equal(first.visual, second.visual)
    part = formulas / "2.tsv"
    part.write_text(part.read_text().replace("\t12\t", "\t13\t", 1))
    changed = FormulaIds.load(formulas, cache)
    assert len(caplog.messages) == 2
    assert kept < {path.name for path in cache.iterdir()}
    assert not np.array_equal(first.post, changed.post)


@pytest.mark.parametrize("damaged", ["empty", "cut", "reversed"])
@pytest.mark.parametrize("name", ["npy", "manifest.json"])
def test_a_damaged_table_of_ids_is_written_again(
    tmp_path: Path, formulas: Path, damaged: str, name: str
) -> None:
    first = FormulaIds.load(formulas, tmp_path / "indexes")._table.copy()
    (path,) = (tmp_path / "indexes").glob(f"*.{name}")
    content = path.read_bytes()
    new = {"empty": b"", "cut": content[:-8], "reversed": content[:-16] + content[:-17:-1]}
    path.write_bytes(new[damaged])
    for _ in range(2):
        again = FormulaIds.load(formulas, tmp_path / "indexes")
        assert np.array_equal(first, again._table)
    assert len(list((tmp_path / "indexes").iterdir())) == 2


def test_formulas_need_not_be_in_the_order_of_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "formulas.tsv"
    header = "\t".join(COLUMNS["v2"])
    path.write_text(f"{header}\n9\t1\t1\ttitle\t4\tx\n3\t1\t1\ttitle\t5\ty\n9\t2\t1\ttitle\t6\tz\n")
    ids = FormulaIds.read(path)
    assert ids.formula.tolist() == [3, 9]
    assert ids.visual.tolist() == [5, 6]  # the last row of an id counts, as in the official script


def test_formulas_without_rows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.tsv").write_text("\t".join(COLUMNS["v3"]) + "\n")
    with pytest.raises(InputError, match="the files hold no formulas"):
        FormulaIds.read(tmp_path)


def test_official_judgments_of_a_subset_are_known_by_their_ids(lite: Path, tmp_path: Path) -> None:
    ids = FormulaIds.load(lite / "Formulas" / "latex_representation_v3", tmp_path)
    task2 = lite / "Evaluation" / " Scripts & Qrels"
    by_formula = task2 / "ARQMath-1" / "Task2" / "qrel_with_formula_ids" / "qrel_task2.tsv"
    (note,) = by_visual_id(read_qrels(by_formula), ids, tmp_path / "renamed").notes
    assert note.startswith("the judgments name formulas")
    of_2020 = read_qrels(by_formula.parent.parent / "qrel_task2_2020_visual_id.tsv")
    (note,) = by_visual_id(of_2020, ids, tmp_path / "renamed").notes
    assert "belong to no formula index" in note
    files = task2 / "ARQMath-2" / "Task2" / "Qrel Files"
    by_visual = read_qrels(files / "qrel_task2_2021_test_official_evaluation.tsv")
    assert by_visual_id(by_visual, ids, tmp_path / "renamed")[1:] == (by_visual, "visual", (), 2)
    official = files / "qrel_task2_2021_test_official_evaluation.tsv"
    assert by_visual_id(by_visual, ids, official).ids == "visual_v2"


# The whole collection in small: formula ids are consecutive, so every visual id is one as well.

TASK2_QRELS = "Evaluation/ Scripts & Qrels/ARQMath-2/Task2/Qrel Files/"
OF_2021 = TASK2_QRELS + "qrel_task2_2021_test_official_evaluation.tsv"


def whole_table(judged: set[int], formulas: int = 9_400_000) -> FormulaIds:
    """Make up a table of the formulas 1 … N; the last ones have the visual ids `judged`."""
    formula = np.arange(1, formulas + 1, dtype=np.int32)
    visual = np.ones(formulas, np.int32)
    visual[-len(judged) :] = sorted(judged)
    post = np.zeros(formulas, np.int32)
    return FormulaIds(np.array([formula, visual, visual, post, post, np.sort(visual)]))


def plain_ndcg(run: dict[str, list[int]], qrels: dict[str, dict[str, int]]) -> float:
    """Average nDCG of the judged part of rankings of visual ids."""
    total = 0.0
    for topic, grades in qrels.items():
        judged = [grades[str(doc)] for doc in run[topic] if str(doc) in grades]
        ideal = sorted(grades.values(), reverse=True)
        gains = [sum(g / math.log2(r + 2) for r, g in enumerate(x)) for x in (judged, ideal)]
        total += gains[0] / gains[1]
    return total / len(qrels)


@pytest.mark.slow
def test_one_judged_id_that_is_missing_does_not_turn_the_judgments_over(
    lite: Path, tmp_path: Path
) -> None:
    official = read_qrels(lite / OF_2021)
    judged = {int(doc) for grades in official.values() for doc in grades}
    complete, missing = whole_table(judged), whole_table(judged - {max(judged)})
    for ids in (complete, missing):
        for name in ("qrel_task2_2021_official.tsv", "renamed.tsv"):
            assert by_visual_id(official, ids, Path(name)).qrels == official
    # By formula id, 39 % of the judged ids are visual ids as well.
    by_formula = {"B.1": dict.fromkeys([*map(str, sorted(judged)[:39])], 1)}
    by_formula["B.1"] |= {str(number): 1 for number in range(9_399_000, 9_399_061)}
    assert by_visual_id(by_formula, complete, Path("renamed.tsv")).ids == "formula"
    run = tmp_path / "T-task2-x-auto-math-A.tsv"
    rankings = {}
    with run.open("w") as file:
        for topic, grades in official.items():
            rankings[topic] = sorted(map(int, grades), key=lambda doc: doc % 997)[:100]
            at = missing.formula[np.searchsorted(missing.visual[-len(judged) + 1 :],
                                                 rankings[topic]) - len(judged) + 1]  # fmt: skip
            for rank, (doc, formula) in enumerate(zip(rankings[topic], at, strict=True), 1):
                if doc != max(judged):
                    file.write(f"{topic}\t{formula}\t0\t{rank}\t{-rank}\tx\n")
    found = read_formula_rankings(run, missing)
    value = score(found.topics, official).averages()["ndcg_prime"]
    assert value == pytest.approx(plain_ndcg(rankings, official), abs=0.002)
    assert value > 0.2


def test_judgments_of_newer_ids_are_kept_over_an_older_index(shared: Path, lite: Path) -> None:
    newer = read_qrels(lite / "extras" / "qrels.arqmath-2021-task2-official.v3.txt")
    judged = {int(doc) for grades in newer.values() for doc in grades}
    older = whole_table({doc for doc in judged if doc <= 9_345_000})
    assert len(judged) > len({doc for doc in judged if doc <= 9_345_000})
    found = by_visual_id(newer, older, Path("renamed.tsv"))
    assert (found.ids, found.qrels) == ("visual", newer)
    run = {t: {d: g for d, g in docs.items() if int(d) <= 9_345_000} for t, docs in newer.items()}
    assert score(run, found.qrels).averages()["ndcg_prime"] > 0.99  # of 1 with all ids


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("qrel_with_formula_ids/qrel_task2.tsv", "formula"),
        ("Qrel Files/qrel_task2_2021_formula_id_all.tsv", "formula"),
        ("Task2/qrel_task2_official_2020_visual_id.tsv", "visual"),
        ("Qrel Files/qrel_task2_2021_test_official_evaluation.tsv", "visual_v2"),
        ("Qrel Files/qrel_task2_2022_official.tsv", "visual"),
        ("extras/qrels.arqmath-2021-task2-official.v3.txt", "visual"),
        ("mine/qrels.tsv", None),
    ],
)
def test_the_names_of_official_files_tell_their_ids(name: str, kind: str | None) -> None:
    assert kind_of_name(Path("/data", name)) == kind


def test_ids_that_can_be_either_have_to_be_said() -> None:
    numbers = list(range(1, 31))
    ids = FormulaIds(np.array([numbers, [*range(1, 21), *[1] * 10], numbers, numbers, numbers,
                              [1] * 10 + list(range(1, 21))], np.int32))  # fmt: skip
    qrels = {"B.1": {str(number): 1 for number in numbers}}  # 30 formula ids, 20 visual ids
    with pytest.raises(InputError, match=r"30 of its 30 ids are formula ids .* 20 are visual ids"):
        by_visual_id(qrels, ids, Path("qrels.tsv"))
    assert by_visual_id(qrels, ids, Path("qrels.tsv"), "visual").qrels == qrels
    assert by_visual_id(qrels, ids, Path("qrels.tsv"), "formula").ids == "formula"


def test_judgments_of_2021_are_held_against_the_visual_ids_of_their_time(tmp_path: Path) -> None:
    header = "\t".join(COLUMNS["v3"])
    # 1 and 2 looked alike in v2 (70), in v3 they do not (70, 71); 3 was corrected to 70.
    rows = [(1, 70, 70, ""), (2, 70, 71, "v"), (3, 72, 70, "v"), (4, 74, 74, "")]
    formulas = tmp_path / "Formulas" / "latex_representation_v3"
    formulas.mkdir(parents=True)
    (formulas / "1.tsv").write_text("\n".join([header, *(
        f"{f}\t10\t10\tanswer\t\t{old}\t{new}\t{issue}\tx" for f, old, new, issue in rows
    )]) + "\n")  # fmt: skip
    run = tmp_path / "T-task2-x-auto-math-A.tsv"
    run.write_text(
        "".join(f"B.201\t{f}\t10\t{n}\t{-n}\tx\n" for n, f in enumerate((2, 4, 3, 1), 1))
    )
    of_2021 = tmp_path / "qrel_task2_2021_official.tsv"
    write_qrels(of_2021, {"B.201": {"70": 3, "72": 2, "74": 0}})
    # As the official script over v2: 70 (by 2), 74, 72; grades 3, 0, 2.
    expected = (3 + 2 / 2) / (3 + 2 / math.log2(3))
    evaluator = Evaluator(CollectionFiles(tmp_path, tmp_path), qrels=of_2021)
    scored = evaluator.score(run)
    assert (scored.judgments.ids, scored.year) == ("visual_v2", "2021")
    assert scored.to_json()["nDCG(judged_only=True)"] == pytest.approx(expected)
    # As v3: 71 unjudged, 74, 70 (by 3); 72 is no visual id any more.
    newer = Evaluator(CollectionFiles(tmp_path, tmp_path), qrels=of_2021, ids="visual")
    assert newer.score(run).to_json()["nDCG(judged_only=True)"] == pytest.approx(
        (3 / math.log2(3)) / (3 + 2 / math.log2(3))
    )


def test_all_instances_count_where_the_cut_is_off(tmp_path: Path, ids: FormulaIds) -> None:
    rows = [("B.1", 1000 + number, 10, 5.0) for number in range(1000)] + [("B.1", 101, 10, 4.0)]
    path = run_of(tmp_path, rows)
    # So it is where it is on: what is cut is the ranking of distinct formulas.
    for depth in (None, 1000):
        whole = read_formula_rankings(path, ids, depth)
        assert (whole.topics, whole.counts["cut"]) == ({"B.1": {"7": 4.0}}, 0)


def test_a_collection_that_lacks_most_judged_formulas_is_told(tmp_path: Path) -> None:
    ids = ["7", "8"]
    qrels = {"B.1": {"7": 1, "70": 0, "71": 0}, "B.2": {"7": 2, "72": 0}}
    (few,) = coverage_notes(qrels, lambda found: np.isin(found, ids))
    assert few.startswith("of 5 judged documents the collection has 2: ")
    assert coverage_notes({"B.1": {"7": 1, "70": 0}}, lambda found: np.isin(found, ["7"])) == []
