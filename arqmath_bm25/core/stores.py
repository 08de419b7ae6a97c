"""The folder of a task's indexes: a store for each engine, settings and files.

A store is a directory ENGINE-DIGEST. The digest covers the settings, the version of the analysis,
the contents of the files that the store was built from, and the version of this program. So a store
can be moved, and it serves every copy of these files; other settings or files have another store.
"""

import json
import os
import re
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from arqmath_bm25.core.building import remove, under_construction, unfinished
from arqmath_bm25.core.errors import BusyError, NoIndexError
from arqmath_bm25.core.manifest import MANIFEST, Manifest, digest_of, minor
from arqmath_bm25.core.system import lock
from arqmath_bm25.core.writing import Source
from arqmath_bm25.version import __version__

LEARNT = "cited"  # in place of an engine: a store of what is learnt for an index
ARTIFACT = {"type": "sparse_index", "format": "arqmath_bm25"}
_STORE = re.compile(r"(?P<engine>[a-z]{1,20})-(?P<digest>[0-9a-f]{16})")


def store_name(engine: str, content_digest: str) -> str:
    """Return the name of the store that an engine searches for a content."""
    digest = digest_of([minor(__version__), content_digest])
    return f"{engine}-{digest[:16]}"


def stores(folder: Path) -> list[Path]:
    """Return the stores of a task by their names."""
    found = [path for path in folder.glob("*-*") if _STORE.fullmatch(path.name) and path.is_dir()]
    return sorted(found)


def is_store(name: str) -> bool:
    """Return whether a name is the path of a store."""
    return is_there(f"{name}/{MANIFEST}")


def is_there(name: str) -> bool:
    """Return whether a word of a command is a path; a sentence may be too long for one."""
    with suppress(OSError):
        return Path(name).exists()
    return False


def artifact(path: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return what PyTerrier has to know of a directory with these files; None if it is no store."""
    if MANIFEST in names and _STORE.fullmatch(Path(path).name):
        return ARTIFACT
    return None


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

    others = [other for other in stores(folder) if not other.name.startswith(f"{LEARNT}-")]
    if others:
        there = "; ".join(_told(other, recipe, sources) for other in others)
        return (
            f"{folder}: there is no index of these settings and files; there are, to be opened by "
            f"their paths in place of {folder.name}, {there}"
        )
    if is_store(str(folder)):  # as the index of version 0.4 was
        return str(why_unusable(folder, recipe, sources))

    # The name of a store tells its files, that of the collection's folder does not.
    for same in sorted(folder.parent.parent.glob(f"*/{folder.name}/{store.name}")):
        former = same.parent.parent
        return (
            f"{folder}: there is no index, but {same} is of the same files, in a folder named "
            f"{former.name}; if there is none any more, rename {former} to {folder.parent.name}"
        )
    return f"{folder}: there is no index"


def _told(store: Path, recipe: Mapping[str, Any], sources: Sequence[Source]) -> str:
    """Say why another store is not the one that is asked for, and how it is opened."""
    try:
        manifest = Manifest.read(store)
    except NoIndexError as error:
        return str(error)

    why = manifest.stale_reason(recipe, sources)
    line = f"{store} ({why or 'renamed since it was built'}"
    options = [f"{name}: {value}" for name, value in manifest.recipe.get("chosen", {}).items()]
    changed = [*options, *_changes(manifest.recipe, recipe)]
    if changed:
        line += f": {', '.join(changed)}"
    return f"{line})"


def _changes(recipe: Mapping[str, Any], asked: Mapping[str, Any], at: str = "") -> list[str]:
    """Return the settings of a recipe that differ from the asked ones."""
    changes = []
    for key, value in recipe.items():
        of_asked = asked.get(key)
        if key == "chosen" or value == of_asked:
            continue
        if isinstance(value, Mapping) and isinstance(of_asked, Mapping):
            changes += _changes(value, of_asked, f"{at}{key}.")
        else:
            changes.append(f"{at}{key}: {json.dumps(value)}")
    return changes


def keep(store: Path, user: object) -> None:
    """Keep `remove_unless_open` from a store as long as there is its user."""
    descriptor = os.open(store / MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
    weakref.finalize(user, os.close, descriptor)
    lock(descriptor, shared=True)


def remove_unless_open(store: Path) -> bool:
    """Remove a store that no process has open or is building; return whether it is gone."""
    try:
        with ExitStack() as opened:
            with suppress(FileNotFoundError):
                file = opened.enter_context((store / MANIFEST).open("rb"))
                lock(file.fileno(), wait=False)
            remove(store)
    except (BlockingIOError, BusyError):
        return False
    return True


def outdated(asked: Path) -> list[Path]:
    """Return the stores of a task whose content is not that of `asked`, and interrupted builds."""
    found = [*stores(asked.parent), *unfinished(asked.parent)]
    digest = asked.name.partition("-")[2]
    return [store for store in dict.fromkeys(found) if not store.name.endswith(digest)]


def size_of(store: Path) -> int:
    """Return the bytes of the files of a store, or of its interrupted build."""
    files = [*store.rglob("*"), *under_construction(store).rglob("*")]
    return sum(file.lstat().st_size for file in files if not file.is_dir())
