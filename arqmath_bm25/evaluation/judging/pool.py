"""Pooling: which hits of which runs are to be judged, by the evaluation protocol of the labs.

Task 1 pools the union of the best answers of every run, deeper for primary and manual runs (2020:
50 and 20, 2021: 45 and 15, 2022: 45 and 20). Task 2 pools visually distinct formulas in the same
way (25 and 10, 20 and 10, 25 and 15) and shows of each at most five posts that runs found it in.
What a run may not return is left out before.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.core.labs import MAX_INSTANCES, official_stem, parse_run_name

if TYPE_CHECKING:
    from arqmath_bm25.runs.eligible import Eligible
    from arqmath_bm25.runs.run import Run


class PooledPost(NamedTuple):
    """One post that is shown to an assessor."""

    post_id: str
    formula_id: str = ""  # Task 2: the instance that is to be judged in it


class Item(NamedTuple):
    """One document that is to be judged for a topic."""

    topic_id: str
    doc_id: str  # answer (Task 1), visual id (Task 2)
    hits: tuple[PooledPost, ...]  # Task 1: the answer itself


class Depths(NamedTuple):
    """How many documents of a topic a run adds to the pool."""

    primary: int  # of runs whose file name ends in -P, and of manual ones
    other: int

    def of(self, run: Path) -> int:
        """Return the depth to which a run is pooled."""
        name = parse_run_name(official_stem(run))
        deep = name is not None and (name.primary or name.manual)
        return self.primary if deep else self.other


class Pool(NamedTuple):
    """The items to be judged, and those left out."""

    items: list[Item]
    left_out: Counter[str]  # rule -> hits of runs that broke it


def pool(
    runs: Iterable[Run],
    depths: Depths,
    eligible: Eligible | None,
    seed: int,
    thread_of: Callable[[str], str] = str,
) -> Pool:
    """Pool the documents of runs of one task; in Task 2 with the posts to be shown.

    Candidates for these are the hits in the pool: what a run returns down to the last of the
    formulas that it adds. `thread_of` returns the question of a post.
    """
    instances: dict[tuple[str, str], dict[str, str]] = {}  # topic, document -> post -> formula
    left_out: Counter[str] = Counter()
    for run in runs:
        if eligible is not None:
            left_out.update(run.leave_out(eligible))
        for topic, docs in run.rankings().rows.items():
            chosen = dict.fromkeys(list(docs)[: depths.of(run.path)])
            least = min(docs[doc].score for doc in chosen)
            for row in run.rules.order(run.topics[topic]):
                if row.score < least:
                    continue
                doc = run.document(row)
                if doc in chosen:
                    posts = instances.setdefault((topic, doc), {})
                    post, formula = row.shown
                    posts[post] = min(posts.get(post, formula), formula, key=in_order)

    items = []
    for (topic, doc), posts in sorted(instances.items()):
        chance = random.Random(f"{seed} {topic} {doc}")  # noqa: S311
        shown = choose_posts({post: thread_of(post) for post in posts}, chance)
        items.append(Item(topic, doc, tuple(PooledPost(post, posts[post]) for post in shown)))

    return Pool(_shuffled(items, seed), left_out)


def for_assessors(items: Sequence[Item], assessors: int, seed: int) -> list[list[Item]]:
    """Return the same items for each of several assessors, in an order of their own."""
    return [_shuffled(items, seed + number) for number in range(assessors)]


def choose_posts(
    threads: Mapping[str, str], chance: random.Random, limit: int = MAX_INSTANCES
) -> list[str]:
    """Choose at most `limit` of the posts that hold a formula; `threads` are their questions.

    All posts if they are no more; else one of each thread and the rest from the others, if the
    threads are fewer than `limit`; else one of each of `limit` threads. Chosen at random.
    """
    posts = sorted(threads)
    if len(posts) <= limit:
        return posts

    by_thread: dict[str, list[str]] = {}
    for post in posts:
        by_thread.setdefault(threads[post], []).append(post)
    drawn = chance.sample(sorted(by_thread), min(limit, len(by_thread)))
    chosen = [chance.choice(by_thread[thread]) for thread in drawn]
    others = [post for post in posts if post not in chosen]
    return sorted(chosen + chance.sample(others, limit - len(chosen)))


def in_order(name: str) -> tuple[int, str]:
    """Sort topics (A.9 before A.10) and ids by their numbers."""
    return len(name), name


def _shuffled(items: Iterable[Item], seed: int) -> list[Item]:
    """Order items by topic, and by chance within: their place must not reveal ranks."""
    items = sorted(items)
    random.Random(seed).shuffle(items)  # noqa: S311
    return sorted(items, key=lambda item: in_order(item.topic_id))
