"""The settings of Task 1: configs/task1.yaml and what stands beside it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.core.labs import Variant
from arqmath_bm25.core.settings import NamePart, Settings, Weight
from arqmath_bm25.tasks.answers.answer_documents import FIELDS, Task1Field
from arqmath_bm25.tasks.queries import kind
from arqmath_bm25.tasks.settings import Bm25Settings, QuerySettings, RunSettings, check_variants


class StageSettings(Settings):
    """The second stage: weights of its evidence, and how many answers it ranks again."""

    formulas: Weight = 0
    linked: Weight = 0
    thread: Weight = 0
    depth: Annotated[int, Field(ge=1)] = 100


class FusionSettings(Settings):
    """A run fused from the rankings of several variants; see runs/fusion.py."""

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
    bag: bool = False  # all words of an answer and its question in one field, `contents`
    model: Literal["bm25", "tf_idf", "linked"] = "bm25"
    bm25: Bm25Settings = Bm25Settings()
    query: QuerySettings = QuerySettings()
    variants: Annotated[dict[Variant, dict[Task1Field, Weight]], Field(min_length=1)]
    stages: dict[Variant, StageSettings] = Field(default_factory=dict)
    fusions: dict[NamePart, FusionSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _usable_variants(self) -> Task1Settings:
        check_variants("run.primary", self.run.primary, self.variants)
        if (self.bag or self.model == "tf_idf") and self.fields != ("contents",):
            raise ValueError("variants: with bag or tf_idf, `contents` is the one field")
        if self.analysis.latex.tokenizer and "math" not in map(kind, self.fields):
            raise ValueError(
                "analysis.latex.tokenizer: no variant weighs a field of tokens, as answer_math"
            )
        for variant, stage in self.stages.items():
            if variant not in self.variants:
                raise ValueError(f"stages: {variant!r} is not among the variants")
            if stage.formulas and not self.analysis.latex.operators:
                raise ValueError(f"stages.{variant}.formulas: needs analysis.latex.operators")
        for variant in self.variants:
            for field in self.weights(variant):
                if kind(field) == "operators" and not self.analysis.latex.operators:
                    raise ValueError(f"variants.{variant}.{field}: needs analysis.latex.operators")
        for name, fusion in self.fusions.items():
            for variant in fusion.variants:
                if variant not in self.variants:
                    raise ValueError(f"fusions.{name}: {variant!r} is not among the variants")
            if name in self.variants:
                raise ValueError(f"fusions.{name}: this is the name of a variant")
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields to index: `contents`, which every document has, and what variants weigh."""
        weighed = {field for variant in self.variants for field in self.weights(variant)}
        return tuple(field for field in FIELDS if field == "contents" or field in weighed)

    def weights(self, variant: str) -> dict[str, float]:
        """Weight of every field that a variant looks into."""
        (weights,) = (weights for name, weights in self.variants.items() if name == variant)
        return {field: weight for field, weight in weights.items() if weight}
