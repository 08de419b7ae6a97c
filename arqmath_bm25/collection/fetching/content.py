"""Whether a copy can be the published file: by its hash, its size, and how it begins.

Line ends differ from file to file on the site (LF and CRLF), and copies change them. A hash is that
of the file as it is served; a copy counts as the same file if it has that hash as it is, or with
all its line ends turned into CRLF, or all into LF.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.collection.fetching.catalogue import PublishedFile

_MB: Final = 1_000_000
_TOLERANCE: Final = 0.1  # of a rounded size; MB and MiB differ by half of it
_BOM: Final = r"\A(?:\xef\xbb\xbf)?"
_XML: Final = _BOM + r"\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:{})[\s>]"
# How a file at a path below DATA begins, and what that is called.
_BEGINS: Final = (
    (r".*\.zip", r"PK\x03\x04", "a zip archive"),
    (r"Topics/.*\.xml", _XML.format("Topics"), "an XML file <Topics>"),
    (r"Topics/.*\.tsv", _BOM + "id\ttopic_id\tthread_id\ttype\t", "a TSV file with a header"),
    (r"Formulas/.*\.tsv", _BOM + "id\tpost_id\tthread_id\ttype\t", "a TSV file with a header"),
    (r"Evaluation/.*", r"[AB]\.\d+\s+0\s+\d+\s+\d", "rows of topic, 0, id and grade"),
    (
        r"Collection/.*",
        _XML.format("posts|postlinks|comments|votes|users|tags"),
        "an XML file of the dump",
    ),
)


def check(file: PublishedFile, copy: Path) -> None:
    """Raise InputError unless `copy` can be this file: by form, by hash or size where known."""
    check_form(file.path, copy)
    if file.sha256 and not has_hash(copy, file.sha256):
        raise InputError(
            f"{copy}: not the published {file.path}: its SHA-256 does not begin with "
            f"{file.sha256}, with any line ends"
        )
    size = copy.stat().st_size
    if file.size and abs(size - file.size) > _TOLERANCE * file.size:
        raise InputError(
            f"{copy}: not the published {file.path}: it has {size / _MB:,.1f} MB, expected "
            f"about {file.size / _MB:,.1f} MB"
        )


def check_form(path: str, copy: Path) -> None:
    """Raise InputError unless `copy` begins as a file at `path` below DATA does."""
    begins, kind = next(begin for pattern, *begin in _BEGINS if re.fullmatch(pattern, path))
    with copy.open("rb") as file:
        head = file.read(1024)
    if not re.match(begins.encode(), head, re.DOTALL):
        found = f"begins with {head[:40]!r}" if head else "is empty"
        raise InputError(f"{copy}: not the published {path}: it {found}; expected {kind}")


def has_hash(copy: Path, sha256: str) -> bool:
    """Tell whether the SHA-256 of `copy` begins so, by the rule on line ends."""
    as_is = copy.read_bytes()
    lf = as_is.replace(b"\r\n", b"\n")
    forms = (as_is, lf.replace(b"\n", b"\r\n"), lf)
    return any(hashlib.sha256(form).hexdigest().startswith(sha256) for form in forms)
