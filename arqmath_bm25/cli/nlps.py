"""`index`, `run` and `search` for premise selection (NLPS)."""

from __future__ import annotations

import textwrap
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from arqmath_bm25.cli.making import is_up_to_date, write_run_manifest
from arqmath_bm25.cli.options import IndexRequest, RunRequest, SearchRequest, out
from arqmath_bm25.collection.premises import SPLITS, PremiseFiles, Statement, read_statements
from arqmath_bm25.config import load_nlps
from arqmath_bm25.errors import InputError
from arqmath_bm25.progress import progress
from arqmath_bm25.retrieval.nlps import DEPTH, Nlps, build_index, why_stale
from arqmath_bm25.retrieval.nlps_predictions import write_predictions, write_submission
from arqmath_bm25.sample import NLPS_SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from arqmath_bm25.config import NlpsSettings
    from arqmath_bm25.retrieval.nlps_ranking import Ranking


def _files(data: Path | None) -> PremiseFiles:
    return PremiseFiles.at(data or NLPS_SAMPLE)


def has_data(data: Path | None) -> bool:
    """Tell whether DATA, or DATA/nlps, holds a knowledge base."""
    return _files(data).has_premises()


def index(request: IndexRequest) -> None:
    """Build the index of premises and training statements, or say that it is up to date."""
    files, settings = _files(request.data), load_nlps(request.config)
    directory = request.indexes / files.name / "nlps"
    stale = partial(
        why_stale, knowledge_base=files.knowledge_base, train=files.train, settings=settings
    )
    if is_up_to_date(directory, stale, request.overwrite):
        return
    manifest = build_index(files.knowledge_base, files.train, directory, settings, request.threads)
    counts = manifest.counts
    out.print(
        f"{directory}: {counts['premises']:,} premises, {counts['statements']:,} training "
        f"statements, which cite {counts['profiles']:,} premises, in {manifest.seconds:,.1f} s"
    )


def run(request: RunRequest) -> None:
    """Write the predictions of every variant for every set of statements.

    Where there are fewer premises than the shared task demands, all are ranked; a note says that it
    would refuse them, and there is no zip file for CodaLab.
    """
    files, settings = _files(request.data), load_nlps(request.config)
    variants = _variants(request.variants, settings)
    depth = min(request.depth, DEPTH)
    sets = [(s, path, read_statements(path)) for s, path in _sets(request.topics, files)]
    nlps = _open(request.indexes, files, settings)
    short = False
    for variant in variants:
        ranker = nlps.ranker(variant)
        for name, path, statements in sets:
            began = time.monotonic()
            target = request.runs / files.name / name / f"{variant}.txt"
            with progress(f"{name} {variant}", len(statements), "statements") as advance:
                ranked = ranker.rank(statements, depth, request.threads)
                rows = write_predictions(target, _noted(statements, ranked, advance))
            write_run_manifest(target, settings, variant, depth, path, nlps.manifest)
            seconds = time.monotonic() - began
            out.print(
                f"{target}: {len(statements):,} statements, {rows:,} rows, in {seconds:.1f} s"
            )
            submission = target.with_suffix(".zip")
            submission.unlink(missing_ok=True)  # of an earlier run
            if rows < DEPTH * len(statements):
                short = True
            elif name == "test":
                write_submission(submission, target)
                out.print(f"{submission}: for CodaLab")
    if short:
        out.print(
            f"note: these runs have fewer than {DEPTH} premises for a statement; the shared task's "
            "evaluation would refuse them"
        )


def search(request: SearchRequest) -> None:
    """Show premises for a statement, with their texts."""
    files, settings = _files(request.data), load_nlps(request.config)
    (variant,) = _variants([request.variant or settings.primary], settings)
    nlps = _open(request.indexes, files, settings)
    (ranking,) = nlps.ranker(variant).rank([Statement("", request.query, ())], request.depth, 1)
    found = [(premise_id, score) for premise_id, score in ranking if score > 0]
    if not found:
        out.print("No premise holds a term of this statement.")
    texts = {premise.premise_id: premise.text for premise in nlps.premises}
    for rank, (premise_id, score) in enumerate(found, 1):
        text = texts.get(premise_id, "(cited in the training set; its text is not known)")
        text = textwrap.shorten(text, 300, placeholder=" ...")
        out.print(Text(f"{rank:>3}  {premise_id}", style="bold"), Text(f"{score:.3f}", style="dim"))
        out.print(Text(textwrap.indent(textwrap.fill(text, 90), "     ")), "")


def _open(indexes: Path, files: PremiseFiles, settings: NlpsSettings) -> Nlps:
    directory = indexes / files.name / "nlps"
    return Nlps(directory, settings, files.knowledge_base, files.train)


def _sets(topics: Sequence[str] | None, files: PremiseFiles) -> list[tuple[str, Path]]:
    """Return the sets of statements asked for, each with the name of its folder under runs."""
    chosen = topics or files.splits()
    if not chosen:
        files.statements("dev")  # says what is missing
    sets: list[tuple[str, Path]] = []
    for topic in chosen:
        split = next((split for split in SPLITS if split == topic), None)
        if split:
            sets.append((split, files.statements(split)))
        elif Path(topic).is_file():
            sets.append((Path(topic).stem, Path(topic)))
        else:
            raise InputError(
                f"--topics {topic}: no such file; expected {', '.join(SPLITS)} or a file of "
                "statements in the form of dev_set.json"
            )
    return sets


def _variants(chosen: Sequence[str] | None, settings: NlpsSettings) -> list[str]:
    for variant in chosen or ():
        if variant not in settings.variants:
            known = ", ".join(settings.variants)
            raise InputError(f"--variant {variant}: the configuration has {known}")
    return [variant for variant in settings.variants if variant in (chosen or settings.variants)]


def _noted(
    statements: Iterable[Statement],
    ranked: Iterable[Ranking],
    advance: Callable[[float], None],
) -> Iterator[tuple[str, Ranking]]:
    for statement, ranking in zip(statements, ranked, strict=True):
        advance(1)
        yield statement.statement_id, ranking
