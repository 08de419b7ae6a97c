"""`index`, `run` and `search` for Task 3, which takes its answers from the index of Task 1."""

from __future__ import annotations

import textwrap
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from arqmath_bm25.cli import task1
from arqmath_bm25.cli.making import chosen_variants, topic_files, write_run_manifest
from arqmath_bm25.cli.options import IndexRequest, RunRequest, SearchRequest, layout, out
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.config import load_task3
from arqmath_bm25.progress import progress
from arqmath_bm25.retrieval.task1 import Task1
from arqmath_bm25.retrieval.task3 import Task3
from arqmath_bm25.runs import write_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.collection.topics import Topic
    from arqmath_bm25.config import Task3Settings
    from arqmath_bm25.retrieval.task3 import Extract

_YEAR = "2022"  # of the one lab that had this task


def has_data(data: Path | None) -> bool:
    """Tell whether DATA holds posts and the topics of 2022."""
    where = layout(data)
    return where.has_posts() and _YEAR in where.task1_years()


def index(request: IndexRequest) -> None:
    """Build the index of Task 1, or say that it is up to date."""
    task1.index(replace(request, config=load_task3(request.config).ranking.path))


def run(request: RunRequest) -> None:
    """Write the runs of every variant, for the topics of 2022 if no others are asked for.

    Task 3 has no TREC form: the format asked for does not matter.
    """
    where, settings = layout(request.data), load_task3(request.config)
    variants = chosen_variants(request.variants, settings.ranking.settings.variants)
    files = topic_files(request.topics or [_YEAR], (), where.task1_topics)
    topics = [(folder, file, read_topics(file)) for folder, file in files]
    ranker = _open(request.indexes, where, settings)
    answerer = Task3(ranker, settings)
    for folder, file, read in topics:
        for variant in variants:
            began = time.monotonic()
            name = str(settings.run_name(variant))
            target = request.runs / where.name / folder / f"{name}.tsv"
            unanswered: list[str] = []
            with progress(f"{folder} {variant}", len(read), "topics") as advance:
                answers = answerer.answer(read, variant, request.depth, request.threads)
                rows = write_answers(target, _noted(answers, unanswered, advance), name)
            write_run_manifest(target, settings, variant, request.depth, file, ranker.manifest)
            note = f"; no answer for {', '.join(unanswered)}" if unanswered else ""
            seconds = time.monotonic() - began
            out.print(f"{target}: {len(read)} topics, {rows:,} answers, in {seconds:.1f} s{note}")


def _open(indexes: Path, where: Layout, settings: Task3Settings) -> Task1:
    directory = indexes / where.name / "task1"
    return Task1(directory, settings.ranking.settings, where.posts(), where.post_links())


def _noted(
    answers: Iterator[tuple[Topic, Extract | None]],
    unanswered: list[str],
    advance: Callable[[float], None],
) -> Iterator[tuple[str, float, str, str]]:
    for topic, extract in answers:
        advance(1)
        if extract is None:
            unanswered.append(topic.topic_id)
        else:
            yield topic.topic_id, extract.score, _sources(extract), extract.text


def search(request: SearchRequest) -> None:
    """Show the one answer to a query, as a run would hold it."""
    where, settings = layout(request.data), load_task3(request.config)
    (variant,) = chosen_variants(
        [request.variant or settings.run.primary], settings.ranking.settings.variants
    )
    answerer = Task3(_open(request.indexes, where, settings), settings)
    extract = answerer.search(request.query, variant, request.depth)
    if extract is None:
        out.print("No answer holds a term of this query.")
        return
    what = f"{extract.score:.2f}  {_sources(extract)}  {len(extract.text):,} characters"
    out.print(Text(what, style="dim"))
    out.print(Text(textwrap.fill(extract.text, 95, break_on_hyphens=False, break_long_words=False)))


def _sources(extract: Extract) -> str:
    return f"post {extract.post_id}"
