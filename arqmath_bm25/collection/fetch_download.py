"""Downloads that survive broken connections: HTTP ranges, checked lengths, a final name at the end.

The bytes go to NAME.part; NAME.part.json keeps the validator (RFC 9110: a strong ETag, else
Last-Modified) that shows whether what the server has is still the same file. A later attempt, or a
later call, asks for the rest with `Range` and `If-Range`; a server that answers with the
whole file instead is read from the start. Only http and https are spoken, after redirects as well.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from dataclasses import asdict, dataclass
from http.client import HTTPException
from ssl import SSLCertVerificationError
from typing import IO, TYPE_CHECKING, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from arqmath_bm25 import __version__
from arqmath_bm25.errors import InputError
from arqmath_bm25.progress import console, progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPMessage, HTTPResponse
    from pathlib import Path

SCHEMES: Final = ("http", "https")
PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before the next attempt; then it is given up
_TIMEOUT: Final = 60.0  # seconds without a byte
_BLOCK: Final = 1 << 18
_MB: Final = 1_000_000
_BUSY: Final = {408, 425, 429, 500, 502, 503, 504}  # worth another attempt
_ABSENT: Final = {404, 410}
_CONTENT_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+)")


class AbsentError(InputError):
    """The site, mirror or folder does not have a file."""


class _BrokenError(Exception):
    """An attempt failed in a way that the next may not."""


class _NoSuchRangeError(_BrokenError):
    """The file on the server is shorter than what was read of it before."""


@dataclass(frozen=True, slots=True)
class _Note:
    """What NAME.part is the beginning of."""

    url: str
    validator: str  # a strong ETag or a date; empty: the download cannot be resumed
    length: int  # bytes of the whole file


class _WebOnly(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme not in SCHEMES:
            fp.close()
            raise InputError(f"{req.full_url}: redirects to {newurl}; only http and https are read")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> OpenerDirector:
    """Return an opener for the web alone: urllib's default one also reads files and FTP."""
    opener = OpenerDirector()
    errors = (HTTPDefaultErrorHandler, HTTPErrorProcessor)
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, _WebOnly, *errors):
        opener.add_handler(handler())
    return opener


def download(
    url: str,
    target: Path,
    check: Callable[[Path], None],
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Download `url` to `target`, which appears only once it is complete and `check` accepts it.

    An attempt that breaks off is repeated after each of PAUSES, counted anew when one got further
    than all before. Raises AbsentError if the server has no such file, and InputError if the last
    attempt fails too (what was read is kept for the next call), if the server does not say how long
    the file is, if the disk is too small, and what `check` raises (nothing is kept).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with part.open("ab") as file:
        try:
            _persist(url, file, target, pause)
        except InputError:
            if not file.tell():
                part.unlink()
            raise
        file.flush()
        os.fsync(file.fileno())
    _note_path(target).unlink()
    try:
        check(part)
    except InputError:
        part.unlink()
        raise
    part.replace(target)


def _persist(url: str, file: IO[bytes], target: Path, pause: Callable[[float], None]) -> None:
    """Make attempts until the whole of `url` is in `file`."""
    furthest, failures = file.tell(), 0
    while True:
        try:
            _attempt(url, file, target)
            return
        except _BrokenError as error:
            failures = 0 if file.tell() > furthest else failures + 1
            furthest = max(furthest, file.tell())
            if failures > len(PAUSES):
                kept = ". What was read is kept: call it again to go on from there"
                raise InputError(
                    f"{url}: {error}; given up after {failures} attempts{kept if furthest else ''}"
                ) from None
            seconds = PAUSES[max(failures - 1, 0)]
            console.print(f"{target.name}: {error}; trying again in {seconds:.0f} s", markup=False)
            pause(seconds)


def _attempt(url: str, file: IO[bytes], target: Path) -> None:
    """Append to `file` what is missing of `url`, or write it anew where it cannot be appended."""
    note_path = _note_path(target)
    have, note = file.tell(), _read_note(note_path, url)
    if note and have == note.length:
        return
    request = Request(url, headers={  # noqa: S310  # the opener speaks http and https alone
        "User-Agent": f"arqmath-bm25/{__version__}", "Accept-Encoding": "identity",
    })  # fmt: skip
    resumes = have > 0 and note is not None and note.validator != ""
    if note and resumes:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", note.validator)
    try:
        response = _open(request)
    except _NoSuchRangeError:
        note_path.unlink(missing_ok=True)
        raise
    with response:
        note = _note_of(url, response, have if resumes else 0)
        if response.status != 206:
            file.truncate(0)
        note_path.write_text(json.dumps(asdict(note)), encoding="utf-8")
        have = file.seek(0, 2)
        free = shutil.disk_usage(target.parent).free
        if note.length - have > free:
            raise InputError(
                f"{target}: {(note.length - have) / _MB:,.0f} MB are still to come, and "
                f"{free / _MB:,.0f} MB are free on this disk"
            )
        with progress(target.name, note.length / _MB, "MB") as advance:
            advance(have / _MB)
            while block := _read(response):
                file.write(block)
                advance(len(block) / _MB)
    if file.tell() != note.length:
        raise _BrokenError(f"the connection broke off at byte {file.tell():,} of {note.length:,}")


def _open(request: Request) -> HTTPResponse:
    try:
        response: HTTPResponse = _opener().open(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        message = f"the server answers {error.code} {error.reason}"
        if error.code == 416:
            raise _NoSuchRangeError(message) from None
        if error.code in _BUSY:
            raise _BrokenError(message) from None
        kind = AbsentError if error.code in _ABSENT else InputError
        raise kind(f"{request.full_url}: {message}") from None
    except (HTTPException, OSError) as error:
        if isinstance(error, URLError) and isinstance(error.reason, SSLCertVerificationError):
            raise InputError(f"{request.full_url}: {error.reason}") from None
        raise _BrokenError(f"no connection: {_reason(error)}") from None
    return response


def _read(response: HTTPResponse) -> bytes:
    try:
        return response.read(_BLOCK)
    except (HTTPException, OSError) as error:
        raise _BrokenError(f"the connection broke off: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    return str(reason) or type(reason).__name__


def _note_of(url: str, response: HTTPResponse, asked_from: int) -> _Note:
    """Read length and validator off an answer; InputError if it has no length."""
    etag = response.headers.get("ETag", "")
    validator = response.headers.get("Last-Modified", "") if etag.startswith("W/") else etag
    validator = validator or response.headers.get("Last-Modified", "")
    if response.status == 206:
        found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if found is None or int(found[1]) != asked_from or asked_from == 0:
            raise InputError(f"{url}: the server answers with another range than was asked for")
        return _Note(url, validator, int(found[2]))
    length = response.headers.get("Content-Length", "")
    if not length.isdecimal():
        raise InputError(f"{url}: the server does not say how long the file is")
    return _Note(url, validator, int(length))


def _note_path(target: Path) -> Path:
    return target.with_name(target.name + ".part.json")


def _read_note(path: Path, url: str) -> _Note | None:
    try:
        note = _Note(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return note if note.url == url else None
