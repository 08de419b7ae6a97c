"""The folder of a task's indexes: a store for each engine, settings and files.

A store is a directory ENGINE-DIGEST. The digest is of the settings and the version of the analysis,
of the files that it was built from, and of this program's version. So a store serves wherever it
lies, for every copy of these files, and a store of other settings or files has another name.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from arqmath_bm25.core.building import delete, remove, under_construction, unfinished
from arqmath_bm25.core.manifest import MANIFEST, content_digest, digest_of, minor
from arqmath_bm25.core.writing import Source
from arqmath_bm25.version import __version__

_STORE: Final = re.compile(r"(?P<engine>[a-z]{1,20})-(?P<digest>[0-9a-f]{16})")
_OLD_PART: Final = re.compile(r"[a-z][a-z._]*")  # of an index before 0.5


def store_name(engine: str, recipe: Mapping[str, Any], sources: Sequence[Source]) -> str:
    """Return the name of the store of these settings and files for an engine."""
    digest = digest_of([minor(__version__), content_digest(recipe, sources)])
    return f"{engine}-{digest[:16]}"


def stores(folder: Path) -> list[Path]:
    """Return the stores of a task, the one that `index` was asked for last first."""
    found = [path for path in folder.glob("*-*") if _STORE.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda path: (-_last_asked(path), path.name))


def note_asked(store: Path) -> None:
    """Make a store the first of its task, if it is not."""
    if stores(store.parent)[0] != store:
        with suppress(OSError):  # this user may only read it
            os.utime(store / MANIFEST)


def _last_asked(store: Path) -> int:
    try:
        return (store / MANIFEST).stat().st_mtime_ns
    except OSError:
        return 0


def is_before_stores(folder: Path) -> bool:
    """Return whether a task has an index of version 0.4 or earlier, which was the folder itself."""
    return (folder / MANIFEST).is_file()


@dataclass(frozen=True)
class Outdated:
    """An index of other settings or files than those that are asked for now."""

    path: Path
    parts: Sequence[Path]  # files and directories

    @property
    def size(self) -> int:
        """The bytes of its files."""
        files = [file for part in self.parts for file in (part, *part.rglob("*"))]
        return sum(file.lstat().st_size for file in files if not file.is_dir())

    def remove(self) -> None:
        """Remove it. Raises InputError if a process is building it."""
        if _STORE.fullmatch(self.path.name):
            remove(self.path)
            return
        for part in self.parts:
            delete(part)


def outdated(folder: Path, asked: Path) -> list[Outdated]:
    """Return the indexes in the folder of a task but those of the store that is asked for.

    Those of interrupted builds and of version 0.4 are among them.
    """
    digest = asked.name.partition("-")[2]
    found = [Outdated(store, [store]) for store in stores(folder)]
    found += [Outdated(store, [under_construction(store)]) for store in unfinished(folder)]
    others = [index for index in found if not index.path.name.endswith(digest)]
    if is_before_stores(folder):
        others.append(Outdated(folder / MANIFEST, _old_parts(folder)))
    return others


def _old_parts(folder: Path) -> list[Path]:
    """Return the manifest of an index before 0.5, and the files and directories that it names."""
    names = {MANIFEST}
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
        names |= {Path(name).parts[0] for name in files}
    return [folder / name for name in sorted(names) if _OLD_PART.fullmatch(name)]
