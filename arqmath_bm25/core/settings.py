"""Configurations, configs/*.yaml: what every one is made of, and how one is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arqmath_bm25.core.errors import InputError

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
S = TypeVar("S", bound="Settings")
NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class Settings(BaseModel):
    """Part of a configuration: unknown keys are faults, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def default_config(task: str) -> Path:
    """Path of the configuration that comes with the package."""
    package = Path(__file__).parents[1]
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
    except (yaml.YAMLError, ValueError, RecursionError) as error:
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


def changed(settings: S, **changes: Any) -> S:
    """Return settings with `changes`, a__b=x for the key a.b; ValueError if they do not fit."""
    raw = settings.model_dump()
    for key, value in changes.items():
        *path, last = key.split("__")
        place = raw
        for step in path:
            place = place[step]
        place[last] = value
    return type(settings).model_validate(raw)
