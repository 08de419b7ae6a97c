"""Imports: what is no dump and no JSON lines is read into rows once, in a store of its own.

A folder of files, a table, a set of ir_datasets and the documents of a notebook become
INDEXES/files/NAME/corpus-DIGEST, in BEIR's form. DIGEST is made of the names and contents of what
is read, so an import is never out of date: other contents are another import. Its manifest has the
digests of what was written, as that of an index has.

Beside it, `inputs-*.json` remembers the digests of the files of one path, under all that the system
says of each file, and the import that was made of this path last. It may be removed at any time. A
former import goes when the last one is indexed: its index is taken over where rows are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from arqmath_bm25.analysis.settings import VERSION
from arqmath_bm25.collection.file_collection import folder_name, write_files
from arqmath_bm25.collection.folder_texts import inside
from arqmath_bm25.collection.kept_rows import FormerRows
from arqmath_bm25.collection.listing import COPIED, Listing, listed
from arqmath_bm25.collection.own_documents import (
    CORPUS,
    IRDS,
    corpus_digest,
    write_corpus,
    write_ir_dataset,
)
from arqmath_bm25.collection.source_files import OF_BOOKS
from arqmath_bm25.core.building import building, patiently
from arqmath_bm25.core.errors import InputError, some
from arqmath_bm25.core.manifest import MANIFEST, Manifest, content_digest
from arqmath_bm25.core.stores import (
    readable_manifest,
    remove_unless_open,
    store_name,
    stores,
    why_unusable,
)
from arqmath_bm25.core.workers import HERE, Workers
from arqmath_bm25.core.writing import Source, complete, contents, state_of, written_json
from arqmath_bm25.version import __version__

FILES = "files"  # the folder of imports below INDEXES, and the task of their manifests
_FORM = 13  # of the rows of a folder
_ENGINE = "corpus"
# A file that was written so shortly before it was read may change without a change of its times.
_RECENT = 50_000_000  # ns


@dataclass(frozen=True)
class Import:
    """A store of rows before it is written: its name, its recipe, and its writer."""

    name: str
    recipe: dict[str, Any] = field(hash=False)
    write: Callable[[Path], object] = field(compare=False, repr=False)
    inputs: Inputs | None = field(default=None, compare=False, repr=False)

    def store(self, indexes: Path) -> Path:
        """Return the path of its store, whether it exists or not."""
        digest = content_digest(self.recipe, [])
        return indexes / FILES / self.name / store_name(_ENGINE, digest)

    def why_unusable(self, indexes: Path, read_all: bool = False) -> str | None:
        """Return why its store cannot be read; None if it can."""
        store = self.store(indexes)
        if not store.exists():
            return f"{self.name}: not indexed yet as it is now"
        return why_unusable(store, self.recipe, [], read_all)

    def ensure(self, indexes: Path, read_all: bool = False) -> Path:
        """Return its store, which is written if it is missing or damaged.

        Waits while another process writes it. Raises InputError if nothing can be read.
        """
        patiently(partial(self._ensure, indexes, read_all))
        store = self.store(indexes)
        if self.inputs:
            self.inputs.note(store)
        return store

    def _ensure(self, indexes: Path, read_all: bool) -> None:
        if not self.why_unusable(indexes, read_all):
            return
        if self.inputs:
            self.inputs.tell_of_changes()
        with building(self.store(indexes)) as place:
            self.write(place)
            manifest = Manifest(
                task=FILES,
                settings={},
                data=None,
                recipe=self.recipe,
                sources=[],
                files=contents(place),
                counts={},
                seconds=0,
            )
            manifest.write(place)


def import_of_rows(rows: Iterable[Mapping[str, Any]], name: str | None) -> Import:
    """Return the import of documents that a program has made."""
    documents = list(rows)
    digest = corpus_digest(documents)
    name = name or f"documents-{digest[:8]}"
    return Import(name, {"rows": digest}, partial(write_corpus, documents))


def importing(
    data: str | Path | Import,
    indexes: Path,
    whole: bool,
    read_all: bool = False,
    everything: bool = False,
    workers: Workers = HERE,
) -> Import:
    """Return the import of DATA as it is now, which may not have been written yet.

    With `read_all` every byte is read; with `everything`, also files that a .gitignore of the
    folder names. `workers` of this machine read the files.
    """
    if isinstance(data, Import):
        return data
    name = import_name(data)
    if str(data).startswith(IRDS):
        of_set = str(data).removeprefix(IRDS)
        return Import(name, {"set": of_set}, partial(write_ir_dataset, of_set))
    recipe: dict[str, Any] = {"version": __version__, "form": _FORM, "analysis": VERSION}
    recipe["whole"] = whole
    inputs = Inputs.of(Path(data), indexes / FILES / name, recipe, read_all, everything)
    recipe["files"] = inputs.digest
    recipe |= _macros(inputs.listing)
    if everything:
        recipe["everything"] = True
    if workers.remote:
        workers = HERE
    write = partial(write_files, inputs.listing, whole=whole, workers=workers)
    return Import(name, recipe, write, inputs)


def import_name(data: str | Path | Import) -> str:
    """Return the name of the import of DATA, which needs no look at its files."""
    if isinstance(data, Import):
        return data.name
    if str(data).startswith(IRDS):
        return re.sub(r"[^A-Za-z0-9._-]", "-", str(data).removeprefix(IRDS))
    return folder_name(Path(data))


def is_import(data: Path) -> bool:
    """Return whether a directory is the store of an import."""
    return data.parent.parent.name == FILES and (data / MANIFEST).is_file()


def corpora(folder: Path) -> dict[Path, str]:
    """Return the digest of the rows of each import in a folder."""
    found = {}
    for store in stores(folder):
        manifest = readable_manifest(store)
        if manifest and CORPUS in manifest.files:
            _, found[store] = manifest.files[CORPUS]
    return found


def rows_of_others(store: Path) -> set[str]:
    """Return the digests of the rows of other imports than this one and former ones of its path."""
    own = {store.name}
    for note in _notes(store.parent).values():
        if note.get("import") == store.name:
            own.update(note.get("former", ()))
    rows = corpora(store.parent)
    of_own = {rows.pop(path) for path in list(rows) if path.name in own}
    return set(rows.values()) - of_own


def rows_of(sources: Sequence[Source], folder: Path) -> Path | None:
    """Return the import in a folder that an index was built from; None if it is not there."""
    for rows, digest in corpora(folder).items():
        if [source.sha256 for source in sources] == [digest]:
            return rows
    return None


@dataclass(frozen=True)
class Inputs:
    """The files of one path with their states and digests."""

    data: Path
    listing: Listing
    states: dict[str, list[Any]]  # name → what the system says of it, and the digest
    before: dict[str, Any]  # what was remembered

    @classmethod
    def of(
        cls, data: Path, folder: Path, recipe: Mapping[str, Any], read_all: bool, everything: bool
    ) -> Inputs:
        """Read the files that are not remembered as they are.

        Of the last import of this path, the rows made by the same `recipe` can be taken over.
        """
        before = _read(_note(folder, data))
        known = {}
        if not read_all:
            known = before.get("files", {})

        listing = listed(data, folder.parents[1], everything)
        root = listing.real_root
        own = set(listing.names)
        beside = [name for name in [*COPIED, *known] if name not in own]
        beside = [name for name in beside if inside(root / name, root)]
        watched = dict.fromkeys([*listing.names, *beside])
        states = _states(listing.root, watched, known)
        listing.digests = _contents(states)
        # What a file takes in may be there only now.
        if states != known or before.get("others") != listing.others:
            if not read_all and isinstance(before.get("import"), str):
                read_so = {**recipe, **_macros(listing)}
                listing.former = FormerRows(folder / before["import"], read_so)
            beside = [name for name in beside if name in COPIED]
            watched = dict.fromkeys([*listing.names, *beside, *sorted(listing.plan.taken)])
            missing = [name for name in watched if name not in states]
            states |= _states(listing.root, missing, {})
            states = {name: states[name] for name in watched if name in states}
        return cls(data, listing, states, before)

    @property
    def digest(self) -> str:
        """A digest of the names and contents of the files, and of where books begin."""
        lines = sorted(f"{name}\0{digest}" for name, digest in _contents(self.states).items())
        lines += [name for name in self.listing.others if name.endswith(OF_BOOKS)]
        text = "\n".join(lines)
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

    def tell_of_changes(self) -> None:
        """Report the files that changed since the last import."""
        from arqmath_bm25.core.progress import tell

        now = _contents(self.states)
        before = _contents(self.before.get("files", self.states))
        names = {
            "changed": [name for name in now if before.get(name, now[name]) != now[name]],
            "added": [name for name in now if name not in before],
            "removed": [name for name in before if name not in now],
        }
        said = [f"{change} {some(files)}" for change, files in names.items() if files]
        if said:
            tell(f"{self.data}: files since the last time: {'; '.join(said)}")

    def note(self, store: Path) -> None:
        """Remember the digests and the import, and remove former imports of this path."""
        former = {*self.before.get("former", ()), self.before.get("import")} - {store.name, None}
        now: dict[str, Any] = {"import": store.name, "former": sorted(former)}
        now |= {"files": self._settled(), "others": self.listing.others}
        if now != self.before:
            _write(_note(store.parent, self.data), now)
        if self.before.get("former"):
            remove_former(store.parent)

    def _settled(self) -> dict[str, list[Any]]:
        """Return the states; of files that may still change unseen, the digest alone."""
        if self.states == self.before.get("files"):
            return self.states

        latest = time.time_ns() - _RECENT
        settled = dict(self.states)
        for name, state in self.states.items():
            if state[-2] > latest:
                settled[name] = state[-1:]
        return settled


def remove_former(folder: Path) -> None:
    """Remove former imports: those with an index when the last one has an index as well."""
    notes = _notes(folder)
    last = {content.get("import") for content in notes.values()}
    for note, content in notes.items():
        left = []
        for name in content.get("former", ()):
            is_indexed = any(_indexes(folder / str(content.get("import"))))
            if name not in last and not _remove_import(folder / name, is_indexed):
                left.append(name)
        if content.get("former", left) != left:
            _write(note, {**content, "former": left})


def _notes(folder: Path) -> dict[Path, dict[str, Any]]:
    return {note: _read(note) for note in sorted(folder.glob("inputs-*.json"))}


def _write(note: Path, content: Mapping[str, Any]) -> None:
    # Without the right to write, the next call reads the files again.
    with suppress(InputError, OSError), complete(note) as file:
        file.write(json.dumps(content))  # `dump` takes five times as long


def _macros(listing: Listing) -> dict[str, Any]:
    return {"macros": listing.macros} if listing.macros else {}


def _note(folder: Path, data: Path) -> Path:
    path = os.fsencode(data.resolve())
    return folder / f"inputs-{hashlib.sha256(path).hexdigest()[:16]}.json"


def _read(note: Path) -> dict[str, Any]:
    content = written_json(note)
    if isinstance(content, dict) and isinstance(content.get("files"), dict):
        return content
    return {}


def _contents(states: Mapping[str, list[Any]]) -> dict[str, str]:
    """Return the digest of each file."""
    return {name: state[-1] for name, state in states.items()}


def _states(
    root: Path, names: Iterable[str], known: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return the state of each existing file, and the digest of its content."""
    states = {}
    folder = os.path.join(root, "")  # noqa: PTH118  # faster, of ten thousand files
    for name in names:
        with suppress(OSError):  # it cannot be read, which its reader says
            state = state_of(folder + name)
            remembered = known.get(name, [])
            if remembered[:-1] != state:
                with Path(folder, name).open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                remembered = [*state, digest]
            states[name] = remembered
    return states


def _remove_import(store: Path, with_indexes: bool) -> bool:
    """Remove an import and the indexes of its rows; False if it stays, as one of them is open.

    An index in a cluster goes when it has been changed into the next one.
    """
    is_removed = True
    for index in _indexes(store):
        if not index.name.startswith("opensearch-"):
            is_removed &= with_indexes and remove_unless_open(index)
    return is_removed and remove_unless_open(store)


def _indexes(store: Path) -> list[Path]:
    """Return the indexes of the rows of an import, unless another one has the same rows."""
    rows = corpora(store.parent)
    own = {rows.pop(store, "")}.difference(rows.values())
    folder = store.parents[2] / store.parent.name
    built = [path for task in folder.glob("*/") for path in stores(task)]
    return [index for index in built if is_of_rows(index, own)]


def is_of_rows(index: Path, digests: Collection[str]) -> bool:
    """Return whether an index is of rows with one of these digests."""
    manifest = readable_manifest(index)
    return manifest is not None and any(file.sha256 in digests for file in manifest.sources)
