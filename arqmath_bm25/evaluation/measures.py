"""The measures of the labs, by trec_eval (pytrec_eval-terrier).

Primed measures (nDCG′, MAP′, P′@k) are those of the *prime run*: the run without the documents
that have no judgment for the topic. A grade of 2 or 3 is relevant for every binary measure;
nDCG takes the grades as gains (1, 2, 3), has no cut-off, and its ideal ranking holds every judged
document. P@10 divides by 10 even where fewer were returned. The tables of ARQMath-1 have
plain P@10 (`p10`), those since ARQMath-2 the primed one (`p10_prime`).

| key | ir_measures |
|---|---|
| ndcg_prime | nDCG(judged_only=True) |
| map_prime | AP(rel=2,judged_only=True) |
| p10_prime, p5_prime | P(rel=2,judged_only=True)@10, @5 |
| bpref | Bpref(rel=2) |
| ndcg, map, p10 | nDCG, AP(rel=2), P(rel=2)@10 |
| judged_at_10 | Judged@10 (with trec_eval's order of equal scores) |

Others have the names of ir_measures, which reads them: `nDCG(judged_only=True)@10`, `AP(rel=2)`,
`Success(rel=2)@5`, `SetF(beta=0.5)`, `Judged@20` mean what they mean there; a grade of 1 is
relevant where `rel` is not given.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

import ir_measures
from ir_measures import AP, Bpref, Judged, P, R, nDCG

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import PREMISES, RELEVANT
from arqmath_bm25.evaluation.qrels import Qrels
from arqmath_bm25.runs.run import Ranking
from arqmath_bm25.runs.task_rules import best


class Measure(NamedTuple):
    """A measure as this package reports it."""

    key: str  # in JSON and CSV
    of_ir_measures: Any
    primed: bool = False  # of the prime run


MEASURES: Final = (
    Measure("ndcg_prime", nDCG(judged_only=True), primed=True),
    Measure("map_prime", AP(rel=RELEVANT, judged_only=True), primed=True),
    Measure("p10_prime", P(rel=RELEVANT, judged_only=True) @ 10, primed=True),
    Measure("p5_prime", P(rel=RELEVANT, judged_only=True) @ 5, primed=True),
    Measure("bpref", Bpref(rel=RELEVANT), primed=True),  # of the whole run it is the same
    Measure("ndcg", nDCG),
    Measure("map", AP(rel=RELEVANT)),
    Measure("p10", P(rel=RELEVANT) @ 10),
    Measure("judged_at_10", Judged @ 10),
)

OF_PREMISES: Final = (Measure("map_500", AP @ PREMISES), Measure("recall_500", R @ PREMISES))
# All that is measured, those of Task 3 and of NLPS too: keys, and what tables call them.
NAMES: Final = {
    "ndcg_prime": "nDCG′", "map_prime": "MAP′", "p10_prime": "P′@10", "bpref": "bpref",
    "judged_at_10": "judged@10", "ar": "AR", "p1": "P@1", "map_500": "MAP@500",
    "map_500_official": "MAP@500 (official)", "recall_500": "recall@500", "ndcg": "nDCG",
    "map": "MAP", "p10": "P@10", "p5_prime": "P′@5",
}  # fmt: skip
SHOWN: Final = ("ndcg_prime", "map_prime", "p10_prime", "bpref", "judged_at_10")  # first of all

_PROVIDERS: Final = (ir_measures.pytrec_eval, ir_measures.judged)  # trec_eval, and what it lacks

# pytrec_eval 0.5.11 crashes on empty rankings now and then. One document that nobody judged has
# the values of an empty ranking in every measure (but num_ret, which is not offered).
_NOTHING: Final[Ranking] = {"": 0.0}


def named_measures(*names: str) -> list[Measure]:
    """Return the measures with names of ir_measures; those by keys are measured anyway.

    Raises InputError for any other name, and for parameters that are not understood.
    """
    return [_named(name) for name in names if name not in NAMES]


def key_of(name: str) -> str:
    """Return the key of a measure by its name of ir_measures, or by the key itself."""
    return next((measure.key for measure in named_measures(name)), name)


def _named(name: str) -> Measure:
    try:
        parsed = ir_measures.parse_measure(name)
        computed = any(provider.supports(parsed) for provider in _PROVIDERS)
    except NameError:
        near = difflib.get_close_matches(name, [*NAMES, *ir_measures.measures.registry], cutoff=0.4)
        raise InputError(
            f"--measure {name}: neither ir_measures nor this package has it; do you mean "
            f"{', '.join(near) or 'nDCG@10, AP(rel=2) or P(rel=2)@10'}?"
        ) from None
    except (ValueError, TypeError, AssertionError, SyntaxError) as error:
        reason = str(error).partition("=<object")[0]
        raise InputError(
            f"--measure {name}: ir_measures does not understand it ({reason}); expected a name "
            "such as P(rel=2)@10, nDCG(judged_only=True) or IPrec@0.1"
        ) from None
    if not computed:
        raise InputError(
            f"--measure {name}: of the measures of ir_measures, those of trec_eval are computed "
            f"here; {parsed.NAME} with these parameters is none of them"
        )
    return Measure(str(parsed), parsed)


TopicValues = dict[str, dict[str, float]]  # topic -> measure -> value


def measure(
    rankings: Mapping[str, Ranking], qrels: Qrels, measures: Sequence[Measure]
) -> TopicValues:
    """Return the value of every measure for every topic of the qrels, in their order.

    A topic that the rankings lack is measured as an empty one.
    """
    # Ranks in place of scores leave no tie, which ir_measures would order in another way.
    ranked = {
        topic: {doc: -float(rank) for rank, doc in enumerate(best(rankings.get(topic) or _NOTHING))}
        for topic in qrels
    }
    values: dict[str, dict[Any, float]] = {topic: {} for topic in qrels}
    for provider in _PROVIDERS:
        asked = dict.fromkeys(asked for _, asked, _ in measures if provider.supports(asked))
        for metric in provider.iter_calc(asked, qrels, ranked):
            values[metric.query_id][metric.measure] = metric.value
    return {
        topic: {key: of_topic[asked] for key, asked, _ in measures}
        for topic, of_topic in values.items()
    }


def average(values: Iterable[float]) -> float:
    """Return the mean over topics; 0 of none."""
    values = list(values)
    return fmean(values) if values else 0.0
