"""What `eval` and `compare` share: their options, and runs scored for each year."""

from __future__ import annotations

import csv
import inspect
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH, TASKS, YEARS, Task, Year
from arqmath_bm25.core.progress import console
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.evaluator import Evaluator, Scored
from arqmath_bm25.evaluation.measures import Measure
from arqmath_bm25.evaluation.visual_qrels import IdKind
from arqmath_bm25.runs.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Callable


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, for each parameter of a dataclass, the options that are its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        of_group = get_type_hints(kind, include_extras=True) if is_dataclass(kind) else {}
        if of_group:
            groups[name] = kind
        for field in fields(kind) if of_group else ():
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(_parameter(field.name, of_group[field.name], default))
        if not of_group:
            parameters.append(_parameter(name, kind, parameter.default))

    @wraps(command)
    def called(**values: Any) -> None:
        for name, kind in groups.items():
            names = {field.name for field in fields(kind)} & values.keys()
            values[name] = kind(**{field: values.pop(field) for field in names})
        command(**values)

    del called.__wrapped__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


_JUDGMENTS = "Judgments and rankings"


@dataclass
class Scoring:
    """Runs are scored by these judgments."""

    task: Annotated[
        str, typer.Option(help=f"{', '.join(TASKS)}, or all: by the name or rows of each run.")
    ] = "all"
    qrels: Annotated[
        Path | None,
        typer.Option(help="Judgments to use instead of the official ones; for nlps the gold JSON."),
    ] = None
    data: options.Data = None
    topics: Annotated[
        list[str] | None,
        typer.Option(help="2020, 2021 or 2022; repeatable. Default: by the topics of each run."),
    ] = None
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything as JSON; - is standard output.")
    ] = None
    per_topic: Annotated[
        Path | None, typer.Option(help="Write the values of every topic as CSV.")
    ] = None
    topics_with_grade: Annotated[
        int,
        typer.Option(
            min=0, max=3, rich_help_panel=_JUDGMENTS,
            help="Score only topics with a judgment of this grade or a higher one.",
        ),
    ] = 0  # fmt: skip
    no_cut: Annotated[
        bool,
        typer.Option(
            "--no-cut", rich_help_panel=_JUDGMENTS,
            help=f"Score whole rankings, not the best {MAX_DEPTH:,} of a topic.",
        ),
    ] = False  # fmt: skip
    ids: Annotated[
        IdKind | None,
        typer.Option(
            rich_help_panel=_JUDGMENTS,
            help="Kind of ids in the Task 2 judgments. Default: by the file name, else by the ids.",
        ),
    ] = None
    formulas: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_JUDGMENTS, help="Formula TSVs for Task 2. Default: those of DATA."
        ),
    ] = None
    answer_map: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_JUDGMENTS,
            help="Task 3: which answer was judged; rows run, topic, d_N.",
        ),
    ] = None
    topic_info: Annotated[
        list[Path] | None,
        typer.Option(
            rich_help_panel=_JUDGMENTS,
            help="CSV of topic labels (Topic, Dependency, Difficulty, Category).",
        ),
    ] = None
    indexes: Annotated[
        Path, typer.Option(rich_help_panel=_JUDGMENTS, help="Where indexes are kept.")
    ] = options.INDEXES

    def evaluator(
        self,
        runs: Sequence[Path] | None,
        measures: Iterable[Measure] = (),
        progress: Callable[[int], None] = lambda _: None,
    ) -> Evaluator:
        """Return what scores the runs."""
        return Evaluator(
            Collection(data_of(runs, self.data), self.indexes), qrels=self.qrels,
            formulas=self.formulas, ids=self.ids, cut=not self.no_cut, answer_map=self.answer_map,
            measures=measures, least_grade=self.topics_with_grade, progress=progress,
        )  # fmt: skip

    def score(self, evaluator: Evaluator, runs: Iterable[Path]) -> list[Scored]:
        """Score runs, against each of the years given."""
        years: Sequence[Year | None] = self.years or [None]
        return [evaluator.score(run, self.chosen_task, year) for run in runs for year in years]

    @property
    def chosen_task(self) -> Task | None:
        """The task of `--task`, None for all; InputError if there is none of this name."""
        for task in TASKS:
            if self.task == task:
                return task
        if self.task != "all":
            raise InputError(f"unknown task {self.task!r}; there are: {', '.join(TASKS)}, all")
        return None

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
            options.write(self.json_file, content() + "\n")
        if self.per_topic is not None:
            options.write(self.per_topic, _per_topic_csv(scored))
        return str(self.json_file) != "-"


def _per_topic_csv(scored: Sequence[Scored]) -> str:
    keys = dict.fromkeys(
        key for one in scored for values in one.score.values.values() for key in values
    )
    text = io.StringIO()
    rows = csv.DictWriter(text, ["run", "task", "topic", *keys], lineterminator="\n")
    rows.writeheader()
    for one in scored:
        for topic, values in one.score.values.items():
            rows.writerow({"run": one.run, "task": one.task, "topic": topic, **values})
    return text.getvalue()


def data_of(runs: Sequence[Path] | None, data: Path | None) -> Path | None:
    """Return DATA: what was given, else what the manifest beside the first run tells."""
    found = provenance(runs[0]) if runs and data is None else None
    if found is None or found.data is None or found.data == SAMPLE:
        return data
    console.print(f"DATA={found.data} (from the manifest beside {runs[0]})", soft_wrap=True)  # type: ignore[index]
    return found.data
