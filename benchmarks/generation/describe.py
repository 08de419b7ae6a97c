"""Figures of a collection, as this package reads it: a generated one beside a real one."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.table import Table

from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import QUESTION, PostTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_MOST_POSTS: Final = 20_000  # that are looked at
_MOST_FORMULAS: Final = 81_203  # rows of the subset: shares of distinct things depend on it
_MB: Final = 1_000_000


def describe(collections: Sequence[Path]) -> Table:
    """Return a table with a column for each collection."""
    table = Table("", *(path.name for path in collections))
    for column in table.columns[1:]:
        column.justify = "right"
    figures = [_figures(Layout(path)) for path in collections]
    for name in figures[0]:
        table.add_row(name, *(one[name] for one in figures))
    return table


def _figures(layout: Layout) -> dict[str, str]:
    return {**_post_figures(layout.posts()), **_formula_figures(layout.formulas())}


def _post_figures(path: Path) -> dict[str, str]:
    table = PostTable.scan(path)
    lengths: dict[bool, list[tuple[int, int, int]]] = {True: [], False: []}
    vocabulary: set[str] = set()
    words = without_id = 0
    for thread in table.part(0, _MOST_POSTS).threads():
        for post in (*filter(None, [thread.question]), *thread.answers):
            content = read_body(post.body)
            found = re.findall(r"[a-z']+", content.prose.lower())
            formulas = content.formulas
            vocabulary.update(found)
            words += len(found)
            without_id += sum(formula.formula_id is None for formula in formulas)
            lengths[post.post_type == QUESTION].append((len(post.body), len(found), len(formulas)))
    figures = {"posts per MB": f"{len(table) / path.stat().st_size * _MB:,.0f}"}
    for is_question, kind in ((True, "question"), (False, "answer")):
        for column, unit in enumerate(("characters", "words", "formulas")):
            values = [post[column] for post in lengths[is_question]]
            figures[f"{unit} per {kind}: mean, median, 90 %, 99 %"] = _spread(values)
    total = sum(post[2] for posts in lengths.values() for post in posts)
    figures["distinct words"] = f"{len(vocabulary):,} of {words:,}"
    figures["formulas without id"] = f"{without_id / total:.2%}"
    return figures


def _formula_figures(path: Path) -> dict[str, str]:
    lengths: list[int] = []
    seen: Counter[str] = Counter()
    types: Counter[str] = Counter()
    odd: Counter[str] = Counter()
    for row in read_formulas(path):
        if len(lengths) == _MOST_FORMULAS:
            break
        lengths.append(len(row.latex))
        seen[row.visual_id] += 1
        types[row.type] += 1
        odd["blank"] += not row.latex.strip()
        odd["unbalanced"] += row.latex.count("{") != row.latex.count("}")
        odd["d"] += "d" in row.issue
    number = len(lengths)
    return {
        "LaTeX characters: mean, median, 90 %, 99 %": _spread(lengths),
        "distinct visual ids": f"{len(seen):,} of {number:,}",
        "most frequent, 100 most": " ".join(
            f"{sum(count for _, count in seen.most_common(most)) / number:.1%}" for most in (1, 100)
        ),
        "comments, titles": f"{types['comment'] / number:.1%} {types['title'] / number:.1%}",
        "blank, unbalanced, flag d": " ".join(f"{odd[what] / number:.2%}" for what in
                                              ("blank", "unbalanced", "d")),
    }  # fmt: skip


def _spread(numbers: Iterable[int]) -> str:
    array = np.array(list(numbers))
    return " ".join(
        f"{value:,.0f}" for value in (array.mean(), *np.quantile(array, (0.5, 0.9, 0.99)))
    )
