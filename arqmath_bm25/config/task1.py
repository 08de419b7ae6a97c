"""configs/task1.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from arqmath_bm25.config.base import (
    AnalysisSettings,
    Bm25Settings,
    QuerySettings,
    RunSettings,
    Settings,
    Weight,
    default_config,
    load,
)
from arqmath_bm25.runs import RunName, Variant

if TYPE_CHECKING:
    from pathlib import Path

Task1Field = Literal[
    "contents",
    "answer_math",
    "question_text",
    "question_math",
    "title_text",
    "title_math",
    "tags",
    "linked_text",
    "linked_math",
]


class Task1Settings(Settings):
    """configs/task1.yaml."""

    run: RunSettings
    analysis: AnalysisSettings = AnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    query: QuerySettings = QuerySettings()
    variants: Annotated[dict[Variant, dict[Task1Field, Weight]], Field(min_length=1)]

    @model_validator(mode="after")
    def _usable_variants(self) -> Task1Settings:
        if self.run.primary not in self.variants:
            raise ValueError(f"run.primary: {self.run.primary!r} is not among the variants")
        for variant, weights in self.variants.items():
            if not any(weights.values()):
                raise ValueError(f"variants.{variant}: at least one weight must be above 0")
        return self

    def weights(self, variant: Variant) -> dict[str, float]:
        """Weight of every field that a variant looks into."""
        return {field: weight for field, weight in self.variants[variant].items() if weight}

    def run_name(self, variant: Variant) -> RunName:
        """Official name of the run of a variant."""
        primary = variant == self.run.primary
        return RunName(self.run.team, "task1", self.run.id, variant, primary)


def load_task1(path: Path | None = None) -> Task1Settings:
    """Read a Task 1 configuration, the default one without `path`; see `load`."""
    return load(Task1Settings, path or default_config("task1"))
