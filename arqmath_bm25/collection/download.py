"""Downloads that survive broken connections: HTTP ranges, checked lengths, a final name at the end.

The bytes go to NAME.part; NAME.part.from keeps the address and the validator (RFC 9110: a strong
ETag, else Last-Modified) that shows whether what the server has is still the same file. A later
attempt, or a later call, asks for the rest with `Range` and `If-Range`. Without a validator, or
with another one in the answer, the file is read from the start. Only http and https are spoken, and
https stays https, after redirects as well.
"""

import os
import re
import shutil
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import IO, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.version import __version__

SCHEMES: Final = ("http", "https")
PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before the next attempt; then it is given up
PATIENCE: Final = 300.0  # seconds to wait at most if a server asks for it
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
    """An attempt failed in a way that the next may not, after `wait` seconds or more.

    `anew`: what was read before is no beginning of what the server has now.
    """

    def __init__(self, message: str, wait: float = 0.0, anew: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.anew = anew


class _WebOnly(HTTPRedirectHandler):
    """Follows redirects on the web alone, and from https to https."""

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
    was read is kept for the next call), if the server encodes the file or does not say how long it
    is, if the disk is too small, and what `check` raises (nothing is kept).
    """
    if urlsplit(url).scheme not in SCHEMES:
        raise InputError(f"{url}: expected an http or https address")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    note = target.with_name(f"{target.name}.part.from")
    try:
        with part.open("ab") as file:
            _persist(url, file, note, pause)
            file.flush()
            os.fsync(file.fileno())
        note.unlink()
        check(part)
    except InputError:
        if not (note.exists() and part.stat().st_size):
            part.unlink()
            note.unlink(missing_ok=True)
        raise
    part.replace(target)


def _persist(url: str, file: IO[bytes], note: Path, pause: Callable[[float], None]) -> None:
    """Make attempts until the whole of `url` is in `file`."""
    furthest, failures = file.tell(), 0
    while True:
        try:
            return _attempt(url, file, note)
        except _BrokenError as error:
            if error.anew:
                file.truncate(0)
            failures += 1
            if file.tell() > furthest + _BLOCK:
                furthest, failures = file.tell(), 0
            if failures > len(PAUSES):
                why = f"given up after {failures} attempts"
                if file.tell():
                    why += ". What was read is kept: call it again to go on from there"
                raise InputError(f"{url}: {error}; {why}") from None
            seconds = max(PAUSES[max(failures - 1, 0)], min(error.wait, PATIENCE))
            tell(f"{url}: {error}; trying again in {seconds:.0f} s")
            pause(seconds)


def _attempt(url: str, file: IO[bytes], note: Path) -> None:
    """Append to `file` what is missing of `url`, or write it anew where it cannot be appended."""
    have = file.seek(0, os.SEEK_END)
    headers = {"User-Agent": f"arqmath-bm25/{__version__}", "Accept-Encoding": "identity"}
    noted = note.read_text("utf-8", "replace").split("\n") if note.exists() else []
    if have and len(noted) == 3 and noted[0] == url and _VALIDATOR.fullmatch(noted[1]):
        headers |= {"Range": f"bytes={have}-", "If-Range": noted[1]}
    with _open(Request(url, headers=headers)) as response:  # noqa: S310  # http and https alone
        if response.status == 206:
            rest = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if not rest or [int(rest[1]), _validator(response), rest[2]] != [have, *noted[1:]]:
                raise _BrokenError("the server goes on with another file or range", anew=True)
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
    url = request.full_url
    try:
        response: HTTPResponse = build_opener(_WebOnly).open(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        message = f"the server answers {error.code} {error.reason}"
        if error.code == 416 or error.code in _BUSY:
            seconds = error.headers.get("Retry-After", "").strip()
            wait = float(seconds) if _NUMBER.fullmatch(seconds) else 0.0
            raise _BrokenError(message, wait, anew=error.code == 416) from None
        raise (AbsentError if error.code in _ABSENT else InputError)(f"{url}: {message}") from None
    except (HTTPException, OSError) as error:
        if isinstance(error, URLError) and isinstance(error.reason, SSLCertVerificationError):
            raise InputError(f"{url}: {error.reason}") from None
        raise _BrokenError(f"no connection: {_reason(error)}") from None
    except ValueError as error:  # of an address that it redirects to
        raise InputError(f"{url}: {error}") from None
    encoding = response.headers.get("Content-Encoding", "identity")
    wanted = (200, 206) if request.has_header("Range") else (200,)
    if response.status in wanted and encoding.lower() == "identity":
        return response
    response.close()
    raise InputError(
        f"{url}: the server answers {response.status} {response.reason} with content encoded as "
        f"{encoding}; expected 200 and the file as it is"
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
