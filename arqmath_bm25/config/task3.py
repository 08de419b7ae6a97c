"""configs/task3.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationInfo, model_validator

from arqmath_bm25.config.base import RunSettings, Settings, default_config, load
from arqmath_bm25.config.task1 import Task1Settings, load_task1
from arqmath_bm25.runs import RunName, Variant


class Ranking(Settings):
    """A Task 1 configuration, given by its file name in the directory of the one that names it."""

    path: Path
    settings: Task1Settings

    @model_validator(mode="before")
    @classmethod
    def _load(cls, given: object, info: ValidationInfo) -> object:
        if not isinstance(given, str) or info.context is None:
            return given
        path = info.context / given
        return {"path": path, "settings": load_task1(path)}


class Task3Settings(Settings):
    """configs/task3.yaml."""

    run: RunSettings
    ranking: Ranking
    passage: Literal["start", "best"]

    @model_validator(mode="after")
    def _known_primary(self) -> Task3Settings:
        if self.run.primary not in self.ranking.settings.variants:
            raise ValueError(
                f"run.primary: {self.run.primary!r} is not among the variants of the ranking"
            )
        return self

    def run_name(self, variant: Variant) -> RunName:
        """Official name of the run of a variant."""
        primary = variant == self.run.primary
        return RunName(self.run.team, "task3", self.run.id, variant, primary, method="extract")


def load_task3(path: Path | None = None) -> Task3Settings:
    """Read a Task 3 configuration, the default one without `path`; see `load`."""
    return load(Task3Settings, path or default_config("task3"))
