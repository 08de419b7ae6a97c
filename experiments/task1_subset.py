"""Task 1 on the subset `arqmath-lite`: what each choice of configs/task1.yaml is worth.

    python -m experiments.task1_subset [DATA]

DATA (default: data/arqmath-lite below ARQMATH_SHARED) is a real subset of the collection in the
official layout, with `qrels_lite/`: the official judgments, cut to its posts. So few of its posts
are judged that prime scores are near their ceiling; variants are compared by nDCG and MAP over the
whole subset, with unjudged answers as not relevant, on topics with an answer of grade 2 or more.
The scores are NOT comparable to published ones. One configuration serves all years.

Peers, measured on the same data by the same rules, are in README.md. Takes about three minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.core.configuration import default_config, load
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.answers.answer_retrieval import AnswerRetrieval
from arqmath_bm25.tasks.settings import Task1Settings
from experiments.subset import grid, subset
from experiments.tuning.coordinate_search import changed

if TYPE_CHECKING:
    from collections.abc import Iterator

OPERATORS = ("body_operators", "question_operators", "title_operators")


def reweighed(settings: Task1Settings, **weights: float) -> Task1Settings:
    """Return the settings with other weights of fields in the variant `both`."""
    return changed(settings, variants__both={**settings.weights("both"), **weights})


def conditions(default: Task1Settings) -> Iterator[tuple[str, AnswerRetrieval, str]]:
    """Name the settings to compare, with the variant or fusion that is run."""
    weights = default.weights("both")
    own = {field: weights[field] for field in ("contents", "body_operators")}
    ngrams = {"body_math": 0.15, "question_math": 0.15, "title_math": 0.075}
    alternatives = [
        ("both, first stage alone", changed(default, rerank={})),
        *((f"both, no {field}", reweighed(default, **{field: 0})) for field in weights),
        ("both, no operators", reweighed(default, **dict.fromkeys(OPERATORS, 0))),
        ("both, operators x 0.5", reweighed(default, **dict.fromkeys(OPERATORS, 0.2))),
        ("both, operators x 2", reweighed(default, **dict.fromkeys(OPERATORS, 0.8))),
        ("both, n-grams too", reweighed(default, **ngrams)),
        ("both, answer alone", changed(default, variants__both=own)),
        ("both, all query terms", changed(default, query__max_terms={})),
        (
            "both, twice the query terms",
            changed(default, query__max_terms={"text": 60, "operators": 120}),
        ),
        ("both, thread x 0.5", changed(default, rerank__both__thread=0.5)),
        ("both, second stage on 1000", changed(default, rerank__both__depth=1000)),
        ("both, one k1 and b", changed(default, bm25__fields={})),
        ("k1 = 0.9, b = 0.4", changed(default, bm25={"k1": 0.9, "b": 0.4})),
        ("k3 = 8", changed(default, query__k3=8)),
        ("no stemming", changed(default, analysis__text__stemmer="none")),
    ]
    for variant in ("both", "text", "math"):
        yield f"{variant} (default)", AnswerRetrieval(default), variant
    for name, settings in alternatives:
        yield name, AnswerRetrieval(settings), "both"
    for name in ("task1_tokens", "task1_tfidf", "task1_bag", "task1_bag_text"):
        settings = load(Task1Settings, default_config(name))
        yield name, AnswerRetrieval(settings), settings.run.primary


if __name__ == "__main__":
    grid("Task 1", conditions(configured("task1").settings), "t1", subset())
