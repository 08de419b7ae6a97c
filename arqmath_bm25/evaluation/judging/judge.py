"""Annotations → judgments: the results CSVs of Turkle, back into qrels.

The grade of a formula (Task 2) is the highest of its instances. "System failure" and "Do not know"
are not judgments: they are left out and counted, as the labs did in Tasks 1 and 2. If assessors
give one hit different labels, a rule decides, which has to be named; without a rule, disagreements
must be resolved first, including an assessor's own.

Agreement is Cohen's kappa, as the labs report it for topics judged twice: a disagreement weighs 1
or, in quadratic kappa, the square of the distance of the grades; binary kappa distinguishes
relevant and not relevant only. Hits in dispute go into a CSV in which an adjudicator fills the
column `label`.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from arqmath_bm25.core.arrays import Floats, Ints
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import GRADE_OF_LABEL, GRADES, MAX_INSTANCES, RELEVANT
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.core.writing import complete
from arqmath_bm25.evaluation.judging.pool import natural_key
from arqmath_bm25.evaluation.qrels import Qrels

_KIND = "results file of a batch, as Turkle writes it"
COLUMNS = ("Input.topic_id", "Input.doc_id", "Input.post_1", "Answer.grade_1")

# Columns with the name of the assessor; the first one that is filled in counts.
_ASSESSOR = ("Turkle.Username", "WorkerId")

# How different labels of a hit become one. agreed: an error; highest: the best grade; first: the
# label of the first file and row; majority: the most frequent label, and of ties the best.
Rule = Literal["agreed", "highest", "first", "majority"]
RULES: tuple[Rule, ...] = get_args(Rule)


class HitKey(NamedTuple):
    """The key of a label: one post that is shown for a document of a topic."""

    topic_id: str
    doc_id: str
    post_id: str


class Annotation(NamedTuple):
    """One assessor's label of one hit."""

    hit: HitKey
    assessor: str
    label: str
    comment: str
    file: Path
    row: int  # the row of the CSV as a table, where the header is row 1


# The annotations of each hit, in the order of files and rows.
Annotations = dict[HitKey, list[Annotation]]


class JudgedBatch(NamedTuple):
    """Judgments, with an account of every annotation."""

    qrels: Qrels  # topics and documents in the order of their numbers
    labels: Counter[str]  # numbers of hits by their final label
    without_grade: int  # number of documents without a hit that has a grade
    settled: int  # number of hits with different labels


def read_annotations(files: Sequence[Path]) -> Annotations:
    """Read the annotations of batches, one of each assessor for a hit.

    Assessors are named by Turkle's columns, else by the file. Raises InputError for a file that is
    not a results CSV, a hit without label, an unknown label, and an assessor who gives a hit two
    different labels, naming the rows.
    """
    first_of = {}
    annotations: Annotations = {}
    for path in files:
        for annotation in _read(path):
            key = (annotation.hit, annotation.assessor)
            if key not in first_of:
                first_of[key] = annotation
                annotations.setdefault(annotation.hit, []).append(annotation)
            elif first_of[key].label != annotation.label:
                raise _unsettled(first_of[key], annotation)

    return annotations


def judge(
    annotations: Annotations,
    rule: Rule = "agreed",
    adjudicated: Mapping[HitKey, str] | None = None,
) -> JudgedBatch:
    """Make judgments from annotations: one label for each hit, adjudicated or by the rule.

    Raises InputError for a hit with different labels that neither settles.
    """
    adjudicated = adjudicated or {}
    labels = {}
    for hit, hit_annotations in annotations.items():
        labels[hit] = adjudicated.get(hit) or settle(hit_annotations, rule)

    qrels: Qrels = {}
    for hit in sorted(labels, key=lambda hit: [natural_key(name) for name in hit]):
        grade = GRADE_OF_LABEL[labels[hit]]
        if grade is not None:
            grades = qrels.setdefault(hit.topic_id, {})
            grades[hit.doc_id] = max(grade, grades.get(hit.doc_id, grade))

    documents = {(hit.topic_id, hit.doc_id) for hit in annotations}
    judged = sum(map(len, qrels.values()))
    return JudgedBatch(
        qrels,
        labels=Counter(labels.values()),
        without_grade=len(documents) - judged,
        settled=len(_disputed_hits(annotations)),
    )


def _disputed_hits(annotations: Annotations) -> Annotations:
    """Return the hits to which assessors gave different labels."""
    disputed = {}
    for hit, hit_annotations in annotations.items():
        if len({annotation.label for annotation in hit_annotations}) > 1:
            disputed[hit] = hit_annotations
    return disputed


def settle(annotations: list[Annotation], rule: Rule = "agreed") -> str:
    """Return the label of a hit by a rule; InputError if assessors must agree and do not."""
    first = annotations[0]
    counts = Counter(annotation.label for annotation in annotations)

    # Labels are listed from the best grade down; labels without a grade come last.
    order = list(GRADE_OF_LABEL)
    match rule:
        case "first":
            return first.label
        case "highest":
            return min(counts, key=order.index)
        case "majority":
            return min(counts, key=lambda label: (-counts[label], order.index(label)))

    for annotation in annotations:
        if annotation.label != first.label:
            raise _unsettled(first, annotation)

    return first.label


def _unsettled(first: Annotation, other: Annotation) -> InputError:
    """Return the error of two different labels for one hit."""
    where = f"row {first.row}"
    if first.file != other.file:
        where += f" of {first.file}"
    rule = ""
    if first.assessor != other.assessor:
        rule = f", or name a rule: {', '.join(RULES[1:])}"
    return InputError(
        f"{other.file}: row {other.row}: post {other.hit.post_id} for topic {other.hit.topic_id} "
        f"is {shown(other.label)}, in {where} {shown(first.label)}; settle which it is and "
        f"keep that row{rule}"
    )


def _read(path: Path) -> Iterator[Annotation]:
    """Yield every labelled hit of a results CSV."""
    rows = read_csv(path, _KIND, *COLUMNS)
    for number, row in enumerate(rows, 2):
        assessor = path.name
        for column in reversed(_ASSESSOR):
            assessor = row.get(column) or assessor

        topic = row["Input.topic_id"]
        doc = row["Input.doc_id"]
        if not topic or not doc:
            raise InputError(f"{path}: row {number}: Input.topic_id or Input.doc_id is empty")

        for index in range(1, MAX_INSTANCES + 1):
            post = row.get(f"Input.post_{index}")
            if post:
                hit = HitKey(topic, doc, post)
                label = read_label(path, number, row, f"Answer.grade_{index}")
                comment = row.get(f"Answer.comment_{index}", "").strip()
                yield Annotation(hit, assessor, label, comment, path, number)


def read_label(path: Path, number: int, row: Mapping[str, str], column: str) -> str:
    """Return the label in a column of row `number`; InputError unless GRADE_OF_LABEL has it."""
    label = row.get(column, "").strip()
    if label not in GRADE_OF_LABEL:
        expected = f"expected one of {', '.join(GRADE_OF_LABEL)}"
        raise InputError(f"{path}: row {number}: {column} is {shown(label)}; {expected}")
    return label


class Agreement(NamedTuple):
    """Agreement of two assessors; kappa is NaN where chance alone makes them agree."""

    assessors: tuple[str, str]
    hits: int  # number of hits to which both gave a grade
    kappa: float  # every disagreement weighs 1
    quadratic: float  # a disagreement weighs the square of the distance
    binary: float  # relevant or not relevant


def agreements(annotations: Annotations) -> list[Agreement]:
    """Compare every two assessors who gave a grade to the same hits."""
    pairs = dict[tuple[str, str], list[tuple[int, int]]]()
    for hit_annotations in annotations.values():
        grades = {}
        for annotation in hit_annotations:
            grade = GRADE_OF_LABEL[annotation.label]
            if grade is not None:
                grades[annotation.assessor] = grade

        for first, second in combinations(sorted(grades), 2):
            pair = (grades[first], grades[second])
            pairs.setdefault((first, second), []).append(pair)

    classes = len(GRADES)
    found = []
    for assessors in sorted(pairs):
        given = np.array(pairs[assessors])
        relevant = (given >= RELEVANT).astype(int)
        weighted = [
            kappa(given, 1.0 - np.eye(classes)),
            kappa(given, np.subtract.outer(np.arange(classes), np.arange(classes)) ** 2.0),
            kappa(relevant, 1.0 - np.eye(2)),
        ]
        found.append(Agreement(assessors, len(given), *weighted))
    return found


def kappa(pairs: Ints, weights: Floats) -> float:
    """Return Cohen's weighted kappa (Psychological Bulletin 70, 1968) of pairs of grades from 0 on.

    `weights` has the cost of each disagreement. NaN if chance alone explains all agreement.
    """
    observed = np.zeros(weights.shape)
    np.add.at(observed, tuple(pairs.T), 1)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / len(pairs)

    cost = (weights * observed).sum()
    cost_by_chance = (weights * expected).sum()
    if not cost_by_chance:
        return math.nan
    return 1 - float(cost / cost_by_chance)


_KEY = HitKey._fields


def write_disagreements(path: Path, annotations: Annotations) -> int:
    """Write the hits with different labels and return their number.

    A row has the hit, the empty column `label`, and for each assessor the label and the comment.
    Raises InputError if the file exists and has labels, or other columns.
    """
    if path.is_file() and read_adjudication(path):
        raise InputError(
            f"{path}: somebody has filled in labels; name another file for the disagreements"
        )

    assessors = set()
    rows = []
    disputed = _disputed_hits(annotations)
    for hit, hit_annotations in disputed.items():
        row = hit._asdict()
        for annotation in hit_annotations:
            assessor = annotation.assessor
            assessors.add(assessor)
            row[f"label of {assessor}"] = annotation.label
            comment = annotation.comment
            if comment.startswith(("=", "+", "-", "@", "\t", "\r")):
                comment = f"'{comment}"  # no spreadsheet executes it
            row[f"comment of {assessor}"] = comment
        rows.append(row)

    columns = [*_KEY, "label"]
    for assessor in sorted(assessors):
        columns += [f"label of {assessor}", f"comment of {assessor}"]

    with complete(path, by_user=True) as file:
        table = csv.DictWriter(file, columns, restval="", quoting=csv.QUOTE_ALL)
        table.writeheader()
        table.writerows(rows)

    return len(disputed)


def read_adjudication(path: Path) -> dict[HitKey, str]:
    """Read the file of `write_disagreements` with labels filled in; other rows are skipped.

    Raises InputError for a missing file, other columns, and an unknown label.
    """
    labels = {}
    rows = read_csv(path, "file of adjudicated hits", *_KEY, "label")
    for number, row in enumerate(rows, 2):
        if row["label"].strip():
            hit = HitKey(row["topic_id"], row["doc_id"], row["post_id"])
            labels[hit] = read_label(path, number, row, "label")
    return labels
