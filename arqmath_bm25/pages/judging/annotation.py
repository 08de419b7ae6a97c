r"""Pooled items as a CSV batch for the annotation tool Turkle, and the template that shows them.

There is one row per topic and document; only the first row of a topic has the question. Turkle
shows each row by itself: the template that is written next to the batch (annotation.html) has all
its questions, shows a question with up to five hits, and asks for a grade of each hit. Turkle's
results repeat the columns as `Input.NAME` and have the grades as `Answer.grade_1` …
`Answer.grade_5`; the command `judge` reads them. Formulas are MathML, so the template makes no
network requests. Turkle fills `${name}` in templates by plain replacement, so dollar signs are
written as `&#36;`, which only the browser reads as one.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from arqmath_bm25.analysis.html import Formula
from arqmath_bm25.analysis.safe_html import plain
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.posts import Post
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import MAX_INSTANCES
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.writing import Outputs
from arqmath_bm25.evaluation.judging.pool import Item, PooledPost
from arqmath_bm25.pages.post_html import PostWriter, post_reader

TEMPLATE = Path(__file__).with_name("annotation.html")

_UNSAFE = re.compile(r"""\A[=+@-]|["<>&$]""")
_COMMENT_BOX = re.compile(r'\n *<label class="comment">.*')
_POST = re.compile(r"(?:Input\.)?post_\d+")

# The template has this comment in place of the questions.
_QUESTIONS = "<!-- questions -->"

# The columns of a topic.
QUESTION = ("title", "question", "formula")


_SHOWN = [f"{name}_{n}" for n in range(1, MAX_INSTANCES + 1) for name in ("post", "hit")]
COLUMNS = ("topic_id", "doc_id", *QUESTION, *_SHOWN)


def write_batch(
    outputs: Outputs,
    path: Path,
    items: Iterable[Item],
    topics: Mapping[str, Topic],
    collection: CollectionFiles,
    latex: Mapping[str, str],
    *,
    comments: bool = False,
    threads: str = "",
    by_user: bool = False,
) -> None:
    """Write the batch to `path` and its template as .html.

    `latex` has the formulas of the hits by formula id; `comments` adds a box for a comment on each
    hit. A hit links to its thread on the pages of the command `threads` if their address is given,
    else on its site. Both files are among `outputs`, so that the batches of a pool appear
    together. Raises InputError for an item whose topic or post is missing.
    """
    template = path.with_suffix(".html")
    if template == path:
        raise InputError(f"{path}: the batch is a CSV file; expected a name such as batch.csv")

    page = outputs.open(template)
    file = outputs.open(path, by_user=by_user)
    writer = csv.writer(file, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)

    items = list(items)
    post_ids = set[str]()
    for item in items:
        post_ids.update(hit.post_id for hit in item.hits)
    read, delimiters, macros = post_reader(collection, post_ids)
    cells = PostWriter((), delimiters, macros)

    # The cells of the question of each topic.
    questions = {}
    for item in items:
        hits = []
        for hit in item.hits:
            post = read(hit.post_id)
            if post is None:
                data = collection.layout.data
                raise InputError(f"{path}: {shown(hit.post_id)} of the runs is not in DATA={data}")
            html = _hit(hit, post, cells, collection, latex, threads)
            hits += [hit.post_id, _escape_dollars(html)]

        _check_ids(item, path)
        question = [""] * len(QUESTION)
        if item.topic_id not in questions:
            question = _question(item.topic_id, topics, cells, path)
            questions[item.topic_id] = question
        # A cell is empty, an id or begins with a tag: no spreadsheet computes it.
        row = [item.topic_id, item.doc_id, *question, *hits]
        writer.writerow(row + [""] * (len(COLUMNS) - len(row)))

    text = TEMPLATE.read_text("utf-8")
    if not comments:
        text = _COMMENT_BOX.sub("", text)
    page.write(text.replace(_QUESTIONS, "\n".join(_templates(questions))))


def posts_of_batch(path: Path) -> list[str]:
    """Return the ids of the posts that a batch, or the results of one, asks assessors to grade.

    Raises InputError for a file that is not a batch.
    """
    rows = read_csv(path, "batch")
    columns = []
    if rows:
        columns = [name for name in rows[0] if name and _POST.fullmatch(name)]
    if not columns:
        raise InputError(f"{path}: row 1: no column post_1; expected a batch that `pool` wrote")

    posts = []
    for row in rows:
        posts += [row[column] for column in columns if row[column]]
    return posts


def _check_ids(item: Item, path: Path) -> None:
    """Raise InputError for an id that a spreadsheet or a browser would not read as one."""
    for name in (item.topic_id, item.doc_id):
        if _UNSAFE.search(name):
            raise InputError(
                f"{path}: the id {shown(name)} would be read as a formula of a spreadsheet or as "
                'HTML; in a batch, ids do not begin with one of = + - @ nor hold one of " < > & $'
            )


def _question(
    topic_id: str, topics: Mapping[str, Topic], cells: PostWriter, path: Path
) -> list[str]:
    """Return the cells of a topic: its title, question and formula."""
    topic = topics.get(topic_id)
    if topic is None:
        raise InputError(
            f"{path}: topic {shown(topic_id)} is in the runs, but in no topic file of this "
            "collection",
            topics="FILE",
        )

    formula = ""
    if topic.latex:
        formula = f"<h3>Formula: {_render(topic.latex)}</h3>"
    title = f"<span>{cells.title(topic.title, topic.formula_id)}</span>"
    question = f"<div>{cells.body(topic.question, topic.formula_id)}</div>"
    return list(map(_escape_dollars, (title, question, formula)))


def _templates(questions: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield an element of HTML for each question, which the script of the template shows."""
    for topic_id, (title, question, formula) in questions.items():
        html = f"<h2>{title}</h2><div>{question}</div><div>{formula}</div>"
        yield f'<template data-topic="{topic_id}">{html}</template>'


def _escape_dollars(html: str) -> str:
    """Replace dollar signs, with which Turkle would begin a value to fill in."""
    return html.replace("$", "&#36;")


def _hit(
    hit: PooledPost,
    post: Post,
    cells: PostWriter,
    collection: CollectionFiles,
    latex: Mapping[str, str],
    threads: str,
) -> str:
    """Return a post below the title of its question, with the formula that was found in it.

    A document without a title has its id for one, which the judging page shows already.
    """
    question = collection.question_of(post)
    parts = []
    if hit.formula_id:
        formula = _render(latex[hit.formula_id])
        parts.append(f"<h3>Formula: {formula}</h3>")
    if question is not None and question.title and question.title != hit.post_id:
        parts.append(f"<h3>{cells.title(question.title, hit.formula_id)}</h3>")
    parts.append(f"<div>{cells.body(post.body, hit.formula_id)}</div>")

    address = collection.link(post)
    if threads:
        thread_id = post.parent_id or post.post_id
        address = f"{threads.rstrip('/')}/{thread_id}.html#post-{post.post_id}"
    if address:
        parts.append(
            f'<p><a href="{plain(address)}" target="_blank" rel="noopener">the whole thread</a></p>'
        )

    return "".join(parts)


def _render(latex: str) -> str:
    """Return a formula as MathML."""
    return PostWriter().formula(Formula(latex, None))
