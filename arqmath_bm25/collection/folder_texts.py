"""The texts of a folder: regular files within it alone, decoded.

A byte order mark decides how a file is decoded; else it is UTF-8 where it is valid, else what the
file declares, or the main file that takes it in, else Latin-1.
"""

import codecs
import os
import re
import stat
from pathlib import Path

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.tables import read_table

TABLE = read_table(__file__)
_LARGEST = 1 << 28  # bytes
_MARKS = {  # UTF-32 begins as UTF-16 does
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Of HTML, XML, LaTeX and editors; at the begin of a file.
_DECLARES = re.compile(
    rb"charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^<>]{0,99}encoding\s*=\s*[\"']([\w.-]+)"
    rb"|\\usepackage\s*\[(?:[^\[\]]*,)?\s*([\w-]+)\s*\]\s*\{inputenc\}"
    rb"|\\inputencoding\s*\{([\w-]+)\}|\bcoding[:=]\s*([\w.-]+)|!TEX\s+encoding\s*=\s*([\w-]+)"
)
_HEAD = 20_000  # bytes
LATIN_1 = "latin-1"  # of bytes for which nothing else is declared, or nothing that fits


def inside(path: Path, root: Path) -> Path | None:
    """Return the real path of a regular file below a real folder; None for anything else."""
    try:
        file = Path(os.path.realpath(path))
        if file.is_relative_to(root) and stat.S_ISREG(file.stat().st_mode):
            return file
    except (OSError, ValueError):  # no file can have this name
        pass
    return None


def text_of(path: Path, encoding: str = "") -> tuple[str, str]:
    """Return the text of a file and its encoding; `encoding` is that of the file it is part of.

    Raises InputError for a file that cannot be read, is too large, or is no text.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path}: no regular file")
        if status.st_size > _LARGEST:
            raise InputError(f"{path}: {status.st_size:,} bytes; at most {_LARGEST:,} are read")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None

    text, encoding = _decoded(data, encoding)
    if "\0" in text:
        raise InputError(f"{path}: it holds the character NUL; a text was expected")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _decoded(data: bytes, encoding: str) -> tuple[str, str]:
    """Return bytes as text, and the encoding that it has."""
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return data.decode(name, "replace"), name

    declared = None
    head = data[:_HEAD]
    if b"charset" in head or b"coding" in head or b"inputenc" in head:
        declared = _DECLARES.search(head)
    if declared is not None:
        name = declared[declared.lastindex or 0].decode("ascii", "replace").lower()
        encoding = TABLE["encodings"].get(name, name)
    for name in ("utf-8", encoding):
        try:
            return data.decode(name), encoding
        except (LookupError, ValueError):  # such as base64, which is no encoding of text
            continue
    return data.decode(LATIN_1), LATIN_1
