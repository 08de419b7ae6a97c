"""Turns plain functions into commands; `options.yaml` describes each parameter.

So a parameter of several commands is described once, and a command stays a plain function.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from string import Template
from typing import Annotated, Any, Final, get_args, get_type_hints

import typer
import yaml

from arqmath_bm25.core.labs import HIGHEST, MAX_DEPTH
from arqmath_bm25.core.progress import console
from arqmath_bm25.tasks import TASKS

_RESUMING: Final = ("fetch", "index", "judge")  # after Ctrl-C


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function as typer takes it; dataclass parameters become their fields."""
    described = descriptions()
    texts = described["any"] | described.get(function.__name__, {})
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            of_fields = get_type_hints(groups[name])
            for field, of_field in signature(groups[name]).parameters.items():
                options.append(_option(of_field, of_fields[field], texts[field]))
        else:
            options.append(_option(parameter, hints[name], texts.get(name, {})))

    shown = Signature(sorted(options, key=lambda option: option.kind))

    @wraps(function)
    def called(*values: Any, **named: Any) -> None:
        arguments = shown.bind(*values, **named).arguments
        for name, kind in groups.items():
            names = [field.name for field in fields(kind) if field.name in arguments]
            arguments[name] = kind(**{field: arguments.pop(field) for field in names})

        try:
            function(**arguments)
        except KeyboardInterrupt:
            if function.__name__ in _RESUMING:
                console.print("stopped; the same command resumes")
            else:
                console.print("stopped")
            raise

    paragraphs = (function.__doc__ or "").split("\n\n")
    called.__doc__ = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    called.__signature__ = shown  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in options}
    return called


@cache
def descriptions() -> dict[str, dict[str, Any]]:
    """Read the descriptions of parameters: command → parameter → help, or help and more."""
    text = Path(__file__).parents[1].joinpath("options.yaml").read_text(encoding="utf-8")
    limits = {"max_depth": MAX_DEPTH, "highest": HIGHEST}
    text = Template(text).substitute(limits, tasks=", ".join(TASKS))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # which takes an eighth of the time
    loaded: dict[str, dict[str, Any]] = yaml.load(text, loader)  # noqa: S506  # a safe one
    return loaded


def _option(parameter: Parameter, kind: Any, text: str | dict[str, Any]) -> Parameter:
    if hasattr(kind, "__metadata__"):  # described where it stands
        return parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY)

    more: dict[str, Any] = {"help": text} if isinstance(text, str) else dict(text)
    more["rich_help_panel"] = more.pop("panel", None)
    positional = parameter.default is Parameter.empty or "argument" in more
    if "argument" in more:
        metavar = more.pop("argument")
        completed = {"TASK": lambda: [*TASKS, "all"]}.get(metavar)
        shown = typer.Argument(metavar=metavar, autocompletion=completed, **more)
    else:
        flags = more.pop("flags", [f"--{parameter.name.replace('_', '-')}"])
        more.setdefault("metavar", _metavar(kind, flags[0], more["help"]))
        shown = typer.Option(*flags, **more)

    where = Parameter.POSITIONAL_OR_KEYWORD if positional else Parameter.KEYWORD_ONLY
    return parameter.replace(annotation=Annotated[kind, shown], kind=where)


def _metavar(kind: Any, flag: str, text: str) -> str:
    """Return how the help shows the value of an option: FILE, DIR, N, or the option's name."""
    kinds = {kind, *get_args(kind)}
    if kinds & {Path, list[Path]}:
        if text.startswith("Directory"):
            return "DIR"
        return "FILE"
    if int in kinds:
        return "N"
    return flag.strip("-").upper()
