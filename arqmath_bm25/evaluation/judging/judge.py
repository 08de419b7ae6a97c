"""Annotations → judgments: the results CSVs of Turkle, back into qrels.

The grade of a formula (Task 2) is the highest of its instances. "System failure" and "Do not know"
are no judgments: they are left out and counted, as the labs did in Tasks 1 and 2. What several
assessors say of one hit is settled by a rule that has to be named; without one, those who disagree
must settle it first, as one assessor must who says two things.

Agreement is Cohen's kappa, as the labs report it for topics judged twice: a disagreement weighs 1
or, in quadratic kappa, the square of the distance of the grades; binary kappa knows relevant and
not relevant alone. Hits in dispute go into a CSV in which an adjudicator fills the
column `label`.
"""

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import GRADE_OF_LABEL, GRADES, MAX_INSTANCES, RELEVANT
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.core.writing import complete
from arqmath_bm25.evaluation.judging.pool import in_order
from arqmath_bm25.evaluation.qrels import Qrels

_KIND = "results file of a batch, as Turkle writes it"
COLUMNS: Final = ("Input.topic_id", "Input.doc_id", "Input.post_1", "Answer.grade_1")
_ASSESSOR = ("Turkle.Username", "WorkerId")  # columns that name who gave the labels

# agreed: all the same, or an error; highest: the best grade; first: of the first file and row;
# majority: the label given most often, of equally many the best.
Rule = Literal["agreed", "highest", "first", "majority"]
RULES: Final[tuple[Rule, ...]] = get_args(Rule)


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
    row: int  # of the CSV as a table, the header being row 1


Annotations = dict[HitKey, list[Annotation]]  # in the order of files and rows


class JudgedBatch(NamedTuple):
    """Judgments, with an account of every annotation."""

    qrels: Qrels  # topics and documents in the order of their numbers
    labels: Counter[str]  # hits by the label that they were given in the end
    without_grade: int  # documents of which no hit was given a grade
    settled: int  # hits of which assessors had said different things


def read_annotations(files: Sequence[Path]) -> Annotations:
    """Read the annotations of batches, one of each assessor for a hit.

    Assessors are named by Turkle's columns, else by the file. Raises InputError for a file that is
    no results CSV, a hit without label, an unknown label, and an assessor who gives a hit two
    different labels, naming the rows.
    """
    annotations: dict[HitKey, dict[str, Annotation]] = {}
    for path in files:
        for annotation in _read(path):
            of_hit = annotations.setdefault(annotation.hit, {})
            first = of_hit.setdefault(annotation.assessor, annotation)
            if first.label != annotation.label:
                raise _unsettled(first, annotation)

    return {hit: list(by_assessor.values()) for hit, by_assessor in annotations.items()}


def judge(
    annotations: Annotations, rule: Rule = "agreed", adjudicated: Mapping[HitKey, str] | None = None
) -> JudgedBatch:
    """Make judgments of annotations: one label for each hit, adjudicated or by the rule.

    Raises InputError for a hit with different labels that neither settles.
    """
    labels = {}
    for hit, notes in annotations.items():
        labels[hit] = (adjudicated or {}).get(hit) or settle(notes, rule)

    best: Qrels = {}
    for hit, label in labels.items():
        grade = GRADE_OF_LABEL[label]
        if grade is not None:
            grades = best.setdefault(hit.topic_id, {})
            grades[hit.doc_id] = max(grade, grades.get(hit.doc_id, grade))

    qrels: Qrels = {}
    for topic in sorted(best, key=in_order):
        qrels[topic] = {doc: best[topic][doc] for doc in sorted(best[topic], key=in_order)}
    documents = {(hit.topic_id, hit.doc_id) for hit in annotations}
    without_grade = len(documents) - sum(map(len, qrels.values()))
    return JudgedBatch(qrels, Counter(labels.values()), without_grade, len(_disputed(annotations)))


def _disputed(annotations: Annotations) -> Annotations:
    """Return the hits to which assessors gave different labels."""
    disputed = {}
    for hit, notes in annotations.items():
        labels = {note.label for note in notes}
        if len(labels) > 1:
            disputed[hit] = notes
    return disputed


def settle(notes: list[Annotation], rule: Rule = "agreed") -> str:
    """Return the label of a hit by a rule; InputError if assessors should agree, and do not."""
    order = list(GRADE_OF_LABEL)  # best first, no judgment last
    counts = Counter(note.label for note in notes)
    match rule:
        case "first":
            return notes[0].label
        case "highest":
            return min(counts, key=order.index)
        case "majority":
            return min(counts, key=lambda label: (-counts[label], order.index(label)))
    for note in notes:
        if note.label != notes[0].label:
            raise _unsettled(notes[0], note)

    return notes[0].label


def _unsettled(first: Annotation, other: Annotation) -> InputError:
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
    for number, row in enumerate(read_csv(path, _KIND, *COLUMNS), 2):
        assessor = path.name
        for column in reversed(_ASSESSOR):
            assessor = row.get(column) or assessor
        topic, doc = row["Input.topic_id"], row["Input.doc_id"]
        if not topic or not doc:
            raise InputError(f"{path}: row {number}: Input.topic_id or Input.doc_id is empty")

        for hit in range(1, MAX_INSTANCES + 1):
            post = row.get(f"Input.post_{hit}")
            if post:
                label = read_label(path, number, row, f"Answer.grade_{hit}")
                comment = row.get(f"Answer.comment_{hit}", "").strip()
                yield Annotation(HitKey(topic, doc, post), assessor, label, comment, path, number)


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
    hits: int  # to which both gave a grade
    kappa: float  # of grades
    quadratic: float
    binary: float


def agreements(annotations: Annotations) -> list[Agreement]:
    """Compare every two assessors who gave a grade to the same hits."""
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for notes in annotations.values():
        grades = {note.assessor: GRADE_OF_LABEL[note.label] for note in notes}
        for first, second in combinations(sorted(grades), 2):
            grade, other = grades[first], grades[second]
            if grade is not None and other is not None:
                pairs.setdefault((first, second), []).append((grade, other))

    return [_agreement(assessors, np.array(pairs[assessors])) for assessors in sorted(pairs)]


def _agreement(assessors: tuple[str, str], grades: NDArray[np.int64]) -> Agreement:
    classes = len(GRADES)
    relevant = (grades >= RELEVANT).astype(int)

    graded = kappa(grades, unweighted(classes))
    quadratic = kappa(grades, squared(classes))
    binary = kappa(relevant, unweighted(2))

    return Agreement(assessors, len(grades), graded, quadratic, binary)


def unweighted(classes: int) -> NDArray[np.float64]:
    """Weigh every disagreement 1."""
    return 1.0 - np.eye(classes)


def squared(classes: int) -> NDArray[np.float64]:
    """Weigh a disagreement by the square of the distance of the grades."""
    grades = np.arange(classes)
    return np.subtract.outer(grades, grades).astype(float) ** 2


def kappa(pairs: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """Return Cohen's weighted kappa (Psychological Bulletin 70, 1968) of pairs of grades from 0 on.

    `weights` has the cost of each disagreement. NaN if chance alone explains all agreement.
    """
    observed = np.zeros(weights.shape)
    np.add.at(observed, (pairs[:, 0], pairs[:, 1]), 1)

    rows, columns = observed.sum(axis=1), observed.sum(axis=0)
    expected = np.outer(rows, columns) / len(pairs)

    by_chance = (weights * expected).sum()
    if not by_chance:
        return math.nan
    return 1 - float((weights * observed).sum() / by_chance)


_KEY: Final = HitKey._fields


def write_disagreements(path: Path, annotations: Annotations) -> int:
    """Write the hits with different labels and return their number.

    A row has the hit, the empty column `label`, and for each assessor the label and the comment.
    Raises InputError for a file that is there and has labels, or is no such file.
    """
    if path.exists() and read_adjudication(path):
        raise InputError(
            f"{path}: somebody has filled in labels; name another file for the disagreements"
        )

    disputed = _disputed(annotations)
    assessors = sorted({note.assessor for notes in disputed.values() for note in notes})
    columns = [f"{kind} of {name}" for name in assessors for kind in ("label", "comment")]
    with complete(path, by_user=True) as file:
        table = csv.DictWriter(file, [*_KEY, "label", *columns], restval="", quoting=csv.QUOTE_ALL)
        table.writeheader()
        for hit, notes in disputed.items():
            row = hit._asdict()
            for note in notes:
                row[f"label of {note.assessor}"] = note.label
                row[f"comment of {note.assessor}"] = _inert(note.comment)
            table.writerow(row)

    return len(disputed)


def _inert(text: str) -> str:
    """Keep a spreadsheet from executing an assessor's text."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def read_adjudication(path: Path) -> dict[HitKey, str]:
    """Read the file of `write_disagreements` with labels filled in; rows without one are skipped.

    Raises InputError for a missing file, one of other columns, and an unknown label.
    """
    labels = {}
    rows = read_csv(path, "file of adjudicated hits", *_KEY, "label")
    for number, row in enumerate(rows, 2):
        if row["label"].strip():
            hit = HitKey(row["topic_id"], row["doc_id"], row["post_id"])
            labels[hit] = read_label(path, number, row, "label")
    return labels
