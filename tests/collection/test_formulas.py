"""Formula TSVs: three versions by their headers, quoted fields, blocks of columns, ids alone."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.collection.formulas import (
    COLUMNS,
    FormulaRow,
    formula_files,
    read_formula_ids,
    read_formulas,
    read_rows,
)
from arqmath_bm25.collection.tsv_blocks import BrokenRowError, read_blocks
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
        (f"{10**16}\t7\t5\tanswer\t3\tx", "formula 2: id is '10000000000000000'"),
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
# Fields as they may stand in a file: plain, quoted, quoted where it is no use, and numbers.
PLAIN = st.text(st.sampled_from("a1 \\é𝐀\0\x0b\x85\ufeff"), max_size=9)
QUOTED = st.text(st.sampled_from('a"\t\n\r é'), max_size=9).map(
    lambda text: '"' + text.replace('"', '""') + '"'
)
MISPLACED = st.text(st.sampled_from('a" '), max_size=5)
NUMBERS = st.one_of(
    st.integers(0, 10**17).map(str), st.text(st.sampled_from("0123456789/:- "), max_size=18)
)
WORDS = st.sampled_from(["d", "dv", "title", "question", "questions", "xdv"])
FIELD = st.one_of(
    PLAIN, QUOTED, NUMBERS, NUMBERS.map('"{}"'.format), WORDS, WORDS.map('"{}"'.format)
)
LINE_END = st.sampled_from(["\n", "\r\n"])


def written(field: st.SearchStrategy[str], end: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    row = st.tuples(field, field, field).map("\t".join)
    return st.lists(st.tuples(row, end).map("".join)).map("".join)


def check_blocks(path: Path, text: str, size: int) -> int:
    """Compare blocks with what the csv module reads; return the number of rows."""
    path.write_bytes(("\t".join(NAMES) + "\n" + text).encode())
    try:
        rows = list(read_rows(path, len(NAMES)))
    except InputError:
        with pytest.raises(BrokenRowError):
            list(read_blocks(path, NAMES, size))
        return 0
    blocks = list(read_blocks(path, NAMES, size))
    for number, name in enumerate(NAMES):
        column = [row[number] for row in rows]
        whole = [int(t) if re.fullmatch("[0-9]{1,16}", t) else -1 for t in column]
        words = ["dv", "title", "d", "question"]
        codes = [words.index(text) if text in words else -1 for text in column]
        every = [np.arange(len(block)) for block in blocks]
        found = zip(blocks, every, strict=True)
        assert [text for block, at in found for text in block.texts(name, at)] == column
        assert [n for block in blocks for n in block.numbers(name).tolist()] == whole
        assert [n for block in blocks for n in block.codes(name, words).tolist()] == codes
        blank = [b for block in blocks for b in block.blank(name).tolist()]
        assert blank == [not text.strip() for text in column]
    return len(rows)


@settings(max_examples=300)
@given(written(FIELD, LINE_END), st.integers(1, 200))
def test_blocks_hold_what_the_csv_module_reads(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "blocks.tsv"
    check_blocks(path, text, size)
    check_blocks(path, text.removesuffix("\n"), size)


@settings(max_examples=500)
@given(
    st.one_of(
        written(
            st.one_of(FIELD, MISPLACED), st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\r\n"])
        ),
        st.text(st.sampled_from('a1"\t\n\r'), max_size=30),
    ),
    st.integers(1, 200),
)
def test_blocks_hold_what_the_csv_module_makes_of_irregular_files(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int
) -> None:
    check_blocks(tmp_path_factory.getbasetemp() / "irregular.tsv", text, size)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", 0),
        ("1\ta\tx", 1),
        ("1\ta\tx\r", 1),
        ("1\ta\tx\r2\tb\ty\r\n\n", 2),
        ('1\ta\tf"(x)\n2\tb\t"y"z\n3\tc\t""\n', 3),
        ('1\ta\t"\r\n\r\n2\tb\ty\n', 1),  # the file ends within quotes
        ('"1"\t"a"\t""""\n' * 50, 50),
        ("1\ta\t" + "x" * 5000 + "\n2\tb\ty\n", 2),  # a row longer than many blocks
        ('1\ta\t"' + '""\n\t' * 5000 + '"\n2\tb\ty\n', 2),
    ],
)
def test_blocks_of_any_size(tmp_path: Path, text: str, rows: int) -> None:
    for size in (1, 2, 3, 7, 64, 1000, 1 << 20):
        assert check_blocks(tmp_path / "1.tsv", text, size) == rows


@pytest.mark.parametrize("data", [b"1\ta\t\xff\n", b"1\ta\t\xc3", b'1\ta\t"\xff"b\n'])
def test_blocks_are_utf_8(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "1.tsv"
    path.write_bytes("\t".join(NAMES).encode() + b"\n" + data)
    for size in (1, 7, 1000):
        with pytest.raises(BrokenRowError):
            list(read_blocks(path, NAMES, size))


def test_numbers_have_one_to_sixteen_digits(tmp_path: Path) -> None:
    posts = ["0", "12345678", "123456789", "1234567890123456", "12345678901234567", "1x", ""]
    rows = "".join(f"1\t{post}\t1\tanswer\tx\n" for post in posts)
    text = "\t".join(COLUMNS["v1"]) + "\n" + rows
    (block,) = read_blocks(tsv(tmp_path, text), COLUMNS["v1"])
    assert block.numbers("post_id").tolist() == [*map(int, posts[:4]), -1, -1, -1]


def test_columns_that_a_version_lacks_are_empty(tmp_path: Path) -> None:
    path = tsv(tmp_path, f"{V1}\n39\t7\t5\ttitle\tx\n")
    (block,) = read_blocks(path, COLUMNS["v1"])
    assert block.numbers("visual_id").tolist() == [-1]
    assert block.codes("issue", ["d"]).tolist() == [-1]
    assert block.texts("issue", np.array([0])) == [""]
    assert block.blank("issue").tolist() == [True]


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
