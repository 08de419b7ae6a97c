"""The measures of runs, by trec_eval (pytrec_eval-terrier); which a task has, its rules say.

Primed measures (nDCG′, MAP′, P′@k) are those of the *prime run*: the run without the documents
that have no judgment for the topic. Binary measures take a document as relevant from a grade on
that the judgments tell (`qrels.Judgments`); nDCG takes the grades as gains, has no cut-off unless
its name gives one, and its ideal ranking holds every judged document. P@10 divides by 10 even where
fewer were returned.

Others have the names of ir_measures, which reads them: `nDCG(judged_only=True)@10`, `AP(rel=2)`,
`Success(rel=2)@5`, `SetF(beta=0.5)`, `Judged@20` mean what they mean there; a grade of 1 is
relevant where `rel` is not given. Names that people write in other ways (`ndcg@10`, `mrr`,
`ndcg_cut_10` of trec_eval) are looked up in the table _WRITTEN.
"""

import difflib
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
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
# How measures are written elsewhere, with their names here; \1 is the cut-off. Case and the kind of
# separator (@ _ .) do not matter.
_WRITTEN: Final = {
    "ndcg(?:_cut)?_([0-9]+)": r"nDCG@\1",
    "(?:p|prec|precision)_([0-9]+)": r"P@\1",
    "(?:r|recall)_([0-9]+)": r"R@\1",
    "(?:ap|map)(?:_cut)?_([0-9]+)": r"AP@\1",
    "(?:rr|mrr|recip_rank)(?:_cut)?_([0-9]+)": r"RR@\1",
    "(?:success|hit|hits|hit_rate)_([0-9]+)": r"Success@\1",
    "judged_([0-9]+)": r"Judged@\1",
    "err_([0-9]+)": r"ERR@\1",
    "iprec(?:_at_recall)?_([01](?:_[0-9]+)?)": r"IPrec@\1",
    "ap": "AP",
    "rr|mrr|recip_rank": "RR",
    "rbp": "RBP",
    "r-prec|rprec|r_precision": "Rprec",
    "precision|set_p": "SetP",
    "recall|set_recall": "SetR",
    "f1|f-measure|set_f": "SetF",
}
_LAB_KEYS: Final = tuple(RULES[AnswerRules.task].measures)
# What is offered where a name is not known; each of them is understood.
_OFFERED: Final = (
    "nDCG@10", "P@10", "R@100", "AP", "AP@100", "RR", "RR@10", "Success@5", "Rprec", "ERR@20",
    "RBP", "SetP", "SetR", "SetF", "Judged@10", "IPrec@0.1",
)  # fmt: skip

# pytrec_eval 0.5.11 crashes on empty rankings now and then. One document that nobody judged has
# the values of an empty ranking in every measure (but num_ret, which is not offered).
_NOTHING: Final[Ranking] = {"": 0.0}
_MOST: Final = 4  # the largest grade that ERR knows


def named_measures(*names: str) -> list[Measure]:
    """Return measures by their names of ir_measures or trec_eval, or by their key here.

    Keys of Task 3 and NLPS are left out: runs of these have them anyway. Raises InputError for any
    other name, and for parameters that are not understood.
    """
    of_labs = {measure.key: measure for measure in measures_of(RULES[AnswerRules.task])}
    measures = []
    for name in chain.from_iterable(map(several, names)):
        key = _key_of_tables(name)
        if key in of_labs:
            measures.append(of_labs[key])
        elif key not in NAMES:
            measures.append(_parsed(name))

    return measures


def several(names: str) -> list[str]:
    """Return the names of "ndcg@10, map"; commas in parentheses are of one measure."""
    if "(" in names:
        return [names]
    return [name.strip() for name in names.split(",")]


def key_of(name: str) -> str:
    """Return the key of a measure by any of its names; InputError for several measures."""
    if len(several(name)) > 1:
        raise InputError(f"measure {name}: several measures; expected one")
    named = named_measures(name)
    if named:
        return named[0].key
    return _key_of_tables(name)


def _key_of_tables(name: str) -> str:
    """Return the key of a name of our tables: in any case, or primed (nDCG'); any other name."""
    if name in NAMES or name in ir_measures.measures.registry:
        return name

    folded = name.strip().casefold().replace("'", "′").replace("’", "′")
    for key, title in NAMES.items():
        if folded == key or ("′" in folded and folded == title.casefold()):
            return key
    return name


def _parsed(name: str) -> Measure:
    """Return the measure of a name of ir_measures, or of one that _WRITTEN has."""
    known = _name_of_ir_measures(name)
    try:
        parsed = ir_measures.parse_measure(known)
        computed = any(provider.supports(parsed) for provider in _PROVIDERS)
    except NameError:
        near = ", ".join(_near(name))
        raise InputError(
            f"measure {name}: unknown measure (they are listed at ir-measur.es); do you mean "
            f"{near}?"
        ) from None
    except (ValueError, TypeError, AssertionError, SyntaxError) as error:
        reason = str(error).partition("=<object")[0]
        raise InputError(
            f"measure {name}: ir_measures does not understand it ({reason}); expected a name "
            "such as P(rel=2)@10, nDCG(judged_only=True) or IPrec@0.1"
        ) from None

    if not computed and parsed.NAME not in _BY_GRADES:
        raise InputError(
            f"measure {name}: {parsed.NAME} with these parameters is not computed here; expected "
            "a measure of trec_eval, RR@k, ERR@k or RBP"
        )

    return Measure(str(parsed), str(parsed))


def _name_of_ir_measures(name: str) -> str:
    """Return the name that ir_measures understands for one of _WRITTEN; any other as it is."""
    folded = re.sub("[@._]", "_", name.strip().casefold())
    for pattern, theirs in _WRITTEN.items():
        match = re.fullmatch(pattern, folded)
        if match:
            return match.expand(theirs).replace("_", ".")  # of a level of recall: 0_1
    return name


def _near(name: str) -> list[str]:
    """Return names like an unknown one, with its cut-off where they have one."""
    offered = {key.casefold(): key for key in (*_OFFERED, *_LAB_KEYS)}
    near = difflib.get_close_matches(name.casefold(), offered, cutoff=0.5)
    names = [offered[folded] for folded in near]
    return names or ["nDCG@10", "AP(rel=2)", "P(rel=2)@10"]


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
    measured as an empty one; an undefined value is 0, as trec_eval prints it.
    """
    named = {}
    for key, name, _ in measures:
        named[key] = ir_measures.parse_measure(name.replace("{n}", str(relevant)))

    orders = {topic: best(rankings.get(topic) or _NOTHING) for topic in qrels}
    values = _by_providers(orders, qrels, named.values())

    for metric in named.values():
        of_grades = _BY_GRADES.get(str(metric.NAME))
        if of_grades is None:
            continue
        for topic, docs in orders.items():
            counted = docs[: metric.params.get("cutoff")]
            grades = [max(0, qrels[topic].get(doc, 0)) for doc in counted]
            values[topic][metric] = of_grades(grades, metric)

    defined: TopicValues = {}
    for topic, of_topic in values.items():
        defined[topic] = {key: _defined(of_topic.get(metric)) for key, metric in named.items()}
    return defined


def _by_providers(
    orders: Mapping[str, Sequence[str]], qrels: Qrels, metrics: Collection[Any]
) -> dict[str, dict[Any, float]]:
    """Let ir_measures compute the measures that it supports: topic → measure → value."""
    # Ranks in place of scores leave no tie, which ir_measures would order in another way.
    ranked: dict[str, dict[str, float]] = {}
    for topic, docs in orders.items():
        ranked[topic] = {doc: -float(rank) for rank, doc in enumerate(docs)}

    # trec_eval takes a negative grade as none, and its nDCG may never end with one.
    graded: Qrels = {}
    for topic, grades in qrels.items():
        not_negative = {doc: grade for doc, grade in grades.items() if grade >= 0}
        if not_negative:
            graded[topic] = not_negative

    values: dict[str, dict[Any, float]] = {topic: {} for topic in qrels}
    for provider in _PROVIDERS:
        supported = dict.fromkeys(filter(provider.supports, metrics))
        judged = qrels if provider is ir_measures.judged else graded
        for metric in provider.iter_calc(supported, judged, ranked):
            values[metric.query_id][metric.measure] = metric.value

    return values


def _defined(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else value


def average(values: Iterable[float]) -> float:
    """Return the mean over topics; 0 of none."""
    values = list(values)
    return fmean(values) if values else 0.0
