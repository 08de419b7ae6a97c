"""Formula TSVs: three versions by their headers, quoted fields, and the ids alone."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.collection.formulas import (
    COLUMNS,
    FormulaRow,
    formula_files,
    read_formula_ids,
    read_formulas,
)
from arqmath_bm25.errors import InputError
from arqmath_bm25.sample import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

V3 = "\t".join(COLUMNS["v3"])
V2 = "\t".join(COLUMNS["v2"])
V1 = "\t".join(COLUMNS["v1"])


def tsv(tmp_path: Path, text: str, name: str = "1.tsv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{V3}\n39\t7\t5\tcomment\t12\t3\t4\tv\t\\sqrt{{2}}\n",
            FormulaRow("39", "7", "5", "comment", "12", "4", "3", "v", "\\sqrt{2}"),
        ),
        (
            f"{V2}\r\n39\t7\t5\tanswer\t3\tx<1\r\n",
            FormulaRow("39", "7", "5", "answer", "", "3", "", "", "x<1"),
        ),
        (f"{V1}\n39\t7\t5\ttitle\tx", FormulaRow("39", "7", "5", "title", "", "", "", "", "x")),
    ],
)
def test_the_columns_of_each_version_are_known_by_its_header(
    tmp_path: Path, text: str, expected: FormulaRow
) -> None:
    assert list(read_formulas(tsv(tmp_path, text))) == [expected]


def test_newlines_tabs_and_quotes_inside_quotes_belong_to_the_formula(tmp_path: Path) -> None:
    text = '1\t7\t5\tanswer\t3\t"a\nb\t""c"""\n2\t7\t5\tanswer\t4\tf"(x)\n\n3\t7\t5\ttitle\t4\ty'
    text = f"{V2}\n{text}"
    rows = list(read_formulas(tsv(tmp_path, text)))
    assert [row.latex for row in rows] == ['a\nb\t"c"', 'f"(x)', "y"]
    (ids,) = read_formula_ids(tmp_path)
    assert ids.formula.tolist() == [1, 2, 3]
    assert ids.visual.tolist() == [3, 4, 4]


def test_the_files_of_a_directory_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in range(1, 12):
        tsv(tmp_path, f"{V2}\n{number}\t7\t5\tanswer\t3\tx\n", f"{number}.tsv")
    tsv(tmp_path, "not formulas", "README.tsv")
    assert [row.formula_id for row in read_formulas(tmp_path)] == list(map(str, range(1, 12)))


def test_a_part_that_was_not_unpacked_is_named(tmp_path: Path) -> None:
    tsv(tmp_path, V2, "1.tsv")
    tsv(tmp_path, V2, "3.tsv")
    with pytest.raises(InputError, match=r"2\.tsv is missing, though 3\.tsv is there"):
        formula_files(tmp_path)


def test_a_directory_without_formulas_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no formula files here"):
        list(read_formulas(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: not the header of a formula TSV"),
        ("1\t7\t5\tanswer\t3\tx\n", "row 1: not the header .* found '1 7 5 answer 3 x'"),
        (V3.replace("visual_id", "visual"), "row 1: not the header"),
        (f"{V2}\n1\t7\t5\tanswer\n", "(line 2|last row): expected 6 columns, found 4"),
        (f"{V2}\n1\t7\t5\tanswer\t3\tx\ty\n", "line 2: expected 6 columns, found 7"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tsv(tmp_path, text)
    with pytest.raises(InputError, match=message):
        list(read_formulas(path))
    with pytest.raises(InputError, match=message):
        list(read_formula_ids(path))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "1.tsv"
    path.write_bytes(V2.encode() + b"\n1\t7\t5\tanswer\t3\t\xff\xfe\n")
    with pytest.raises(InputError, match=r"1\.tsv: after line .*utf-8"):
        list(read_formulas(path))


def test_ids_need_visual_ids_and_whole_numbers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"v1.* have no visual ids"):
        list(read_formula_ids(tsv(tmp_path, V1)))
    text = f"{V2}\n1\t7\t5\tanswer\t3\tx\nq_2\t7\t5\tanswer\t3\tx\n"
    with pytest.raises(InputError, match="formula 2: id is 'q_2'; expected a whole number"):
        list(read_formula_ids(tsv(tmp_path, text)))


def test_ids_tell_comments_deleted_formulas_and_missing_visual_ids(tmp_path: Path) -> None:
    kinds = [("title", ""), ("comment", "v"), ("answer", "d"), ("comment", "dv")]
    rows = [
        f"{number}\t7\t5\t{kind}\t\t3\t{'' if number == 1 else 4}\t{issue}\tx\n"
        for number, (kind, issue) in enumerate(kinds, 1)
    ]
    (ids,) = read_formula_ids(tsv(tmp_path, V3 + "\n" + "".join(rows)))
    assert ids.visual.tolist() == [-1, 4, 4, 4]
    assert ids.comment.tolist() == [False, True, False, True]
    assert ids.deleted.tolist() == [False, False, True, True]


FIELDS = st.text(st.sampled_from('a1 \\{}"\t\n$<&é𝐀'), max_size=12)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 10**7), st.integers(1, 10**7), FIELDS), min_size=1))
def test_what_the_csv_module_writes_is_read_without_loss(
    tmp_path_factory: pytest.TempPathFactory, formulas: list[tuple[int, int, str]]
) -> None:
    path = tmp_path_factory.mktemp("formulas") / "1.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t")
        rows.writerow(COLUMNS["v2"])
        rows.writerows((number, 7, 5, "answer", visual, text) for number, visual, text in formulas)
    read = list(read_formulas(path))
    assert [(int(row.formula_id), int(row.visual_id), row.latex) for row in read] == formulas
    ids = [
        pair
        for block in read_formula_ids(path)
        for pair in zip(block.formula.tolist(), block.visual.tolist(), strict=True)
    ]
    assert ids == [(number, visual) for number, visual, _ in formulas]


@pytest.mark.parametrize("collection", ["sample", "lite"])
def test_rows_and_ids_of_real_files_agree(collection: str, request: pytest.FixtureRequest) -> None:
    data = SAMPLE if collection == "sample" else request.getfixturevalue("lite")
    folder = data / "Formulas" / "latex_representation_v3"
    rows = [
        (int(row.formula_id), int(row.post_id), int(row.visual_id or -1), row.type == "comment",
         "d" in row.issue)
        for row in read_formulas(folder)
    ]  # fmt: skip
    columns = [
        row
        for ids in read_formula_ids(folder)
        for row in zip(*(column.tolist() for column in ids), strict=True)
    ]
    assert columns == rows
    if collection == "lite":
        assert len(rows) == 81_203  # its README
