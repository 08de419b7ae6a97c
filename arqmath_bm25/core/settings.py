"""Configurations, configs/*.yaml: what every one is made of, and how one is read."""

import re
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arqmath_bm25.core.errors import InputError

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
S = TypeVar("S", bound="Settings")
NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class Settings(BaseModel):
    """Part of a configuration: unknown keys are faults, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, values: Any) -> Any:
        for name, value in values.items() if isinstance(values, dict) else ():
            field = cls.model_fields.get(str(name))
            every = value if isinstance(value, list | tuple) else [value]
            if (
                field is not None
                and "bool" not in str(field.annotation)
                and any(isinstance(part, bool) for part in every)
            ):
                raise ValueError(f"{name}: expected something else than true or false")
        return values


class _Loader(yaml.SafeLoader):
    """YAML in which a key stands once, and a number and a truth look like one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [key.value for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                raise self._fault(node.value[number][0], f"{key} stands twice")
        return super().construct_mapping(node, deep)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        for kind, (form, expected) in _FORMS.items():
            if node.tag.endswith(f":{kind}") and not re.fullmatch(form, str(node.value)):
                raise self._fault(node, f"{str(node.value)[:60]} is not taken for {expected}")
        return super().construct_object(node, deep)

    def _fault(self, node: Any, problem: str) -> yaml.YAMLError:
        return yaml.YAMLError(f"row {node.start_mark.line + 1}: {problem}")


# YAML 1.1 also takes 010 for 8, 1:30 for 90 and yes for true.
_FORMS: Final = {
    "int": (r"[-+]?(0|[1-9][0-9]*)", "a number; write decimal digits, or a text in quotes"),
    "float": (r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|nan)", "a number"),
    "bool": (r"(?i:true|false)", "a truth; write true or false, or a text in quotes"),
}


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
        loaded = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506  # a safe one
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
