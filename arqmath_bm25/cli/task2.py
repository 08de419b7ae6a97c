"""`index`, `run` and `search` for Task 2."""

from __future__ import annotations

import textwrap
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from arqmath_bm25.analysis.html import Content, read_title
from arqmath_bm25.cli import task1
from arqmath_bm25.cli.making import (
    ENDINGS,
    SITE,
    chosen_variants,
    is_up_to_date,
    topic_files,
    write_run_manifest,
)
from arqmath_bm25.cli.options import IndexRequest, RunRequest, SearchRequest, layout, out
from arqmath_bm25.collection.formula_topics import read_formula_topics
from arqmath_bm25.collection.posts import QUESTION
from arqmath_bm25.collection.topic_formulas import searched_formulas
from arqmath_bm25.config import load_task1, load_task2
from arqmath_bm25.documents.post_formulas import contents, find_formula
from arqmath_bm25.errors import InputError
from arqmath_bm25.progress import progress
from arqmath_bm25.retrieval.task1 import Task1
from arqmath_bm25.retrieval.task2 import Task2, build_index, why_stale
from arqmath_bm25.runs import write_formula_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.formula_topics import FormulaTopic
    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.config import Task2Settings
    from arqmath_bm25.lucene.index import Manifest
    from arqmath_bm25.retrieval.task2 import FormulaHit
    from arqmath_bm25.runs import Variant

_CONTEXT = 120  # characters shown before and after a formula


def has_data(data: Path | None) -> bool:
    """Tell whether DATA holds formula TSVs."""
    return layout(data).has_formulas()


def index(request: IndexRequest) -> None:
    """Build the index of formulas, and that of Task 1 where a variant looks at the posts."""
    where, settings = layout(request.data), load_task2(request.config)
    formulas = where.formula_source(settings.analysis.source)
    directory = request.indexes / where.name / "task2"
    stale = partial(why_stale, formulas=formulas, settings=settings)
    if not is_up_to_date(directory, stale, request.overwrite):
        manifest = build_index(
            formulas, directory, settings, request.threads, request.keep_documents
        )
        out.print(f"{directory}: {_account(manifest)}, in {manifest.seconds:,.1f} s")
    if _contextual(settings) and where.has_posts():
        task1.index(replace(request, config=None))


def _contextual(settings: Task2Settings) -> list[Variant]:
    return [name for name, variant in settings.variants.items() if variant.context]


def _account(manifest: Manifest) -> str:
    """Say what became of every row: rows = instances + what was left out."""
    counts = dict(manifest.counts)
    rows, instances, documents = (counts.pop(key) for key in ("rows", "instances", "documents"))
    within = {
        key: counts.pop(key)
        for key in ("instances without a visual id", "formulas without a symbol")
        if key in counts
    }
    left_out = [f"{number:,} {what}" for what, number in counts.items()]
    notes = [f"{number:,} {what}" for what, number in within.items()]
    lost = rows - instances - sum(counts.values())
    return (
        f"{rows:,} formulas read, {instances:,} indexed as {documents:,} visually distinct ones"
        + (f" ({', '.join(notes)})" if notes else "")
        + (f"; left out: {', '.join(left_out)}" if left_out else "")
        + f"; {lost:,} lost"
    )


def run(request: RunRequest) -> None:
    """Write the runs of every variant for every topic file."""
    where, settings = layout(request.data), load_task2(request.config)
    variants = chosen_variants(request.variants, settings.variants)
    if not request.variants and not where.has_posts():
        variants = [name for name in variants if name not in _contextual(settings)]
        out.print(f"{where.data}: no posts, so only the variants without context are run")
    files = topic_files(request.topics, where.task2_years(), where.task2_topics)
    topics = [(folder, path, read_formula_topics(path)) for folder, path in files]
    sources = [_topic_formulas(where, settings, path) for _, path in files]
    mathml = [
        searched_formulas(read, source) if source else {}
        for (_, _, read), source in zip(topics, sources, strict=True)
    ]
    ranker = _open(request.indexes, where, settings, variants)
    for (folder, path, read), source, formulas in zip(topics, sources, mathml, strict=True):
        for variant in variants:
            began = time.monotonic()
            name = str(settings.run_name(variant))
            target = request.runs / where.name / folder / f"{name}.{ENDINGS[request.form]}"
            unanswered: list[str] = []
            with progress(f"{folder} {variant}", len(read), "topics") as advance:
                ranked = ranker.rank(read, variant, request.depth, request.threads, formulas)
                noted = _noted(ranked, unanswered, advance)
                rows = write_formula_run(target, noted, name, request.form)
            write_run_manifest(
                target, settings, variant, request.depth, path, ranker.manifest, source
            )
            note = f"; no formula for {', '.join(unanswered)}" if unanswered else ""
            seconds = time.monotonic() - began
            out.print(f"{target}: {len(read)} topics, {rows:,} rows, in {seconds:.1f} s{note}")


def _topic_formulas(where: Layout, settings: Task2Settings, path: Path) -> Path | None:
    """Return the file that has the formulas of a topic file as MathML; none for LaTeX."""
    source = settings.analysis.source
    year = {where.task2_topics(year): year for year in where.task2_years()}.get(path)
    if source == "latex" or year is None:
        return None
    if source == "slt" and not where.has_topic_formulas(year, source):
        return None  # their LaTeX gives the same terms
    return where.topic_formulas(year, source)


def _open(
    indexes: Path, where: Layout, settings: Task2Settings, variants: Sequence[Variant]
) -> Task2:
    formulas = where.formula_source(settings.analysis.source)
    answers = None
    if any(settings.variants[variant].context for variant in variants):
        answers = _open_answers(indexes, where)
    return Task2(indexes / where.name / "task2", settings, formulas, answers)


def _open_answers(indexes: Path, where: Layout) -> Task1:
    directory = indexes / where.name / "task1"
    return Task1(directory, load_task1(), where.posts(), where.post_links())


def _noted(
    ranked: Iterator[tuple[FormulaTopic, list[FormulaHit]]],
    unanswered: list[str],
    advance: Callable[[float], None],
) -> Iterator[tuple[str, list[tuple[str, str, float]]]]:
    for topic, hits in ranked:
        advance(1)
        if not hits:
            unanswered.append(topic.topic.topic_id)
        yield topic.topic.topic_id, [(hit.formula_id, hit.post_id, hit.score) for hit in hits]


def search(request: SearchRequest) -> None:
    """Show formulas in their posts. A query without dollars is a formula as a whole."""
    where, settings = layout(request.data), load_task2(request.config)
    (variant,) = chosen_variants([request.variant or settings.run.primary], settings.variants)
    ranker = _open(request.indexes, where, settings, [variant])
    content = read_title(request.query)
    formulas = [formula.latex for formula in content.formulas]
    words = request.query if formulas and content.prose.strip() else ""
    hits = ranker.search(formulas or [request.query], words, variant, request.depth)
    if not hits:
        out.print("No formula is like this one in any place.")
    posts = _open_answers(request.indexes, where).posts()
    for rank, hit in enumerate(hits, 1):
        post = posts.read(hit.post_id)
        if post is None:
            raise InputError(f"{posts.path}: post {hit.post_id} is not in it; index it again")
        question = post if post.post_type == QUESTION else posts.read(post.parent_id or "")
        title = read_title(question.title or "") if question else Content(("(no question)",))
        latex, text = _in_place(hit.formula_id, contents(post))
        kind = "question" if post.post_type == QUESTION else "answer"
        # The sample's posts are not on the site.
        place = f"{SITE}/{kind[0]}/{hit.post_id}" if request.data else f"{kind} {hit.post_id}"
        out.print(Text(f"{rank:>3}  {latex}", style="bold"))
        out.print(Text(f"     {hit.score:.2f}  {place}  {_plain(title)}", style="dim"))
        out.print(Text(textwrap.indent(textwrap.fill(text, 90), "     ")), "")


def _in_place(formula_id: str, contents: Sequence[Content]) -> tuple[str, str]:
    """Return a formula of a post and the text around it."""
    found = find_formula(formula_id, contents)
    if found is None:
        return f"formula {formula_id}", ""
    latex, pieces = found.formula.latex, found.content.pieces
    before = _plain(Content(pieces[: found.piece]))[-_CONTEXT:].partition(" ")[2]
    after = _plain(Content(pieces[found.piece + 1 :]))[:_CONTEXT]
    return latex, f"... {before} ${latex}$ {after.rpartition(' ')[0]} ..."


def _plain(content: Content) -> str:
    pieces = (p if isinstance(p, str) else f"${p.latex}$" for p in content.pieces)
    return " ".join("".join(pieces).split())
