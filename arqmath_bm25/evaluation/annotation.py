r"""Pooled items as a CSV batch for the annotation tool Turkle, and the template that shows them.

One row per topic and document. The template (annotation.html) shows the topic beside up to five
hits and asks for a grade of each. Turkle's results repeat the columns as `Input.NAME` and hold the
grades as `Answer.grade_1` … `Answer.grade_5`; `judge.py` reads them. Formulas stand in `\(…\)` for
MathJax. Turkle fills `${name}` in templates by plain replacement, so no dollar is left as such:
`&#36;` is one to the browser only.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from arqmath_bm25.analysis.safe_html import FormulaWriter, plain, safe_body, safe_title
from arqmath_bm25.errors import InputError
from arqmath_bm25.evaluation.pool import MAX_INSTANCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arqmath_bm25.analysis.html import Formula
    from arqmath_bm25.collection.posts import Post, PostTable
    from arqmath_bm25.collection.topics import Topic
    from arqmath_bm25.evaluation.pool import Hit, Item

TEMPLATE: Final = Path(__file__).with_name("annotation.html")

# What assessors choose from; None is no judgment.
GRADES: Final[dict[str, int | None]] = {
    "High": 3,
    "Medium": 2,
    "Low": 1,
    "Not relevant": 0,
    "System failure": None,
    "Do not know": None,
}
_TOPIC_COLUMNS: Final = ("topic_id", "doc_id", "title", "question", "formula")
COLUMNS: Final = (
    *_TOPIC_COLUMNS,
    *(f"{name}_{number}" for number in range(1, MAX_INSTANCES + 1) for name in ("post", "hit")),
)


class Question(NamedTuple):
    """A topic as an assessor sees it."""

    topic: Topic
    latex: str = ""  # Task 2: the formula that is searched
    formula_id: str = ""  # Task 2: where it stands in the question (q_N)


def write_batch(
    path: Path,
    items: Iterable[Item],
    questions: Mapping[str, Question],
    posts: PostTable,
    latex: Mapping[str, str],
) -> int:
    """Write the batch to `path`, the template beside it as .html; return the number of rows.

    `latex` has the formulas of the hits by formula id. Raises InputError for an item whose topic
    or post is not there. Both files appear only when they are complete.
    """
    template = path.with_suffix(".html")
    if template == path:
        raise InputError(f"{path}: the batch is a CSV file; expected a name such as batch.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    rows = 0
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(COLUMNS)
            for item in items:
                writer.writerow(_row(item, questions, posts, latex))
                rows += 1
        template.write_text(TEMPLATE.read_text("utf-8"), "utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return rows


def _row(
    item: Item,
    questions: Mapping[str, Question],
    posts: PostTable,
    latex: Mapping[str, str],
) -> list[str]:
    """Return one row. A cell is empty, an id or begins with a tag: no spreadsheet computes it."""
    question = questions.get(item.topic_id)
    if question is None:
        raise InputError(f"topic {item.topic_id}: the runs have it, the topic files do not")
    asked = f"<h3>Formula: {_mathjax(question.latex)}</h3>" if question.latex else ""
    marked = _marking(question.formula_id)
    row = [
        item.topic_id,
        item.doc_id,
        f"<span>{safe_title(question.topic.title, marked)}</span>",
        f"<div>{safe_body(question.topic.question, marked)}</div>",
        asked,
    ]
    for hit in item.hits:
        row += [hit.post_id, _hit(hit, posts, latex)]
    cells = [cell.replace("$", "&#36;") for cell in row]
    return cells + [""] * (len(COLUMNS) - len(cells))


def _hit(hit: Hit, posts: PostTable, latex: Mapping[str, str]) -> str:
    """Show a post below the title of its question, and the formula that was found in it."""
    post = require(posts, hit.post_id)
    question = post if post.parent_id is None else posts.read(post.parent_id)
    marked = _marking(hit.formula_id)
    parts = []
    if hit.formula_id:
        parts.append(f"<h3>Formula: {_mathjax(latex[hit.formula_id])}</h3>")
    if question is not None and question.title:
        parts.append(f"<h3>{safe_title(question.title, marked)}</h3>")
    parts.append(f"<div>{safe_body(post.body, marked)}</div>")
    return "".join(parts)


def _marking(formula_id: str) -> FormulaWriter:
    """Write formulas for MathJax, the one with this id as a marked one."""

    def write(formula: Formula, display: bool) -> str:
        html = _mathjax(formula.latex, display)
        return f"<mark>{html}</mark>" if formula_id and formula.formula_id == formula_id else html

    return write


def _mathjax(latex: str, display: bool = False) -> str:
    return rf"\[{plain(latex)}\]" if display else rf"\({plain(latex)}\)"


def require(posts: PostTable, post_id: str) -> Post:
    """Read a post that must be there; InputError if the collection does not have it."""
    post = posts.read(post_id)
    if post is None:
        raise InputError(
            f"{posts.path}: no post {post_id}, though the formula index has it: are the two of one "
            "version?"
        )
    return post
