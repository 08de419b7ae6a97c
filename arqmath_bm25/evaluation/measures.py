"""The measures of runs, by trec_eval (pytrec_eval-terrier); which a task has, its rules say.

Primed measures (nDCG′, MAP′, P′@k) are those of the *prime run*: the run without the documents
that have no judgment for the topic. Binary measures take a document as relevant from a grade on
that the judgments tell (`qrels.Judgments`); nDCG takes the grades as gains, has no cut-off unless
its name gives one, and its ideal ranking holds every judged document. P@10 divides by 10 even where
fewer were returned.

Others have the names of ir_measures, which reads them: `nDCG(judged_only=True)@10`, `AP(rel=2)`,
`Success(rel=2)@5`, `SetF(beta=0.5)`, `Judged@20` mean what they mean there; a grade of 1 is
relevant where `rel` is not given. Names that people write in other ways (`ndcg@10`, `mrr`,
`ndcg_cut_10` of trec_eval) are looked up in the table _SPELLINGS.
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

    key: str  # its key in JSON and CSV
    name: str  # its name in ir_measures; {n} is the relevance level
    primed: bool = False  # whether it measures the prime run


def measures_of(rules: RunRules) -> tuple[Measure, ...]:
    """Return the measures of a task's runs."""
    measures = []
    for key, name in rules.measures.items():
        # bpref ignores documents without judgment, as the prime run does.
        primed = "judged_only" in name or key == "bpref"
        measures.append(Measure(key, name, primed))
    return tuple(measures)


# Keys of all measures, also those of Task 3 and of NLPS, and their names in tables.
NAMES: Final = {
    "ndcg_prime": "nDCG′",
    "map_prime": "MAP′",
    "p10_prime": "P′@10",
    "bpref": "bpref",
    "judged_at_10": "judged@10",
    "ar": "AR",
    "p1": "P@1",
    "map_500": "MAP@500",
    "map_500_official": "MAP@500 (official)",
    "recall_500": "recall@500",
    "ndcg": "nDCG",
    "map": "MAP",
    "p10": "P@10",
    "p5_prime": "P′@5",
}

# trec_eval lacks Judged@k, and RR@k as MS MARCO defines it.
_PROVIDERS: Final = (
    ir_measures.pytrec_eval,
    ir_measures.judged,
    ir_measures.msmarco,
)

# Spellings of other programs, with the names of ir_measures; \1 is the cut-off. Case and the kind
# of separator (@ _ .) do not matter.
_SPELLINGS: Final = {
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

# Names that the message for an unknown name suggests.
_SUGGESTIONS: Final = (
    "nDCG@10",
    "P@10",
    "R@100",
    "AP",
    "AP@100",
    "RR",
    "RR@10",
    "Success@5",
    "Rprec",
    "ERR@20",
    "RBP",
    "SetP",
    "SetR",
    "SetF",
    "Judged@10",
    "IPrec@0.1",
)

# pytrec_eval 0.5.11 crashes on empty rankings now and then. One document that nobody judged has
# the values of an empty ranking in every measure (but num_ret, which is not offered).
_EMPTY: Final[Ranking] = {"": 0.0}

# The highest grade of ERR in gdeval.
_HIGHEST_GRADE: Final = 4


def named_measures(*names: str) -> list[Measure]:
    """Return measures by their names of ir_measures or trec_eval, or by their key here.

    Keys of Task 3 and NLPS are left out, since their runs have these measures anyway. Raises
    InputError for any other name, and for parameters that are not understood.
    """
    lab_measures = {measure.key: measure for measure in measures_of(RULES[AnswerRules.task])}
    measures = []
    for name in chain.from_iterable(map(split_names, names)):
        key = _key_of_tables(name)
        if key in lab_measures:
            measures.append(lab_measures[key])
        elif key not in NAMES:
            measures.append(_parse_measure(name))

    return measures


def split_names(names: str) -> list[str]:
    """Split "ndcg@10, map" into names; commas in parentheses separate parameters."""
    if "(" in names:
        return [names]
    return [name.strip() for name in names.split(",")]


def key_of(name: str) -> str:
    """Return the key of a measure by any of its names; InputError for several measures."""
    if len(split_names(name)) > 1:
        raise InputError(f"measure {name}: several measures; expected one")
    named = named_measures(name)
    if named:
        return named[0].key
    return _key_of_tables(name)


def _key_of_tables(name: str) -> str:
    """Return the key of a name in tables, in any case and with any prime; else the name itself."""
    if name in NAMES or name in ir_measures.measures.registry:
        return name

    folded = name.strip().casefold()
    folded = re.sub("['’]", "′", folded)
    is_primed = "′" in folded
    for key, title in NAMES.items():
        if folded == key:
            return key
        if is_primed and folded == title.casefold():
            return key
    return name


def _parse_measure(name: str) -> Measure:
    """Return the measure with a name of ir_measures, or a spelling of another program."""
    known = _name_of_ir_measures(name)
    try:
        parsed = ir_measures.parse_measure(known)
        computed = any(provider.supports(parsed) for provider in _PROVIDERS)
    except NameError:
        near = ", ".join(_similar_names(name))
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
    """Return the name in ir_measures of a spelling of another program; else the name itself."""
    folded = name.strip().casefold()
    folded = re.sub("[@.]", "_", folded)
    for pattern, template in _SPELLINGS.items():
        match = re.fullmatch(pattern, folded)
        if match:
            # A recall level of 0.1 has become 0_1.
            return match.expand(template).replace("_", ".")
    return name


def _similar_names(name: str) -> list[str]:
    """Return names of measures that are similar to an unknown name."""
    suggestions = {key.casefold(): key for key in (*_SUGGESTIONS, *_LAB_KEYS)}
    similar = difflib.get_close_matches(name.casefold(), suggestions, cutoff=0.5)
    if not similar:
        return ["nDCG@10", "AP(rel=2)", "P(rel=2)@10"]
    return [suggestions[folded] for folded in similar]


def _err(grades: Sequence[int], _: Any) -> float:
    """Expected reciprocal rank (Chapelle et al. 2009) as gdeval of TREC has it, for grades to 4."""
    total = 0.0
    unsatisfied = 1.0
    for rank, grade in enumerate(grades, 1):
        gain = 2 ** min(grade, _HIGHEST_GRADE) - 1
        satisfied = gain / 2**_HIGHEST_GRADE
        total += unsatisfied * satisfied / rank
        unsatisfied *= 1 - satisfied
    return total


def _rbp(grades: Sequence[int], measure: Any) -> float:
    """Rank-biased precision (Moffat and Zobel 2008) of binary relevance."""
    p = measure["p"]
    relevant = measure.params.get("rel", 1)
    gains = []
    for index, grade in enumerate(grades):
        if grade >= relevant:
            gains.append((1 - p) * p**index)
    return math.fsum(gains)


# Measures that are computed here, from the grades in rank order.
_BY_GRADES: Final = {"ERR": _err, "RBP": _rbp}

# Topic -> measure -> value.
TopicValues = dict[str, dict[str, float]]


def measure(
    rankings: Mapping[str, Ranking],
    qrels: Qrels,
    measures: Sequence[Measure],
    relevant: int = RELEVANT,
) -> TopicValues:
    """Return the value of every measure for every topic of the qrels, in their order.

    `relevant` is the relevance level: the lowest grade that counts as relevant. A topic that the
    rankings lack is measured as an empty ranking; an undefined value is 0, as trec_eval prints it.
    """
    metrics = {}
    for key, name, _ in measures:
        metrics[key] = ir_measures.parse_measure(name.replace("{n}", str(relevant)))

    orders = {}
    for topic in qrels:
        ranking = rankings.get(topic) or _EMPTY
        orders[topic] = best(ranking)

    provided = _by_providers(orders, qrels, metrics.values())
    values: TopicValues = {}
    for topic, docs in orders.items():
        grades = [max(0, qrels[topic].get(doc, 0)) for doc in docs]
        values[topic] = {}
        for key, metric in metrics.items():
            by_grades = _BY_GRADES.get(str(metric.NAME))
            if by_grades is None:
                value = provided[topic].get(metric, 0.0)
            else:
                cutoff = metric.params.get("cutoff")
                value = by_grades(grades[:cutoff], metric)

            is_undefined = math.isnan(value)
            values[topic][key] = 0.0 if is_undefined else value

    return values


def _by_providers(
    orders: Mapping[str, Sequence[str]], qrels: Qrels, metrics: Collection[Any]
) -> dict[str, dict[Any, float]]:
    """Let ir_measures compute the measures that it supports: topic → measure → value."""
    # Ranks in place of scores leave no tie, which ir_measures would order in another way.
    rankings: dict[str, dict[str, float]] = {}
    for topic, docs in orders.items():
        rankings[topic] = {doc: -float(rank) for rank, doc in enumerate(docs)}

    # trec_eval treats negative grades as unjudged, and its nDCG may loop forever on them.
    graded: Qrels = {}
    for topic, grades in qrels.items():
        not_negative = {doc: grade for doc, grade in grades.items() if grade >= 0}
        if not_negative:
            graded[topic] = not_negative

    values: dict[str, dict[Any, float]] = {topic: {} for topic in qrels}
    for provider in _PROVIDERS:
        judgments = graded
        if provider is ir_measures.judged:
            judgments = qrels

        supported = filter(provider.supports, metrics)
        distinct = dict.fromkeys(supported)
        for result in provider.iter_calc(distinct, judgments, rankings):
            values[result.query_id][result.measure] = result.value

    return values


def average(values: Iterable[float]) -> float:
    """Return the mean over topics; 0 if there are no topics."""
    values = list(values)
    if not values:
        return 0.0
    return fmean(values)
