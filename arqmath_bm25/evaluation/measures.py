"""The measures of runs, by trec_eval (pytrec_eval-terrier); which a task has, its rules say.

Primed measures (nDCG′, MAP′, P′@k) are those of the *prime run*: the run without the documents
that have no judgment for the topic. Binary measures take a document as relevant from a grade on
that the judgments tell (`qrels.Judgments`); nDCG takes the grades as gains, has no cut-off unless
its name gives one, and its ideal ranking holds every judged document. P@10 divides by 10 even where
fewer were returned.

Others have the names of ir_measures, which reads them: `nDCG(judged_only=True)@10`, `AP(rel=2)`,
`Success(rel=2)@5`, `SetF(beta=0.5)`, `Judged@20` mean what they mean there; a grade of 1 is
relevant where `rel` is not given. Names of trec_eval (`ndcg_cut_10`, `P_10`, `recip_rank`) are
those of ir_measures for the same.
"""

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, NamedTuple

import ir_measures

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RELEVANT
from arqmath_bm25.evaluation.qrels import Qrels
from arqmath_bm25.runs.run import Ranking
from arqmath_bm25.runs.run_rules import RunRules, best
from arqmath_bm25.runs.task_rules import RULES, AnswerRules


class Measure(NamedTuple):
    """A measure as this package reports it."""

    key: str  # in JSON and CSV
    name: str  # of ir_measures; {n} is the least grade that counts as relevant
    primed: bool = False  # of the prime run


def measures_of(rules: RunRules) -> tuple[Measure, ...]:
    """Return the measures of a task's runs."""
    return tuple(
        Measure(key, name, primed="judged_only" in name or key == "bpref")  # bpref is the same
        for key, name in rules.measures.items()
    )


# All that is measured, those of Task 3 and of NLPS too: keys, and what tables call them.
NAMES: Final = {
    "ndcg_prime": "nDCG′", "map_prime": "MAP′", "p10_prime": "P′@10", "bpref": "bpref",
    "judged_at_10": "judged@10", "ar": "AR", "p1": "P@1", "map_500": "MAP@500",
    "map_500_official": "MAP@500 (official)", "recall_500": "recall@500", "ndcg": "nDCG",
    "map": "MAP", "p10": "P@10", "p5_prime": "P′@5",
}  # fmt: skip

# trec_eval, and what it lacks: Judged@k, and RR@k as MS MARCO has it.
_PROVIDERS: Final = (ir_measures.pytrec_eval, ir_measures.judged, ir_measures.msmarco)
# Names of trec_eval, with those of ir_measures; \1 is the cut-off.
_OF_TREC_EVAL: Final = {
    "ndcg_cut_([0-9]+)": r"nDCG@\1", "P_([0-9]+)": r"P@\1", "recall_([0-9]+)": r"R@\1",
    "map_cut_([0-9]+)": r"AP@\1", "success_([0-9]+)": r"Success@\1", "recip_rank": "RR",
    "iprec_at_recall_([0-9.]+)": r"IPrec@\1",
}  # fmt: skip

# pytrec_eval 0.5.11 crashes on empty rankings now and then. One document that nobody judged has
# the values of an empty ranking in every measure (but num_ret, which is not offered).
_NOTHING: Final[Ranking] = {"": 0.0}
_MOST: Final = 4  # the largest grade that ERR knows


def named_measures(*names: str) -> list[Measure]:
    """Return the measures with names of ir_measures or trec_eval, and those of the labs by key.

    Keys of Task 3 and NLPS are left out: runs of these have them anyway. Raises InputError for any
    other name, and for parameters that are not understood.
    """
    of_labs = {measure.key: measure for measure in measures_of(RULES[AnswerRules.task])}
    return [
        of_labs.get(name) or _named(name) for name in names if name in of_labs or name not in NAMES
    ]


def key_of(name: str) -> str:
    """Return the key of a measure by its name of ir_measures, or by the key itself."""
    return next((measure.key for measure in named_measures(name)), name)


def _named(name: str) -> Measure:
    of_trec_eval = (
        re.sub(pattern, theirs, name)
        for pattern, theirs in _OF_TREC_EVAL.items()
        if re.fullmatch(pattern, name)
    )
    try:
        parsed = ir_measures.parse_measure(next(of_trec_eval, name))
        computed = any(provider.supports(parsed) for provider in _PROVIDERS)
        computed = computed or parsed.NAME in _BY_GRADES
    except NameError:
        near = difflib.get_close_matches(name, [*NAMES, *ir_measures.measures.registry], cutoff=0.4)
        raise InputError(
            f"--measure {name}: unknown measure (they are listed at ir-measur.es); do you mean "
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
            f"--measure {name}: {parsed.NAME} with these parameters is not computed here; expected "
            "a measure of trec_eval, RR@k, ERR@k or RBP"
        )
    return Measure(str(parsed), str(parsed))


def _err(grades: Sequence[int], _: Any) -> float:
    """Expected reciprocal rank (Chapelle et al. 2009) as gdeval of TREC has it, for grades to 4."""
    total, unsatisfied = 0.0, 1.0
    for rank, grade in enumerate(grades, 1):
        satisfied = (2 ** min(grade, _MOST) - 1) / 2**_MOST
        total += unsatisfied * satisfied / rank
        unsatisfied *= 1 - satisfied
    return total


def _rbp(grades: Sequence[int], measure: Any) -> float:
    """Rank-biased precision (Moffat and Zobel 2008) of binary relevance."""
    p, rel = measure["p"], measure.params.get("rel", 1)
    return math.fsum((1 - p) * p**place for place, grade in enumerate(grades) if grade >= rel)


_BY_GRADES: Final = {"ERR": _err, "RBP": _rbp}  # computed here, of the grades in rank order
TopicValues = dict[str, dict[str, float]]  # topic -> measure -> value


def measure(
    rankings: Mapping[str, Ranking],
    qrels: Qrels,
    measures: Sequence[Measure],
    relevant: int = RELEVANT,
) -> TopicValues:
    """Return the value of every measure for every topic of the qrels, in their order.

    `relevant` is the least grade that counts as relevant. A topic that the rankings lack is
    measured as an empty one; what is undefined is 0, as trec_eval prints it.
    """
    asked = {
        key: ir_measures.parse_measure(name.replace("{n}", str(relevant)))
        for key, name, _ in measures
    }
    # Ranks in place of scores leave no tie, which ir_measures would order in another way.
    orders = {topic: best(rankings.get(topic) or _NOTHING) for topic in qrels}
    ranked = {
        topic: {doc: -float(rank) for rank, doc in enumerate(docs)}
        for topic, docs in orders.items()
    }
    # trec_eval takes a negative grade as none, and its nDCG may never end with one.
    graded = {t: {doc: g for doc, g in docs.items() if g >= 0} for t, docs in qrels.items()}
    values: dict[str, dict[Any, float]] = {topic: {} for topic in qrels}
    for provider in _PROVIDERS:
        supported = dict.fromkeys(filter(provider.supports, asked.values()))
        judged = qrels if provider is ir_measures.judged else {t: g for t, g in graded.items() if g}
        for metric in provider.iter_calc(supported, judged, ranked):
            values[metric.query_id][metric.measure] = metric.value
    for named in asked.values():
        if of_grades := _BY_GRADES.get(str(named.NAME)):
            for topic, docs in orders.items():
                grades = [graded[topic].get(doc, 0) for doc in docs[: named.params.get("cutoff")]]
                values[topic][named] = of_grades(grades, named)
    return {
        topic: {key: _defined(of_topic.get(named)) for key, named in asked.items()}
        for topic, of_topic in values.items()
    }


def _defined(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else value


def average(values: Iterable[float]) -> float:
    """Return the mean over topics; 0 of none."""
    values = list(values)
    return fmean(values) if values else 0.0
