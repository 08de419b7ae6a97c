"""Commands that make things: `index`, `run` and `search`."""

from __future__ import annotations

import json
import textwrap
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

from arqmath_bm25 import __version__
from arqmath_bm25.analysis.html import Content, read_body, read_title
from arqmath_bm25.cli import options
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.config import Task1Settings, load_task1
from arqmath_bm25.errors import InputError
from arqmath_bm25.lucene.index import InputFile, read_manifest
from arqmath_bm25.progress import progress
from arqmath_bm25.retrieval import task1
from arqmath_bm25.runs import MAX_DEPTH, Variant, write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arqmath_bm25.collection.topics import Topic
    from arqmath_bm25.lucene.index import Manifest
    from arqmath_bm25.lucene.search import Hit

out = Console(highlight=False, soft_wrap=True)
Depth = Annotated[int, typer.Option("--depth", min=1, max=MAX_DEPTH, help="Answers for a topic.")]


def index(
    task: options.Task,
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    config: options.Config = None,
    threads: options.Threads = options.THREADS,
    overwrite: Annotated[
        bool, typer.Option(help="Replace an index of other data or settings.")
    ] = False,
) -> None:
    """Build the index of a task; nothing is done if it is up to date.

    The index is complete or absent: a build that is interrupted leaves the old one.

    Example: arqmath-bm25 index task1 --data /data/ARQMath
    """
    for name in options.tasks(task):
        where, settings = options.layout(data), load_task1(config)
        directory = indexes / where.name / name
        if existing := read_manifest(directory):
            reason = task1.why_stale(existing, where.posts(), settings)
            if reason is None:
                out.print(f"{directory}: up to date")
                continue
            if not overwrite:
                raise InputError(
                    f"{directory}: {reason}; --overwrite replaces it, --indexes keeps both"
                )
        manifest = task1.build_index(where.posts(), directory, settings, threads)
        out.print(f"{directory}: {_account(manifest)}, in {manifest.seconds:,.1f} s")


def _account(manifest: Manifest) -> str:
    """Say what became of every row: rows = questions + answers + what was left out."""
    counts = dict(manifest.counts)
    rows, documents = counts.pop("rows"), counts.pop("documents")
    questions, answers = counts.pop("questions"), counts.pop("answers")
    notes = [f"{number:,} {what}" for what, number in counts.items() if number]
    return (
        f"{rows:,} posts read, {questions:,} questions, {answers:,} answers; "
        f"{documents:,} answers indexed, {answers - documents:,} lost"
        + (f" ({'; '.join(notes)})" if notes else "")
    )


def run(
    task: options.Task,
    data: options.Data = None,
    topics: options.Topics = None,
    indexes: options.Indexes = options.INDEXES,
    runs: options.Runs = options.RUNS,
    config: options.Config = None,
    variant: Annotated[
        list[str] | None, typer.Option(help="text, math or both; repeatable. Default: all.")
    ] = None,
    depth: Depth = MAX_DEPTH,
    form: Annotated[
        Literal["lab", "trec"],
        typer.Option("--format", help="Columns of the guidelines, or of TREC (with Q0)."),
    ] = "lab",
    threads: options.Threads = options.THREADS,
) -> None:
    """Rank the documents of a task for its topics and write the run files.

    The run of a year goes to RUNS/COLLECTION/YEAR/[team]-[task]-[id]-auto-[variant]-[P|A].tsv,
    with a manifest beside it.

    Example: arqmath-bm25 run task1 --data /data/ARQMath --topics 2021 --variant both
    """
    for name in options.tasks(task):
        where, settings = options.layout(data), load_task1(config)
        variants = _variants(variant, settings)
        files = [(f, path, read_topics(path)) for f, path in options.topic_files(topics, where)]
        directory = indexes / where.name / name
        ranker = task1.Task1(directory, settings, where.posts())
        for folder, path, read in files:
            for each in variants:
                began = time.monotonic()
                run_name = str(settings.run_name(each))
                target = runs / where.name / folder / f"{run_name}.{_ENDINGS[form]}"
                unanswered: list[str] = []
                with progress(f"{folder} {each}", len(read), "topics") as advance:
                    ranked = ranker.rank(read, each, depth, threads)
                    rankings = _noting_unanswered(ranked, unanswered, advance)
                    rows = write_run(target, rankings, run_name, form)
                manifest = {
                    "version": __version__,
                    "settings": settings.model_dump(mode="json"),
                    "variant": each,
                    "depth": depth,
                    "topics": asdict(InputFile.of(path)),
                    "index": ranker.manifest.fingerprint,
                    "collection": [asdict(file) for file in ranker.manifest.inputs],
                }
                target.with_suffix(".manifest.json").write_text(
                    json.dumps(manifest, indent=2) + "\n"
                )
                note = f"; no answer for {', '.join(unanswered)}" if unanswered else ""
                out.print(
                    f"{target}: {len(read)} topics, {rows:,} rows, "
                    f"in {time.monotonic() - began:.1f} s{note}"
                )


_SITE = "https://math.stackexchange.com"  # the sample's posts are not there
_ENDINGS = {"lab": "tsv", "trec": "trec"}


def _variants(chosen: list[str] | None, settings: Task1Settings) -> list[Variant]:
    for variant in chosen or ():
        if variant not in settings.variants:
            known = ", ".join(settings.variants)
            raise InputError(f"--variant {variant}: the configuration has {known}")
    return [variant for variant in settings.variants if variant in (chosen or settings.variants)]


def _noting_unanswered(
    ranked: Iterator[tuple[Topic, list[Hit]]],
    unanswered: list[str],
    advance: Callable[[float], None],
) -> Iterator[tuple[str, list[Hit]]]:
    for topic, hits in ranked:
        advance(1)
        if not hits:
            unanswered.append(topic.topic_id)
        yield topic.topic_id, hits


def search(
    task: options.Task,
    query: Annotated[str, typer.Argument(help="Words and formulas, these between dollars.")],
    data: options.Data = None,
    indexes: options.Indexes = options.INDEXES,
    config: options.Config = None,
    variant: Variant = "both",
    depth: Depth = 5,
) -> None:
    r"""Show the best hits for a query.

    Example: arqmath-bm25 search task1 'Why does $\sum 1/n$ diverge?'
    """
    for name in options.tasks(task):
        where, settings = options.layout(data), load_task1(config)
        (variant,) = _variants([variant], settings)
        ranker = task1.Task1(indexes / where.name / name, settings, where.posts())
        posts = ranker.posts()
        hits = ranker.search(query, variant, depth)
        if not hits:
            out.print("No document holds a term of this query.")
        for rank, hit in enumerate(hits, 1):
            answer = posts.read(hit.doc_id)
            if answer is None:
                raise InputError(f"{posts.path}: post {hit.doc_id} is not in it; index it again")
            question = posts.read(answer.parent_id or "")
            title = _plain(read_title(question.title or "")) if question else "(no question)"
            out.print(Text(f"{rank:>3}  {title}", style="bold"))
            place = f"answer {hit.doc_id}" if data is None else f"{_SITE}/a/{hit.doc_id}"
            out.print(Text(f"     {hit.score:.2f}  {place}", style="dim"))
            text = textwrap.shorten(_plain(read_body(answer.body)), 300, placeholder=" ...")
            out.print(Text(textwrap.indent(textwrap.fill(text, 90), "     ")), "")


def _plain(content: Content) -> str:
    return "".join(p if isinstance(p, str) else f"${p.latex}$" for p in content.pieces).strip()
