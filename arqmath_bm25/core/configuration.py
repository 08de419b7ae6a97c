"""Configurations, configs/*.yaml: their parts, and how they are read."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Json

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
S = TypeVar("S", bound="Settings")
NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]

# Keys of version 0.4 that have other names since, or none.
_OF_0_4 = ("stages", "saturation", "most", "common", "formulas")


class Settings(BaseModel):
    """Part of a configuration: unknown keys are faults, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class _Loader(yaml.SafeLoader):
    """YAML 1.2, in which 1:30, 010 and yes are texts and keys are unique."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            row = event.start_mark.line + 1
            raise yaml.YAMLError(
                f"row {row}: anchors and aliases (& and *) are not read; write the value out"
            )
        return super().compose_node(parent, index)

    yaml_implicit_resolvers: ClassVar[Json] = {}  # type: ignore[misc]

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [key.value for key, _ in node.value]
        for number, key in enumerate(keys):
            if key in keys[:number]:
                row = node.value[number][0].start_mark.line + 1
                raise yaml.YAMLError(f"row {row}: {key} stands twice")
        return super().construct_mapping(node, deep)


for _kind, _form in {
    "null": r"null|Null|NULL|~|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?(0|[1-9][0-9]*)",
    "float": r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(inf|nan)",
}.items():
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(rf"\A(?:{_form})\Z"), None
    )


def default_config(task: str) -> Path:
    """Return the path of the configuration that comes with the package."""
    package = Path(__file__).parents[1]
    checkout = package.parent / "configs"  # an installed package has them inside
    return (checkout if checkout.is_dir() else package / "configs") / f"{task}.yaml"


def load(model: type[S], path: Path, default: Path | None = None) -> S:
    """Read a configuration file of a task.

    A file that lacks a required key holds only what differs from `default`. Raises InputError that
    names the file and every key with a wrong value.
    """
    try:
        loaded = from_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot read the configuration: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not YAML: {error}") from error
    if default is not None and isinstance(loaded, dict) and not _is_complete(model, loaded):
        complete = load(model, default).model_dump(mode="json")
        loaded = _merged(complete, loaded)
    try:
        # As JSON, in which no truth is taken for a number, and a list for a tuple.
        text = json.dumps(loaded, default=str)
        return model.model_validate_json(text, strict=True, context=path.parent)
    except ValidationError as error:
        raise InputError(f"{path}: {faults(error, model)}") from None


def from_yaml(text: str) -> Any:
    """Parse a text in YAML. Raises ValueError for any other text."""
    try:
        return yaml.load(text, _Loader)  # noqa: S506  # a safe one
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from error


def _is_complete(model: type[BaseModel], loaded: Json) -> bool:
    """Return whether a configuration has every required key, of its parts too."""
    for name, field in model.model_fields.items():
        if field.is_required() and name not in loaded:
            return False

        part, value = _part(model, name), loaded.get(name)
        if part is not None and isinstance(value, dict) and not _is_complete(part, value):
            return False
    return True


def _part(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """Return the settings of a part of a configuration, None for a value."""
    field = model.model_fields.get(name)
    if field is None or not isinstance(field.annotation, type):
        return None
    if not issubclass(field.annotation, BaseModel):
        return None
    return field.annotation


def _merged(default: Json, changes: Json) -> Json:
    """Return settings with changes, as deep as the settings are; an empty part empties it."""
    merged = dict(default)
    for key, value in changes.items():
        former = default.get(key)
        if isinstance(former, dict) and isinstance(value, dict) and value:
            value = _merged(former, value)
        merged[key] = value
    return merged


def faults(error: ValidationError, model: type[BaseModel] | None = None) -> str:
    """Return each wrong value and its fault; with the `model`, the keys in place of a wrong one."""
    texts = []
    for fault in error.errors():
        where = ".".join(map(str, fault["loc"]))
        says = fault["msg"].removeprefix("Value error, ")
        if where and fault["input"] is None:
            says = "the value is missing"
        part = model  # the part of a configuration that the key is of
        for name in fault["loc"][:-1]:
            if part is not None:
                part = _part(part, str(name))
        if part is not None and fault["type"] == "extra_forbidden":
            says = f"unknown; there are {', '.join(part.model_fields)}"
        if fault["type"] == "extra_forbidden" and fault["loc"][-1] in _OF_0_4:
            says += " (this key is of version 0.4; version 0.5 reads it)"
        texts.append(": ".join(filter(None, (where, says))))
    return "; ".join(texts)
