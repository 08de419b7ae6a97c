"""The tasks: one file each behind one protocol (task.py), and their register."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from arqmath_bm25.analysis.tokenizer import TRUSTED
from arqmath_bm25.core.configuration import default_config, load
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.stores import is_there

if TYPE_CHECKING:
    from arqmath_bm25.tasks.task import Task

# Name → module and class. A module is imported when its task is asked for.
TASKS: dict[str, str] = {
    "task1": "arqmath_bm25.tasks.answers.answer_retrieval:AnswerRetrieval",
    "task2": "arqmath_bm25.tasks.formulas.formula_retrieval:FormulaRetrieval",
    "task3": "arqmath_bm25.tasks.answers.open_domain:OpenDomain",
    "docs": "arqmath_bm25.tasks.document_retrieval:DocumentRetrieval",
    "nlps": "arqmath_bm25.tasks.premises.premise_selection:PremiseSelection",
}


def task_class(name: str) -> type[Task]:
    """Look a task up by its name; InputError if there is none."""
    if name not in TASKS:
        known = [*TASKS, "all"]
        near = get_close_matches(name.casefold(), known, n=1)
        advice = ""
        if near:
            advice = f"; did you mean {near[0]}?"
        if is_there(name):
            advice = "; documents of your own are the task docs, and their file or folder is DATA"
        elif "/" in name:
            advice = "; if it is meant as your own documents, there is no such file or folder"
        raise InputError(f"unknown task {name!r}{advice} (there are {', '.join(known)})")
    module, _, cls = TASKS[name].partition(":")
    return getattr(import_module(module), cls)  # type: ignore[no-any-return]


def configured(name: str, config: Path | None = None) -> Task:
    """Return a task with the settings of `config`, or the default ones.

    `config` may hold only what differs from these; see `configuration.load`.
    """
    cls = task_class(name)
    default = default_config(name)
    if config is None:
        task = cls(load(cls.model, default))
    else:
        task = cls(load(cls.model, config, default))
    if task.tokenizer:
        TRUSTED.add(task.tokenizer)
    return task


def trust(configs: Iterable[Path]) -> dict[str, Path]:
    """Let indexes run the tokenizers that configurations of any tasks name.

    Returns the last configuration that each task can take. Raises InputError for one that none can.
    """
    by_task = {}
    for config in configs:
        faults = []
        for name in TASKS:
            try:
                configured(name, config)
                by_task[name] = config
            except InputError as error:
                faults.append(error)
        if len(faults) == len(TASKS):
            raise faults[0]
    return by_task
