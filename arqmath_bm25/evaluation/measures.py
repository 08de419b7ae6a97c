"""The measures of the labs, by trec_eval (pytrec_eval-terrier).

Primed measures (nDCG′, MAP′, P′@k) are those of the *prime run*: the run without the documents
that have no judgment for the topic. A grade of 2 or 3 is relevant for every binary measure;
nDCG takes the grades as gains (1, 2, 3), has no cut-off, and its ideal ranking holds every judged
document. P@10 divides by 10 even where fewer were returned. P@10 of the ARQMath-1 tables is
unprimed (`p10`), from ARQMath-2 on it is primed (`p10_prime`).

| key | ir_measures |
|---|---|
| ndcg_prime | nDCG(judged_only=True) |
| map_prime | AP(rel=2,judged_only=True) |
| p10_prime, p5_prime | P(rel=2,judged_only=True)@10, @5 |
| bpref | Bpref(rel=2) |
| ndcg, map, p10 | nDCG, AP(rel=2), P(rel=2)@10 |
| judged_at_10 | Judged@10 (with trec_eval's order of equal scores) |

Any other measure NAME of trec_eval can be asked for: NAME of the run, NAME_prime of the prime run;
and those of ir_measures by their own names (`measure_names`).
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytrec_eval

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RELEVANT
from arqmath_bm25.runs.run import Ranking, best

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arqmath_bm25.evaluation.qrels import Qrels

JUDGED: Final = "judged_"  # in the place of trec_eval's name: the share of the first N


class Measure(NamedTuple):
    """A measure of trec_eval as this package reports it."""

    key: str  # in JSON and CSV
    trec_eval: str  # trec_eval's name
    primed: bool  # of the prime run
    parsed: Any = None  # by ir_measures, in the place of trec_eval's name

    @property
    def is_trec_evals(self) -> bool:
        """Whether trec_eval computes it, with the labs' relevant grades."""
        return self.parsed is None and not self.trec_eval.startswith(JUDGED)


MEASURES: Final = (
    Measure("ndcg_prime", "ndcg", primed=True),
    Measure("map_prime", "map", primed=True),
    Measure("p10_prime", "P_10", primed=True),
    Measure("p5_prime", "P_5", primed=True),
    Measure("bpref", "bpref", primed=True),  # equal for the whole run: unjudged are skipped
    Measure("ndcg", "ndcg", primed=False),
    Measure("map", "map", primed=False),
    Measure("p10", "P_10", primed=False),
    Measure("judged_at_10", f"{JUDGED}10", primed=False),
)

KEYS: Final = tuple(one.key for one in MEASURES)

# pytrec_eval 0.5.11 crashes on empty rankings now and then. One document that nobody judged has
# the values of an empty ranking in every measure (but num_ret, which is not offered).
_NOTHING: Final[Ranking] = {"": 0.0}

_AT_RANK: Final = ("P", "recall", "ndcg_cut", "map_cut", "success", "relative_P")
_AT_LEVEL: Final = ("iprec_at_recall", "Rprec_mult")
_NONE_OF_A_TOPIC: Final = ("relstring", "runid", "num_q", "num_ret", "utility")
_PLAIN: Final = frozenset(pytrec_eval.supported_measures).difference(
    _AT_RANK, _AT_LEVEL, _NONE_OF_A_TOPIC
)
_WITH_PARAMETER: Final = re.compile(
    rf"({'|'.join(_AT_RANK)})[._@]([1-9][0-9]*)|({'|'.join(_AT_LEVEL)})[._@]([0-9]+(?:\.[0-9]+)?)"
)


def trec_measures(name: str) -> tuple[Measure, Measure]:
    """Return a measure that trec_eval knows (`infAP`, `ndcg_cut_10`, `P.20`), unprimed and primed.

    Raises InputError for any other name, with the names that are close to it.
    """
    match = _WITH_PARAMETER.fullmatch(name)
    if match:
        family, rank, level_family, level = match.groups()
        name = f"{family}_{rank}" if family else f"{level_family}_{float(level):.2f}"
    elif name not in _PLAIN:
        known = [*sorted(_PLAIN), *(f"{family}_10" for family in _AT_RANK)]
        known += [f"{family}_0.20" for family in _AT_LEVEL]
        close = difflib.get_close_matches(name, known, n=4, cutoff=0.5) or known
        raise InputError(
            f"--measure {name}: trec_eval has no such measure; do you mean {', '.join(close)}?"
        )
    return Measure(name, name, primed=False), Measure(f"{name}_prime", name, primed=True)


TopicValues = dict[str, dict[str, float]]  # topic -> measure -> value


def prime(rankings: Mapping[str, Ranking], qrels: Qrels) -> dict[str, Ranking]:
    """Return, for every topic of the qrels, the ranking without unjudged documents."""
    run: dict[str, Ranking] = {}
    for topic, grades in qrels.items():
        ranking = rankings.get(topic, {})
        run[topic] = {doc: ranking[doc] for doc in grades if doc in ranking}
    return run


def measure(
    rankings: Mapping[str, Ranking],
    prime_run: Mapping[str, Ranking],
    qrels: Qrels,
    measures: Sequence[Measure],
) -> TopicValues:
    """Return the value of every measure for every topic of the qrels, in their order.

    A topic that the rankings lack is measured as an empty one.
    """
    whole = {topic: rankings.get(topic, {}) for topic in qrels}
    values: TopicValues = {topic: {} for topic in qrels}
    filled = {topic: ranking or _NOTHING for topic, ranking in whole.items()}
    for one in measures:
        if one.parsed is not None:
            from ir_measures import pytrec_eval as by_name

            for found in by_name.iter_calc([one.parsed], qrels, filled):
                values[found.query_id][one.key] = found.value
        elif one.trec_eval.startswith(JUDGED):
            depth = int(one.trec_eval.removeprefix(JUDGED))
            for topic, grades in qrels.items():
                values[topic][one.key] = judged_at(depth, whole[topic], grades)
    for primed in (True, False):
        wanted = [one for one in measures if one.primed == primed and one.is_trec_evals]
        source = prime_run if primed else whole
        run = {topic: source.get(topic) or _NOTHING for topic in qrels}
        evaluator = pytrec_eval.RelevanceEvaluator(
            qrels, {one.trec_eval for one in wanted}, relevance_level=RELEVANT
        )
        for topic, by_measure in evaluator.evaluate(run).items():
            values[topic].update({one.key: by_measure[one.trec_eval] for one in wanted})
    return {topic: {one.key: found[one.key] for one in measures} for topic, found in values.items()}


def judged_at(depth: int, ranking: Ranking, judged: Iterable[str]) -> float:
    """Return the share of the first documents that are judged; 0 of none."""
    top = best(ranking, depth)
    return len(set(top).intersection(judged)) / len(top) if top else 0.0


def average(key: str, values: Iterable[float]) -> float:
    """Average over topics as trec_eval does: counts are added up, `gm_…` are geometric."""
    values = list(values)
    return pytrec_eval.compute_aggregated_measure(key, values) if values else 0.0
