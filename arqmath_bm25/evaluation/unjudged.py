"""What documents that nobody judged could change: bounds of scores, runs that did not pool.

Bounds: how far the hits that nobody judged could move a score, each of them being irrelevant or
High. The least and the largest value over every way to judge them so. With all irrelevant it is the
score as trec_eval has it; with all High it need not be the largest, as more relevant documents have
to be found then. Of all ways with m relevant hits, the best has the first m and the worst the last
m, because each measure grows when a relevant document changes places with an irrelevant one above
it: so two rows of ways hold both ends.

Leave out: is the pool fair to a run that did not help to make it? A document is judged because some
run returned it high up. Without the documents that only the runs of one team did (down to the depth
of the pool), its runs stand as if they came after the judging (J. Zobel, How reliable are the
results of large-scale information retrieval experiments?, SIGIR 1998). Documents that none of the
given runs has so high up stay judged: other runs brought them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import HIGHEST, RELEVANT, official_stem, parse_run_name
from arqmath_bm25.evaluation.measures import MEASURES, Measure, average
from arqmath_bm25.evaluation.qrels import Qrels
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.runs.run import Ranking, best

KEYS: Final = ("ndcg", "map", "p10")  # measures of the whole run


class Bounds(NamedTuple):
    """The least and the largest value of a measure."""

    low: float
    high: float


def bounds(rankings: Mapping[str, Ranking], qrels: Qrels) -> dict[str, Bounds]:
    """Return the bounds of each measure, averaged over all judged topics."""
    topics = [
        bounds_of_topic(best(rankings.get(topic, {}), len(rankings.get(topic, {}))), grades)
        for topic, grades in qrels.items()
    ]
    return {
        key: Bounds(*(average(of_topic[key][end] for of_topic in topics) for end in (0, 1)))
        for key in KEYS
    }


def bounds_of_topic(ranking: Sequence[str], judged: Mapping[str, int]) -> dict[str, Bounds]:
    """Return the bounds of one topic's ranking, best document first."""
    grades = np.array([judged.get(doc, -1) for doc in ranking], np.int64)
    unjudged = grades < 0
    number = np.cumsum(unjudged)  # of unjudged hits down to here
    extra = np.arange(int(unjudged.sum()) + 1)[:, None]
    first = unjudged & (number <= extra)
    last = unjudged & (number > number.max(initial=0) - extra)
    high = np.where(np.concatenate([first, last]), HIGHEST, np.maximum(grades, 0))
    values = _values(high, np.tile(extra[:, 0], 2), sorted(judged.values(), reverse=True))
    return {key: Bounds(float(v.min()), float(v.max())) for key, v in values.items()}


def _values(
    grades: NDArray[np.int64], extra: NDArray[np.int64], judged: Sequence[int]
) -> dict[str, NDArray[np.float64]]:
    """Measure rankings (rows of grades) with so many High documents beside the judged ones."""
    length = grades.shape[1]
    discount = 1 / np.log2(np.arange(2, len(judged) + length + 2))
    relevant = grades >= RELEVANT
    found = relevant.cumsum(axis=1) / np.arange(1, length + 1)
    total = extra + sum(grade >= RELEVANT for grade in judged)
    # The ideal: the High ones that are added move all lesser judged ones down.
    top = sum(grade >= HIGHEST for grade in judged)
    rest = np.array(judged[top:])
    ideal = np.array([
        np.dot(judged[:top], discount[:top])
        + HIGHEST * discount[top : top + more].sum()
        + np.dot(rest, discount[top + more : top + more + len(rest)])
        for more in extra.tolist()
    ])  # fmt: skip
    return {
        "ndcg": _ratio((grades * discount[:length]).sum(axis=1), ideal),
        "map": _ratio((found * relevant).sum(axis=1), total),
        "p10": relevant[:, :10].sum(axis=1) / 10,
    }


def _ratio(
    part: NDArray[np.float64], whole: NDArray[np.float64] | NDArray[np.int64]
) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


class LeftOut(NamedTuple):
    """Scores without the judgments that one team alone brought."""

    team: str
    judgments: int  # that were left out
    relevant: int  # of these
    scores: dict[str, dict[str, float]]  # run -> measure -> average over all judged topics


def team_of(run: Path) -> str:
    """Return the team in an official file name, else the name itself: a run by itself."""
    name = parse_run_name(official_stem(run))
    return name.team if name is not None else official_stem(run)


def leave_out(
    runs: Mapping[str, Mapping[str, Ranking]],
    teams: Mapping[str, str],
    qrels: Qrels,
    depth: int,
    measures: Sequence[Measure] = MEASURES,
) -> list[LeftOut]:
    """Score all runs without what each team brought; first with everything, under the team ``.

    `runs` are run → topic → ranking, `teams` run → team, `depth` is how many hits of a run were
    pooled. A topic without any judgment left is no topic any more. Raises InputError if a team has
    brought all that there is.
    """
    brought: dict[str, dict[str, set[str]]] = {}  # topic -> document -> teams
    for run, topics in runs.items():
        for topic in qrels.keys() & topics.keys():
            docs = brought.setdefault(topic, {})
            for doc in best(topics[topic], depth):
                docs.setdefault(doc, set()).add(teams[run])
    parts = []
    for team in ["", *dict.fromkeys(teams[run] for run in runs)]:
        kept: Qrels = {}
        left_out: list[int] = []
        for topic, grades in qrels.items():
            alone = {doc for doc in grades if brought.get(topic, {}).get(doc) == {team}}
            left_out += [grades[doc] for doc in alone]
            if rest := {doc: grade for doc, grade in grades.items() if doc not in alone}:
                kept[topic] = rest
        if not kept:
            raise InputError(f"{team} alone brought every judgment: nothing is left without it")
        scores = {run: score(topics, kept, measures).averages() for run, topics in runs.items()}
        relevant = sum(grade >= RELEVANT for grade in left_out)
        parts.append(LeftOut(team, len(left_out), relevant, scores))
    return parts
