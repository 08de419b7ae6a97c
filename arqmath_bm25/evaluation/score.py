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
from typing import Any, Final

from arqmath_bm25.collection.premises import read_statements
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import HIGHEST, RELEVANT
from arqmath_bm25.core.labs import PREMISES as DEPTH
from arqmath_bm25.evaluation.measures import Measure, TopicValues, average, measure, measures_of
from arqmath_bm25.evaluation.qrels import ComparabilityWarning, Qrels
from arqmath_bm25.runs.rows import read_columns
from arqmath_bm25.runs.run import Ranking
from arqmath_bm25.runs.run_rules import RunRules
from arqmath_bm25.runs.task_rules import RULES, AnswerRules, PremiseRules

# Fewer judged ids than this share of those that the run could hold: another id space.
_LEAST_FOUND: Final = 0.05
_ONLY_RELEVANT: Final = (
    "these judgments list relevant documents only: use nDCG, MAP and P@10 of the whole run, since "
    "primed measures say little"
)
_FULL: Final = ("ndcg", "map", "p10")  # where primed measures say nothing
_PRIME: Final = (
    "every row is judged, as in a prime run: use the primed measures, since the others and "
    "judged@10 say nothing"
)


@dataclass(frozen=True, kw_only=True)
class Score:
    """What is known of a run after its evaluation."""

    values: TopicValues  # of every topic that counts
    counts: dict[str, int]  # of topics, under the keys of `eval --json`: all, and those of the run
    relevant: int  # the least grade that counted as relevant
    warnings: tuple[str, ...] = ()

    def averages(self, topics: Iterable[str] | None = None) -> dict[str, float]:
        """Averages over every topic that counts, or over some of them."""
        chosen = [self.values[topic] for topic in topics or self.values]
        return {key: average(values[key] for values in chosen) for key in self.keys}

    @property
    def keys(self) -> list[str]:
        """What is measured."""
        return list(next(iter(self.values.values())))

    @property
    def shown(self) -> Sequence[str]:
        """What tables show of it; the first compares runs."""
        return self.keys

    def to_json(self) -> dict[str, Any]:
        """Return the numbers under the keys of `eval --json`."""
        averages = {"relevant": self.relevant, **self.averages()}
        return {**self.counts, **averages, "warnings": list(self.warnings)}


@dataclass(frozen=True, kw_only=True)
class RunScore(Score):
    """The score of a run with many documents for a topic: topics that it lacks count 0."""

    primed: frozenset[str]  # keys of measures of the prime run
    answered: dict[str, int]  # judged topics of the run -> number of documents
    judged: dict[str, int]  # the same -> number of judged documents
    of_task: tuple[str, ...]  # what tables show of runs of the task
    only_relevant: bool  # no judgment says that something is not relevant

    @property
    def shown(self) -> Sequence[str]:
        """What tables show: measures of the whole run where primed ones say nothing."""
        unprimed = self.only_relevant and not self.primed.isdisjoint(self.of_task)
        return _FULL if unprimed else self.of_task

    def averages_of_run_topics(self) -> dict[str, float]:
        """Averages over the topics of the run, as trec_eval without `-c` prints them."""
        averages = {}
        for key in self.keys:
            topics = self._topics_of(key)
            values = [of_topic[key] for topic, of_topic in self.values.items() if topics.get(topic)]
            averages[key] = average(values)
        return averages

    def averaged_over(self, key: str) -> str:
        """Return which of the run's topics a measure is averaged over there."""
        topics = self._topics_of(key)
        number = sum(1 for documents in topics.values() if documents)
        if topics is self.answered:
            return f"{number} topics that the run has"
        return f"{number} topics with a judged hit"

    def to_json(self) -> dict[str, Any]:
        """Return the numbers under the keys of `eval --json`."""
        averages = self.averages_of_run_topics()
        rates = {"rows": self.rows, "rows_judged": self.rows_judged, "judged_rate": 0.0}
        if self.rows:
            rates["judged_rate"] = self.rows_judged / self.rows
        return {**super().to_json(), **rates, "run_topics_only": averages}

    @property
    def rows(self) -> int:
        """The documents that the run has for judged topics."""
        return sum(self.answered.values())

    @property
    def rows_judged(self) -> int:
        """The judged documents among them."""
        return sum(self.judged.values())

    def _topics_of(self, key: str) -> dict[str, int]:
        """Return the run's topics that a measure is averaged over, with their hits."""
        return self.judged if key in self.primed else self.answered


def score(
    rankings: Mapping[str, Ranking],
    qrels: Qrels,
    rules: RunRules = RULES[AnswerRules.task],
    further: Iterable[Measure] = (),
    relevant: int | None = None,
    notes: Iterable[str] = (),
) -> RunScore:
    """Score rankings (cut to 1,000 already) by the measures of a task, and by further ones.

    `relevant` is the least grade that counts as relevant, by default that of the task; `notes` are
    put before the warnings. Without rankings all scores are 0. Raises InputError if the qrels judge
    no topic of the rankings.
    """
    if relevant is None:
        relevant = rules.relevant
    measures = {measure.key: measure for measure in measures_of(rules)}
    for one in further:
        measures.setdefault(one.key, one)

    answered = {topic: len(rankings[topic]) for topic in qrels if rankings.get(topic)}
    if rankings and not answered:
        raise InputError(
            f"the qrels judge none of the run's topics: the run has {_some(rankings)}, "
            f"the qrels {_some(qrels)}; are they of another task or year?"
        )

    judged = {topic: len(rankings[topic].keys() & qrels[topic].keys()) for topic in answered}

    result = RunScore(
        values=measure(rankings, qrels, list(measures.values()), relevant),
        counts={"topics": len(qrels), "topics_in_run": len(answered)},
        relevant=relevant,
        warnings=tuple(notes),
        primed=frozenset(key for key, named in measures.items() if named.primed),
        answered=answered,
        judged=judged,
        of_task=rules.shown,
        only_relevant=_least_grade(qrels) > 0,  # as in the judgments of duplicates
    )
    if not answered:
        return result

    doubts = _comparability_warnings(rankings, qrels, result)
    return replace(result, warnings=(*result.warnings, *doubts))


def _least_grade(qrels: Qrels) -> int:
    grades = [min(of_topic.values()) for of_topic in qrels.values() if of_topic]
    return min(grades, default=0)


def _comparability_warnings(
    rankings: Mapping[str, Ranking], qrels: Qrels, score: RunScore
) -> list[ComparabilityWarning]:
    """Return why the scores may mean nothing."""
    primed = score.primed.intersection(score.of_task)
    if primed and score.only_relevant:
        return [ComparabilityWarning(_ONLY_RELEVANT)]
    if primed and score.rows_judged == score.rows:
        return [ComparabilityWarning(_PRIME)]
    if score.rows_judged >= _LEAST_FOUND * score.rows:
        return []

    returned: set[str] = set()
    of_qrels: set[str] = set()
    for topic in score.answered:
        returned.update(rankings[topic])
        of_qrels.update(qrels[topic])

    common = len(returned & of_qrels)
    if common >= _LEAST_FOUND * min(len(returned), len(of_qrels)):
        return []

    doubt = (
        f"only {common:,} of the {len(of_qrels):,} judged ids are among the "
        f"{len(returned):,} ids of the run: are they ids of the same kind (answers, "
        "formulas, visual ids)?"
    )
    return [ComparabilityWarning(doubt)]


def _some(topics: Iterable[str]) -> str:
    names = list(topics)
    if not names:
        return "none"
    if len(names) == 1:
        return names[0]
    return f"{names[0]} … {names[-1]}"


def group_by_warning(notes: Iterable[tuple[str, Iterable[str]]]) -> dict[str, list[str]]:
    """Return the runs of each note; `notes` has the notes of each run."""
    runs: dict[str, list[str]] = {}
    for run, of_run in notes:
        for note in of_run:
            runs.setdefault(note, []).append(run)
    return runs


def shared_notes(notes: Collection[tuple[str, Iterable[str]]]) -> list[str]:
    """Return the notes of runs, each with the names of its runs unless it is of all."""
    shared = []
    for note, runs in group_by_warning(notes).items():
        of_all = len(runs) == len(notes)
        shared.append(note if of_all else f"{', '.join(runs)}: {note}")
    return shared


Answers = dict[str, str]  # topic -> id of its answer

OF_POSTS: Final = (
    "the answers are not judged themselves; these are estimates, by the grades of Task 1 for the "
    "posts that they are taken from"
)


def read_answer_map(path: Path) -> dict[str, Answers]:
    """Read the map of the organisers: rows `run, topic, d_N` between TABs or blanks.

    Raises InputError for a missing or binary file, another number of columns, and a second answer
    of a run to a topic.
    """
    runs: dict[str, Answers] = {}
    for row, columns in read_columns(path, "answer map"):
        if len(columns) != 3:
            raise InputError(
                f"{path}: row {row}: expected 3 columns (run, topic, d_N), found {len(columns)}"
            )
        run, topic, answer = columns
        if runs.setdefault(run, {}).setdefault(topic, answer) != answer:
            raise InputError(f"{path}: row {row}: a second answer of {run} to topic {topic}")

    return runs


def score_answers(
    answers: Mapping[str, str], qrels: Qrels, relevant: int = RELEVANT, notes: tuple[str, ...] = ()
) -> Score:
    """Score one answer per topic, over the judged ones; InputError without any judged answer."""
    values = {}
    for topic, judged in qrels.items():
        grade = judged.get(answers.get(topic, ""))
        if grade is not None:
            grade = grade if 0 <= grade <= HIGHEST else 0
            values[topic] = {"ar": float(grade), "p1": float(grade >= relevant)}

    if not answers:
        values = {topic: {"ar": 0.0, "p1": 0.0} for topic in qrels}
    if not values:
        raise InputError(
            "none of the run's answers is judged: are the judgments those of these topics, and "
            "their ids those of the answers (posts, or d_N of the answer map)?"
        )

    counts = {"topics": len(qrels), "topics_in_run": len(answers), "topics_judged": len(values)}
    return Score(values=values, counts=counts, relevant=relevant, warnings=notes)


_PREMISES: Final = RULES[PremiseRules.task]
_REFUSED: Final = "the official script refuses this"
EXPLANATION: Final = (
    "MAP@500 (official) averages precision over the relevant premises that were retrieved, "
    "as the shared task's script does; MAP@500 divides by all relevant premises."
)


def read_gold(path: Path) -> Qrels:
    """Read the relevant premises of a dev or train set, all with grade 1.

    Raises InputError as `collection.premises.read_statements` does, and for a set without
    premises, as the test set.
    """
    gold = {row.statement_id: dict.fromkeys(row.references, 1) for row in read_statements(path)}
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

    rankings: dict[str, Ranking] = {}
    judged: Qrels = {}
    for statement, premises in gold.items():
        listed = enumerate(predicted.get(statement, ()))
        rankings[statement] = {premise: -float(rank) for rank, premise in listed}
        judged[statement] = dict.fromkeys(premises, 1)

    values: TopicValues = {}
    for statement, of_statement in measure(rankings, judged, measures_of(_PREMISES)).items():
        official = of_statement["map_500"] / (of_statement["recall_500"] or 1)
        values[statement] = {"map_500_official": official, **of_statement}

    missing = len(gold.keys() - predicted.keys())
    short = sum(len(ranking) < DEPTH for ranking in rankings.values()) - missing
    warnings = []
    if missing:
        warnings.append(f"{missing:,} statements are not predicted and count 0; {_REFUSED}")
    if short:
        warnings.append(f"{short:,} statements have fewer than {DEPTH} premises; {_REFUSED}")
    return Score(
        values=values,
        counts={"statements": len(gold)},
        relevant=_PREMISES.relevant,
        warnings=tuple(warnings),
    )
