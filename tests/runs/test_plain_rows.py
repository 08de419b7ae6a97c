"""Files that are read by columns give the rows that they give row by row; all others are left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chances import exhaustive
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.core.labs import RunTask

FORMS: dict[RunTask, tuple[str, ...]] = {
    "task1": ("A.1\t{doc}\t{rank}\t{score}\tx", "A.1 Q0 {doc} {rank} {score} x"),
    "task2": ("B.1\t{doc}\t7\t{rank}\t{score}\tx", "B.1\tQ0\t{doc}\t{rank}\t{score}\tx"),
    "docs": ("q\tQ0\t{doc}\t{rank}\t{score}\tx", "q {doc} {rank} {score} x"),
}
DOCS = st.sampled_from(["1", "12", "0", "d\u00a0x", "é", "Q0", "", " 3", "a b", "\x1f"])
RANKS = st.sampled_from(["1", "2", "-3", "2.0", "", "9999999999", "x", "+1", "1_0", "٣"])
SCORES = st.sampled_from(
    ["1", "0.5", "-2e3", "1e-07", ".5", "5.", "nan", "inf", "1e999", "1_0", "٣", "", "x", "0x1"]
)
LINES = st.sampled_from(
    ["{}", "{}", "{}", "{}", "{}", "{}\r", "", "{}\t", "\ufeff{}", "\t\t", "{}\0"]
)
ROWS = st.lists(st.tuples(LINES, DOCS, RANKS, SCORES), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "run"


@pytest.mark.parametrize(("task", "form"), [(t, form) for t in FORMS for form in FORMS[t]])
@settings(max_examples=1000 if exhaustive() else 150, deadline=None)
@given(st.data())
def test_rows_are_the_same_by_columns_and_row_by_row(
    path: Path, task: RunTask, form: str, data: st.DataObject
) -> None:
    rows = data.draw(ROWS)
    lines = []
    for line, doc, rank, score in rows:
        lines.append(line.format(form.format(doc=doc, rank=rank, score=score)))
    path.write_text("\n".join(lines) + data.draw(st.sampled_from(["\n", ""])), newline="")
    plain = RULES[task].read_plain(path)
    if plain is not None:
        assert plain == list(RULES[task].read(path))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("task", "form"), [(t, form) for t in FORMS for form in FORMS[t]])
def test_rows_as_programs_write_them_are_read_by_columns(
    path: Path, task: RunTask, form: str, end: str
) -> None:
    numbers = range(1, 200)
    lines = [form.format(doc=n, rank=n, score=f"{1 / n:.9g}") for n in numbers]
    path.write_text(end.join(lines) + end, newline="")
    plain = RULES[task].read_plain(path)
    is_for_all_rows_to_decide = task == "task2" and "Q0" in form  # a formula may be called so
    assert (plain is None) == is_for_all_rows_to_decide
    assert len(Run.read(path, task)) == len(lines)
