"""Downloads that survive broken connections: HTTP ranges, checked lengths, a final name at the end.

The bytes go to NAME.part; NAME.part.from keeps the address and the validator (RFC 9110: a strong
ETag, else Last-Modified) that shows whether what the server has is still the same file. A later
attempt, or a later call, asks for the rest with `Range` and `If-Range`. Without a validator, or
with another one in the answer, the file is read from the start. Only http and https are spoken, and
https stays https, after redirects as well.
"""

from __future__ import annotations

import os
import re
import shutil
import time
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

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPMessage, HTTPResponse
    from pathlib import Path

SCHEMES: Final = ("http", "https")
PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before the next attempt; then it is given up
PATIENCE: Final = 300.0  # seconds that a server may ask to wait
_TIMEOUT: Final = 60.0  # seconds without a byte
_BLOCK: Final = 1 << 18
_MB: Final = 1_000_000
_BUSY: Final = {408, 425, 429, 500, 502, 503, 504}  # worth another attempt
_ABSENT: Final = {404, 410}
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_CONTENT_RANGE: Final = re.compile(r"bytes ([0-9]{1,19})-[0-9]{1,19}/([0-9]{1,19})")
_VALIDATOR: Final = re.compile(r'"[!#-~]*"|\w{3}, [\w: ]+ GMT')  # a strong ETag, or a date


class AbsentError(InputError):
    """The site, mirror or folder does not have a file."""


class _BrokenError(Exception):
    """An attempt failed in a way that the next may not, after `wait` seconds or more."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class _OtherFileError(_BrokenError):
    """What was read before is no beginning of what the server has now."""


class _WebOnly(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        allowed = SCHEMES if req.type == "http" else ("https",)
        if urlsplit(newurl).scheme not in allowed:
            fp.close()
            raise InputError(
                f"{req.full_url}: redirects to {newurl}; only {' and '.join(allowed)} is followed"
            )
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

    An attempt that breaks off is repeated after each of PAUSES, or when the server says
    (Retry-After); they are counted anew when one got clearly further than all before. Raises
    AbsentError if the server has no such file, and InputError if the last attempt fails too (what
    was read is kept for the next call), if the server asks for more than PATIENCE, encodes the file
    or does not say how long it is, if the disk is too small, and what `check` raises (nothing is
    kept).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with part.open("ab") as file:
        try:
            _persist(url, file, _note(part), pause)
        except InputError:
            if not file.tell():
                part.unlink()
                _note(part).unlink(missing_ok=True)
            raise
        file.flush()
        os.fsync(file.fileno())
    _note(part).unlink()
    try:
        check(part)
    except InputError:
        part.unlink()
        raise
    part.replace(target)


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".from")


def _persist(url: str, file: IO[bytes], note: Path, pause: Callable[[float], None]) -> None:
    """Make attempts until the whole of `url` is in `file`."""
    furthest, failures = file.tell(), 0
    while True:
        try:
            _attempt(url, file, note)
            return
        except _BrokenError as error:
            if isinstance(error, _OtherFileError):
                file.truncate(0)
            failures += 1
            if file.tell() > furthest + _BLOCK:
                furthest, failures = file.tell(), 0
            kept = ". What was read is kept: call it again to go on from there" * bool(file.tell())
            if failures > len(PAUSES) or error.wait > PATIENCE:
                why = f"given up after {failures} attempts"
                if error.wait > PATIENCE:
                    why = f"it asks to come back in {error.wait:,.0f} s"
                raise InputError(f"{url}: {error}; {why}{kept}") from None
            seconds = max(PAUSES[max(failures - 1, 0)], error.wait)
            tell(f"{url}: {error}; trying again in {seconds:.0f} s")
            pause(seconds)


def _attempt(url: str, file: IO[bytes], note: Path) -> None:
    """Append to `file` what is missing of `url`, or write it anew where it cannot be appended."""
    have, validator, noted = file.seek(0, 2), "", ""
    if note.exists():
        of, validator, noted, *_ = [*note.read_text("utf-8", "replace").split("\n"), "", ""]
        validator = validator if of == url and _VALIDATOR.fullmatch(validator) else ""
    request = Request(url, headers={  # noqa: S310  # the opener speaks http and https alone
        "User-Agent": f"arqmath-bm25/{__version__}", "Accept-Encoding": "identity",
    })  # fmt: skip
    if have and validator:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", validator)
    with _open(request) as response:
        if response.status == 206:
            rest = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            goes_on = rest and (int(rest[1]), rest[2], _validator(response))
            if rest is None or goes_on != (have, noted, validator):
                raise _OtherFileError("the server goes on with another file or range")
            length = int(rest[2])
        else:
            announced = response.headers.get("Content-Length", "")
            if not _NUMBER.fullmatch(announced):
                raise InputError(f"{url}: the server does not say how long the file is")
            have, length = file.truncate(0), int(announced)
            note.write_text(f"{url}\n{_validator(response)}\n{length}", encoding="utf-8")
        check_room(note, length - have)
        with progress(note.name.removesuffix(".part.from"), length / _MB, "MB") as advance:
            advance(have / _MB)
            # No more than was announced, whatever is sent.
            while block := _read(response, min(_BLOCK, length - have)):
                have += file.write(block)
                advance(len(block) / _MB)
    if have != length:
        raise _BrokenError(f"the connection broke off at byte {have:,} of {length:,}")


def check_room(path: Path, size: int) -> None:
    """Raise InputError unless the disk of a file has room for so many bytes more."""
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise InputError(
            f"{path.parent}: {size / _MB:,.0f} MB are still to come, and {free / _MB:,.0f} MB are "
            "free on this disk"
        )


def _open(request: Request) -> HTTPResponse:
    try:
        response: HTTPResponse = _opener().open(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        message = f"the server answers {error.code} {error.reason}"
        if error.code == 416:
            raise _OtherFileError(message) from None
        if error.code in _BUSY:
            seconds = error.headers.get("Retry-After", "").strip()
            wait = float(seconds) if _NUMBER.fullmatch(seconds) else 0.0
            raise _BrokenError(message, wait) from None
        kind = AbsentError if error.code in _ABSENT else InputError
        raise kind(f"{request.full_url}: {message}") from None
    except (HTTPException, OSError) as error:
        if isinstance(error, URLError) and isinstance(error.reason, SSLCertVerificationError):
            raise InputError(f"{request.full_url}: {error.reason}") from None
        raise _BrokenError(f"no connection: {_reason(error)}") from None
    except ValueError as error:  # of an address that it redirects to
        raise InputError(f"{request.full_url}: {error}") from None
    encoding = response.headers.get("Content-Encoding", "identity")
    wanted = (200, 206) if request.has_header("Range") else (200,)
    if response.status in wanted and encoding.lower() == "identity":
        return response
    response.close()
    raise InputError(
        f"{request.full_url}: the server answers {response.status} {response.reason} with content "
        f"encoded as {encoding}; expected 200 and the file as it is"
    )


def _read(response: HTTPResponse, size: int) -> bytes:
    try:
        return response.read(size)
    except (HTTPException, OSError) as error:
        raise _BrokenError(f"the connection broke off: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    return str(reason) or type(reason).__name__


def _validator(response: HTTPResponse) -> str:
    """Return what tells this file from later ones; empty if nothing does."""
    etag = response.headers.get("ETag", "")
    date = response.headers.get("Last-Modified", "")
    return next((text for text in (etag, date) if _VALIDATOR.fullmatch(text)), "")
