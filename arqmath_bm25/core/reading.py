"""Reading text files.

Gzipped files are unpacked on the way. Raises InputError if a file as a whole is unusable: missing,
a directory, an archive, not UTF-8.
"""

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, cast

from arqmath_bm25.core.errors import InputError

_LARGEST = 1 << 29  # bytes of packed text that is read at once
GZIP = b"\x1f\x8b"
# By the first bytes of a file.
ARCHIVES = {
    b"PK\x03\x04": "zip", b"7z\xbc\xaf\x27\x1c": "7z", b"BZh": "bzip2", b"\xfd7zXZ": "xz",
}  # fmt: skip
_BOM = b"\xef\xbb\xbf"
_DEEPEST_JSON = 200  # levels, as pydantic's parser has it
_JSON_STRING = re.compile(r'"(?>(?:[^"\\]+|\\.)*)"?', re.DOTALL)
_JSON_LEVEL = {"[": 1, "{": 1, "]": -1, "}": -1}


@contextmanager
def open_bytes(path: Path, kind: str = "file") -> Iterator[BinaryIO]:
    """Yield a file to read; gzip data are decompressed, under any name of the file.

    `kind` is the expected kind of file, for messages. Raises InputError if there is no such file,
    and within the block for gzip data that are damaged.
    """
    if not path.exists():
        raise InputError(f"{path}: no such {kind}")
    if path.is_dir():
        raise InputError(f"{path}: this is a directory; expected a {kind}")
    with path.open("rb") as file:
        magic = file.peek(8)
        for begins, archive in ARCHIVES.items():
            if magic.startswith(begins):
                raise InputError(f"{path}: this is a {archive} archive; unpack it first")
        if not magic.startswith(GZIP):
            yield file
            return
        try:
            with gzip.open(file) as unpacked:
                yield cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", unpacked), 1 << 17))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(
                f"{path}: damaged gzip data: {error}; copy or download it again"
            ) from None


def read_bytes(path: Path, kind: str = "file") -> bytes:
    """Return all of a file, unpacked. Raises InputError as `open_bytes` does."""
    with open_bytes(path, kind) as file:
        if not isinstance(getattr(file, "raw", None), gzip.GzipFile):
            return file.read()
        data = file.read(_LARGEST)
    if len(data) == _LARGEST:
        raise InputError(f"{path}: {_LARGEST:,} bytes or more; no {kind} unpacks to that")
    return data


def read_text(path: Path, kind: str = "file") -> str:
    """Return a UTF-8 file, unpacked, without its byte order mark.

    Raises InputError as `open_bytes` does, and for bytes that are not UTF-8.
    """
    return decoded(read_bytes(path, kind), str(path))


def decoded(data: bytes, where: str, line: int = 1) -> str:
    """Decode UTF-8 of the file (and, if it begins later, `line`) that `where` names."""
    try:
        return data.removeprefix(_BOM if line == 1 else b"").decode()
    except UnicodeDecodeError as error:
        line += error.object.count(b"\n", 0, error.start)
        byte = error.object[error.start]
        raise InputError(
            f"{where}: row {line}: not UTF-8 text (byte 0x{byte:02x}: {error.reason}); "
            "save it as UTF-8"
        ) from None


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """Parse JSON that others may have written, with the hooks of `json.loads`.

    Raises ValueError if it is no JSON or has more than 200 levels. The parser calls itself for each
    level, and where a JVM has shortened the stack, Python 3.13.0 dies before it reaches its limit.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if text.count("[") + text.count("{") > _DEEPEST_JSON:
        brackets = re.findall(r"[\[\]{}]", _JSON_STRING.sub("", text))
        depths = accumulate(_JSON_LEVEL[bracket] for bracket in brackets)
        if max(depths, default=0) > _DEEPEST_JSON:
            raise ValueError(f"nested deeper than {_DEEPEST_JSON} levels")
    return json.loads(text, **hooks)


def read_csv(path: Path, kind: str, *columns: str) -> list[dict[str, str]]:
    """Return the rows of a CSV by the names in its header; missing columns are empty.

    Raises InputError as `read_text` does, and for a file without one of the `columns`.
    """
    csv.field_size_limit(sys.maxsize)  # a cell may hold a long post
    table = csv.DictReader(io.StringIO(read_text(path, kind), newline=""), restval="")
    try:
        rows = list(table)
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV file: {error}") from None
    for name in columns:
        if name not in (table.fieldnames or ()):
            raise InputError(f"{path}: row 1: no column {name}; expected a {kind}")
    return rows
