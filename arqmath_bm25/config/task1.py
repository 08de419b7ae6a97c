"""configs/task1.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from arqmath_bm25.config.base import (
    AnalysisSettings,
    Bm25Settings,
    NamePart,
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


class FusionSettings(Settings):
    """A run fused from the rankings of several variants; see retrieval/fusion.py."""

    variants: Annotated[tuple[Variant, ...], Field(min_length=2)]
    method: Literal["rrf", "weighted"] = "rrf"
    weights: tuple[Weight, ...] | None = None  # of the variants; None: all the same

    @model_validator(mode="after")
    def _a_weight_each(self) -> FusionSettings:
        if self.weights is not None and len(self.weights) != len(self.variants):
            raise ValueError(f"{len(self.weights)} weights for {len(self.variants)} variants")
        return self


class Task1Settings(Settings):
    """configs/task1.yaml."""

    run: RunSettings
    analysis: AnalysisSettings = AnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    query: QuerySettings = QuerySettings()
    variants: Annotated[dict[Variant, dict[Task1Field, Weight]], Field(min_length=1)]
    fusions: dict[NamePart, FusionSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _usable_variants(self) -> Task1Settings:
        if self.run.primary not in self.variants:
            raise ValueError(f"run.primary: {self.run.primary!r} is not among the variants")
        for variant, weights in self.variants.items():
            if not any(weights.values()):
                raise ValueError(f"variants.{variant}: at least one weight must be above 0")
        for name, fusion in self.fusions.items():
            for variant in fusion.variants:
                if variant not in self.variants:
                    raise ValueError(f"fusions.{name}: {variant!r} is not among the variants")
            if name in self.variants:
                raise ValueError(f"fusions.{name}: this is the name of a variant")
        return self

    def weights(self, variant: str) -> dict[str, float]:
        """Weight of every field that a variant looks into."""
        (weights,) = (weights for name, weights in self.variants.items() if name == variant)
        return {field: weight for field, weight in weights.items() if weight}

    def run_name(self, name: str) -> RunName:
        """Official name of the run of a variant, or of a fusion, which goes into the run's id."""
        if name in self.fusions:
            return RunName(self.run.team, "task1", f"{self.run.id}{name}", "both", primary=False)
        (variant,) = (known for known in self.variants if known == name)
        primary = variant == self.run.primary
        return RunName(self.run.team, "task1", self.run.id, variant, primary)


def load_task1(path: Path | None = None) -> Task1Settings:
    """Read a Task 1 configuration, the default one without `path`; see `load`."""
    return load(Task1Settings, path or default_config("task1"))
