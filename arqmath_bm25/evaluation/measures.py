"""The measures of runs, by trec_eval (pytrec_eval-terrier); which a task has, its rules say.

Primed measures (nDCG′, MAP′, P′@k) are those of the *prime run*: the run without the documents
that have no judgment for the topic. Binary measures take a document as relevant from a grade on
that the judgments tell (`qrels.Judgments`), or from the grade of their own `rel`; nDCG takes the
grades as gains, has no cut-off unless its name gives one, and its ideal ranking holds every judged
document. P@10 divides by 10 even where fewer were returned.

Measures are objects of ir_measures, with its names and parameters: `nDCG(judged_only=True)@10`,
`AP(rel=2)`, `Success(rel=2)@5`, `SetF(beta=0.5)`, `Judged@20`. The names of trec_eval, and those
that people write (`ndcg_cut_10`, `mrr`, `hit@10`), are in the table _SPELLINGS.
"""

import ast
import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import Any, NamedTuple

import ir_measures

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.qrels import Qrels
from arqmath_bm25.runs.run import Ranking
from arqmath_bm25.runs.run_rules import RunRules, best
from arqmath_bm25.runs.task_rules import RULES, AnswerRules


class Measure(NamedTuple):
    """A measure as this package reports it."""

    key: str  # its key in JSON and CSV
    metric: Any  # the measure of ir_measures

    @property
    def primed(self) -> bool:
        """Whether it measures the prime run."""
        # bpref ignores documents without judgment, as the prime run does.
        return self.metric.NAME == "Bpref" or bool(self.metric.params.get("judged_only"))

    def at(self, relevant: int) -> Any:
        """Return the measure of ir_measures at a relevance level, unless it has a `rel`."""
        if "rel" in self.metric.SUPPORTED_PARAMS and "rel" not in self.metric.params:
            return self.metric(rel=relevant)
        return self.metric


def measures_of(rules: RunRules) -> tuple[Measure, ...]:
    """Return the measures of a task's runs."""
    return tuple(Measure(key, read_measure(name)) for key, name in rules.measures.items())


# Keys of all measures, also those of Task 3 and of NLPS, and their names in tables.
NAMES = {
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

# Measures of ir_measures, and their names without blanks, signs and capitals.
_SPELLINGS = {
    "nDCG": "ndcg ndcgcut",
    "P": "p prec precision",
    "R": "r rec recall",
    "AP": "ap map apcut mapcut averageprecision meanaverageprecision",
    "RR": "rr mrr reciprank rrcut mrrcut reciprankcut reciprocalrank meanreciprocalrank",
    "Success": "success hit hits hitrate hr",
    "Judged": "judged",
    "ERR": "err",
    "RBP": "rbp",
    "IPrec": "iprec iprecatrecall",
    "Rprec": "rprec rprecision",
    "Bpref": "bpref",
    "infAP": "infap",
    "SetP": "setp setprecision",
    "SetR": "setr setrecall",
    "SetF": "setf f1 fmeasure",
    "SetAP": "setap setmap",
    "SetRelP": "setrelp setrelativep",
}
_OF_NAME = {name: key for key, names in _SPELLINGS.items() for name in names.split()}

# These names mean the whole ranking where no cut-off is given.
_OF_SETS = {"precision": "SetP", "recall": "SetR"}

# Name, parameters, and cut-off: P(rel=2)@10, P_10, map_cut.100, ndcg_at_10, nDCG′@10, p10_prime.
_FORM = re.compile(
    r"(?P<name>f1|[a-z][a-z _-]*?)"
    r"(?P<prime>[′'’]|_prime)?"
    r"\s*(?:\((?P<params>[^()]*)\))?"
    # In ranx, rbp.95 has a persistence of .95.
    r"\s*(?:(?:[@_ ]|(?<!rbp)\.|[_ ]at[_ ])?\s*(?P<cutoff>[0-9]*\.?[0-9]+))?"
    r"(?P<prime_at_end>[′'’]|_prime)?",
    re.IGNORECASE,
)
_TOO_LARGE = 1 << 31
_COUNT = re.compile(r"num_?(q|ret|rel|rel_?ret)\b.*", re.IGNORECASE)
_LAB_KEYS = tuple(RULES[AnswerRules.task].measures)

# Names that the message for an unknown name suggests.
_SUGGESTIONS = (
    "nDCG@10 P@10 R@100 AP AP@100 RR RR@10 Success@5 Rprec ERR@20 RBP SetP SetR SetF Judged@10 "
    "IPrec@0.1"
)

# pytrec_eval 0.5.11 crashes on empty rankings now and then. One document that nobody judged has
# the values of an empty ranking in every measure (but num_ret, which is not offered).
_EMPTY = {"": 0.0}

# The highest grade of ERR in gdeval.
_HIGHEST_GRADE = 4


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
            metric = read_measure(name)
            measures.append(Measure(full_name(metric), metric))

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


def read_measure(name: str) -> Any:
    """Return the measure of ir_measures with one of its names.

    Raises InputError for an unknown name, and for parameters that are not understood or not
    computed.
    """
    if _COUNT.fullmatch(name.strip()):
        raise InputError(
            f"measure {name}: a number of topics or documents, not a score of a run; the JSON of a "
            "score has topics, rows and rows_judged"
        )

    form = _FORM.fullmatch(name.strip())
    known = None
    if form:
        folded = re.sub("[ _-]", "", form["name"].casefold())
        known = _OF_NAME.get(folded)
        if not form["cutoff"]:
            known = _OF_SETS.get(folded, known)
    if form is None or known is None:
        suggestions = {key.casefold(): key for key in (*_SUGGESTIONS.split(), *_LAB_KEYS)}
        similar = difflib.get_close_matches(name.casefold(), suggestions, cutoff=0.5)
        near = [suggestions[folded] for folded in similar]
        raise InputError(
            f"measure {name}: unknown measure (they are listed at ir-measur.es); do you mean "
            f"{', '.join(near or ['nDCG@10', 'AP(rel=2)', 'P(rel=2)@10'])}?"
        )

    metric = ir_measures.measures.registry[known]
    try:
        text = form["params"] or ""
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError("parameters are written name=value")
        params = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        if form["prime"] or form["prime_at_end"]:
            params["judged_only"] = True
        if form["cutoff"]:
            params[metric.AT_PARAM] = ast.literal_eval(form["cutoff"])

        metric = metric(**params)
        metric.validate_params()
        _check_range(metric)
    except (ValueError, TypeError, AssertionError, SyntaxError) as error:
        reason = str(error).partition("=<object")[0]
        raise InputError(
            f"measure {name}: ir_measures does not understand it ({reason}); expected a name "
            "such as P(rel=2)@10, nDCG(judged_only=True) or IPrec@0.1"
        ) from None

    if metric.NAME not in _BY_GRADES and not ir_measures.pytrec_eval.supports(metric):
        raise InputError(
            f"measure {name}: {metric.NAME} with these parameters is not computed here; expected "
            "a measure of trec_eval, RR@k, ERR@k or RBP"
        )
    return metric


def _check_range(metric: Any) -> None:
    """Raise ValueError for what ir_measures lets pass, and trec_eval ends the process at."""
    gains = metric.params.get("gains", {})
    if not all(isinstance(number, int) for number in chain(gains, gains.values())):
        raise ValueError(f"invalid param gains={gains}")
    if metric.params.get("beta", 1.0) < 0:
        raise ValueError(f"invalid param beta={metric.params['beta']}")
    for name in ("cutoff", "rel"):
        value = metric.params.get(name, 1)
        if not 1 <= value < _TOO_LARGE:
            raise ValueError(f"invalid param {name}={value}")


def full_name(metric: Any) -> str:
    """Return the name in ir_measures of a measure; a `rel` is shown also where it is 1."""
    params = []
    for name, info in metric.SUPPORTED_PARAMS.items():
        value = metric.params.get(name, info.default)
        is_given = name in metric.params and name != metric.AT_PARAM
        if is_given and (name == "rel" or value != info.default):
            params.append(f"{name}={value}")

    full = str(metric.NAME)
    if params:
        full += f"({','.join(params)})"
    if metric.AT_PARAM in metric.params:
        full += f"@{metric.params[metric.AT_PARAM]}"
    return full


# Grades in rank order; None where nobody judged a document.
Grades = Sequence[int | None]


def _err(grades: Grades, _: Any) -> float:
    """Expected reciprocal rank (Chapelle et al. 2009) as gdeval of TREC has it, for grades to 4."""
    total = 0.0
    unsatisfied = 1.0
    for rank, grade in enumerate(grades, 1):
        gain = 2 ** min(max(0, grade or 0), _HIGHEST_GRADE) - 1
        satisfied = gain / 2**_HIGHEST_GRADE
        total += unsatisfied * satisfied / rank
        unsatisfied *= 1 - satisfied
    return total


def _rbp(grades: Grades, measure: Any) -> float:
    """Rank-biased precision (Moffat and Zobel 2008) of binary relevance."""
    p = measure["p"]
    gains = []
    for index, grade in enumerate(grades):
        if grade and grade >= measure["rel"]:
            gains.append((1 - p) * p**index)
    return math.fsum(gains)


def _rr(grades: Grades, measure: Any) -> float:
    """Reciprocal rank of the first relevant document."""
    for rank, grade in enumerate(grades, 1):
        if grade and grade >= measure["rel"]:
            return 1 / rank
    return 0.0


def _judged(grades: Grades, _: Any) -> float:
    """Share of judged documents."""
    return fmean(grade is not None for grade in grades)


# Measures that trec_eval lacks, or has without a cut-off.
_BY_GRADES = {"ERR": _err, "RBP": _rbp, "RR": _rr, "Judged": _judged}

# Topic -> measure -> value.
TopicValues = dict[str, dict[str, float]]


def measure(
    rankings: Mapping[str, Ranking],
    qrels: Qrels,
    measures: Sequence[Measure],
    relevant: int,
) -> TopicValues:
    """Return the value of every measure for every topic of the qrels, in their order.

    `relevant` is the relevance level: the lowest grade that counts as relevant. A topic that the
    rankings lack is measured as an empty ranking; an undefined value is 0, as trec_eval prints it.
    """
    metrics = {each.key: each.at(relevant) for each in measures}

    orders = {topic: best(rankings.get(topic) or _EMPTY) for topic in qrels}
    ranked = {}
    graded = {}
    for topic, judged in qrels.items():
        # Ranks in place of scores leave no tie, which ir_measures would order in another way.
        ranked[topic] = {doc: -float(rank) for rank, doc in enumerate(orders[topic])}
        # trec_eval treats negative grades as unjudged, and its nDCG may loop forever on them.
        not_negative = {doc: grade for doc, grade in judged.items() if grade >= 0}
        if not_negative:
            graded[topic] = not_negative

    provided: dict[str, dict[Any, float]] = {topic: {} for topic in qrels}
    by_trec_eval = dict.fromkeys(each for each in metrics.values() if each.NAME not in _BY_GRADES)
    for result in ir_measures.pytrec_eval.iter_calc(by_trec_eval, graded, ranked):
        provided[result.query_id][result.measure] = result.value

    values: TopicValues = {}
    for topic, docs in orders.items():
        grades = list(map(qrels[topic].get, docs))
        values[topic] = {}
        for key, metric in metrics.items():
            value = provided[topic].get(metric, 0.0)
            if metric.NAME in _BY_GRADES:
                counted = grades
                if metric.params.get("judged_only"):
                    counted = [grade for grade in grades if grade is not None and grade >= 0]
                value = _BY_GRADES[metric.NAME](counted[: metric.params.get("cutoff")], metric)

            values[topic][key] = 0.0 if math.isnan(value) else value
    return values


def average(values: Iterable[float]) -> float:
    """Return the mean over topics; 0 if there are no topics."""
    return fmean(list(values) or [0.0])
