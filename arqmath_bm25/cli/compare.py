"""The command `compare`: whether one run is better than another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from arqmath_bm25.cli.shared import score_tables
from arqmath_bm25.cli.shared.scoring import Scoring, grouped
from arqmath_bm25.evaluation.measure_names import further_measures
from arqmath_bm25.evaluation.topic_sets import by_category, read_topic_info

_DEEP: Final = 10  # ranks that are looked at by --why


@grouped
def compare(
    scoring: Scoring,
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN RUN...", help="The first is compared with each of the others."),
    ],
    measure: Annotated[
        str | None,
        typer.Option(
            help="What to compare: a key of eval --json, or a measure as eval takes it. "
            "Default: ndcg_prime; ar for task3, map_500_official for nlps.",
        ),
    ] = None,
    topics_too: Annotated[
        bool, typer.Option("--topic-values", help="Print the values of every topic as well.")
    ] = False,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC",
            help="Which documents of a topic moved from the first run to the second, with their "
            "grades, and what changed their scores where an index explains it.",
        ),
    ] = None,
    why_indexes: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="With --why: the indexes of each run. Default: --indexes for both."
        ),
    ] = None,
) -> None:
    """Compare runs topic by topic with the first one: wins, paired tests, intervals.

    Example: arqmath-bm25 compare a.tsv b.tsv c.tsv --qrels qrel_official_task1 --measure map_prime
    """
    from arqmath_bm25.evaluation.comparing import compare_runs  # scipy takes a second to load
    from arqmath_bm25.evaluation.rank_changes import moves

    info = read_topic_info(*scoring.topic_info) if scoring.topic_info else {}
    evaluator = scoring.evaluator(runs, further_measures(measure))
    scored = scoring.score(evaluator, runs)
    found = compare_runs(scored, measure)
    categories = by_category(found.values, info) if info else []
    if scoring.write(scored, lambda: json.dumps(found.to_json(categories), indent=1)):
        score_tables.print_comparison(found, categories, topics_too)
        if why is not None:
            places = why_indexes or [scoring.indexes]
            moved, unexplained = moves(evaluator.collection, scored[:2], why, _DEEP, places)
            score_tables.print_moves(why, moved, unexplained)
