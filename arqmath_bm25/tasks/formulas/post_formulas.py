"""The formulas of a dump that comes without formula files: written as a file of these, of v1.

A formula keeps the id of its span; the lab's posts have ids, the archive's have none. There a
formula gets the number 1,000,000,000 + 400 * (row of its post in the table of posts) + its place in
the post, title first: above every id of the lab, the same for the same dump, and telling the place.
What comes after the 400th formula of a post is left out.
"""

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from arqmath_bm25.analysis.html import (
    Content,
    Delimiters,
    Formula,
    expand_macros,
    read_body,
    read_title,
)
from arqmath_bm25.collection.formulas import COLUMNS
from arqmath_bm25.collection.posts import Post, PostTable
from arqmath_bm25.collection.site import Site
from arqmath_bm25.core.workers import Workers

_FIRST = 1_000_000_000
_PER_POST = 400
_PER_PART = 10_000  # posts


def write_post_formulas(
    site: Site, file: Path, workers: Workers, delimiters: Delimiters = "mathjax"
) -> None:
    """Write the formulas of all questions and answers of a site as a TSV."""
    table = site.scan(workers)
    rows = range(0, len(table), _PER_PART)
    parts = ((table.part(row, row + _PER_PART), row) for row in rows)
    with file.open("w", encoding="utf-8", newline="") as tsv:
        writer = csv.writer(tsv, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS["v1"])
        for rows_of_part in workers.map(partial(_formulas, delimiters), parts):
            writer.writerows(rows_of_part)


def contents(post: Post, delimiters: Delimiters = "mathjax") -> tuple[Content, Content]:
    """Read the title of a post, which is empty if it is an answer, and its body."""
    return read_title(post.title or "", delimiters), read_body(post.body, delimiters)


def find_formula(
    formula_id: str, contents: Sequence[Content]
) -> tuple[Content, Formula, Content] | None:
    """Return a formula in the `contents` of a post, with the text before and after it.

    None of a formula that the post has lost; the lab's formula files have a few of these.
    """
    place = -1
    own_number = int(formula_id) - _FIRST
    if own_number >= 0:
        place = own_number % _PER_POST

    seen = 0
    for content in contents:
        pieces = content.pieces
        for number, piece in enumerate(pieces):
            if not isinstance(piece, Formula):
                continue
            if piece.formula_id == formula_id or (seen == place and not piece.formula_id):
                before = Content(pieces[:number])
                after = Content(pieces[number + 1 :])
                return before, piece, after
            seen += 1

    return None


def _formulas(
    delimiters: Delimiters, part: tuple[PostTable, int]
) -> list[tuple[str, str, str, str, str]]:
    formulas = []
    posts, row = part  # the number of the first one
    for thread in posts.threads():
        of_thread = list(thread.answers)
        if thread.question:
            of_thread.insert(0, thread.question)

        for post in of_thread:
            thread_id = post.post_id
            if post.kind == "answer":
                thread_id = post.parent_id or post.post_id
            title, body = map(expand_macros, contents(post, delimiters))
            typed = [("title", formula) for formula in title.formulas]
            typed += [(post.kind, formula) for formula in body.formulas]

            first = _FIRST + _PER_POST * row
            for number, (where, formula) in enumerate(typed[:_PER_POST], first):
                formula_id = formula.formula_id or str(number)
                formulas.append((formula_id, post.post_id, thread_id, where, formula.latex))
            row += 1

    return formulas
