"""configs/nlps.yaml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from arqmath_bm25.config.base import (
    AnalysisSettings,
    Bm25Settings,
    NamePart,
    QuerySettings,
    Settings,
    Weight,
    default_config,
    load,
)

if TYPE_CHECKING:
    from pathlib import Path

NlpsField = Literal["contents", "contents_math"]


class TfidfVariant(Settings):
    """The baseline of the shared task; it has nothing to set."""

    method: Literal["tfidf"]


class Bm25Variant(Settings):
    """Premises by their own text."""

    method: Literal["bm25"]
    fields: Annotated[dict[NlpsField, Weight], Field(min_length=1)]


class SupervisedVariant(Settings):
    """Premises by what the training set tells about them; see retrieval/nlps_supervised.py."""

    method: Literal["supervised"]
    fields: Annotated[dict[NlpsField, Weight], Field(min_length=1)]
    neighbours: Annotated[int, Field(ge=1, le=1000)]
    sharpness: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    votes: Weight
    profile: Weight
    text: Weight
    citations: Weight


class NlpsSettings(Settings):
    """configs/nlps.yaml."""

    analysis: AnalysisSettings = AnalysisSettings()
    bm25: Bm25Settings = Bm25Settings()
    query: QuerySettings = QuerySettings()
    primary: str
    variants: dict[
        NamePart,
        Annotated[TfidfVariant | Bm25Variant | SupervisedVariant, Field(discriminator="method")],
    ]

    @model_validator(mode="after")
    def _usable_variants(self) -> NlpsSettings:
        if self.primary not in self.variants:
            raise ValueError(f"primary: {self.primary!r} is not among the variants")
        for name, variant in self.variants.items():
            if not isinstance(variant, TfidfVariant) and not any(variant.fields.values()):
                raise ValueError(f"variants.{name}.fields: at least one weight must be above 0")
        return self


def load_nlps(path: Path | None = None) -> NlpsSettings:
    """Read an NLPS configuration, the default one without `path`; see `load`."""
    return load(NlpsSettings, path or default_config("nlps"))
