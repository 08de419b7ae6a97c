"""Task 3: one answer per topic, scored by its grade.

AR is the mean grade, P@1 the share of grades of 2 and more, both over the topics whose answer is
judged. The organisers gave each submitted answer an id per topic (`d_N`) and published a map from
run and topic to it beside the judgments. Grades 5 (system failure) and 6 (do not know) count 0.

A run that was not judged, but says which posts its answers are taken from, is scored by these: Task
1 has the same topics. These are estimates, as an answer may be a part of its post.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import HIGHEST, RELEVANT
from arqmath_bm25.evaluation.measures import ANSWER_KEYS
from arqmath_bm25.evaluation.qrels import Qrels
from arqmath_bm25.evaluation.score import Score
from arqmath_bm25.runs.rows import read_columns

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


def score_answers(answers: Mapping[str, str], qrels: Qrels, notes: tuple[str, ...] = ()) -> Score:
    """Score one answer per topic, over the judged ones; InputError if none of them is judged."""
    values = {}
    for topic, judged in qrels.items():
        grade = judged.get(answers.get(topic, ""))
        if grade is not None:
            grade = grade if grade <= HIGHEST else 0
            both = float(grade), float(grade >= RELEVANT)
            values[topic] = dict(zip(ANSWER_KEYS, both, strict=True))
    if not values:
        raise InputError(
            "none of the run's answers is judged: are the judgments those of these topics, and "
            "their ids those of the answers (posts, or d_N of the answer map)?"
        )
    counts = {"topics": len(qrels), "topics_in_run": len(answers), "topics_judged": len(values)}
    return Score(values=values, counts=counts, warnings=notes)
