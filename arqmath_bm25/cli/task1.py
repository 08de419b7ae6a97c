"""`index`, `run` and `search` for Task 1."""

from __future__ import annotations

import textwrap
import time
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from arqmath_bm25.analysis.html import Content, read_body, read_title
from arqmath_bm25.cli.making import (
    ENDINGS,
    SITE,
    chosen_variants,
    is_up_to_date,
    topic_files,
    write_run_manifest,
)
from arqmath_bm25.cli.options import IndexRequest, RunRequest, SearchRequest, layout, out
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.config import Task1Settings, load_task1
from arqmath_bm25.errors import InputError
from arqmath_bm25.progress import progress
from arqmath_bm25.retrieval.task1 import Task1, build_index, why_stale
from arqmath_bm25.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.collection.topics import Topic
    from arqmath_bm25.lucene.index import Manifest
    from arqmath_bm25.lucene.search import Hit


def has_data(data: Path | None) -> bool:
    """Tell whether DATA holds posts."""
    return layout(data).has_posts()


def index(request: IndexRequest) -> None:
    """Build the index of answers, or say that it is up to date."""
    where, settings = layout(request.data), load_task1(request.config)
    directory = request.indexes / where.name / "task1"
    posts, links = where.posts(), where.post_links()
    stale = partial(why_stale, posts=posts, links=links, settings=settings)
    if is_up_to_date(directory, stale, request.overwrite):
        return
    manifest = build_index(
        posts, links, directory, settings, request.threads, request.keep_documents
    )
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


def run(request: RunRequest) -> None:
    """Write the runs of every variant and fusion for every topic file."""
    where, settings = layout(request.data), load_task1(request.config)
    variants = chosen_variants(request.variants, [*settings.variants, *settings.fusions])
    files = topic_files(request.topics, where.task1_years(), where.task1_topics)
    topics = [(folder, path, read_topics(path)) for folder, path in files]
    ranker = _open(request.indexes, where, settings)
    for folder, path, read in topics:
        for variant in variants:
            began = time.monotonic()
            name = str(settings.run_name(variant))
            target = request.runs / where.name / folder / f"{name}.{ENDINGS[request.form]}"
            unanswered: list[str] = []
            with progress(f"{folder} {variant}", len(read), "topics") as advance:
                ranked = ranker.rank(read, variant, request.depth, request.threads)
                rows = write_run(target, _noted(ranked, unanswered, advance), name, request.form)
            write_run_manifest(target, settings, variant, request.depth, path, ranker.manifest)
            note = f"; no answer for {', '.join(unanswered)}" if unanswered else ""
            seconds = time.monotonic() - began
            out.print(f"{target}: {len(read)} topics, {rows:,} rows, in {seconds:.1f} s{note}")


def _open(indexes: Path, where: Layout, settings: Task1Settings) -> Task1:
    return Task1(indexes / where.name / "task1", settings, where.posts(), where.post_links())


def _noted(
    ranked: Iterator[tuple[Topic, list[Hit]]],
    unanswered: list[str],
    advance: Callable[[float], None],
) -> Iterator[tuple[str, list[Hit]]]:
    for topic, hits in ranked:
        advance(1)
        if not hits:
            unanswered.append(topic.topic_id)
        yield topic.topic_id, hits


def search(request: SearchRequest) -> None:
    """Show answers with the titles of their questions."""
    where, settings = layout(request.data), load_task1(request.config)
    (variant,) = chosen_variants([request.variant or settings.run.primary], settings.variants)
    ranker = _open(request.indexes, where, settings)
    posts = ranker.posts()
    hits = ranker.search(request.query, variant, request.depth)
    if not hits:
        out.print("No answer holds a term of this query.")
    for rank, hit in enumerate(hits, 1):
        answer = posts.read(hit.doc_id)
        if answer is None:
            raise InputError(f"{posts.path}: post {hit.doc_id} is not in it; index it again")
        question = posts.read(answer.parent_id or "")
        title = _plain(read_title(question.title or "")) if question else "(no question)"
        # The sample's posts are not on the site.
        place = f"{SITE}/a/{hit.doc_id}" if request.data else f"answer {hit.doc_id}"
        text = textwrap.shorten(_plain(read_body(answer.body)), 300, placeholder=" ...")
        out.print(Text(f"{rank:>3}  {title}", style="bold"))
        out.print(Text(f"     {hit.score:.2f}  {place}", style="dim"))
        out.print(Text(textwrap.indent(textwrap.fill(text, 90), "     ")), "")


def _plain(content: Content) -> str:
    return "".join(p if isinstance(p, str) else f"${p.latex}$" for p in content.pieces).strip()
