"""The commands `eval` and `compare`: scores of runs, and whether one is better than another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Final, Literal

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import (
    RUNS,
    command_line,
    data_of,
    print_table,
    refuse_repeated,
    write,
)
from arqmath_bm25.collection.collection import INDEXES, Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, RunTask, Year
from arqmath_bm25.core.progress import console, status
from arqmath_bm25.evaluation.comparing import Compared, Comparison, Move, compare_runs, moves
from arqmath_bm25.evaluation.evaluator import Evaluator, Scored
from arqmath_bm25.evaluation.measures import NAMES, Measure, named_measures
from arqmath_bm25.evaluation.qrels import IdKind
from arqmath_bm25.evaluation.score import EXPLANATION, RunScore, shared_notes
from arqmath_bm25.evaluation.topic_sets import read_topic_info, topic_sets
from arqmath_bm25.runs.task_rules import detect_task
from arqmath_bm25.tasks import trust

_ENDINGS: Final = {".tsv", ".trec", ".txt"}  # of NLPS: .txt
_IDS: Final = {"visual_v2": " (visual ids of v2)", "formula": " (formula ids)"}
_DEEP: Final = 10  # ranks that are looked at by --why
_CAUSES: Final = 5  # of a move


@dataclass
class Scoring:
    """Options that choose the judgments and the form in which scores are written."""

    task: Literal["all", RunTask] = "all"
    qrels: Path | None = None
    data: Path | None = None
    topics: list[str] | None = None
    json_file: Path | None = None
    per_topic: Path | None = None
    topics_with_grade: int = 0
    relevant: int | None = None
    no_cut: bool = False
    ids: IdKind | None = None
    answer_map: Path | None = None
    indexes: Path = INDEXES

    def evaluator(self, runs: Sequence[Path] | None, measures: Iterable[Measure]) -> Evaluator:
        """Return the evaluator of these options."""
        return Evaluator(
            Collection(data_of(runs, self.data), self.indexes), qrels=self.qrels, ids=self.ids,
            cut=not self.no_cut, answer_map=self.answer_map, measures=measures,
            least_grade=self.topics_with_grade, relevant=self.relevant,
        )  # fmt: skip

    def score(self, evaluator: Evaluator, runs: Iterable[Path]) -> list[Scored]:
        """Score runs against the judgments of each year."""
        years: Sequence[Year | None] = self.years or [None]
        return [evaluator.score(run, self.chosen_task, year) for run in runs for year in years]

    @property
    def chosen_task(self) -> RunTask | None:
        """The task of `--task`, None for all."""
        return None if self.task == "all" else self.task

    @property
    def years(self) -> list[Year]:
        """The years of `--topics`; InputError for anything else."""
        for name in self.topics or ():
            if name not in YEARS:
                raise InputError(
                    f"--topics {name}: expected {', '.join(YEARS)}; for judgments of other topics "
                    "give --qrels FILE"
                )
        return [year for year in YEARS if year in (self.topics or ())]

    def write(self, scored: Sequence[Scored], content: object) -> bool:
        """Write the files asked for; return whether to print tables as well."""
        texts: dict[Path, str] = {}
        if self.json_file is not None:
            texts[self.json_file] = json.dumps(content, indent=1, allow_nan=False) + "\n"
        if self.per_topic is not None:
            texts[self.per_topic] = _per_topic_csv(scored)
        write(texts)
        return str(self.json_file) != "-"


def _per_topic_csv(scored: Sequence[Scored]) -> str:
    from pandas import DataFrame  # takes half a second to load

    rows = [
        {"run": run.run, "task": run.task, "topic": topic, **values}
        for run in scored
        for topic, values in run.score.values.items()
    ]
    return DataFrame(rows).to_csv(index=False)


@command
def evaluate(
    scoring: Scoring,
    runs: list[Path] | None = None,
    run_folder: Path = RUNS,
    measure: list[str] | None = None,
    by: str | None = None,
    topic_info: list[Path] | None = None,
) -> None:
    """Score runs as the labs do.

    Without RUN every run in RUNS/COLLECTION/YEAR (of NLPS: in dev) is scored against the official
    judgments. Scores are averages over every judged topic; a topic that the run lacks counts 0.

    Example: arqmath-bm25 eval myrun.tsv --qrels qrel_official_task1 --measure nDCG@10
    """
    with status("Scoring"):
        evaluator = scoring.evaluator(runs, named_measures(*measure or ()))
        if runs:
            scored = scoring.score(evaluator, runs)
        elif scoring.answer_map is not None:
            scored = evaluator.score_answer_map()
        else:
            scored = list(_score_folder(evaluator, run_folder, scoring))
    sets: list[dict[str, list[str]]] = []
    ranked = [run for run in scored if by and isinstance(run.score, RunScore)]
    if by:
        if not topic_info:
            raise InputError(f"--by {by}: give the labels of the topics with --topic-info FILE")
        info = read_topic_info(*topic_info)
        sets = [topic_sets(run.score.values, info, by) for run in ranked]
    if scoring.write(scored, [run.to_json() for run in scored]):
        _print_scores(scored, [each.key for each in evaluator.measures])
        for run, of_run in zip(ranked, sets, strict=True):
            keys, averages = run.score.shown, run.score.averages
            rows = [
                [label, len(topics), *map(averages(topics).get, keys)]
                for label, topics in of_run.items()
            ]
            print_table(f"{run.run} by {by}", ["topics", "number", *_names(keys)], rows)


def _score_folder(evaluator: Evaluator, folder: Path, scoring: Scoring) -> Iterator[Scored]:
    """Score every run of the collection that has official judgments; name those left out."""
    collection, task = evaluator.collection, scoring.chosen_task
    folders: dict[Path, Year | None] = {
        folder / collection.name / year: year for year in scoring.years or YEARS
    }
    if evaluator.own_documents:  # judged by queries, not by years
        folders = dict.fromkeys(sorted((folder / collection.name).glob("*/")))
    elif not scoring.years:
        files = collection.premises
        folders |= {folder / files.name / split: None for split in files.splits()}
    paths = [
        (path, year)
        for part, year in folders.items()
        for path in sorted(part.glob("*"))
        if path.suffix in _ENDINGS and task in (None, detect_task(path))
    ]
    if not paths:
        name = task or "all"
        data = collection.layout.data if collection.on_site else None
        run_it = command_line("run", name, data=data, runs=folder)
        of_task = f" of {task}" if task else ""
        raise InputError(
            f"no run files{of_task} in {folder / collection.name}: write them with "
            f"`{run_it}`, or name run files: eval RUN --qrels FILE"
        )
    for path, year in paths:
        if lacking := evaluator.lacks(path, path.parent.name):
            console.print(f"left out: {path}: {lacking}", soft_wrap=True)
        else:
            yield evaluator.score(path, year=year)


def _names(keys: Iterable[str]) -> list[str]:
    return [NAMES.get(key, key) for key in keys]


def _print_scores(scored: Sequence[Scored], extra: Sequence[str] = ()) -> None:
    """Print one table for each task and judgments; `extra` are keys to show beside the usual."""
    for (task, qrels), group in groupby(scored, lambda run: (run.task, run.judgments.file)):
        runs = list(group)
        keys = list(dict.fromkeys([*runs[0].score.shown, *extra]))
        notes = [(run.run, _notes(run, keys)) for run in runs]
        premises = "statements" in runs[0].score.counts
        judgments = qrels.name + _IDS.get(runs[0].judgments.ids or "", "")
        relevant = f"relevant: grade {runs[0].score.relevant} or more" if not premises else ""
        print_table(
            " · ".join(filter(None, [task, runs[0].year, judgments, relevant])),
            ["run", "statements" if premises else "judged topics", *_names(keys)],
            [[run.run, _count(run), *map(run.to_json().get, keys)] for run in runs],
            [*shared_notes(notes), *([EXPLANATION] if premises else [])],
        )


def _count(run: Scored) -> str:
    """Return how many of the judged topics the run has."""
    topics, *parts = run.score.counts.values()
    return f"{parts[-1]} of {topics}" if parts else str(topics)


def _notes(run: Scored, keys: Sequence[str]) -> list[str]:
    notes = [f"warning: {warning}" for warning in run.score.warnings]
    if isinstance(run.score, RunScore):
        everywhere, own = run.score.averages(), run.score.averages_of_run_topics()
        differing: dict[str, list[str]] = {}
        for key in keys:
            if abs(everywhere[key] - own[key]) > 5e-5:
                value = f"{NAMES.get(key, key)} {own[key]:.4f}"
                differing.setdefault(run.score.averaged_over(key), []).append(value)
        notes[:0] = [
            f"averaged over the {topics}, not all {len(run.score.values)}: {', '.join(values)}"
            for topics, values in differing.items()
        ]
    return notes


@command
def compare(
    scoring: Scoring,
    runs: list[Path],
    measure: str | None = None,
    why: str | None = None,
    why_indexes: list[Path] | None = None,
    config: list[Path] | None = None,
) -> None:
    """Compare runs topic by topic with the first one: wins, paired tests, intervals.

    Example: arqmath-bm25 compare a.tsv b.tsv c.tsv --qrels qrel_official_task1 --measure map_prime
    """
    refuse_repeated(runs)
    trust(config or ())
    evaluator = scoring.evaluator(runs, named_measures(*filter(None, [measure])))
    scored = scoring.score(evaluator, runs)
    compared = compare_runs(scored, measure)
    if scoring.write(scored, compared.to_json()):
        _print_comparison(compared)
        if why is not None:
            places = why_indexes or [scoring.indexes]
            moved, unexplained = moves(evaluator.collection, scored[:2], why, _DEEP, places)
            _print_moves(why, moved, unexplained)


def _print_comparison(compared: Compared) -> None:
    """Print the mean of the first run, and the tests of each other run against it."""
    (name,), runs = _names([compared.measure]), list(compared.values)
    topics = compared.values[runs[0]]
    header = "run,mean,difference,95 % interval,wins/ties/losses,p t-test,Holm,p randomization,Holm"
    print_table(
        f"{name} of {len(topics)} topics (relevant: grade {compared.relevant} or more), "
        f"compared with {runs[0]} ({fmean(topics.values()):.4f})",
        header.split(","),
        map(_compared, compared.comparisons),
        [f"warning: {warning}" for warning in compared.warnings],
    )


def _compared(run: Comparison) -> list[object]:
    tests = (run.t_test_p, run.t_test_holm, run.randomization_p, run.randomization_holm)
    return [
        run.run, run.mean, f"{run.difference:+.4f}", f"{run.low:+.4f} … {run.high:+.4f}",
        f"{run.wins}/{run.ties}/{run.losses}", *(p if p >= 0.0001 else "< 0.0001" for p in tests),
    ]  # fmt: skip


def _print_moves(topic: str, moved: Sequence[Move], unexplained: Sequence[str] = ()) -> None:
    """Print which documents moved, and the parts of their scores that changed most."""
    rows = []
    for move in moved:
        causes = [f"{name} {a:.1%} → {b:.1%}" for name, a, b in move.causes()[:_CAUSES] if a != b]
        grade = "–" if move.grade is None else move.grade
        rows.append([move.doc_id, grade, *(rank or "–" for rank in move.ranks), ", ".join(causes)])
    parts = "what its score is made of, in shares of the best score"
    header = ["document", "grade", "from rank", "to", parts]
    print_table(f"{topic}: what moved, and why", header, rows, unexplained, left=[parts])
