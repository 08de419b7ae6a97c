"""The command `compare`: whether one run is better than another."""

import json
from pathlib import Path
from typing import Final

from arqmath_bm25.cli.shared import score_tables
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.scoring import Scoring
from arqmath_bm25.evaluation.measures import named_measures

_DEEP: Final = 10  # ranks that are looked at by --why


@command
def compare(
    scoring: Scoring,
    runs: list[Path],
    measure: str | None = None,
    topic_values: bool = False,
    why: str | None = None,
    why_indexes: list[Path] | None = None,
) -> None:
    """Compare runs topic by topic with the first one: wins, paired tests, intervals.

    Example: arqmath-bm25 compare a.tsv b.tsv c.tsv --qrels qrel_official_task1 --measure map_prime
    """
    from arqmath_bm25.evaluation.comparing import compare_runs  # scipy takes a second to load
    from arqmath_bm25.evaluation.rank_changes import moves

    evaluator = scoring.evaluator(runs, named_measures(*filter(None, [measure])))
    scored = scoring.score(evaluator, runs)
    compared = compare_runs(scored, measure)
    if scoring.write(scored, lambda: json.dumps(compared.to_json(), indent=1)):
        score_tables.print_comparison(compared, topic_values)
        if why is not None:
            places = why_indexes or [scoring.indexes]
            moved, unexplained = moves(evaluator.collection, scored[:2], why, _DEEP, places)
            score_tables.print_moves(why, moved, unexplained)
