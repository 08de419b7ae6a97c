"""The files of a folder: which are read, and why the others are not.

Left out are hidden files, packages, indexes, what is no regular file of the folder, what a
`.gitignore` of the folder names, and what a known program wrote from sources that are read
(listing.toml).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from arqmath_bm25.collection.book_macros import CONFIGURATIONS, configured
from arqmath_bm25.collection.folder_texts import inside, text_of
from arqmath_bm25.collection.kept_rows import FormerRows
from arqmath_bm25.collection.own_documents import LONGEST_ID, QRELS, QUERIES
from arqmath_bm25.collection.source_files import READERS
from arqmath_bm25.collection.taken_in import Plan, planned
from arqmath_bm25.core.building import PAGES
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.tables import read_table

COPIED = (QUERIES, *QRELS, "macros.tex")
_TABLE: dict[str, Any] = read_table(__file__)
_PACKAGES = frozenset(_TABLE["packages"].split())
_WRITERS: dict[str, list[str]] = _TABLE["writers"]
_OF_SPHINX = frozenset(_TABLE["of_sphinx"].split())
_SPHINX = frozenset(("objects.inv", "searchindex.js"))
_PRETEXT = re.compile(rb"<(?:pretext|mathbook)\b")
_HEAD = 10_000  # bytes
_BOOK = "book.toml"  # of mdBook, above the sources
_IGNORE = ".gitignore"
_LONGEST = 100_000  # characters of a configuration
_FIELD = re.compile(r"[^\s\",:]+")  # a field of a row, in TSV or JSON
# Of an id; written as in an address.
_NO_ID = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]+")
Rules = list[tuple[str, Any]]  # a folder, and its .gitignore as pathspec reads it


@dataclass
class Listing:
    """The files of a folder; with `everything` no .gitignore applies."""

    root: Path
    indexes: Path
    everything: bool = False
    names: list[str] = field(default_factory=list)  # of those that are read, in order
    others: list[str] = field(default_factory=list)  # of other forms
    left_out: dict[str, str] = field(default_factory=dict)  # files and folders, with the reason
    outputs: dict[str, str] = field(default_factory=dict)  # folders that programs write, for which
    digests: dict[str, str] = field(default_factory=dict)  # of the bytes of files
    former: FormerRows = field(default_factory=FormerRows)

    @cached_property
    def real_root(self) -> Path:
        """The folder itself where `root` is a link."""
        return Path(os.path.realpath(self.root))

    @cached_property
    def asked(self) -> frozenset[str]:
        """The ids, and other words, in the queries and judgments of the folder."""
        found = []
        for name in (QUERIES, *QRELS):
            file = inside(self.root / name, self.real_root)
            if file is not None:
                found += _FIELD.findall(file.read_text("utf-8", "replace"))
        return frozenset(found)

    @cached_property
    def macros(self) -> dict[str, str]:
        """The definitions in the configuration of each book."""
        found = {}
        for name in self.others:
            if not name.endswith(CONFIGURATIONS):
                continue
            text = self._text(name)
            if len(text) < _LONGEST:
                found[name] = configured(text, name)
        return {name: text for name, text in found.items() if text}

    def macros_of(self, name: str) -> str:
        """Return the definitions of the books that a file belongs to."""
        found = []
        for config, text in self.macros.items():
            folder = config[: config.rfind("/") + 1]
            if name.startswith(folder):
                found.append(text)
        return "\n".join(found)

    @cached_property
    def plan(self) -> Plan:
        """Which of the files are documents of their own."""
        asked = {name.partition("#")[0] for name in self.asked}

        def is_asked(name: str) -> bool:
            return part_id(name, "") in asked

        alone = set()
        for name in self.names:
            file = self.former.files.get(name)
            if file and not file.source and file.digest == self.digests.get(name):
                alone.add(name)
        return planned(self.names, self.real_root, is_asked, alone)

    def walk(self) -> Iterator[str]:
        """Yield the names of the files, in order, and note those left out; no folder is a link."""
        folders: list[tuple[str, Rules]] = [("", [])]
        while folders:
            folder, rules = folders.pop()
            entries = self._entries(folder)
            names = {entry.name for entry in entries}
            if folder and any(name.startswith(PAGES) for name in names):
                self.left_out[folder] = "pages that this program wrote"
                continue
            if not self.everything:
                rules = rules + self._rules(folder, names)
                self._note_outputs(folder, names)
            inner = []
            for entry in entries:
                name = folder + entry.name
                if entry.name.startswith("."):
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                why = self._why_not(name, entry, is_folder, rules, names)
                if why:
                    self.left_out[name] = why
                elif is_folder:
                    inner.append((f"{name}/", rules))
                else:
                    yield name
            folders += reversed(inner)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.real_root / folder) as found:
                return sorted(found, key=attrgetter("name"))
        except OSError as error:
            self.left_out[folder] = f"the folder cannot be read: {error.strerror}"
            return []

    def _why_not(
        self, name: str, entry: os.DirEntry[str], is_folder: bool, rules: Rules, names: set[str]
    ) -> str:
        """Return why a file or folder is left out; "" if it is not."""
        if is_folder and entry.name in _PACKAGES:
            return "packages"
        if is_folder and os.path.realpath(entry.path) == os.path.realpath(self.indexes):
            return "the indexes"
        is_regular = is_folder or entry.is_file(follow_symlinks=False)
        if not is_regular and not inside(Path(entry.path), self.real_root):
            return "no regular file of this folder"
        if self.everything:
            return ""
        if entry.name in _OF_SPHINX and not names.isdisjoint(_SPHINX):
            return "written by Sphinx"
        if entry.name == "SUMMARY.md":
            book = self.real_root / Path(name).parent.parent / _BOOK
            if book.is_file():
                return "the contents of a book"
        for folder, spec in reversed(rules):
            path = name.removeprefix(folder) + "/" * is_folder
            is_ignored = spec.check_file(path).include
            if is_ignored:
                return "named by .gitignore"
            if is_ignored is not None:
                return ""
        return ""

    def _rules(self, folder: str, names: set[str]) -> Rules:
        """Return the rules of the .gitignore of a folder."""
        if _IGNORE not in names:
            return []
        import pathspec

        lines = self._text(folder + _IGNORE).splitlines()
        return [(folder, pathspec.GitIgnoreSpec.from_lines(lines))]

    def _note_outputs(self, folder: str, names: set[str]) -> None:
        """Note the folders that known programs write, as their configurations say."""
        for config in sorted(names.intersection(_WRITERS)):
            key, *defaults = _WRITERS[config]
            said = None
            if key:
                line = rf"^[ \t]*{key}[ \t]*[:=][ \t]*[\"']?([^\"'#\n]+)"
                said = re.search(line, self._text(folder + config), re.MULTILINE)
            for output in [said[1].strip()] if said else defaults:
                path = os.path.normpath(folder + output)
                if path != "." and not folder.startswith(f"{path}/"):
                    self.outputs[f"{path}/"] = folder

    def _text(self, name: str) -> str:
        try:
            file = inside(self.real_root / name, self.real_root)
            return text_of(file)[0] if file else ""
        except InputError:
            return ""


def part_id(name: str, anchor: str) -> str:
    """Return the id of a part of a file: of at most as many bytes as an id may have."""
    if anchor:
        name += f"#{anchor}"
    written = _NO_ID.sub(lambda found: quote(os.fsencode(found[0])), name)
    encoded = written.encode()
    if len(encoded) <= LONGEST_ID:
        return written
    digest = hashlib.sha256(encoded).hexdigest()[:16]
    return f"{encoded[: LONGEST_ID - 17].decode(errors='ignore')}-{digest}"


def ending_of(name: str) -> str:
    """Return the ending of a name in lower case: .md, .jsonl.gz."""
    _, *endings = name.lower().strip(".").split(".")
    count = 2 if endings[-1:] in (["gz"], ["zst"]) else 1
    return "".join(f".{ending}" for ending in endings[-count:])


def listed(data: Path, indexes: Path, everything: bool = False) -> Listing:
    """List the files of a folder that are read, or a single file."""
    if data.is_file():
        return Listing(data.parent, indexes, names=[data.name])

    listing = Listing(data, indexes, everything)
    names = [name for name in listing.walk() if name not in COPIED]
    outputs = tuple(listing.outputs)
    for output, project in listing.outputs.items():
        written = [name for name in names if name.startswith(output)]
        sources = (name for name in names if name.startswith(project))
        if written and any(
            ending_of(name) in READERS and not name.startswith(outputs) for name in sources
        ):
            names = [name for name in names if not name.startswith(output)]
            listing.left_out[output] = f"{len(written):,} files written from sources that are read"
    found = set(names)
    for name in names:
        source = f"{name[:-4]}.tex"
        if not is_source(data / name):
            listing.others.append(name)
        elif name.lower().endswith(".pdf") and source in found:
            listing.left_out[name] = f"{source} is read"
        else:
            listing.names.append(name)
    return listing


def is_source(path: Path) -> bool:
    """Return whether a file is a source by its ending; of XML, only PreTeXt is."""
    ending = ending_of(path.name)
    if ending != ".xml":
        return ending in READERS
    try:
        with path.open("rb") as file:
            return _PRETEXT.search(file.read(_HEAD)) is not None
    except OSError:
        return False
