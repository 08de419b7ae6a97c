"""The folder of a task's indexes: a store for each engine, settings and files.

A store is a directory ENGINE-DIGEST. The digest covers the settings, the version of the analysis,
the contents of the files that the store was built from, and the version of this program. So a store
can be moved, and it serves every copy of these files; other settings or files have another store.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from arqmath_bm25.core.building import delete, remove, sweep, under_construction, unfinished
from arqmath_bm25.core.errors import NoIndexError
from arqmath_bm25.core.manifest import MANIFEST, Manifest, digest_of, minor
from arqmath_bm25.core.reading import parse_json
from arqmath_bm25.core.writing import Source
from arqmath_bm25.version import __version__

_STORE: Final = re.compile(r"(?P<engine>[a-z]{1,20})-(?P<digest>[0-9a-f]{16})")
_OLD_PART: Final = re.compile(r"[a-z][a-z._]*")  # of an index before 0.5

E = TypeVar("E", bound=str)  # the names of engines


def store_name(engine: str, content_digest: str) -> str:
    """Return the name of the store that an engine searches for a content."""
    digest = digest_of([minor(__version__), content_digest])
    return f"{engine}-{digest[:16]}"


def engines_of(store: Path, engines: Iterable[E]) -> list[E]:
    """Return the engines that have a store of the same content as a given store."""
    digest = store.name.partition("-")[2]
    return [engine for engine in engines if store.with_name(f"{engine}-{digest}").is_dir()]


def stores(folder: Path) -> list[Path]:
    """Return the stores of a task; the first is the one that `index` built or found last."""
    found = [path for path in folder.glob("*-*") if _STORE.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda path: (-_last_asked(path), path.name))


def readable_manifest(store: Path) -> Manifest | None:
    """Return the manifest of a store; None if it is missing or damaged."""
    with suppress(NoIndexError):
        return Manifest.read(store)
    return None


def why_unusable(
    store: Path, recipe: Mapping[str, Any], sources: Sequence[Source], read_all: bool = False
) -> str | None:
    """Return why a store cannot be used for these settings and files; None if it can.

    With `read_all`, every byte is read, even of files whose digests the user's cache has.
    """
    if not store.exists():
        return _why_absent(store, recipe, sources)
    try:
        manifest = Manifest.read(store)
    except NoIndexError as error:
        return str(error)
    if manifest is None:
        return f"{store / MANIFEST}: this file is missing"

    why = manifest.stale_reason(recipe, sources) or manifest.damage(store, read_all)
    if why is None:
        return None
    return f"{store}: {why}"


def _why_absent(store: Path, recipe: Mapping[str, Any], sources: Sequence[Source]) -> str:
    """Return why a store is missing: what other indexes the folder has, if any."""
    folder = store.parent
    engine, _, digest = store.name.partition("-")
    if any(folder.glob(f"*-{digest}")):
        return f"{folder}: this index was not built for the engine {engine}"

    for other in stores(folder):
        try:
            manifest = Manifest.read(other)
        except NoIndexError as error:
            return str(error)
        if manifest:
            return f"{folder}: {manifest.stale_reason(recipe, sources)}"
    if is_before_stores(folder):
        return f"{folder}: this index was built by a version before 0.5, whose form is another one"

    # The name of a store tells its files, that of the collection's folder does not.
    for same in sorted(folder.parent.parent.glob(f"*/{folder.name}/{store.name}")):
        former = same.parent.parent
        return (
            f"{folder}: there is no index, but {same} is of the same files, in a folder named "
            f"{former.name}; if there is none any more, rename {former} to {folder.parent.name}"
        )
    return f"{folder}: there is no index"


def mark_as_latest(store: Path) -> None:
    """Make `stores` list this store first, and remove the remains of killed builds of it."""
    if stores(store.parent)[0] != store:
        with suppress(OSError):  # The user may have no right to write.
            os.utime(store / MANIFEST)
    sweep(store)


def remove_former(folder: Path, sources: Sequence[Source]) -> None:
    """Remove the stores of a task that were built from other files."""
    for store in stores(folder):
        manifest = readable_manifest(store)
        if manifest and manifest.sources != sources:
            remove(store)


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
    """An index of other settings or files than `index` was asked for."""

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


def outdated(asked: Path) -> list[Outdated]:
    """Return the indexes of a task whose content is not that of the store `asked`.

    They include interrupted builds and an index of version 0.4.
    """
    folder = asked.parent
    digest = asked.name.partition("-")[2]
    found = [Outdated(store, [store]) for store in stores(folder)]
    found += [Outdated(store, [under_construction(store)]) for store in unfinished(folder)]
    others = [index for index in found if not index.path.name.endswith(digest)]
    if is_before_stores(folder):
        others.append(Outdated(folder / MANIFEST, _old_parts(folder)))
    return others


def _old_parts(folder: Path) -> list[Path]:
    """Return the manifest of an index before 0.5, and the files and directories listed in it."""
    names = {MANIFEST}
    with suppress(OSError, ValueError, TypeError, AttributeError):
        files = parse_json((folder / MANIFEST).read_bytes())["files"]
        names |= {Path(name).parts[0] for name in files}
    return [folder / name for name in sorted(names) if _OLD_PART.fullmatch(name)]
