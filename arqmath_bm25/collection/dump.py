"""Rows of an archive-dump XML file (Posts, Comments, PostLinks, ...): one `<row .../>` per record.

The files are read in blocks and cut at `<row `, which cannot occur inside an attribute (a raw `<`
is illegal there), so that memory is flat, every row knows its byte offset, and one broken row among
millions is repaired or counted instead of ending the build. Line ends are no guide: attribute
values may hold raw newlines. Each row is parsed by lxml without entities, DTD or network.

A piece of the file from one cut to the next should be one row and white space. Anything else
between rows (`<rOw …/>`), except comments, counts as one broken row for each attribute `Id` in it,
and as at least one. No dump has rows in comments; they would be read like others.
"""

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from html import escape
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
from lxml import etree

from arqmath_bm25.core.arrays import Ints
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import ARCHIVES, GZIP
from arqmath_bm25.core.workers import HERE, Workers

PlaceOf = Callable[[dict[str, str]], tuple[int, ...] | str]
F = TypeVar("F")

# The stubs of lxml do not know "internal".
_OPTIONS: Any = {"resolve_entities": "internal", "no_network": True, "huge_tree": True}
_BLOCK = 1 << 20  # bytes read at a time
_RANGE = 1 << 24  # bytes that one worker scans at a time
_ROW = b"<row "
_MAX_HEAD = 1 << 16  # a dump shows its root element and first row within this many bytes
_ROOT = re.compile(rb"<([A-Za-z][\w.-]*)")
_PROLOGUE = re.compile(rb"^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>)?(?:\s|<!--.*?-->)*", re.DOTALL)
# Ids of the archive's records, in the one way to write them. NumPy's integers hold them all.
ID = re.compile("[1-9][0-9]{0,17}")
BROKEN = "broken rows"
_PART = re.compile(
    rb"""(?>(?:\s+|<!--(?>(?:[^-<]+|-(?!->)|<(?!row\s))*)-->)*)
    (?:(?P<row><row\s(?:[^<>"'/]++|/(?!>)|"[^<"]*+"|'[^<']*+')*(?:/>|>\s*+</row\s*+>))
    |(?P<broken>.(?>(?:[^<]+|<(?!row\s))*)))?""",
    re.DOTALL | re.VERBOSE,
)
_HAS_ID = re.compile(rb"""\sId\s*+=\s*+["']""")

# How the archive's dumps write a row: without line breaks, and with these references only.
_FRAME = re.compile(r'<row(?: [A-Z][A-Za-z]*=")+ ?/>')  # all but its values
_NAME = re.compile(r" (\w+)=")
# The references of such a row, and of one that was parsed, as they are resolved in turn.
_REFERENCES = {
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#x27;": "'",
    "&#xA;": "\n",
    "&#xD;": "\r",
    "&amp;": "&",
}
_UNUSUAL_REFERENCE = re.compile(rb"&(?!(?:lt|gt|amp|quot|#x[AD]);)")
# Bytes that such a row has only at its begin. 0xEF is the first one of U+FFFE, which XML forbids.
_UNUSUAL_BYTES = bytes(range(0x20)) + b"<\xef"

# Characters that XML 1.0 forbids, raw and as references: `&#x1F;` occurs in the archive's dumps.
_FORBIDDEN_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));")


class Row(NamedTuple):
    """One `<row .../>` as written in the file, not yet parsed, or the text found in its place."""

    offset: int  # of the row's first byte in the file
    xml: bytes  # from `<row ` to the end of the element


ParsedRows = Iterator[tuple[Row, dict[str, str] | None]]  # None: broken


def check(path: Path, root: str) -> None:
    """Look at both ends of the dump at `path`, whose root element must be `root`.

    Raises InputError if the file is missing, empty, packed, of another kind, or cut off: the
    closing root tag is the only sign that a dump is complete.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    size = path.stat().st_size

    with path.open("rb") as file:
        _check_head(path, file.read(_BLOCK), root)
        file.seek(max(0, size - _MAX_HEAD))
        tail = file.read().rstrip()

    closing = f"</{root}>"
    empty = tail.endswith(b"/>") and tail[tail.rfind(b"<") :].startswith(f"<{root}".encode())
    if not (tail.endswith(closing.encode()) or empty):
        raise InputError(
            f"{path}: the file is cut off at byte {size:,}: it does not end with {closing}. "
            "Copy or download it again."
        )


def rows(path: Path, root: str, begin: int = 0, end: int | None = None) -> Iterator[Row]:
    """Yield every row of a dump that begins at its bytes `begin` … `end` - 1 (default: all).

    Text that follows a row, up to the next one, is part of it. Text before the first row of the
    file is a row of its own if it is more than white space.
    """
    closing = f"</{root}>".encode()
    with path.open("rb") as file:
        offset = file.seek(begin)  # of text[0] in the file
        text = file.read(_BLOCK)
        start = text.find(_ROW)
        if not begin:
            # What is between the start tag of the root and the first row.
            root_end = text.find(b">", _prologue_end(text)) + 1
            head = text[root_end:]
            if start >= 0:
                head = text[root_end:start]
            head = head.rstrip().removesuffix(closing).strip()
            if head:
                yield Row(root_end, head)

        while end is None or offset + max(start, 0) < end:
            following = -1
            if start >= 0:
                following = text.find(_ROW, start + len(_ROW))
            if following >= 0:
                yield Row(offset + start, text[start:following].rstrip())
                start = following
                continue

            # Twice the length of a long row, so that the time is linear in it.
            block = file.read(max(_BLOCK, len(text) - start))
            if not block:
                if start >= 0:
                    last = text[start:].rstrip().removesuffix(closing).rstrip()
                    yield Row(offset + start, last)

                return

            # Keep the row that is being read, or the bytes that may begin the first one.
            kept = start
            if start < 0:
                kept = max(0, len(text) - len(_ROW))
            offset += kept
            text = text[kept:] + block
            start = text.find(_ROW)


def _prologue_end(text: bytes) -> int:
    prologue = _PROLOGUE.match(text)
    if prologue is None:
        return 0
    return prologue.end()


def _check_head(path: Path, text: bytes, root: str) -> None:
    """Raise InputError unless a file begins as a dump does."""
    # Rows are found by their offsets, so a dump must be unpacked.
    for magic, kind in (*ARCHIVES.items(), (GZIP, "gzip")):
        if text.startswith(magic):
            raise InputError(f"{path}: this is a {kind} archive; unpack it first")

    if not text.strip():
        raise InputError(f"{path}: the file is empty; expected <{root}> with <row .../> elements")

    head = text[_prologue_end(text) :]
    if head.startswith(b"<!"):
        raise InputError(f"{path}: the file declares a DTD, as no dump does; remove <!DOCTYPE …>")

    tag = _ROOT.match(head)
    if tag is None or tag[1] != root.encode():
        shown = repr(head[:20].decode(errors="replace"))
        if tag:
            shown = f"<{tag[1].decode()}>"
        raise InputError(
            f"{path}: not a {root} file: expected the root element <{root}>, found {shown}"
        )

    if len(text) > _MAX_HEAD and _ROW not in text:
        raise InputError(f"{path}: not a {root} file: no <row .../> in its first {len(text)} bytes")


def _parse_singly(piece: Row) -> ParsedRows:
    """Yield the rows in the text between two cuts."""
    offset, xml = piece
    for part in _PART.finditer(xml):
        row = part["row"]
        if row:
            attributes = _parsed(row)
            if attributes is not None:
                yield Row(offset + part.start("row"), row), attributes
                continue

        rest = row or part["broken"]
        if rest:
            broken = Row(offset + part.start(), part[0])
            lost = max(1, len(_HAS_ID.findall(rest)))
            yield from repeat((broken, None), lost)


def written_rows(path: Path, root: str, begin: int = 0, end: int | None = None) -> ParsedRows:
    """Yield the rows of `rows`, each with its attributes, or None if it is broken.

    The values have references such as `&lt;`, as most rows then need no parser, which would take
    three times as long. `attributes` returns a row with characters in place of these.
    """
    for row in rows(path, root, begin, end):
        written = _written_attributes(row.xml)
        if written is not None:
            yield row, written
            continue

        for part, parsed in _parse_singly(row):
            if parsed is not None:
                parsed = {name: escape(value) for name, value in parsed.items()}
            yield part, parsed


def _written_attributes(row: bytes) -> dict[str, str] | None:
    """Return the attributes of a row, still escaped.

    Returns None unless the row is well-formed and written as in the dumps of the archive.
    """
    usual = row.translate(None, _UNUSUAL_BYTES)
    if len(usual) != len(row) - 1 or _UNUSUAL_REFERENCE.search(row):
        return None
    try:
        pieces = row.decode().split('"')
    except UnicodeDecodeError:
        return None

    names = _names('"'.join(pieces[::2]))
    values = pieces[1::2]
    # A quote after the last value would make another one.
    if not names or len(names) != len(values):
        return None
    return dict(zip(names, values, strict=True))


@lru_cache(maxsize=256)  # A dump has few different frames.
def _names(frame: str) -> list[str]:
    """Return the names of the attributes of a row without its values; none if it is unusual."""
    if not _FRAME.fullmatch(frame):
        return []
    names = _NAME.findall(frame)
    if len(set(names)) < len(names):
        return []
    return names


def scan(
    path: Path, root: str, work: Callable[[ParsedRows], F], workers: Workers = HERE
) -> list[F]:
    """Check a dump and return `work` of the `written_rows` of its ranges of bytes, in their order.

    Raises InputError as `check` does.
    """
    # This module loads rich, which workers do not need.
    from arqmath_bm25.core.progress import progress

    check(path, root)
    size = path.stat().st_size
    bounds = [*range(0, size, _RANGE), size]
    ranges = list(pairwise(bounds))
    parts = []

    with progress(f"Reading {path.name}", size, "B") as advance:
        work_on_range = partial(_work_on_range, path, root, work)
        parts_of_ranges = workers.map(work_on_range, ranges)
        for (begin, end), part in zip(ranges, parts_of_ranges, strict=True):
            parts.append(part)
            advance(end - begin)

    return parts


def _work_on_range(
    path: Path, root: str, work: Callable[[ParsedRows], F], ends: tuple[int, int]
) -> F:
    return work(written_rows(path, root, *ends))


def scan_places(
    path: Path, root: str, place: PlaceOf, workers: Workers
) -> tuple[Ints, Counter[str]]:
    """Index the rows of a dump: the numbers from `place`, offset, length and CRC-32 of each.

    `place` gets a row of `written_rows`, and returns the numbers by which it is found, of which the
    second is its Id, or the reason why the row is left out. Rows with the Id of an earlier one are
    left out too. All rows are counted.
    """
    parts = scan(path, root, partial(_places, place=place), workers)
    counts = Counter(rows=0)
    filled = []
    for part, part_counts in parts:
        counts += part_counts
        # An empty part does not know how many columns there are.
        if part.size:
            filled.append(part)

    empty, _ = parts[0]
    places = np.concatenate(filled or [empty])
    _, first = np.unique(places[:, 1], return_index=True)
    repeated = len(places) - len(first)
    if repeated:
        counts["rows with a repeated Id"] = repeated
    return places[np.sort(first)], counts


def _places(rows: ParsedRows, place: PlaceOf) -> tuple[Ints, Counter[str]]:
    counts = Counter[str]()
    numbers_of_rows = array("q")
    columns = 5

    for row, parsed in rows:
        counts["rows"] += 1
        if parsed is None:
            counts[BROKEN] += 1
            continue

        numbers = place(parsed)
        if isinstance(numbers, str):
            counts[numbers] += 1
        else:
            columns = len(numbers) + 3
            numbers_of_rows.extend((*numbers, row.offset, len(row.xml), crc32(row.xml)))

    return np.frombuffer(numbers_of_rows, np.int64).reshape(-1, columns), counts


def read_places(
    path: Path, attribute: str, places: Sequence[Sequence[int]]
) -> list[dict[str, str]]:
    """Return the attributes of the rows at places: (number, offset, length, CRC-32).

    Raises InputError unless every row is as it was, with its number as this attribute.
    """
    rows = []
    with path.open("rb", buffering=0) as file:
        for number, offset, length, checksum in places:
            piece = os.pread(file.fileno(), length, offset)
            row = attributes(piece)
            is_changed = crc32(piece) != checksum
            if row is None or is_changed or row.get(attribute) != str(number):
                raise InputError(
                    f"{path}: the file has changed since it was indexed: the row of {attribute} "
                    f"{number} at byte {offset:,} is another one. Run `arqmath-bm25 index` again, "
                    "then this command."
                )

            rows.append(row)
    return rows


def attributes(row: bytes) -> dict[str, str] | None:
    """Return the attributes of a row, None if it is broken beyond repair.

    Repairs: bytes that are not UTF-8 become U+FFFD; characters that XML forbids are dropped.
    """
    written = _written_attributes(row)
    if written is None:
        return _parsed(row)
    resolved = {}
    for name, value in written.items():
        if "&" in value:
            for reference, character in _REFERENCES.items():
                value = value.replace(reference, character)
        resolved[name] = value
    return resolved


def _parsed(row: bytes) -> dict[str, str] | None:
    """Parse a row that may be unusual, or else the row as it is repaired."""
    text = _FORBIDDEN_RAW.sub("", row.decode("utf-8", "replace"))
    repaired = _REFERENCE.sub(_legal_reference, text).encode("utf-8", "replace")
    for xml in (row, repaired):
        # `&amp;` stays `&#38;` unless entities are resolved. No other one is resolved: none can be
        # declared inside an element. A parser that met an error is not reused.
        parser = etree.XMLParser(**_OPTIONS)
        with suppress(etree.XMLSyntaxError):
            root = etree.fromstring(b"".join((b"<rows>", xml, b"</rows>")), parser)
            texts = "".join(map(str, root.itertext()))
            if [element.tag for element in root.iter()] == ["rows", "row"] and not texts.strip():
                return dict(root[0].attrib)
    return None


def _legal_reference(match: re.Match[str]) -> str:
    """Return a reference to a character that XML allows, and nothing for any other."""
    base = 10
    if match[1]:
        base = 16
    digits = (match[1] or match[2]).lstrip("0")
    if not 0 < len(digits) < 9:
        return ""

    code = int(digits, base)
    legal = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD
    if legal or 0x10000 <= code <= 0x10FFFF:
        return match[0]
    return ""
