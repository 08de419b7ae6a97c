"""configs/nlps.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.core.settings import NamePart, Settings, Weight
from arqmath_bm25.tasks.settings import Bm25Settings, QuerySettings

NlpsField = Literal["contents", "contents_math"]
View = Literal["tokens", "characters", "words", "prose", "math", "commands"]

_KERNEL: dict[View, float] = {
    "tokens": 0.3,
    "characters": 0.2,
    "words": 0.2,
    "prose": 0.1,
    "math": 0.1,
    "commands": 0.1,
}


class TfidfVariant(Settings):
    """The baseline of the shared task; it has nothing to set."""

    method: Literal["tfidf"]


class Bm25Variant(Settings):
    """Premises by their own text."""

    method: Literal["bm25"]
    fields: Annotated[dict[NlpsField, Weight], Field(min_length=1)]


class Parts(Settings):
    """The weights beside the regression; see premise_rankers/ridge.py."""

    profile: Weight
    text: Weight
    citations: Weight


class RidgeVariant(Parts):
    """Premises by what the training set tells about them."""

    method: Literal["ridge"]


class LearnedVariant(Parts):
    """Learning to rank; premises that are not likely follow as `ridge` ranks them."""

    method: Literal["learned"]


class RidgeSettings(Settings):
    """The regression that `ridge` and `learned` share; see premise_rankers/regression.py."""

    kernel: dict[View, Weight] = Field(default=_KERNEL.copy(), min_length=1)
    penalty: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.5
    self_citation: Weight = 0.8
    landmarks: Annotated[int, Field(ge=1)] = 8000


class NlpsSettings(Settings):
    """configs/nlps.yaml."""

    analysis: AnalysisSettings = AnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    query: QuerySettings = QuerySettings()
    ridge: RidgeSettings = RidgeSettings()
    primary: str
    variants: dict[
        NamePart,
        Annotated[
            TfidfVariant | Bm25Variant | RidgeVariant | LearnedVariant,
            Field(discriminator="method"),
        ],
    ]

    @model_validator(mode="after")
    def _usable_variants(self) -> NlpsSettings:
        if self.primary not in self.variants:
            raise ValueError(f"primary: {self.primary!r} is not among the variants")
        for name, variant in self.variants.items():
            if isinstance(variant, Bm25Variant) and not any(variant.fields.values()):
                raise ValueError(f"variants.{name}.fields: at least one weight must be above 0")
        if not any(self.ridge.kernel.values()):
            raise ValueError("ridge.kernel: at least one weight must be above 0")
        return self
