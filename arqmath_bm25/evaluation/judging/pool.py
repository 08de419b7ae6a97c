"""Pooling: which hits of which runs are to be judged, by the evaluation protocol of the labs.

Task 1 pools the union of the best answers of every run, deeper for primary and manual runs (2020:
50 and 20, 2021: 45 and 15, 2022: 45 and 20). Task 2 pools visually distinct formulas in the same
way (25 and 10, 20 and 10, 25 and 15) and shows of each at most five posts that runs found it in.
Documents that a run may not return are left out before.
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
    formula_id: str = ""  # Task 2: the instance to be judged in the post


class Item(NamedTuple):
    """One document that is to be judged for a topic."""

    topic_id: str
    doc_id: str  # answer (Task 1), visual id (Task 2)
    hits: tuple[PooledPost, ...]  # Task 1: the answer itself


class Depths(NamedTuple):
    """How many documents of a topic a run adds to the pool."""

    primary: int  # the depth of manual runs, and of primary runs (names that end in -P)
    other: int  # the depth of all other runs

    def for_run(self, run: Path) -> int:
        """Return the depth to which a run is pooled."""
        name = parse_run_name(official_stem(run))
        if name is not None and (name.primary or name.manual):
            return self.primary
        return self.other


class Pool(NamedTuple):
    """The items to be judged, and how many hits were left out."""

    items: list[Item]
    left_out: Counter[str]  # rule -> number of hits that broke it


# Post → formula in the post.
_Posts = dict[str, str]


def pool(
    runs: Iterable[Run],
    depths: Depths,
    eligible: Eligible | None,
    seed: int,
    thread_of: Callable[[str], str] = str,
) -> Pool:
    """Pool the documents of runs of one task; in Task 2 with the posts to be shown.

    The posts of a formula are taken from the rows of each run down to the last formula that the
    run adds to the pool. `thread_of` returns the question of a post.
    """
    pooled = dict[tuple[str, str], _Posts]()
    left_out = Counter[str]()
    for run in runs:
        if eligible is not None:
            left_out.update(run.leave_out(eligible))

        # The first documents of each topic, with the posts of the run.
        depth = depths.for_run(run.path)
        for topic, rows in run.rankings().rows.items():
            docs = set(list(rows)[:depth])
            lowest = min(rows[doc].score for doc in docs)
            for row in run.rules.order(run.topics[topic]):
                doc = run.document(row)
                if row.score >= lowest and doc in docs:
                    post, formula = row.post_and_formula
                    posts = pooled.setdefault((topic, doc), {})
                    posts[post] = min(posts.get(post, formula), formula, key=natural_key)

    items = []
    for (topic, doc), posts in sorted(pooled.items()):
        threads = {post: thread_of(post) for post in posts}
        generator = random.Random(f"{seed} {topic} {doc}")  # noqa: S311
        chosen = choose_posts(threads, generator)
        items.append(Item(topic, doc, tuple(PooledPost(post, posts[post]) for post in chosen)))

    return Pool(_shuffle(items, seed), left_out)


def shuffle_for_assessors(items: Sequence[Item], assessors: int, seed: int) -> list[list[Item]]:
    """Return the same items for each of several assessors, each time in another order."""
    return [_shuffle(items, seed + number) for number in range(assessors)]


def choose_posts(threads: Mapping[str, str], generator: random.Random) -> list[str]:
    """Choose at random at most five of the posts that hold a formula.

    `threads` gives the question of each post. All posts are chosen if they are no more than five.
    If there are fewer threads than that, one post of each thread is chosen, and the rest from the
    other posts; else one post of each of five threads.
    """
    posts = sorted(threads)
    if len(posts) <= MAX_INSTANCES:
        return posts

    by_thread = dict[str, list[str]]()
    for post in posts:
        by_thread.setdefault(threads[post], []).append(post)

    count = min(MAX_INSTANCES, len(by_thread))
    sample = generator.sample(sorted(by_thread), count)
    chosen = [generator.choice(by_thread[thread]) for thread in sample]

    others = [post for post in posts if post not in chosen]
    chosen += generator.sample(others, MAX_INSTANCES - count)
    return sorted(chosen)


def natural_key(name: str) -> tuple[int, str]:
    """Return the key that sorts topics (A.9 before A.10) and ids by their numbers."""
    return len(name), name


def _shuffle(items: Iterable[Item], seed: int) -> list[Item]:
    """Order items by topic, and at random within a topic, so that positions reveal no ranks."""
    items = sorted(items)
    generator = random.Random(seed)  # noqa: S311
    generator.shuffle(items)
    return sorted(items, key=lambda item: natural_key(item.topic_id))
