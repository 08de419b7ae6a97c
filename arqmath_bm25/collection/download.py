"""Downloads that survive broken connections: HTTP ranges, checked lengths, a final name at the end.

The bytes go to NAME.part, which has the date of the server's file (Last-Modified). A later attempt,
or a later call, asks for the rest with `Range` and `If-Range`; a file that has changed since, or
has no date, is read from the start. Only http and https are supported, and https stays https, even
after redirects.
"""

import errno
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate, parsedate_to_datetime
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from socket import gaierror
from ssl import SSLCertVerificationError
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import progress, tell
from arqmath_bm25.core.writing import refuse_planted
from arqmath_bm25.version import __version__

SCHEMES = ("http", "https")
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before the next attempt; then it is given up
_TIMEOUT = 60.0  # seconds without a byte
_BLOCK = 1 << 18
_MB = 1_000_000
_BUSY = {408, 425, 429, 500, 502, 503, 504}  # worth another attempt
_ABSENT = {404, 410}
_NUMBER = re.compile(r"[0-9]{1,19}")
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,19})-[0-9]{1,19}/([0-9]{1,19})")


class AbsentError(InputError):
    """The site, mirror or folder does not have a file."""


class _BrokenError(Exception):
    """An attempt failed; the next one may not."""


class _NoNetworkError(_BrokenError):
    """The name of the server is not found, or no network leads there."""


class _OtherFileError(_BrokenError):
    """The partial file is not the beginning of what the server has now."""


class _WebOnly(HTTPRedirectHandler):
    """Follows redirects on the web alone, and from https to https."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        allowed: tuple[str, ...] = ("https",)
        if req.type == "http":
            allowed = SCHEMES
        if urlsplit(newurl).scheme not in allowed:
            fp.close()
            raise InputError(
                f"{req.full_url}: the server redirects to {newurl}; only {' and '.join(allowed)} "
                "addresses are followed"
            )

        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(
    url: str,
    target: Path,
    check: Callable[[Path], None],
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Download `url` to `target`, which appears once the file is complete and `check` accepts it.

    A broken attempt is repeated after each of PAUSES; the count starts again when an attempt gets
    clearly further than all before. Raises AbsentError if the server has no such file. Raises
    InputError if the last attempt fails too (the partial file is kept for the next call), or the
    first one for want of a network; if the server encodes the file or does not say how long it is;
    if the disk is too small; and if `check` does (nothing is kept).
    """
    if urlsplit(url).scheme not in SCHEMES:
        raise InputError(f"{url}: expected an http or https address")
    part = target.with_name(f"{target.name}.part")
    refuse_planted(part)

    _attempt_until_complete(url, part, pause)

    try:
        check(part)
    except InputError:
        part.unlink()
        raise

    part.replace(target)


def _attempt_until_complete(url: str, part: Path, pause: Callable[[float], None]) -> None:
    """Repeat attempts until `part` is complete, or too many have failed without getting further."""
    furthest = _size(part)
    failures = 0

    while True:
        try:
            _attempt(url, part)
            return
        except _BrokenError as error:
            if isinstance(error, _NoNetworkError) and not _size(part):
                raise InputError(
                    f"{url}: {error}; without a network, fetch the files on another machine and "
                    "take their folder as the source"
                ) from None
            if isinstance(error, _OtherFileError):
                part.unlink()
            failures += 1
            if _size(part) > furthest + _BLOCK:
                furthest = _size(part)
                failures = 1
            if failures > len(PAUSES):
                why = f"gave up after {failures} attempts; the same command resumes the download"
                raise InputError(f"{url}: {error}; {why}") from None

            seconds = PAUSES[failures - 1]
            tell(f"{url}: {error}; trying again in {seconds:.0f} s")
            pause(seconds)


def _size(path: Path) -> int:
    if not path.exists():
        return 0
    return path.stat().st_size


def _attempt(url: str, part: Path) -> None:
    """Append the missing bytes of `url` to `part`, or start over if that is impossible."""
    headers = {"User-Agent": f"arqmath-bm25/{__version__}", "Accept-Encoding": "identity"}
    have = 0
    # Without a date, or with that of 1970, the server cannot say whether the file is the same.
    if part.exists() and part.stat().st_mtime:
        have = _size(part)
    if have:
        date = formatdate(part.stat().st_mtime, usegmt=True)
        headers |= {"Range": f"bytes={have}-", "If-Range": date}

    request = Request(url, headers=headers)  # noqa: S310  # http and https alone

    with _open(request) as response:
        part.parent.mkdir(parents=True, exist_ok=True)
        have, length = _announced(request, response, have)
        check_room(part, length - have)

        try:
            with part.open("ab") as file, progress(part.stem, length / _MB, "MB") as advance:
                file.truncate(have)
                advance(have / _MB)

                # No more than was announced, whatever is sent.
                while have < length:
                    with _connected(url):
                        block = response.read(min(_BLOCK, length - have))
                    if not block:
                        break
                    have += file.write(block)
                    advance(len(block) / _MB)
        finally:
            # When the file was last changed, as the server says.
            changed = 0.0
            with suppress(ValueError, OverflowError):
                date = response.headers.get("Last-Modified", "")
                changed = parsedate_to_datetime(date).timestamp()
            os.utime(part, (changed, changed))

    if have != length:
        raise _BrokenError(f"the connection broke off at byte {have:,} of {length:,}")


def _announced(request: Request, response: HTTPResponse, have: int) -> tuple[int, int]:
    """Return the offset of the coming bytes, and the length of the file."""
    headers = response.headers
    if response.status == 206:
        rest = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        same_file = headers.get("Last-Modified") == request.get_header("If-range")
        if rest and int(rest[1]) == have and same_file:
            return have, int(rest[2])
        raise _OtherFileError("the server sent another file, or another part of it")

    length = headers.get("Content-Length", "")
    if not _NUMBER.fullmatch(length):
        raise InputError(f"{request.full_url}: the server does not say how long the file is")
    return 0, int(length)


def check_room(path: Path, size: int) -> None:
    """Raise InputError unless the disk of a file has room for `size` more bytes."""
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise InputError(
            f"{path.parent}: {size / _MB:,.0f} MB are needed, but only {free / _MB:,.0f} MB are "
            "free on this disk; make room and try again"
        )


def _open(request: Request) -> HTTPResponse:
    url = request.full_url
    try:
        with _connected(url):
            response: HTTPResponse = build_opener(_WebOnly).open(request, timeout=_TIMEOUT)
    except HTTPError as error:
        error.close()
        message = f"the server answers {error.code} {error.reason}"
        if error.code in _BUSY:
            raise _BrokenError(message) from None
        if error.code == 416:
            raise _OtherFileError(message) from None
        if error.code in _ABSENT:
            raise AbsentError(f"{url}: {message}") from None
        raise InputError(f"{url}: {message}") from None

    encoding = response.headers.get("Content-Encoding", "identity")
    wanted = [200]
    if request.has_header("Range"):
        wanted.append(206)
    if response.status in wanted and encoding.lower() == "identity":
        return response

    response.close()
    raise InputError(
        f"{url}: the server answers {response.status} {response.reason} with content encoded as "
        f"{encoding}; expected 200 and the file without encoding"
    )


@contextmanager
def _connected(url: str) -> Iterator[None]:
    """Turn the errors of a bad connection into a _BrokenError, which is worth another attempt.

    Raises InputError for a certificate that is not trusted.
    """
    try:
        yield
    except HTTPError:
        raise
    except (HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, SSLCertVerificationError):
            trust = "if you trust this server, set SSL_CERT_FILE to its authority's certificate"
            raise InputError(f"{url}: {reason.strerror}; {trust}") from None

        message = f"no connection: {reason}"
        unreachable = getattr(reason, "errno", None) in (errno.ENETUNREACH, errno.ENETDOWN)
        if isinstance(reason, gaierror) or unreachable:
            raise _NoNetworkError(message) from None
        raise _BrokenError(message) from None
