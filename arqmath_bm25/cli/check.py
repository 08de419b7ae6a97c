"""The command `check`: whether an index is as it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arqmath_bm25.cli.shared.options import out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.manifest import Manifest


def check(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Directory of one index.")],
) -> None:
    """Compare every file of an index with what was written; exit status 1 if one differs.

    Example: arqmath-bm25 check indexes/ARQMath/task1
    """
    manifest = Manifest.read(index)
    if manifest is None:
        raise InputError(f"{index}: there is no index; expected a directory with manifest.json")
    if found := list(manifest.damages(index, read_all=True)):
        raise InputError(f"{index}: {'; '.join(found)}; build it again with --overwrite")
    size = sum(size for size, _ in manifest.files.values())
    out.print(f"{index}: {len(manifest.files)} files, {size:,} bytes, all as they were written")
