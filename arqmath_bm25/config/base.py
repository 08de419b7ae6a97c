"""What every configuration is made of, and how one is read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arqmath_bm25.errors import InputError
from arqmath_bm25.runs import Variant

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
S = TypeVar("S", bound="Settings")
NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class Settings(BaseModel):
    """Part of a configuration: unknown keys are faults, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextSettings(Settings):
    """How prose becomes words."""

    stemmer: Literal["english", "porter", "none"] = "english"
    stop_words: bool = True


class LatexSettings(Settings):
    """How formulas become terms."""

    ngrams: tuple[Annotated[int, Field(ge=1, le=5)], Annotated[int, Field(ge=1, le=5)]] = (1, 3)
    form: Literal["symbols", "words"] = "symbols"

    @model_validator(mode="after")
    def _ordered(self) -> LatexSettings:
        if self.ngrams[0] > self.ngrams[1]:
            raise ValueError("ngrams: the first number must not exceed the second")
        return self


class AnalysisSettings(Settings):
    """What decides the terms of an index."""

    text: TextSettings = TextSettings()
    latex: LatexSettings = LatexSettings()

    @property
    def fingerprint(self) -> str:
        """Short hash that tells indexes of different analysis apart."""
        settings = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]


class Bm25Settings(Settings):
    """Parameters of BM25 (Robertson and Zaragoza 2009), the same for all fields."""

    k1: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75


class QuerySettings(Settings):
    """How a topic becomes weighted terms."""

    saturation: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0


class RunSettings(Settings):
    """What run files are called."""

    team: NamePart
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    primary: Variant


def default_config(task: str) -> Path:
    """Path of the configuration that comes with the package."""
    package = Path(__file__).parent.parent
    checkout = package.parent / "configs"  # an installed package has them inside
    return (checkout if checkout.is_dir() else package / "configs") / f"{task}.yaml"


def load(model: type[S], path: Path) -> S:
    """Read a configuration file of a task.

    Raises InputError that names file and key for everything that is not as it must be.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot read the configuration: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    try:
        return model.model_validate(loaded, context=path.parent)
    except ValidationError as error:
        faults = "; ".join(
            ": ".join(
                filter(None, (".".join(map(str, e["loc"])), e["msg"].removeprefix("Value error, ")))
            )
            for e in error.errors()
        )
        raise InputError(f"{path}: {faults}") from None
