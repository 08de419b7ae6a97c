"""Where this user last read a collection or a file of topics, by the digest of its content.

Manifests are published with their runs, so they hold names and digests, and no path of a machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import parse_json
from arqmath_bm25.core.writing import Source, complete

_KEPT: Final = 1000  # paths, the latest ones


def digest_of(files: Sequence[Source]) -> str:
    """Return one digest for the files of a collection."""
    digests = "\n".join(file.sha256 for file in files)
    return hashlib.sha256(digests.encode()).hexdigest()


def note_path(digest: str, path: Path) -> None:
    """Remember the path of a collection or file; without a writable home nothing is remembered."""
    file = _file()
    known = _read(file)
    resolved = str(path.resolve())
    if file is None or known.get(digest) == resolved:
        return

    known.pop(digest, None)
    known[digest] = resolved
    latest = dict(list(known.items())[-_KEPT:])
    with suppress(InputError, OSError), complete(file) as text:
        json.dump(latest, text)


def known_path(digest: object) -> Path | None:
    """Return the remembered path of a collection or file, None if it is gone or unknown."""
    known = _read(_file())
    if not isinstance(digest, str) or digest not in known:
        return None

    path = known[digest]
    # Path.exists raises for a name that is too long.
    if not os.path.exists(path):  # noqa: PTH110
        return None
    return Path(path)


def _file() -> Path | None:
    """Return the file of remembered paths; None for a user without a home."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(cache).expanduser() / "arqmath-bm25" / "paths.json"
    except RuntimeError:  # no HOME, and a user id without a name
        return None


def _read(file: Path | None) -> dict[str, str]:
    if file is None:
        return {}

    known: dict[str, str] = {}
    with suppress(OSError, ValueError, AttributeError):  # there is none yet, or it is damaged
        for digest, path in parse_json(file.read_bytes()).items():
            if isinstance(path, str) and "\0" not in path:
                known[digest] = path
    return known
