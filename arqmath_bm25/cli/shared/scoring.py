"""What `eval` and `compare` share: their options, and runs scored for each year."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from arqmath_bm25.cli.shared.options import write
from arqmath_bm25.collection.collection import INDEXES, Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import YEARS, Task, Year
from arqmath_bm25.core.progress import console
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.evaluator import Evaluator, Scored
from arqmath_bm25.evaluation.measures import Measure
from arqmath_bm25.evaluation.qrels import IdKind
from arqmath_bm25.runs.provenance import provenance


@dataclass
class Scoring:
    """Options of the judgments by which runs are scored, and of what is written of the scores."""

    task: Literal["all", Task] = "all"
    qrels: Path | None = None
    data: Path | None = None
    topics: list[str] | None = None
    json_file: Path | None = None
    per_topic: Path | None = None
    topics_with_grade: int = 0
    no_cut: bool = False
    ids: IdKind | None = None
    answer_map: Path | None = None
    indexes: Path = INDEXES

    def evaluator(
        self,
        runs: Sequence[Path] | None,
        measures: Iterable[Measure] = (),
        progress: Callable[[int], None] = lambda _: None,
    ) -> Evaluator:
        """Return what scores the runs."""
        return Evaluator(
            Collection(data_of(runs, self.data), self.indexes), qrels=self.qrels, ids=self.ids,
            cut=not self.no_cut, answer_map=self.answer_map, measures=measures,
            least_grade=self.topics_with_grade, progress=progress,
        )  # fmt: skip

    def score(self, evaluator: Evaluator, runs: Iterable[Path]) -> list[Scored]:
        """Score runs, against each of the years given."""
        years: Sequence[Year | None] = self.years or [None]
        return [evaluator.score(run, self.chosen_task, year) for run in runs for year in years]

    @property
    def chosen_task(self) -> Task | None:
        """The task of `--task`, None for all."""
        return None if self.task == "all" else self.task

    @property
    def years(self) -> list[Year]:
        """The years of `--topics`; InputError for what is none."""
        for name in self.topics or ():
            if name not in YEARS:
                raise InputError(
                    f"--topics {name}: expected {', '.join(YEARS)}; for judgments of other topics "
                    "give --qrels FILE"
                )
        return [year for year in YEARS if year in (self.topics or ())]

    def write(self, scored: Sequence[Scored], content: Callable[[], str]) -> bool:
        """Write what is asked for as files; tell whether tables are to be printed as well."""
        if self.json_file is not None:
            write(self.json_file, content() + "\n")
        if self.per_topic is not None:
            write(self.per_topic, _per_topic_csv(scored))
        return str(self.json_file) != "-"


def _per_topic_csv(scored: Sequence[Scored]) -> str:
    rows = [
        {"run": run.run, "task": run.task, "topic": topic, **values}
        for run in scored
        for topic, values in run.score.values.items()
    ]
    text = io.StringIO()
    columns = dict.fromkeys(["run", "task", "topic", *(key for row in rows for key in row)])
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def data_of(runs: Sequence[Path] | None, data: Path | None) -> Path | None:
    """Return DATA: what was given, else what the manifest beside the first run tells."""
    if data is not None or not runs:
        return data
    made_of = provenance(runs[0])
    if made_of.data in (None, SAMPLE):
        return None
    console.print(f"DATA={made_of.data} (from the manifest beside {runs[0]})", soft_wrap=True)
    return made_of.data
