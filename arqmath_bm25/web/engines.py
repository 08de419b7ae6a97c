"""What can be searched: one engine for each task whose index is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from arqmath_bm25.analysis.html import Formula, read_title
from arqmath_bm25.config import load_task1, load_task2
from arqmath_bm25.documents.post_formulas import contents, find_formula
from arqmath_bm25.errors import InputError
from arqmath_bm25.lucene.index import read_manifest
from arqmath_bm25.retrieval.task1 import Task1
from arqmath_bm25.retrieval.task2 import Task2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.layout import Layout
    from arqmath_bm25.collection.posts import Post, PostTable
    from arqmath_bm25.runs import Variant


class Found(NamedTuple):
    """One hit with the post that holds it."""

    score: float
    post: Post
    question: Post | None  # of an answer; of a question, itself; None if it is missing
    formula: Formula | None = None  # Task 2


class Engine(Protocol):
    """Searches for one task. Used by one thread."""

    @property
    def title(self) -> str:
        """What is looked for."""

    @property
    def hint(self) -> str:
        """An example of a query."""

    @property
    def variants(self) -> Sequence[Variant]:
        """The variants, the best one first."""

    @property
    def posts(self) -> PostTable:
        """The posts that hits are of."""

    def search(self, query: str, variant: Variant, depth: int) -> list[Found]:
        """Return the best hits for words with `$…$` around their formulas."""


class AnswerEngine:
    """Task 1: answers to a question."""

    title = "Answers"
    hint = r"Why does $\sum \frac{1}{n}$ diverge?"

    def __init__(self, where: Layout, indexes: Path) -> None:
        settings = load_task1()
        self._task = Task1(indexes / "task1", settings, where.posts(), where.post_links())
        self.variants = _best_first(settings.variants, settings.run.primary)
        self.posts = self._task.posts()

    def search(self, query: str, variant: Variant, depth: int) -> list[Found]:
        """Return the best answers."""
        hits = self._task.search(query, variant, depth)
        return [Found(hit.score, *_post(self.posts, hit.doc_id)) for hit in hits]


class FormulaEngine:
    """Task 2: formulas that are like one formula; without dollars the query is one as a whole."""

    title = "Formulas"
    hint = r"$x^n + y^n = z^n$"

    def __init__(self, where: Layout, indexes: Path) -> None:
        answers = Task1(indexes / "task1", load_task1(), where.posts(), where.post_links())
        settings = load_task2()
        formulas = where.formula_source(settings.analysis.source)
        self._task = Task2(indexes / "task2", settings, formulas, answers)
        self.variants = _best_first(settings.variants, settings.run.primary)
        self.posts = answers.posts()

    def search(self, query: str, variant: Variant, depth: int) -> list[Found]:
        """Return the best formulas, each in one of the posts that hold it."""
        content = read_title(query)
        formulas = [formula.latex for formula in content.formulas]
        words = query if formulas and content.prose.strip() else ""
        hits = self._task.search(formulas or [query], words, variant, depth)
        found = []
        for hit in hits:
            post, question = _post(self.posts, hit.post_id)
            formula = _formula(hit.formula_id, post)
            found.append(Found(hit.score, post, question, formula))
        return found


ENGINES: dict[str, Callable[[Layout, Path], Engine]] = {
    "task1": AnswerEngine,
    "task2": FormulaEngine,
}


def available(indexes: Path) -> list[str]:
    """Return the tasks that have an index in the directory; InputError if none has."""
    found = [task for task in ENGINES if read_manifest(indexes / task) is not None]
    if not found:
        raise InputError(f"{indexes}: there is no index to search; `make index` builds one")
    return found


def _best_first(variants: Iterable[Variant], primary: Variant) -> list[Variant]:
    return sorted(variants, key=lambda variant: variant != primary)


def _post(posts: PostTable, post_id: str) -> tuple[Post, Post | None]:
    post = posts.read(post_id)
    if post is None:
        raise InputError(f"{posts.path}: post {post_id} is not in it; index it again")
    return post, post if post.parent_id is None else posts.read(post.parent_id)


def _formula(formula_id: str, post: Post) -> Formula:
    found = find_formula(formula_id, contents(post))
    return found.formula if found else Formula("", formula_id)
