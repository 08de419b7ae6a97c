"""The score of one run: every measure, how topics are averaged, how much was judged.

**Tasks 1 and 2.** The headline average is over every judged topic, with zeros for those that the
run lacks; that is what the tables of the labs report. trec_eval without `-c`, and the labs'
scripts, average over the topics of the run alone (`run_topics_only`): those with at least one
judged document for primed measures, since the others have no row in the prime run.

**Task 3** has one answer per topic, scored by its grade: AR is the mean grade, P@1 the share of
grades of 2 and more, both over the topics whose answer is judged. The organisers gave each
submitted answer an id per topic (`d_N`) and published a map from run and topic to it beside the
judgments. Grades 5 (system failure) and 6 (do not know) count 0. A run that was not judged, but
says which posts its answers are taken from, is scored by these: Task 1 has the same topics. These
are estimates, as an answer may be a part of its post.

**NLPS** (TextGraphs-16) has mean average precision and recall of the first 500 premises. The shared
task's script (`evaluate.py`) averages precision over the relevant premises that were *retrieved*;
standard average precision divides by all relevant ones, so it is lower unless all were found.
Published figures are the script's. Statements without predictions count 0.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arqmath_bm25.collection.premises import read_statements
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import HIGHEST, RELEVANT
from arqmath_bm25.core.labs import PREMISES as DEPTH
from arqmath_bm25.evaluation.measures import (
    NAMES,
    Measure,
    TopicValues,
    average,
    full_name,
    measure,
    measures_of,
)
from arqmath_bm25.evaluation.qrels import ComparabilityWarning, Qrels, grades_in
from arqmath_bm25.runs.rows import read_columns
from arqmath_bm25.runs.run import Ranking
from arqmath_bm25.runs.run_rules import RunRules
from arqmath_bm25.runs.task_rules import RULES, AnswerRules, PremiseRules

# A lower overlap of judged and returned ids means that they are from different id spaces.
_MIN_OVERLAP = 0.05
_ONLY_RELEVANT = (
    "these judgments list relevant documents only: use nDCG, MAP and P@10 of the whole run, since "
    "primed measures say little"
)

# Measures of the whole run, for tables where primed measures say nothing.
_UNPRIMED = ("ndcg", "map", "p10")
_PRIME = (
    "every row is judged, as in a prime run: use the primed measures, since the others and "
    "judged@10 say nothing"
)


@dataclass(frozen=True, kw_only=True)
class Score:
    """The measures of a run, by topic and on average."""

    values: TopicValues  # the measures of every topic that counts
    names: Mapping[str, str]  # key of a measure -> its name in JSON and CSV, that of ir_measures
    counts: dict[str, int]  # numbers of topics, under the keys of `to_json`
    relevant: int  # the relevance level: the lowest grade that counted as relevant
    warnings: tuple[str, ...] = ()

    def averages(self, topics: Iterable[str] | None = None) -> dict[str, float]:
        """Return averages over every topic that counts, or over the given ones."""
        averaged = [self.values[topic] for topic in topics or self.values]
        return {key: average(values[key] for values in averaged) for key in self.keys}

    def values_of(self, key: str) -> dict[str, float]:
        """Return the value of one measure for every topic."""
        return {topic: values[key] for topic, values in self.values.items()}

    def named(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return values of measures under the names that ir_measures has for them, with grades."""
        return {self.names[key]: value for key, value in values.items()}

    @property
    def keys(self) -> list[str]:
        """The keys of all measures."""
        return list(next(iter(self.values.values())))

    @property
    def table_keys(self) -> Sequence[str]:
        """The keys of the measures in tables; the first one compares runs."""
        return self.keys

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON, by their measures."""
        return {
            **self.counts,
            "relevant": self.relevant,
            **self.named(self.averages()),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, kw_only=True)
class RunScore(Score):
    """The score of a run with many documents for a topic: topics that it lacks count 0."""

    primed: frozenset[str]  # keys of measures of the prime run
    answered: dict[str, int]  # judged topics of the run -> number of documents
    judged: dict[str, int]  # judged topics of the run -> number of judged documents
    task_keys: tuple[str, ...]  # keys of the measures in tables of runs of the task
    only_relevant: bool  # whether the judgments list relevant documents only

    @property
    def table_keys(self) -> Sequence[str]:
        """The keys in tables: measures of the whole run where primed ones say nothing."""
        has_primed = not self.primed.isdisjoint(self.task_keys)
        if has_primed and self.only_relevant:
            return _UNPRIMED
        return self.task_keys

    def averages_of_run_topics(self) -> dict[str, float]:
        """Return averages over the topics of the run, as trec_eval without `-c` prints them."""
        averages = {}
        for key in self.keys:
            hits = self._hits_by_topic(key)
            averages[key] = average(self.values[topic][key] for topic in hits if hits[topic])
        return averages

    def describe_run_topics(self, key: str) -> str:
        """Return which topics `averages_of_run_topics` averages a measure over."""
        hits = self._hits_by_topic(key)
        number = sum(map(bool, hits.values()))
        if hits is self.answered:
            return f"{number} topics that the run has"
        return f"{number} topics with a judged hit"

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON, by their measures."""
        return {
            **super().to_json(),
            "rows": self.rows,
            "rows_judged": self.rows_judged,
            "judged_rate": self.rows_judged / max(self.rows, 1),
            "run_topics_only": self.named(self.averages_of_run_topics()),
        }

    @property
    def rows(self) -> int:
        """The number of documents that the run has for judged topics."""
        return sum(self.answered.values())

    @property
    def rows_judged(self) -> int:
        """The number of judged documents among `rows`."""
        return sum(self.judged.values())

    def _hits_by_topic(self, key: str) -> dict[str, int]:
        """Return for each topic the number of hits that a measure takes into account."""
        if key in self.primed:
            return self.judged
        return self.answered


def score(
    rankings: Mapping[str, Ranking],
    qrels: Qrels,
    rules: RunRules = RULES[AnswerRules.task],
    further: Iterable[Measure] = (),
    relevant: int | None = None,
    notes: Iterable[str] = (),
) -> RunScore:
    """Score rankings (cut to 1,000 already) by the measures of a task, and by further ones.

    `relevant` is the relevance level, by default the level of the task; `notes` come before the
    warnings. Without rankings all scores are 0. Raises InputError if the qrels judge no topic of
    the rankings.
    """
    if relevant is None:
        relevant = rules.relevant

    measures = dict[str, Measure]()
    for named in (*measures_of(rules), *further):
        measures.setdefault(named.key, named)
    primed = [key for key, named in measures.items() if named.primed]

    answered = {}
    judged = {}
    for topic, grades in qrels.items():
        ranking = rankings.get(topic)
        if ranking:
            answered[topic] = len(ranking)
            judged[topic] = len(ranking.keys() & grades.keys())

    if rankings and not answered:
        raise InputError(
            f"the qrels judge none of the run's topics: the run has {_some(rankings)}, "
            f"the qrels {_some(qrels)}; are they of another task or year?"
        )

    values = measure(rankings, qrels, list(measures.values()), relevant)
    # Judgments of duplicates, say, have no grade 0.
    lowest = min(grades_in(qrels), default=0)
    result = RunScore(
        values=values,
        names={key: full_name(named.at(relevant)) for key, named in measures.items()},
        counts={"topics": len(qrels), "topics_in_run": len(answered)},
        relevant=relevant,
        warnings=tuple(notes),
        primed=frozenset(primed),
        answered=answered,
        judged=judged,
        task_keys=rules.table_measures,
        only_relevant=lowest > 0,
    )
    if not answered:
        return result

    doubts = _comparability_warnings(rankings, qrels, result)
    return replace(result, warnings=(*result.warnings, *doubts))


def _comparability_warnings(
    rankings: Mapping[str, Ranking], qrels: Qrels, score: RunScore
) -> list[ComparabilityWarning]:
    """Return why the scores may mean nothing."""
    primed = score.primed.intersection(score.task_keys)
    if primed and score.only_relevant:
        return [ComparabilityWarning(_ONLY_RELEVANT)]
    if primed and score.rows_judged == score.rows:
        return [ComparabilityWarning(_PRIME)]
    if score.rows_judged >= _MIN_OVERLAP * score.rows:
        return []

    returned = set[str]()
    judged = set[str]()
    for topic in score.answered:
        returned.update(rankings[topic])
        judged.update(qrels[topic])

    common = len(returned & judged)
    if common >= _MIN_OVERLAP * min(len(returned), len(judged)):
        return []

    doubt = (
        f"only {common:,} of the {len(judged):,} judged ids are among the "
        f"{len(returned):,} ids of the run: are they ids of the same kind (answers, "
        "formulas, visual ids)?"
    )
    return [ComparabilityWarning(doubt)]


def _some(topics: Iterable[str]) -> str:
    """Name the first and the last topic."""
    names = list(topics) or ["none"]
    if len(names) == 1:
        return names[0]
    return f"{names[0]} … {names[-1]}"


def group_by_warning(notes: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """Return the runs of each note; `notes` has the notes of each run."""
    runs = dict[str, list[str]]()
    for run, run_notes in notes:
        for note in run_notes:
            runs.setdefault(note, []).append(run)
    return runs


def shared_notes(notes: Collection[tuple[str, Iterable[str]]]) -> list[str]:
    """Return the notes of runs, each with the names of its runs unless all runs have it."""
    shared = []
    for note, runs in group_by_warning(notes).items():
        if len(runs) < len(notes):
            names = ", ".join(runs)
            note = f"{names}: {note}"
        shared.append(note)
    return shared


Answers = dict[str, str]  # topic -> id of its answer

OF_POSTS = (
    "the answers are not judged themselves; these are estimates, by the grades of Task 1 for the "
    "posts that they are taken from"
)


def read_answer_map(path: Path) -> dict[str, Answers]:
    """Read the map of the organisers: rows `run, topic, d_N` between TABs or blanks.

    Raises InputError for a missing or binary file, another number of columns, and a second answer
    of a run to a topic.
    """
    runs = dict[str, Answers]()
    for row, columns in read_columns(path, "answer map"):
        if len(columns) != 3:
            raise InputError(
                f"{path}: row {row}: expected 3 columns (run, topic, d_N), found {len(columns)}"
            )

        run, topic, answer = columns
        answers = runs.setdefault(run, {})
        if answers.setdefault(topic, answer) != answer:
            raise InputError(f"{path}: row {row}: a second answer of {run} to topic {topic}")

    return runs


def score_answers(
    answers: Mapping[str, str], qrels: Qrels, relevant: int = RELEVANT, notes: tuple[str, ...] = ()
) -> Score:
    """Score one answer per topic, over the judged ones; InputError without any judged answer."""
    values = {}
    for topic, grades in qrels.items():
        grade = grades.get(answers.get(topic, ""))
        if grade is None:
            continue

        # Grades 5 and 6 say that there is no answer to judge.
        if not 0 <= grade <= HIGHEST:
            grade = 0
        values[topic] = {"ar": float(grade), "p1": float(grade >= relevant)}

    if not answers:
        values = {topic: {"ar": 0.0, "p1": 0.0} for topic in qrels}
    if not values:
        raise InputError(
            "none of the run's answers is judged: are the judgments those of these topics, and "
            "their ids those of the answers (posts, or d_N of the answer map)?"
        )

    counts = {"topics": len(qrels), "topics_in_run": len(answers), "topics_judged": len(values)}
    return Score(values=values, names=NAMES, counts=counts, relevant=relevant, warnings=notes)


_PREMISES = RULES[PremiseRules.task]
_REFUSED = "the official script refuses this"
EXPLANATION = (
    "MAP@500 (official) averages precision over the relevant premises that were retrieved, "
    "as the shared task's script does; MAP@500 divides by all relevant premises."
)


def read_gold(path: Path) -> Qrels:
    """Read the relevant premises of a dev or train set, all with grade 1.

    Raises InputError as `collection.premises.read_statements` does, and for a set without
    premises, such as the test set.
    """
    statements = read_statements(path)
    gold = {row.statement_id: dict.fromkeys(row.references, 1) for row in statements}
    if not any(gold.values()):
        raise InputError(f"{path}: no statement has premises here; a test set has them masked")
    return gold


def score_premises(
    predicted: Mapping[str, Iterable[str]], gold: Mapping[str, Collection[str]]
) -> Score:
    """Score the first 500 premises of every statement of the gold file.

    Raises InputError if no statement is predicted.
    """
    if predicted and not gold.keys() & predicted.keys():
        raise InputError(
            f"none of the {len(gold):,} statements of the gold file is predicted: "
            f"the first prediction is for {next(iter(predicted), None)}"
        )

    rankings = {}
    judged = {}
    for statement, premises in gold.items():
        ranked = enumerate(predicted.get(statement, ()))
        rankings[statement] = {premise: -float(rank) for rank, premise in ranked}
        judged[statement] = dict.fromkeys(premises, 1)

    measured = measure(rankings, judged, measures_of(_PREMISES), _PREMISES.relevant)
    values = {}
    for statement, premise_values in measured.items():
        # The shared task's script divides by the premises found, not by all relevant ones.
        recall = premise_values["recall_500"] or 1
        official = premise_values["map_500"] / recall
        values[statement] = {"map_500_official": official, **premise_values}

    missing = len(gold.keys() - predicted.keys())
    short = sum(len(ranking) < DEPTH for ranking in rankings.values()) - missing
    warnings = []
    if missing:
        warnings.append(f"{missing:,} statements are not predicted and count 0; {_REFUSED}")
    if short:
        warnings.append(f"{short:,} statements have fewer than {DEPTH} premises; {_REFUSED}")
    names = {named.key: full_name(named.at(_PREMISES.relevant)) for named in measures_of(_PREMISES)}
    return Score(
        values=values,
        names={**NAMES, **names},
        counts={"statements": len(gold)},
        relevant=_PREMISES.relevant,
        warnings=tuple(warnings),
    )
