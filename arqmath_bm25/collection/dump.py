"""Rows of an archive-dump XML file (Posts, Comments, PostLinks, ...): one `<row .../>` per record.

The files are read in blocks and cut at `<row `, which cannot occur inside an attribute (a raw `<`
is illegal there), so that memory is flat, every row knows its byte offset, and one broken row among
millions is repaired or counted instead of ending the build. Line ends are no guide: attribute
values may hold raw newlines. Each row is parsed by lxml without entities, DTD or network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from arqmath_bm25.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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

    number: int  # 1-based, counted over all rows of the file
    offset: int  # of the row's first byte in the file
    xml: bytes  # from `<row ` to the end of the element


def rows(path: Path, root: str) -> Iterator[Row]:
    """Yield every row of the dump at `path`, whose root element must be `root`.

    Raises InputError if the file is missing, empty, packed, of another kind, or cut off: the
    closing root tag is the only sign that a dump is complete.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with path.open("rb") as file:
        text = file.read(_BLOCK)
        start = _first_row(path, text, root)
        offset = 0  # of text[0] in the file
        number = 0
        while start >= 0:
            following = text.find(_ROW, start + len(_ROW))
            if following >= 0:
                number += 1
                yield Row(number, offset + start, text[start:following].rstrip())
                start = following
                continue
            block = file.read(_BLOCK)
            if not block:
                break
            offset += start
            text = text[start:] + block
            start = 0
        tail = text[max(start, 0) :].rstrip()
        closing = f"</{root}>".encode()
        if not tail.endswith(closing) and not (start < 0 and tail.endswith(b"/>")):
            cut = "after its head"
            if start >= 0:
                cut = f"{'after' if tail.endswith(b'/>') else 'in'} row {number + 1:,}"
            raise InputError(
                f"{path}: the file is cut off {cut} (byte {offset + len(text):,}): it does not end "
                f"with {closing.decode()}. Copy or download it again."
            )
        if start >= 0:
            yield Row(number + 1, offset + start, tail.removesuffix(closing).rstrip())


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


def attributes(row: bytes) -> dict[str, str] | None:
    """Return the attributes of one row, or None if it is broken beyond repair.

    Repairs: bytes that are not UTF-8 become U+FFFD; characters that XML forbids are dropped.
    """
    try:
        return _parse(row)
    except etree.XMLSyntaxError:
        text = row.decode("utf-8", "replace")
        text = _REFERENCE.sub(_legal_reference, _FORBIDDEN_RAW.sub("", text))
        try:
            return _parse(text.encode("utf-8", "replace"))
        except etree.XMLSyntaxError:
            return None


def _parse(xml: bytes) -> dict[str, str]:
    # A parser that met an error is not reused; making one costs about a microsecond.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    return {str(name): str(value) for name, value in etree.fromstring(xml, parser).attrib.items()}


def _legal_reference(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2])
    legal = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD
    return match[0] if legal or 0x10000 <= code <= 0x10FFFF else ""
