"""Task 3: one answer per topic, scored by its grade.

AR is the mean grade, P@1 the share of grades of 2 and more, both over the topics whose answer is
judged. The organisers gave each submitted answer an id per topic (`d_N`) and published a map from
run and topic to it beside the judgments. Grades 5 (system failure) and 6 (do not know) count 0.

A run that was not judged, but says which posts its answers are taken from, is scored by these: Task
1 has the same topics. These are estimates, as an answer may be a part of its post.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import HIGHEST, RELEVANT
from arqmath_bm25.runs.rows import read_columns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from arqmath_bm25.evaluation.qrels import Qrels

Answers = dict[str, str]  # topic -> id of its answer

KEYS: Final = ("ar", "p1")
OF_POSTS: Final = (
    "estimates: the answers are not judged themselves; grades are those of Task 1 for the posts "
    "that they are taken from"
)


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """Grades of the answers of one run."""

    grades: dict[str, int]  # judged topics of the run -> 0 … 3
    topics: int  # of the qrels
    topics_in_run: int
    note: str = ""  # what to know of the grades

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """Topic → measure → value."""
        return {
            topic: {"ar": float(grade), "p1": float(grade >= RELEVANT)}
            for topic, grade in self.grades.items()
        }

    def to_json(self) -> dict[str, Any]:
        """Return the numbers under the keys of `eval --json`."""
        return {
            "topics": self.topics,
            "topics_in_run": self.topics_in_run,
            "topics_judged": len(self.grades),
            **{key: fmean(one[key] for one in self.values.values()) for key in KEYS},
            **({"note": self.note} if self.note else {}),
        }


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


def score_answers(answers: Mapping[str, str], qrels: Qrels) -> AnswerScore:
    """Score one answer per topic; InputError if none of them is judged."""
    grades = {
        topic: grade if grade <= HIGHEST else 0
        for topic, judged in qrels.items()
        if (grade := judged.get(answers.get(topic, ""))) is not None
    }
    if not grades:
        raise InputError(
            "none of the run's answers is judged: are the judgments those of these topics, and "
            "their ids those of the answers (posts, or d_N of the answer map)?"
        )
    return AnswerScore(grades, len(qrels), len(answers))
