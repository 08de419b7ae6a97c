"""`manifest.json`: the sources and settings of an index; why it is stale or damaged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from arqmath_bm25.core.errors import NoIndexError
from arqmath_bm25.core.reading import parse_json
from arqmath_bm25.core.writing import Source, complete, digests
from arqmath_bm25.version import __version__

MANIFEST = "manifest.json"
CHECKSUMS = ".crc"  # ending of the checksums of a file, by which it is tested when read
LOCAL_INDEX = "lucene"  # in a store: what an engine of this machine searches


@dataclass(frozen=True)
class Manifest:
    """An index's sources, settings and content."""

    task: str
    settings: dict[str, Any]  # the whole configuration
    data: str | None  # where DATA was: a path, irds:NAME, the name of an import; None: the sample
    recipe: dict[str, Any]  # the settings that decide the content, and the version of the analysis
    sources: list[Source]
    files: dict[str, tuple[int, str]]  # name of a file of the index → size and SHA-256
    counts: dict[str, int]
    seconds: float  # duration of the build
    version: str = field(default=__version__)
    decisions: dict[str, bool] = field(default_factory=dict)  # of the task, by what it counted

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        """Read the manifest of a store.

        Raises NoIndexError if it is missing, damaged, or of a version with other indexes.
        """
        path = directory / MANIFEST
        try:
            content = parse_json(path.read_bytes())
            version = str(content.get("version", __version__))
            if minor(version) != minor(__version__):
                raise NoIndexError(
                    f"{directory}: this index was built by version {version}, which reads it; this "
                    f"is {__version__}",
                    directory.parent.name,
                )
            if content.pop("sha256", None) != digest_of(content):
                raise ValueError("it has other content than was written")
            return _form().validate_python(content)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            fault = f"damaged ({' '.join(str(error).split())[:60]})"
            if isinstance(error, FileNotFoundError):
                fault = "this file is missing"
            raise NoIndexError(f"{path}: {fault}", directory.parent.name) from None

    def write(self, directory: Path) -> None:
        """Write manifest.json."""
        content = asdict(self)
        content["sha256"] = digest_of(content)
        with complete(directory / MANIFEST) as file:
            file.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def stale_reason(self, recipe: Mapping[str, Any], sources: Sequence[Source]) -> str | None:
        """Return why the index does not fit this recipe and these files; None if it does."""
        if self.recipe.get("analysis version") != recipe.get("analysis version"):
            return "this index was built with an older analysis of text and formulas"
        if self.sources != sources:
            return f"this index was built from other data ({self._other(sources)})"
        if self.recipe.get("chosen") != recipe.get("chosen"):
            return "this index was built with another until, site, delimiters or train"
        if self.recipe != recipe:
            return "this index was built with other analysis settings"
        return None

    @property
    def digest(self) -> str:
        """Return a digest that names the content of the index."""
        return content_digest(self.recipe, self.sources)

    def damage(self, directory: Path, read_all: bool = False) -> str | None:
        """Return the first fault in the files of a store; None if they are as they were written."""
        for damage in self.damages(directory, read_all):
            return f"this index is damaged: {damage}"

        files = map(directory.joinpath, self.files)
        written = {path for file in files for path in (file, *file.parents)}
        for found in sorted(directory.glob(f"{LOCAL_INDEX}*")):
            for path in (found, *sorted(found.rglob("*"))):
                if path not in written:
                    return f"{path.relative_to(directory)} is not of this index; remove it"
        return None

    def damages(self, directory: Path, read_all: bool = False) -> Iterator[str]:
        """Yield the faults of the files of the index.

        `read_all` reads every byte, even of files whose digests are remembered, or that are tested
        when they are read (tested.py).
        """
        there = {}
        for name, (size, digest) in self.files.items():
            path = directory / name
            if not path.is_file():
                yield f"{name} is missing"
            elif path.stat().st_size != size:
                yield f"{name} has {path.stat().st_size:,} bytes, {size:,} were written"
            elif read_all or not (name.endswith(CHECKSUMS) or f"{name}{CHECKSUMS}" in self.files):
                there[path] = name, digest
        for (name, digest), now in zip(there.values(), digests(there, read_all), strict=True):
            if now != digest:
                yield f"{name} has other content than was written"

    def _other(self, sources: Sequence[Source]) -> str:
        """Return how the files of the index differ from `sources`: one file, or their order."""
        names = [source.name for source in sources]
        for source in self.sources:
            if source.name not in names:
                return f"from {source.name}, which is not there"
            if source not in sources:
                return f"{source.name} has other content"
        for source in sources:
            if source not in self.sources:
                return f"without {source.name}"
        return "in another order"


def store_of(path: Path) -> Path:
    """Return the directory of the index that a file is part of."""
    for store in path.parents:
        if (store / MANIFEST).is_file():
            return store
    return path.parent


@cache  # which every command that reads an index needs, and no other
def _form() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def content_digest(recipe: Mapping[str, Any], sources: Sequence[Source]) -> str:
    """Return a digest of everything that determines the documents of an index."""
    return digest_of([recipe, [source.sha256 for source in sources]])


def minor(version: str) -> list[str]:
    """Return the major and minor version; versions that share them read the same indexes."""
    return version.split(".")[:2]


def digest_of(content: object) -> str:
    """Return the SHA-256 of a value as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
