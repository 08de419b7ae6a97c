"""configs/nlps.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from arqmath_bm25.analysis.settings import TextSettings
from arqmath_bm25.core.settings import NamePart, Settings, Weight

View = Literal["tokens", "characters", "words"]

_KERNEL: dict[View, float] = {"tokens": 0.4, "characters": 0.3, "words": 0.3}


class NlpsAnalysisSettings(Settings):
    """How the words of a text are read."""

    text: TextSettings = TextSettings()


class RidgeSettings(Settings):
    """The regression; see kernel_ridge.py."""

    kernel: dict[View, Weight] = Field(default=_KERNEL.copy(), min_length=1)
    penalty: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 0.5
    self_citation: Weight = 0.8
    landmarks: Annotated[int, Field(ge=1)] = 8000


class TfidfVariant(Settings):
    """The baseline of the shared task; it has nothing to set."""

    method: Literal["tfidf"]


class RidgeVariant(Settings):
    """Premises by what the training set cites; see ridge.py."""

    method: Literal["ridge"]
    profile: Weight
    text: Weight
    citations: Weight


class NlpsSettings(Settings):
    """configs/nlps.yaml."""

    analysis: NlpsAnalysisSettings = NlpsAnalysisSettings()
    ridge: RidgeSettings = RidgeSettings()
    primary: str
    variants: dict[NamePart, Annotated[TfidfVariant | RidgeVariant, Field(discriminator="method")]]

    @model_validator(mode="after")
    def _usable_variants(self) -> NlpsSettings:
        if self.primary not in self.variants:
            raise ValueError(f"primary: {self.primary!r} is not among the variants")
        if not any(self.ridge.kernel.values()):
            raise ValueError("ridge.kernel: at least one weight must be above 0")
        return self
