"""Is the pool fair to a run that did not help to make it? Leave out what one team alone brought.

A document is judged because some run returned it high up. Without the documents that only the runs
of one team did (down to the depth of the pool), its runs stand as if they came after the judging
(J. Zobel, How reliable are the results of large-scale information retrieval experiments?, SIGIR
1998). Documents that none of the given runs has so high up stay judged: other runs brought them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RELEVANT, official_stem, parse_run_name
from arqmath_bm25.evaluation.measures import MEASURES
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.runs.run import best

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from arqmath_bm25.evaluation.measures import Measure
    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.runs.run import Ranking


class LeftOut(NamedTuple):
    """Scores without the judgments that one team alone brought."""

    team: str
    judgments: int  # that were left out
    relevant: int  # of these
    scores: dict[str, dict[str, float]]  # run -> measure -> average over all judged topics


def team_of(run: Path) -> str:
    """Return the team in an official file name, else the name itself: a run by itself."""
    name = parse_run_name(official_stem(run))
    return name.team if name is not None else official_stem(run)


def leave_out(
    runs: Mapping[str, Mapping[str, Ranking]],
    teams: Mapping[str, str],
    qrels: Qrels,
    depth: int,
    measures: Sequence[Measure] = MEASURES,
) -> list[LeftOut]:
    """Score all runs without what each team brought; first with everything, under the team ``.

    `runs` are run → topic → ranking, `teams` run → team, `depth` is how many hits of a run were
    pooled. A topic without any judgment left is no topic any more. Raises InputError if a team has
    brought all that there is.
    """
    brought: dict[str, dict[str, set[str]]] = {}  # topic -> document -> teams
    for run, topics in runs.items():
        for topic in qrels.keys() & topics.keys():
            docs = brought.setdefault(topic, {})
            for doc in best(topics[topic], depth):
                docs.setdefault(doc, set()).add(teams[run])
    found = []
    for team in ["", *dict.fromkeys(teams[run] for run in runs)]:
        kept = {
            topic: {d: g for d, g in grades.items() if brought.get(topic, {}).get(d) != {team}}
            for topic, grades in qrels.items()
        }
        left = [
            grade
            for topic, grades in qrels.items()
            for doc, grade in grades.items()
            if doc not in kept[topic]
        ]
        kept = {topic: grades for topic, grades in kept.items() if grades}
        if not kept:
            raise InputError(f"{team} alone brought every judgment: nothing is left without it")
        scores = {run: score(topics, kept, measures).averages() for run, topics in runs.items()}
        found.append(LeftOut(team, len(left), sum(grade >= RELEVANT for grade in left), scores))
    return found
