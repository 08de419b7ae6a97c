"""Options that belong together are declared once, as the fields of a dataclass."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, for each parameter of a dataclass, the options that are its fields."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        of_group = get_type_hints(kind, include_extras=True) if is_dataclass(kind) else {}
        if of_group:
            groups[name] = kind
        for field in fields(kind) if of_group else ():
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(_parameter(field.name, of_group[field.name], default))
        if not of_group:
            parameters.append(_parameter(name, kind, parameter.default))

    @wraps(command)
    def called(**values: Any) -> None:
        for name, kind in groups.items():
            names = {field.name for field in fields(kind)} & values.keys()
            values[name] = kind(**{field: values.pop(field) for field in names})
        command(**values)

    del called.__wrapped__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
