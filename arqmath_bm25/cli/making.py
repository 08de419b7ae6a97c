"""What the tasks' commands have in common: existing indexes, topics, variants, manifests."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from arqmath_bm25 import __version__
from arqmath_bm25.cli.options import out
from arqmath_bm25.collection.layout import YEARS
from arqmath_bm25.errors import InputError
from arqmath_bm25.lucene.index import InputFile, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from arqmath_bm25.collection.layout import Year
    from arqmath_bm25.config import Settings
    from arqmath_bm25.lucene.index import Manifest

N = TypeVar("N", bound=str)  # name of a variant
SITE = "https://math.stackexchange.com"
ENDINGS = {"lab": "tsv", "trec": "trec"}


def is_up_to_date(
    directory: Path, why_stale: Callable[[Manifest], str | None], overwrite: bool
) -> bool:
    """Tell whether an index serves as it is, and say so; False if it is to be built.

    Raises InputError if it is stale and must not be overwritten.
    """
    existing = read_manifest(directory)
    if existing is None:
        return False
    reason = why_stale(existing)
    if reason is None:
        out.print(f"{directory}: up to date")
        return True
    if not overwrite:
        raise InputError(
            f"{directory}: {reason}; --overwrite replaces it, another --indexes keeps both"
        )
    return False


def topic_files(
    chosen: Sequence[str] | None, years: Sequence[Year], of_year: Callable[[Year], Path]
) -> list[tuple[str, Path]]:
    """Return the topic files asked for, each with the name of its folder under runs."""
    if not chosen and not years:
        of_year("2020")  # says what is missing
    files: list[tuple[str, Path]] = []
    for topic in chosen or years:
        if topic in YEARS:
            files.append((topic, of_year(topic)))
        elif topic.isdecimal():
            raise InputError(f"--topics {topic}: the labs were held in {', '.join(YEARS)}")
        else:
            files.append((Path(topic).stem, Path(topic)))
    return files


def chosen_variants(chosen: Sequence[str] | None, known: Collection[N]) -> list[N]:
    """Return the variants asked for, all without `chosen`, in the order of the configuration."""
    for variant in chosen or ():
        if variant not in known:
            raise InputError(f"--variant {variant}: the configuration has {', '.join(known)}")
    return [variant for variant in known if variant in (chosen or known)]


def write_run_manifest(
    run: Path,
    settings: Settings,
    variant: str,
    depth: int,
    topics: Path,
    index: Manifest,
    topic_formulas: Path | None = None,
) -> None:
    """Write beside a run of a task what it was made of."""
    formulas = {"topic_formulas": asdict(InputFile.of(topic_formulas))} if topic_formulas else {}
    write_manifest(
        run,
        settings=settings.model_dump(mode="json"),
        variant=variant,
        depth=depth,
        topics=asdict(InputFile.of(topics)),
        **formulas,
        collection=[asdict(file) for file in index.inputs],
    )


def write_manifest(run: Path, **made_of: Any) -> None:
    """Write `made_of` beside a run, as NAME.manifest.json."""
    text = json.dumps({"version": __version__, **made_of}, indent=2, ensure_ascii=False) + "\n"
    run.with_suffix(".manifest.json").write_text(text, encoding="utf-8")
