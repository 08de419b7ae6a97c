"""Fusion: several rankings for one topic → one.

The fused score of a document is a weighted sum over the rankings that contain it:

* `rrf`: 1 / (k + rank), ranks from 1 (reciprocal rank fusion; Cormack, Clarke and Büttcher 2009);
* `weighted`: its score, scaled from 0 (the lowest of the ranking) to 1 (the highest); with equal
  weights this is CombSUM over min-max normalised scores (Fox and Shaw 1994, Lee 1997).

Sums are exactly rounded, so that the order in which rankings are named does not matter. Ties are
broken as trec_eval breaks them: by id, descending.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import fsum
from typing import Literal

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.records import Hit
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_rules import best

RankedList = Sequence[tuple[str, float]]  # documents with their scores, best first

Method = Literal["rrf", "weighted"]

# The value of the paper.
RRF_K = 60

# Fused scores are written as 32-bit floats, which larger weights would overflow.
_MAX_WEIGHT = 1e6


def check_weights(name: str, weights: Sequence[float] | None, runs: int) -> list[float]:
    """Return a weight for each run, all equal by default; `name` begins the messages.

    Raises InputError for a single run, for useless weights, and for a wrong number of them.
    """
    if runs < 2:
        raise InputError(f"{name}: one run alone; fusion takes two or more")

    if weights is None:
        return [1.0] * runs

    in_range = all(0 <= weight <= _MAX_WEIGHT for weight in weights)
    if not in_range or not any(weights):
        raise InputError(
            f"{name}: expected numbers from 0 to {_MAX_WEIGHT:,.0f}, not all of them 0, such as "
            "1,0.5"
        )

    if len(weights) != runs:
        raise InputError(f"{name}: {len(weights)} weights for {runs} runs")
    return list(weights)


def fuse_runs(
    runs: Sequence[Run],
    weights: Sequence[float],
    method: Method,
    k: int,
    depth: int | None,
    posts: bool,
) -> dict[str, list[Hit]]:
    """Return topic → hits of several runs of one task fused, Task 2 with their `posts`.

    Raises InputError for runs without a common topic, and if they disagree on, or lack, the post of
    a formula.
    """
    first = runs[0]
    for run in runs:
        if not run.topics:
            raise InputError(f"{run.path}: the run has no rows; leave it out")

        if not first.topics.keys() & run.topics.keys():
            here = next(iter(run.topics))
            there = next(iter(first.topics))
            raise InputError(
                f"{run.path}: no topic in common with {first.path} ({here}, ... and {there}, ...); "
                "are these runs of the same year?"
            )

    post_of = {}
    if first.rules.has_posts and posts:
        post_of = _posts(runs)

    # A dict keeps the topics in the order in which the runs name them.
    topics = {}
    for run in runs:
        topics.update(dict.fromkeys(run.topics))

    hits = {}
    for topic in topics:
        rankings = []
        for run in runs:
            rows = run.rules.order(run.topics.get(topic, []))
            rankings.append([(row.doc_id, row.score) for row in rows[:MAX_DEPTH]])

        fused = fuse_rankings(rankings, weights, method, k)[:depth]
        hits[topic] = [Hit(doc, score, post_of.get(doc, "")) for doc, score in fused]

    return hits


def _posts(runs: Sequence[Run]) -> dict[str, str]:
    """Return the post of every formula; InputError where it is unknown or runs disagree."""
    posts = dict[str, tuple[str, Run]]()
    pairs_of_first = _post_pairs(runs[0])
    for run in runs:
        pairs = _post_pairs(run)
        for formula, post in pairs:
            is_exchanged = formula != post and (post, formula) in pairs_of_first
            if is_exchanged:
                raise InputError(
                    f"{run.path}: what is a formula here is a post in {runs[0].path}, so one of "
                    "them has exchanged columns; the collection tells which",
                    data="DATA",
                )

        for formula, post in pairs:
            first, other = posts.setdefault(formula, (post, run))
            if post != first and other is not run:
                raise InputError(
                    f"{run.path}: formula {formula} is of post {post}, in {other.path} of post "
                    f"{first}; `arqmath-bm25 validate` says which row is wrong"
                )

    for run in runs:
        for row in run.rows:
            if row.doc_id not in posts:
                raise InputError(
                    f"{run.path}: no run says of which post formula {row.doc_id} is; a run in "
                    "TREC's form has no posts",
                    format="trec",
                )

    return {formula: post for formula, (post, _) in posts.items()}


def _post_pairs(run: Run) -> dict[tuple[str, str], None]:
    """Return formula and post of the rows that have both, in the order of the rows."""
    return dict.fromkeys((row.doc_id, row.post_id) for row in run.rows if row.post_id)


def fuse_rankings(
    rankings: Sequence[RankedList], weights: Sequence[float], method: Method, k: int = RRF_K
) -> list[tuple[str, float]]:
    """Return the documents of all rankings with their fused scores, best first.

    No ranking holds a document twice; there is a weight for each ranking.
    """
    values = defaultdict(list)
    for ranking, weight in zip(rankings, weights, strict=True):
        if method == "rrf":
            shares = reciprocal_ranks(ranking, k)
        else:
            shares = min_max(ranking)

        for (doc, _), share in zip(ranking, shares, strict=True):
            values[doc].append(weight * share)

    fused = {doc: fsum(addends) for doc, addends in values.items()}
    return [(doc, fused[doc]) for doc in best(fused)]


def reciprocal_ranks(ranking: RankedList, k: int) -> list[float]:
    """Return 1 / (k + rank) for each document of a ranking."""
    return [1 / (k + rank) for rank, _ in enumerate(ranking, 1)]


def min_max(ranking: RankedList) -> list[float]:
    """Scale the scores of a ranking to 0 … 1; all become 1 if they are equal."""
    # The difference of two large scores may overflow, that of their halves does not.
    halves = [score / 2 for _, score in ranking]
    low = min(halves, default=0.0)
    high = max(halves, default=0.0)
    span = high - low
    if span == 0:
        return [1.0] * len(halves)
    return [(half - low) / span for half in halves]
