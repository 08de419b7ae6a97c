"""The command `compare`: whether one run is better than another."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arqmath_bm25.cli.shared import options, score_tables, scoring
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation import answers, measures, nlps
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.measure_names import named_measures
from arqmath_bm25.evaluation.topic_sets import by_category, read_topic_info

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.evaluation.evaluator import Scored
    from arqmath_bm25.evaluation.measures import Measure

_DEEP: Final = 10  # ranks that are looked at by --why


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN RUN...", help="The first is compared with each of the others."),
    ],
    task: scoring.TaskName = "all",
    qrels: scoring.QrelsFile = None,
    data: options.Data = None,
    topics: scoring.YearNames = None,
    formulas: scoring.Formulas = None,
    answer_map: scoring.AnswerMap = None,
    indexes: options.Indexes = options.INDEXES,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="What to compare: a key of eval --json, or a measure of trec_eval. "
            "Default: ndcg_prime; ar for task3, map_500_official for nlps.",
        ),
    ] = None,
    ids: scoring.Ids = None,
    topic_info: scoring.TopicInfo = None,
    topics_too: Annotated[
        bool, typer.Option("--topic-values", help="Print the values of every topic as well.")
    ] = False,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC",
            help="Which documents of a topic moved from the first run to the second, and what "
            "changed their scores.",
        ),
    ] = None,
    json_file: scoring.JsonFile = None,
    per_topic: scoring.PerTopic = None,
) -> None:
    """Compare runs topic by topic with the first one: wins, paired tests, intervals.

    Example: arqmath-bm25 compare a.tsv b.tsv c.tsv --qrels qrel_official_task1 --measure map_prime
    """
    from arqmath_bm25.evaluation import significance as comparing  # scipy takes a second to load
    from arqmath_bm25.evaluation.rank_changes import moves

    years = scoring.chosen_years(topics)
    info = read_topic_info(*topic_info) if topic_info else {}
    collection = Collection(scoring.data_of(runs, data), indexes)
    evaluator = Evaluator(
        collection, ids=ids, qrels=qrels,
        formulas=formulas, answer_map=answer_map, measures=_further(measure),
    )  # fmt: skip
    scored = list(scoring.score_runs(evaluator, runs, scoring.chosen_task(task), years))
    key, values = _values_of(scored, measure)
    comparisons = comparing.compare(values)
    categories = by_category(values, info) if info else []
    if json_file is not None:
        content = {
            "measure": key,
            "qrels": str(scored[0].qrels),
            "topics": len(next(iter(values.values()))),
            "means": {run: sum(found.values()) / len(found) for run, found in values.items()},
            "comparisons": [asdict(one) for one in comparisons],
            "categories": [asdict(one) for one in categories],
        }
        options.write(json_file, json.dumps(content, indent=1) + "\n")
    if per_topic is not None:
        options.write(per_topic, scoring.per_topic_csv(scored))
    if str(json_file) != "-":
        score_tables.print_comparison(key, values, comparisons, categories, topics_too)
        if why is not None:
            moved = moves(collection, evaluator, scored[:2], why, _DEEP)
            score_tables.print_moves(why, moved)


def _further(measure: str | None) -> tuple[Measure, ...]:
    """Return what must be measured beyond the usual for `measure` to be compared."""
    if measure is None or measure in (*measures.KEYS, *answers.KEYS, *nlps.KEYS):
        return ()
    return tuple(named_measures(measure.removesuffix("_prime")))


def _values_of(
    scored: Sequence[Scored], measure: str | None
) -> tuple[str, dict[str, dict[str, float]]]:
    """Return the measure and its values: run → topic → value."""
    first = scored[0]
    key = measure or next(iter(next(iter(first.score.values.values()))))
    values: dict[str, dict[str, float]] = {}
    for one in scored:
        if one.qrels != first.qrels or one.task != first.task:
            raise InputError(
                f"{one.file}: scored as {one.task} with {one.qrels}, but {first.file} as "
                f"{first.task} with {first.qrels}; runs can be compared on the same judgments only"
            )
        name = one.run if one.run not in values else str(one.file)
        values[name] = {topic: found[key] for topic, found in one.score.values.items()}
    return key, values
