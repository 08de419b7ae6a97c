"""Settings that several tasks have: BM25, queries, names of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from arqmath_bm25.core.labs import VARIANTS, LabTask, RunName, Variant
from arqmath_bm25.core.settings import NamePart, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping


Kind = Literal["text", "math", "operators"]  # of terms, as the name of a field ends


class Bm25Settings(Settings):
    """Parameters of BM25 (Robertson and Zaragoza 2009), the same for all fields."""

    k1: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75


class QuerySettings(Settings):
    """How a topic becomes weighted terms."""

    saturation: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0
    # Terms of a kind that are searched for, those with the greatest weight times idf; without all.
    most: dict[Kind, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)


class RunSettings(Settings):
    """What run files are called."""

    team: NamePart
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    primary: Variant

    def name(self, task: LabTask, variant: str) -> RunName:
        """Official name of the run of a variant."""
        (known,) = (one for one in VARIANTS if one == variant)
        method: Literal["", "extract"] = "extract" if task == "task3" else ""
        return RunName(
            self.team, task, self.id, known, variant == self.primary, method=method
        )  # fmt: skip


def check_variants(
    key: str, primary: str, variants: Mapping[Any, Mapping[Any, float]], fields: str = ""
) -> None:
    """Raise ValueError unless `primary` is a variant, and each variant weighs some field.

    `key` is where `primary` stands; `fields` is where the weights of a variant do, below it.
    """
    if primary not in variants:
        raise ValueError(f"{key}: {primary!r} is not among the variants")
    for name, weights in variants.items():
        if not any(weights.values()):
            raise ValueError(f"variants.{name}{fields}: at least one weight must be above 0")
