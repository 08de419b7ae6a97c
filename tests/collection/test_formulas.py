"""Formula TSVs: three versions by their headers, quoted fields, blocks of columns, ids alone."""

from __future__ import annotations

import csv
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.collection.formulas import (
    COLUMNS,
    FormulaRow,
    formula_files,
    read_formula_blocks,
    read_formula_ids,
    read_formulas,
    read_rows,
)
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE

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
        (f"{V2}\n1\t7\t5\tanswer", "line 2: expected 6 columns, found 4: the file is cut off"),
        (f"{V2}\n1\t7\n1\t7\t5\tanswer\t3\tx\n", "line 2: expected 6 columns, found 2$"),
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
    for read in (read_formulas, read_formula_ids):
        with pytest.raises(InputError, match=r"1\.tsv: row 2: not UTF-8"):
            list(read(path))


@pytest.mark.parametrize("end", ["", '"\n', '"y\n', '""z"\n', "\n6\t8\t5\tanswer\t3\tx"])
def test_a_quote_that_is_not_closed_swallows_no_rows(tmp_path: Path, end: str) -> None:
    path = tsv(tmp_path, f'{V2}\n4\t7\t5\tanswer\t3\t"x\n5\t8\t5\tanswer\t3\tx{end}')
    for read in (read_formulas, read_formula_ids):
        with pytest.raises(InputError, match=r"1\.tsv: the row .* holds other rows: a quote"):
            list(read(path))


def test_ids_need_visual_ids_and_whole_numbers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"v1.* have no visual ids"):
        list(read_formula_ids(tsv(tmp_path, V1)))
    first = f"{V2}\n1\t7\t5\tanswer\t3\tx\n"
    for row, message in (
        ("q_2\t7\t5\tanswer\t3\tx", "formula 2: id is 'q_2'; expected a whole number"),
        ("2\t\t5\tanswer\tx\tx", "formula 2: post_id is ''"),
        ("2\t7\t5\tanswer\t3.0\tx", r"formula 2: visual_id is '3\.0'"),
        (f"{10**18}\t7\t5\tanswer\t3\tx", "formula 2: id is '1000000000000000000'"),
    ):
        with pytest.raises(InputError, match=message):
            list(read_formula_ids(tsv(tmp_path, f"{first}{row}\nx\tx\tx\tx\tx\tx\n")))


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


NAMES = ("id", "type", "formula")
# Fields as files may have them: plain, quoted, quoted in vain, with misplaced quotes.
PLAIN = st.text(st.sampled_from("a1 \\é𝐀\0\x0b\x85\ufeff"), max_size=9)
QUOTED = st.text(st.sampled_from('a"\t\n\r é'), max_size=9).map(
    lambda text: '"' + text.replace('"', '""') + '"'
)
MISPLACED = st.text(st.sampled_from('a" '), max_size=5)
FIELD = st.one_of(PLAIN, QUOTED, MISPLACED)
LINE_END = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\r\n"])
ROW = st.tuples(FIELD, FIELD, FIELD).map("\t".join)


def check_rows(path: Path, text: str) -> int:
    """Compare rows with what the csv module reads one by one; return how many there are."""
    path.write_bytes(("\t".join(NAMES) + "\n" + text).encode())
    with path.open(encoding="utf-8", newline="") as file:
        expected = [row for row in csv.reader(file, delimiter="\t") if row][1:]
    if any(len(row) != len(NAMES) for row in expected):
        with pytest.raises(InputError, match=r"line \d+: expected 3 columns, found \d+"):
            list(read_rows(path, len(NAMES)))
        return 0
    rows = list(chain.from_iterable(read_rows(path, len(NAMES))))
    assert rows == expected
    return len(rows)


@settings(max_examples=200)
@given(st.lists(st.tuples(ROW, LINE_END).map("".join), max_size=9).map("".join))
def test_rows_are_what_the_csv_module_reads(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "rows.tsv"
    check_rows(path, text)
    check_rows(path, text.removesuffix("\n"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", 0),
        ("1\ta\tx", 1),
        ("1\ta\tx\r", 1),
        ("1\ta\tx\r2\tb\ty\r\n\n", 2),
        ('1\ta\tf"(x)\n2\tb\t"y"z\n3\tc\t""\n', 3),
        ('1\ta\t"\r\n\r\n2\tb\ty\n', 1),  # the file ends within quotes
        ('"1"\t"a"\t""""\n' * 5000, 5000),
        ("1\ta\tx\n" * 1499 + '2\tb\t"y\n"\n\n' + "1\ta\tx\n" * 1500, 3000),
        ('1\ta\t"' + '""\n\t' * 5000 + '"\n2\tb\ty\n', 2),
    ],
)
def test_rows_of_any_number(tmp_path: Path, text: str, rows: int) -> None:
    assert check_rows(tmp_path / "1.tsv", text) == rows


def test_a_row_in_the_middle_is_named_by_its_line(tmp_path: Path) -> None:
    rows = "1\ta\tx\n" * 2000
    path = tsv(tmp_path, f"{rows}2\tb\n{rows}")
    with pytest.raises(InputError, match=r"line 2001: expected 3 columns, found 2$"):
        list(read_rows(path, len(NAMES)))


def test_numbers_have_one_to_eighteen_digits(tmp_path: Path) -> None:
    good = ["0", "12345678", "123456789", "9" * 18]
    bad = ["9" * 19, "1x", "", "-1", "1.0", " 1", "1_0", "\u0661"]
    for posts, numbers in (
        (good, list(map(int, good))),
        ([*good, ""], [*map(int, good), -1]),
        ([*good, *bad], [*map(int, good), *(-1 for _ in bad)]),
    ):
        rows = "".join(f"1\t{post}\t1\tanswer\tx\n" for post in posts)
        (block,) = read_formula_blocks(tsv(tmp_path, f"{V1}\n{rows}"))
        assert block.numbers("post_id").tolist() == numbers


def test_columns_that_a_version_lacks_are_empty(tmp_path: Path) -> None:
    (block,) = read_formula_blocks(tsv(tmp_path, f"{V1}\n39\t7\t5\ttitle\tx\n"))
    assert block.numbers("visual_id").tolist() == [-1]
    assert block.codes("issue", ["d"]).tolist() == [-1]
    assert block.texts("issue") == [""]
    assert block.blank("issue").tolist() == [True]
    assert block.codes("type", ["question", "title"]).tolist() == [1]
    assert block.blank("formula").tolist() == [False]


@pytest.mark.parametrize("collection", ["sample", "lite"])
def test_rows_and_ids_of_real_files_agree(collection: str, request: pytest.FixtureRequest) -> None:
    data = SAMPLE if collection == "sample" else request.getfixturevalue("lite")
    folder = data / "Formulas" / "latex_representation_v3"
    rows = [
        (int(row.formula_id), int(row.post_id), int(row.visual_id or -1),
         int(row.old_visual_id or -1), row.type == "comment", "d" in row.issue)
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


@pytest.mark.parametrize("second", ["01.tsv", "1.tsv.gz", "01.tsv.gz", "\u0661.tsv"])
def test_two_files_of_one_number_are_an_error(tmp_path: Path, second: str) -> None:
    for name in ("1.tsv", second):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match="has the same number; remove one of the two"):
        formula_files(tmp_path)
