"""configs/task2.yaml."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import Field, model_validator

from arqmath_bm25.config.base import (
    Bm25Settings,
    RunSettings,
    Settings,
    Weight,
    default_config,
    load,
)
from arqmath_bm25.runs import RunName, Variant

if TYPE_CHECKING:
    from pathlib import Path

FormulaField = Literal["contents", "patterns", "ngrams", "symbols"]


class FormulaAnalysisSettings(Settings):
    """How a formula becomes the terms of its fields."""

    source: Literal["latex", "slt", "opt"] = "latex"
    ngrams: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (2, 3)
    layout: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (2, 3)
    patterns: tuple[Annotated[int, Field(ge=2, le=5)], Annotated[int, Field(ge=2, le=5)]] = (3, 4)

    @model_validator(mode="after")
    def _ordered(self) -> FormulaAnalysisSettings:
        for name in ("ngrams", "layout", "patterns"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name}: the first number must not exceed the second")
        return self


class FormulaVariant(Settings):
    """What counts for a formula: its own fields, and the posts that it stands in."""

    fields: Annotated[dict[FormulaField, Weight], Field(min_length=1)]
    context: Weight = 0


class Task2Settings(Settings):
    """configs/task2.yaml."""

    run: RunSettings
    analysis: FormulaAnalysisSettings = FormulaAnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    variants: Annotated[dict[Variant, FormulaVariant], Field(min_length=1)]

    @model_validator(mode="after")
    def _usable_variants(self) -> Task2Settings:
        if self.run.primary not in self.variants:
            raise ValueError(f"run.primary: {self.run.primary!r} is not among the variants")
        for name, variant in self.variants.items():
            if not any(variant.fields.values()):
                raise ValueError(f"variants.{name}.fields: at least one weight must be above 0")
        return self

    @property
    def fields(self) -> tuple[FormulaField, ...]:
        """The fields to index: `contents`, which every document has, and what variants weigh."""
        weighed = {f for v in self.variants.values() for f, weight in v.fields.items() if weight}
        return tuple(f for f in get_args(FormulaField) if f == "contents" or f in weighed)

    @property
    def fingerprint(self) -> str:
        """Short hash that tells indexes of different analysis or fields apart."""
        settings = json.dumps([self.analysis.model_dump(mode="json"), self.fields], sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]

    def run_name(self, variant: Variant) -> RunName:
        """Official name of the run of a variant."""
        primary = variant == self.run.primary
        return RunName(self.run.team, "task2", self.run.id, variant, primary)


def load_task2(path: Path | None = None) -> Task2Settings:
    """Read a Task 2 configuration, the default one without `path`; see `load`."""
    return load(Task2Settings, path or default_config("task2"))
