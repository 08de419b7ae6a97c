"""Whether a copy can be the published file: by its hash, its size, and both its ends.

Line ends differ from file to file on the site (LF and CRLF), and copies change them. A hash is that
of the file as it is served; a copy counts as the same file if it has that hash as it is, or with
all its line ends turned into CRLF, or all into LF.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from arqmath_bm25.collection.fetching.catalogue import PublishedFile

_MB: Final = 1_000_000
_TOLERANCE: Final = 0.1  # of a rounded size; MB and MiB differ by half of it
_EDGE: Final = 1024  # bytes at either end of a file that are looked at
_SHOWN: Final = 40  # bytes of them in a message


class _Form(NamedTuple):
    """What the files of a kind look like; `ending` is searched in the last bytes."""

    name: str
    opening: re.Pattern[bytes]
    ending: re.Pattern[bytes]


def _xml(root: str) -> _Form:
    prologue = r"\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->).)*+-->\s*+)*+"
    return _Form(
        f"an XML file <{root}> … </{root}>",
        re.compile(rf"{prologue}<{root}[\s>]".encode(), re.DOTALL),
        re.compile(rf"</{root}>\s*\Z".encode()),
    )


def _tsv(columns: str) -> _Form:
    opening = rf"(?:\xef\xbb\xbf)?{columns}\t".encode()
    return _Form("a TSV file with a header", re.compile(opening), re.compile(b""))


_JUDGMENT: Final = rb"[AB]\.\d+\s+0\s+\d+\s+\d(?:\.0)?\s*"
_FORMS: Final = (
    (r".*\.zip", _Form("a zip archive", re.compile(rb"PK\x03\x04"), re.compile(b""))),
    (r"Topics/.*\.xml", _xml("Topics")),
    (r"Topics/.*\.tsv", _tsv("id\ttopic_id\tthread_id\ttype")),
    (r"Formulas/.*\.tsv", _tsv("id\tpost_id\tthread_id\ttype")),
    (
        r"Evaluation/.*",
        _Form(
            "rows of topic, 0, id and grade",
            re.compile(_JUDGMENT),
            re.compile(rb"(?:\A|\n)" + _JUDGMENT + rb"\Z"),
        ),
    ),
    *(
        (rf"Collection/{root}\..*", _xml(root.lower()))
        for root in ("Posts", "PostLinks", "Comments", "Votes", "Users", "Tags")
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
    """Raise InputError unless `copy` begins and ends as a file at `path` below DATA does."""
    form = next(form for pattern, form in _FORMS if re.fullmatch(pattern, path))
    with copy.open("rb") as file:
        head = file.read(_EDGE)
        file.seek(max(0, file.seek(0, 2) - _EDGE))
        tail = file.read()
    if form.opening.match(head) is None:
        found = f"begins with {head[:_SHOWN]!r}" if head else "is empty"
        raise InputError(f"{copy}: not the published {path}: it {found}; expected {form.name}")
    if form.ending.search(tail) is None:
        raise InputError(
            f"{copy}: {path} is cut off: it ends with {tail[-_SHOWN:]!r}; expected {form.name}"
        )


def has_hash(copy: Path, sha256: str) -> bool:
    """Tell whether the SHA-256 of `copy` begins so, by the rule on line ends."""
    as_is = copy.read_bytes()
    lf = as_is.replace(b"\r\n", b"\n")
    forms = (as_is, lf.replace(b"\n", b"\r\n"), lf)
    return any(hashlib.sha256(form).hexdigest().startswith(sha256) for form in forms)
