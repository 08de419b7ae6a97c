"""Rows of a dump: cut anywhere, repaired by rule, refused with a place."""

from __future__ import annotations

from contextlib import suppress
from html import unescape
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from arqmath_bm25.collection import dump
from arqmath_bm25.core.errors import InputError
from tests.support.parsed_dumps import parsed_rows

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<?xml version="1.0" ?>\n<posts>\n'


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path: Path) -> list[dict[str, str] | None]:
    """Read a dump in two ways: what is only split must be what lxml parses."""
    dump.check(path, "posts")
    resolved = []
    for row, written in dump.written_rows(path, "posts"):
        assert (written is None) == (dump.attributes(row.xml) is None)
        if written is None:
            resolved.append(None)
            continue
        resolved.append({name: unescape(text) for name, text in written.items()})
        assert resolved[-1] == dump.attributes(row.xml)
        with suppress(etree.XMLSyntaxError):  # some rows are repaired
            assert resolved[-1] == dict(etree.fromstring(row.xml).attrib)
    return resolved


def test_rows_carry_offset_and_attributes(tmp_path: Path) -> None:
    text = (
        HEAD
        + '   <row Id="1" Body="a &lt;b&gt; &quot;c&quot;"/>\n   <row Id="2" Body="x"/>\n</posts>\n'
    )
    path = write(tmp_path / "Posts.xml", text)
    rows = list(dump.rows(path, "posts"))
    assert [text.encode()[r.offset : r.offset + len(r.xml)] for r in rows] == [r.xml for r in rows]
    assert read(path) == [{"Id": "1", "Body": 'a <b> "c"'}, {"Id": "2", "Body": "x"}]


def test_byte_order_mark_raw_newlines_and_end_tags(tmp_path: Path) -> None:
    text = (
        '\ufeff<?xml version="1.0" encoding="utf-8"?>\r\n<!-- made by hand -->\r\n<posts>\r\n'
        '<row Id="1" Body="one\ntwo" />\r\n<row Id="2" Body="/&gt; &lt;row "></row>\r\n</posts>'
    )
    # XML turns a raw newline in an attribute into a blank.
    expected = [{"Id": "1", "Body": "one two"}, {"Id": "2", "Body": "/> <row "}]
    assert read(write(tmp_path / "Posts.xml", text)) == expected


def test_no_rows_is_a_dump_too(tmp_path: Path) -> None:
    assert read(write(tmp_path / "Posts.xml", HEAD + "</posts>\n")) == []


@given(
    bodies=st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")))),
    block=st.integers(1, 40),
)
def test_rows_do_not_depend_on_where_blocks_are_cut(
    bodies: list[str], block: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from xml.sax.saxutils import quoteattr

    lines = (f"<row Id={quoteattr(str(n))} Body={quoteattr(b)}/>" for n, b in enumerate(bodies))
    path = write(tmp_path_factory.mktemp("dump") / "x", HEAD + "\n".join(lines) + "</posts>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dump, "_BLOCK", len(HEAD) + 10 + block)
        found = read(path)
        size = path.stat().st_size
        parts = [dump.rows(path, "posts", at, at + 3 * block) for at in range(0, size, 3 * block)]
        assert [row for part in parts for row in part] == list(dump.rows(path, "posts"))
    expected = [b.replace("\ufffe", "").replace("\uffff", "") for b in bodies]
    assert [row["Body"] for row in found if isinstance(row, dict)] == expected


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"a&#x1F;b", "ab"),  # forbidden by XML 1.0, found in the archive's dumps
        (b"a&#2;b", "ab"),
        (b"a\x0bb", "ab"),
        (b"a\xffb", "a\ufffdb"),  # not UTF-8
        (b"&#x1D411; &#9;", "\U0001d411 \t"),
        (b"a&#" + b"9" * 5000 + b";&#0000000098;", "ab"),  # more digits than Python converts
    ],
)
def test_forbidden_characters_are_dropped(tmp_path: Path, raw: bytes, body: str) -> None:
    path = write(tmp_path / "x", HEAD.encode() + b'<row Id="1" Body="' + raw + b'"/></posts>')
    assert read(path) == [{"Id": "1", "Body": body}]


@pytest.mark.parametrize(
    ("row", "attributes"),
    [
        (b'<row Id="1" Body="a &amp;lt; &#xA;&#xD;\xc3\xa9 \'>" />', {"Body": "a &lt; \n\ré '>"}),
        (b'<row Id="1" Body="\xef\xbc\x9d"/>', {"Body": "\uff1d"}),
        (b'<row Id="1" Body="\xef\xbf\xbf"/>', {"Body": ""}),
        (b'<row Id="1" Body="a\tb"/>', {"Body": "a b"}),
        (b"<row Id='1' Body='\"'/>", {"Body": '"'}),
        (b'<row Id = "1" Body="x"/>', {"Body": "x"}),
        (b'<row Id="1" Body="&apos;&#49;"/>', {"Body": "'1"}),
    ],
)
def test_unusual_rows_are_read_too(tmp_path: Path, row: bytes, attributes: dict[str, str]) -> None:
    path = write(tmp_path / "x", HEAD.encode() + row + b"</posts>")
    assert read(path) == [{"Id": "1", **attributes}]


def test_what_follows_a_row_is_broken(tmp_path: Path) -> None:
    path = write(tmp_path / "x", HEAD + '<row Id="1" Body="x"/>"/></posts>')
    assert read(path) == [{"Id": "1", "Body": "x"}, None]


@pytest.mark.parametrize(
    "row",
    [
        b'<row Id="1" Body="x" Body="y"/>',
        b'<row Id="1" xmlns="x"/>',
        b'<row Id="1" Body="a&nbsp;b"/>',
        b'<row Id="1" Body="a & b"/>',
        b'<row Id="1"Body="x"/>',
        b'<row I"x"d="1"/>',
        b'<row Id="1" Body/>',
        b'<row Id="1"',
    ],
)
def test_what_only_looks_like_a_row_is_broken(tmp_path: Path, row: bytes) -> None:
    path = write(tmp_path / "x", HEAD.encode() + row + b"</posts>")
    assert read(path) == [None]


def test_a_broken_row_is_told_from_its_neighbours(tmp_path: Path) -> None:
    text = HEAD + '<row Id="1" Body="ok"/><row Id="2" Body="a < b"/><row Id="3" Body="ok"/></posts>'
    rows = read(write(tmp_path / "x", text))
    assert rows == [{"Id": "1", "Body": "ok"}, None, {"Id": "3", "Body": "ok"}]


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ('<rOw Id="2"/>', ["1", "broken rows", "3"]),
        ('<rOw Id="2"/> <Row Id="2"/>', ["1", "broken rows", "broken rows", "3"]),
        ('row Id="2" Body="x"/>', ["1", "broken rows", "3"]),
        ("<rOw/>", ["1", "broken rows", "3"]),
        ('<row\tId="2"/>', ["1", "2", "3"]),
        ("<!-- a comment -->", ["1", "3"]),
        ("<!-- a --> <!-- -- > b -->", ["1", "3"]),
        ('<row Id="2"/> text', ["1", "2", "broken rows", "3"]),
        ("<?target?>", ["1", "broken rows", "3"]),
    ],
)  # fmt: skip
def test_whatever_stands_between_rows_costs_no_neighbour(
    tmp_path: Path, between: str, found: list[str]
) -> None:
    first, last = '<row Id="1" Body="ok"/>', '<row Id="3" Body="ok"/>'
    for rows, expected in (
        ((first, between, last), found),
        ((between, last), found[1:]),
        ((first, between), found[:-1]),
    ):
        parsed = read(write(tmp_path / "x", HEAD + "\n".join(rows) + "\n</posts>"))
        assert ["broken rows" if row is None else row["Id"] for row in parsed] == expected


def test_a_place_is_that_of_the_row_alone(tmp_path: Path) -> None:
    text = HEAD + '<row Id="1" Body="a"/> <rOw Id="2"/> <row\nId="3"/>\n<!-- --></posts>'
    path = write(tmp_path / "x", text)
    rows = [row for row, found in parsed_rows(path, "posts") if isinstance(found, dict)]
    expected = [b'<row Id="1" Body="a"/>', b'<row\nId="3"/>']
    assert [row.xml for row in rows] == expected
    assert [text.encode()[row.offset :][: len(row.xml)] for row in rows] == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"PK\x03\x04rest", "zip archive; unpack"),
        (b"7z\xbc\xaf\x27\x1c", "7z archive; unpack"),
        (b"hello", "expected the root element <posts>, found 'hello'"),
        (b'<?xml version="1.0"?><comments><row Id="1"/></comments>', "found <comments>"),
        (b'<!DOCTYPE posts [<!ENTITY a "b">]><posts></posts>', "declares a DTD"),
        (
            HEAD.encode() + b'<row Id="1" Body="x"/>\n<row Id="2" Bo',
            "cut off at byte 68: it does not end with </posts>",
        ),
        (HEAD.encode() + b'<row Id="1" Body="x"/>\n', "cut off at byte"),
        (HEAD.encode(), "cut off at byte"),
        (HEAD.encode() + b'<rOw Id="1" Body="x"/>', "cut off at byte"),
        (HEAD.encode() + b" " * (1 << 17), "no <row .../> in its first"),
    ],
)
def test_what_is_no_complete_dump_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path / "Posts.V1.3.xml", content)
    with pytest.raises(InputError) as error:
        dump.check(path, "posts")
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        dump.check(tmp_path / "Posts.xml", "posts")


def test_entities_are_not_expanded() -> None:
    assert dump.attributes(b'<row Id="1" Body="&lol;"/>') is None


@pytest.mark.parametrize(
    "row",
    [
        b'<row Id="1"><row_is_not_closed/>',
        b'<row Id="1"/></rows>',
        b'<row Id="1"><other Id="9"/></row>',
        b'<row Id="1"/><rOw Id="9"/>',
        b'<row Id="1"/><!-- -->',
        b'<row Id="1" Body="&"/>',
        b'<row Id="1"/> <row Id="2"/>',
        b'<row Id="1">text</row>',
        b"",
    ],
)
def test_what_is_not_one_row_has_no_attributes(row: bytes) -> None:
    assert dump.attributes(row) is None
