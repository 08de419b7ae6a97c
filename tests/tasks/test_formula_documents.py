"""Documents of Task 2: one for each visually distinct formula, and every row accounted for."""

from __future__ import annotations

import csv
import json
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arqmath_bm25.analysis.settings import FormulaAnalysisSettings
from arqmath_bm25.collection.formulas import COLUMNS
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.document_parts import PartForms
from arqmath_bm25.tasks.formulas import formula_documents as documents
from arqmath_bm25.tasks.formulas.formula_documents import InstanceTable, write_formula_documents

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arqmath_bm25.tasks.settings import Task2Settings

LEFT_OUT = (
    "formulas of comments",
    "rows of other types",
    "formulas not found in the posts (issue d)",
    "blank formulas",
    "rows with an id that is no number",
    "rows with a formula id seen before",
)


SETTINGS = configured("task2").settings


def analysed(**analysis: object) -> Task2Settings:
    """Return settings of Task 2 with this analysis."""
    chosen = FormulaAnalysisSettings.model_validate(analysis)
    return SETTINGS.model_copy(update={"analysis": chosen})


FORMS = PartForms()
PAIRS = analysed(layout=(2, 2))


def tsv(path: Path, version: str, rows: Sequence[Sequence[object]]) -> Path:
    path.mkdir(parents=True)
    with (path / "1.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\r\n")
        writer.writerow(COLUMNS[version])
        writer.writerows(rows)
    return path


def write(formulas: Path, to: Path, processes: int = 1) -> tuple[dict[str, int], dict[str, str]]:
    """Return the counts, and of every document its layout pairs."""
    to.mkdir()
    counts = write_formula_documents(
        formulas, PAIRS, to, to / "instances.npy", Processes(processes), FORMS
    )
    parts = [part.read_text(encoding="utf-8") for part in sorted(to.glob("*.jsonl"))]
    found = [json.loads(line) for part in parts for line in part.split("\n")[:-1]]
    assert counts["documents"] == len(found)
    assert counts["rows"] == counts["instances"] + sum(counts.get(key, 0) for key in LEFT_OUT)
    return counts, {document["id"]: document["contents"] for document in found}


V3 = [
    # id, post, thread, type, comment, old visual, visual, issue, formula
    (11, 1, 1, "title", "", 5, 7, "", "x^2"),
    (12, 1, 1, "question", "", 5, 7, "v", "x^{2}"),
    (13, 2, 1, "answer", "", 5, 7, "", 'x^2\n\t"'),
    (14, 1, 1, "comment", 3, 5, 7, "", "x^2"),
    (15, 1, 1, "title", "", 6, 8, "d", "y"),
    (16, 1, 1, "question", "", 6, 8, "dv", "y"),
    (17, 1, 1, "answer", "", 9, 9, "", " "),
    (18, 2, 1, "answer", "", 4, 4, "", "z"),
    (18, 2, 1, "answer", "", 4, 4, "", "z"),
    (19, 2, 1, "answer", "", "", "", "", r"\newcommand{\a}{b} q"),
    (20, 3, 3, "answer", "", "", "", "", r"\newcommand{\a}{b}   q"),
    ("x", 3, 3, "answer", "", 4, 4, "", "z"),
    (21, 3, 3, "body", "", 4, 4, "", "z"),
]


def test_instances_that_may_be_returned_are_grouped_by_visual_id(tmp_path: Path) -> None:
    counts, found = write(tsv(tmp_path / "v3", "v3", V3), tmp_path / "out")
    assert found == {"7": "~n~x x~a~2 2~n~ x~n~", "4": "~n~z z~n~", "-1": "~n~q q~n~"}
    assert counts["rows"] == 13
    assert counts["instances"] == 6
    assert counts["instances without a visual id"] == 2
    assert counts["formulas not found in the posts (issue d)"] == 2
    assert [counts[key] for key in LEFT_OUT if "issue" not in key] == [1, 1, 1, 1, 1]


def test_the_instances_of_a_formula_are_found_again(tmp_path: Path) -> None:
    write(tsv(tmp_path / "v3", "v3", V3), tmp_path / "out")
    table = InstanceTable(tmp_path / "out" / "instances.npy")
    assert np.load(tmp_path / "out" / "instances.npy").shape == (5, 6)
    nothing = np.empty(0, np.int32), np.empty(0)
    assert table.best("7", *nothing) == ("13", "2", 0)  # answers come first
    assert table.best("4", *nothing) == ("18", "2", 0)


def test_the_thread_that_scores_best_gives_the_instance(tmp_path: Path) -> None:
    rows = [(n, 100 + n, 10 * n, "question", "", 7, 7, "", "x") for n in range(1, 5)]
    write(tsv(tmp_path / "v3", "v3", rows), tmp_path / "out")
    table = InstanceTable(tmp_path / "out" / "instances.npy")
    threads = np.array([5, 20, 30, 99], np.int32), np.array([1.0, 0.2, 0.4, 0.9])
    assert table.best("7", *threads) == ("3", "103", 0.4)


def test_files_without_visual_ids_are_grouped_by_latex_without_blanks(tmp_path: Path) -> None:
    rows = [(1, 1, 1, "answer", "a + b"), (2, 1, 1, "answer", "a+b"), (3, 1, 1, "answer", "a+c")]
    counts, found = write(tsv(tmp_path / "v1", "v1", rows), tmp_path / "out")
    assert found == {"-1": "~n~a a~n~+ +~n~b b~n~", "-2": "~n~a a~n~+ +~n~c c~n~"}
    assert counts["instances without a visual id"] == 3


def test_groups_without_visual_ids_are_numbered_in_the_order_of_the_rows(tmp_path: Path) -> None:
    chosen = random.Random(1)
    formulas = [f"x + {chosen.randint(0, 20_000)}" for _ in range(30_000)]  # several blocks of rows
    rows = [(n, 1, 1, "answer", formula) for n, formula in enumerate(formulas, 1)]
    (tmp_path / "out").mkdir()
    source = tsv(tmp_path / "v1", "v1", rows)
    table = tmp_path / "out" / "instances.npy"
    counts = write_formula_documents(source, PAIRS, tmp_path / "out", table, HERE, FORMS)
    numbers: dict[str, int] = {}
    groups = [-1 - numbers.setdefault(formula, len(numbers)) for formula in formulas]
    assert counts["documents"] == len(numbers)
    found = np.load(table)
    assert found[0].tolist() == sorted(groups)
    assert dict(zip(found[1].tolist(), found[0].tolist(), strict=True)) == dict(
        enumerate(groups, 1)
    )


def test_an_id_counts_once_in_all_blocks_of_rows(tmp_path: Path) -> None:
    rows = [(n, 1, 1, "answer", "x") for n in range(1, 30_001)]  # several blocks of rows
    (tmp_path / "out").mkdir()
    source = tsv(tmp_path / "v1", "v1", [*rows, *rows[:10]])
    counts = write_formula_documents(
        source, PAIRS, tmp_path / "out", tmp_path / "i.npy", HERE, PartForms()
    )
    assert counts["instances"] == 30_000
    assert counts["rows with a formula id seen before"] == 10


def test_ids_of_any_size_are_told_apart(tmp_path: Path) -> None:
    ids = [1, 8, 9, 2**31 - 1, 2**31 - 2, 2**31 - 1, 8, 2**31, 10**12, 0]
    rows = [(n, 1, 1, "answer", "", "", number, "", "x") for n, number in enumerate(ids, 1)]
    counts, found = write(tsv(tmp_path / "visual", "v3", rows), tmp_path / "out")
    assert sorted(found, key=int) == ["-1", "1", "8", "9", "2147483646", "2147483647"]
    assert counts["instances without a visual id"] == 3  # too large, or 0
    rows = [(number, 1, 1, "answer", "", "", 7, "", "x") for number in ids]
    counts, _ = write(tsv(tmp_path / "formula", "v3", rows), tmp_path / "again")
    assert counts["instances"] == 5
    assert counts["rows with a formula id seen before"] == 2
    assert counts["rows with an id that is no number"] == 3


@pytest.mark.parametrize("rows", [[], [(1, 1, 1, "comment", 2, "", 7, "", "x")]])
def test_files_without_formulas_give_no_documents(
    tmp_path: Path, rows: Sequence[Sequence[object]]
) -> None:
    counts, found = write(tsv(tmp_path / "v3", "v3", rows), tmp_path / "out")
    assert (counts["rows"], counts["instances"], found) == (len(rows), 0, {})


def test_a_formula_without_symbols_is_a_document_all_the_same(tmp_path: Path) -> None:
    rows = [(1, 1, 1, "answer", "", 7, 7, "", r"\text{if and only if}")]
    counts, found = write(tsv(tmp_path / "v3", "v3", rows), tmp_path / "out")
    assert counts["formulas without a symbol"] == 1
    assert found == {"7": "∅"}


def test_a_wrong_header_stops(tmp_path: Path) -> None:
    (tmp_path / "1.tsv").write_text("id\tpost\tformula\n1\t2\tx\n")
    with pytest.raises(InputError, match="row 1: not the header of a formula TSV"):
        write(tmp_path, tmp_path / "out")


def test_what_is_written_does_not_depend_on_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_PER_PART", 200)
    formulas = SAMPLE / "Formulas" / "latex_representation_v3"
    one, two = (write(formulas, tmp_path / str(n), n) for n in (1, 2))
    assert one == two
    assert one[0]["rows"] == 1432
    assert len(list((tmp_path / "1").glob("part-*.jsonl"))) > 4
    for part in (tmp_path / "1").iterdir():
        assert part.read_bytes() == (tmp_path / "2" / part.name).read_bytes()


def test_mathml_gives_the_same_documents(tmp_path: Path) -> None:
    markup = '<math alttext="x^{2}"><semantics><msup><mi>x</mi><mn>2</mn></msup></semantics></math>'
    latex = tsv(tmp_path / "latex", "v3", [(1, 1, 1, "answer", "", 7, 7, "", "x^2")])
    slt = tsv(tmp_path / "slt", "v3", [(1, 1, 1, "answer", "", 7, 7, "", markup)])
    parts = []
    for source, kind in ((latex, "latex"), (slt, "slt")):
        write_formula_documents(
            source, analysed(source=kind), source, source / "instances.npy", HERE, FORMS
        )
        parts.append((source / "part-00000.jsonl").read_text(encoding="utf-8"))
    assert parts[0] == parts[1]


@pytest.mark.slow
def test_the_real_subset_is_accounted_for(lite: Path, tmp_path: Path) -> None:
    counts, _ = write(lite / "Formulas" / "latex_representation_v3", tmp_path / "out")
    assert counts["rows"] == 81_203
    assert counts["formulas of comments"] == 14_145
    assert counts["formulas not found in the posts (issue d)"] == 4_825
    assert counts["blank formulas"] == 24
    assert counts["instances"] == 62_209
