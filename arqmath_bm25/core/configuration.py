"""Configurations, configs/*.yaml: their parts, and how they are read."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arqmath_bm25.core.errors import InputError

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
S = TypeVar("S", bound="Settings")
NamePart = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]


class Settings(BaseModel):
    """Part of a configuration: unknown keys are faults, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Loader(yaml.SafeLoader):
    """YAML 1.2, in which 1:30, 010 and yes are texts, and a key stands once."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            row = event.start_mark.line + 1
            raise yaml.YAMLError(
                f"row {row}: anchors and aliases (& and *) are not read; write the value out"
            )
        return super().compose_node(parent, index)

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]

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


def load(model: type[S], path: Path) -> S:
    """Read a configuration file of a task.

    Raises InputError that names the file and every key with a wrong value.
    """
    try:
        loaded = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506  # a safe one
    except OSError as error:
        raise InputError(f"{path}: cannot read the configuration: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    try:
        # As JSON, in which no truth is taken for a number, and a list for a tuple.
        text = json.dumps(loaded, default=str)
        return model.model_validate_json(text, strict=True, context=path.parent)
    except ValidationError as error:
        raise InputError(f"{path}: {faults(error)}") from None


def faults(error: ValidationError) -> str:
    """Return each wrong value and its fault."""
    return "; ".join(
        ": ".join(filter(None, (".".join(map(str, fault["loc"])), fault["msg"])))
        for fault in error.errors()
    ).replace("Value error, ", "")
