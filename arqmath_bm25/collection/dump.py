"""Rows of an archive-dump XML file (Posts, Comments, PostLinks, ...): one `<row .../>` per record.

The files are read in blocks and cut at `<row `, which cannot occur inside an attribute (a raw `<`
is illegal there), so that memory is flat, every row knows its byte offset, and one broken row among
millions is repaired or counted instead of ending the build. Line ends are no guide: attribute
values may hold raw newlines. Each row is parsed by lxml without entities, DTD or network.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from lxml import etree

from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# The stubs of lxml do not know "internal".
_OPTIONS: Final[Any] = {"resolve_entities": "internal", "no_network": True, "huge_tree": True}
ROWS_TOGETHER: Final = 100  # that are parsed at a time, which takes half as long as one by one
_BLOCK = 1 << 20  # bytes read at a time
_ROW = b"<row "
_MAX_HEAD = 1 << 16  # a dump shows its root element and first row within this many bytes
_ROOT = re.compile(rb"<([A-Za-z][\w.-]*)")
_PROLOGUE = re.compile(rb"^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>)?(?:\s|<!--.*?-->)*", re.DOTALL)
_ARCHIVES = {b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"\x1f\x8b": "gzip"}

# Characters that XML 1.0 forbids, raw and as references: `&#x1F;` occurs in the archive's dumps.
_FORBIDDEN_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));")


class Row(NamedTuple):
    """One `<row .../>` as it stands in the file, not yet parsed."""

    offset: int  # of the row's first byte in the file
    xml: bytes  # from `<row ` to the end of the element


def check(path: Path, root: str) -> None:
    """Look at both ends of the dump at `path`, whose root element must be `root`.

    Raises InputError if the file is missing, empty, packed, of another kind, or cut off: the
    closing root tag is the only sign that a dump is complete.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    size = path.stat().st_size
    with path.open("rb") as file:
        has_rows = _first_row(path, file.read(_BLOCK), root) >= 0
        file.seek(max(0, size - _MAX_HEAD))
        tail = file.read().rstrip()
    closing = f"</{root}>"
    if tail.endswith(closing.encode()) or (not has_rows and tail.endswith(b"/>")):
        return
    cut = "after its head"
    if has_rows:
        complete = tail.endswith(b"/>")
        cut = f"{'after' if complete else 'in'} row {sum(1 for _ in rows(path, root)):,}"
    raise InputError(
        f"{path}: the file is cut off {cut} (byte {size:,}): it does not end with {closing}. "
        "Copy or download it again."
    )


def rows(path: Path, root: str, begin: int = 0, end: int | None = None) -> Iterator[Row]:
    """Yield every row of a dump that begins at its bytes `begin` … `end` - 1 (default: all)."""
    closing = f"</{root}>".encode()
    with path.open("rb") as file:
        offset = file.seek(begin)  # of text[0] in the file
        text = file.read(_BLOCK)
        start = text.find(_ROW)
        while end is None or offset + max(start, 0) < end:
            following = text.find(_ROW, start + len(_ROW)) if start >= 0 else -1
            if following < 0 and (block := file.read(_BLOCK)):
                # What is left: the row that is being read, or what may begin a first one.
                left = start if start >= 0 else max(0, len(text) - len(_ROW))
                offset += left
                text = text[left:] + block
                start = text.find(_ROW)
                continue
            if following < 0:
                if start >= 0:
                    last = text[start:].rstrip().removesuffix(closing).rstrip()
                    yield Row(offset + start, last)
                return
            yield Row(offset + start, text[start:following].rstrip())
            start = following


def _first_row(path: Path, text: bytes, root: str) -> int:
    """Check the head of the file and return where its first row starts, -1 if it has none."""
    for magic, kind in _ARCHIVES.items():
        if text.startswith(magic):
            raise InputError(f"{path}: this is a {kind} archive; unpack it first")
    if not text.strip():
        raise InputError(f"{path}: the file is empty; expected <{root}> with <row .../> elements")
    prologue = _PROLOGUE.match(text)
    head = text[prologue.end() if prologue else 0 :]
    if head.startswith(b"<!"):
        raise InputError(f"{path}: row 0: the file declares a DTD; the dumps have none")
    found = _ROOT.match(head)
    if found is None or found[1] != root.encode():
        shown = f"<{found[1].decode('ascii', 'replace')}>" if found else repr(bytes(head[:20]))
        raise InputError(
            f"{path}: not a {root} file: expected the root element <{root}>, found {shown}"
        )
    start = text.find(_ROW)
    if start < 0 and len(text) > _MAX_HEAD:
        raise InputError(f"{path}: not a {root} file: no <row .../> in its first {len(text)} bytes")
    return start


def parsed_rows(
    path: Path, root: str, begin: int = 0, end: int | None = None
) -> Iterator[tuple[Row, dict[str, str] | None]]:
    """Yield what `rows` yields, each with its `attributes`."""
    every = rows(path, root, begin, end)
    while batch := list(islice(every, ROWS_TOGETHER)):
        yield from zip(batch, attributes([row.xml for row in batch]), strict=True)


def attributes(rows: Sequence[bytes]) -> list[dict[str, str] | None]:
    """Return the attributes of every row, None for one that is broken beyond repair.

    Repairs: bytes that are not UTF-8 become U+FFFD; characters that XML forbids are dropped.
    """
    try:
        found, nested = _parse(b"".join(rows))
        if not nested:
            return [*found]
    except etree.XMLSyntaxError:
        pass
    return [_attributes(row) for row in rows]


def _attributes(row: bytes) -> dict[str, str] | None:
    for text in (row, _repaired(row)):
        try:
            return _parse(text)[0][0]
        except etree.XMLSyntaxError:
            continue
    return None


def _repaired(row: bytes) -> bytes:
    text = _FORBIDDEN_RAW.sub("", row.decode("utf-8", "replace"))
    return _REFERENCE.sub(_legal_reference, text).encode("utf-8", "replace")


class _Rows:
    """What lxml's parser tells: the attributes of the elements, and whether one is in another."""

    def __init__(self) -> None:
        self._found: list[dict[str, str]] = []
        self._depth = 0
        self._nested = False

    def start(self, _: str, attributes: dict[str, str]) -> None:
        self._found.append(attributes)
        self._depth += 1
        self._nested |= self._depth > 2

    def end(self, _: str) -> None:
        self._depth -= 1

    def close(self) -> tuple[list[dict[str, str]], bool]:
        found, self._found = self._found, []  # the parser and this refer to each other
        return found[1:], self._nested


def _parse(xml: bytes) -> tuple[list[dict[str, str]], bool]:
    # `&amp;` stays `&#38;` unless entities are resolved; inside an element none can be declared, so
    # that there are no others to resolve. A parser that met an error is not reused.
    parser = etree.XMLParser(target=cast("Any", _Rows()), **_OPTIONS)
    parser.feed(b"<rows>" + xml + b"</rows>")
    found: Any = parser.close()
    return cast("tuple[list[dict[str, str]], bool]", found)


def _legal_reference(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2])
    legal = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD
    return match[0] if legal or 0x10000 <= code <= 0x10FFFF else ""
