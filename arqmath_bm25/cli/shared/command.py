"""Turns plain functions into commands; `options.yaml` describes each parameter.

A parameter of several commands is described once, and a command stays a plain function.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from string import Template
from typing import Annotated, Any, get_args, get_type_hints

import typer
import yaml

from arqmath_bm25.core.labs import HIGHEST, MAX_DEPTH
from arqmath_bm25.core.progress import console
from arqmath_bm25.tasks import TASKS

# These commands continue an earlier call that Ctrl-C has ended.
_RESUMING = ("fetch", "index", "judge")


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function as typer takes it; dataclass parameters become their fields."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    options = _options(function, hints, groups)
    options.sort(key=lambda option: option.kind)
    command_signature = Signature(options)

    @wraps(function)
    def call(*values: Any, **named: Any) -> None:
        bound = command_signature.bind(*values, **named)
        arguments = bound.arguments
        for name, kind in groups.items():
            members = {}
            for field in fields(kind):
                if field.name in arguments:
                    members[field.name] = arguments.pop(field.name)
            arguments[name] = kind(**members)

        try:
            function(**arguments)
        except KeyboardInterrupt:
            note = ""
            if function.__name__ in _RESUMING:
                note = "; the same command resumes"
            console.print(f"stopped{note}")
            raise

    # Help breaks lines itself, so each paragraph becomes one line.
    paragraphs = (function.__doc__ or "").split("\n\n")
    call.__doc__ = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    call.__signature__ = command_signature  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in options}
    return call


def _options(
    function: Callable[..., None], hints: dict[str, Any], groups: dict[str, Any]
) -> list[Parameter]:
    """Return the parameters of a command, with the fields of dataclasses in their place."""
    described = descriptions()
    texts = described["any"] | described.get(function.__name__, {})

    options = []
    for name, parameter in signature(function).parameters.items():
        if name not in groups:
            text = texts.get(name, {})
            options.append(_option(parameter, hints[name], text))
            continue

        field_hints = get_type_hints(groups[name])
        for field, field_parameter in signature(groups[name]).parameters.items():
            options.append(_option(field_parameter, field_hints[field], texts[field]))

    return options


@cache
def descriptions() -> dict[str, dict[str, Any]]:
    """Read the descriptions of parameters: command → parameter → help, or help and more."""
    path = Path(__file__).parents[1] / "options.yaml"
    template = Template(path.read_text(encoding="utf-8"))
    text = template.substitute(
        max_depth=MAX_DEPTH,
        highest=HIGHEST,
        tasks=", ".join(TASKS),
    )

    # The safe loader in C takes an eighth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: dict[str, dict[str, Any]] = yaml.load(text, loader)  # noqa: S506
    return loaded


def _option(parameter: Parameter, kind: Any, text: str | dict[str, Any]) -> Parameter:
    """Return a parameter with the option or argument that describes it to typer."""
    # A parameter that the function annotates itself needs no description.
    if hasattr(kind, "__metadata__"):
        return parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY)

    more = dict[str, Any]()
    if isinstance(text, str):
        more["help"] = text
    else:
        more.update(text)
    more["rich_help_panel"] = more.pop("panel", None)

    position: Any = Parameter.KEYWORD_ONLY
    if parameter.default is Parameter.empty or "argument" in more:
        position = Parameter.POSITIONAL_OR_KEYWORD

    if "argument" in more:
        metavar = more.pop("argument")
        completion = None
        if metavar == "TASK":
            completion = _task_names
        description = typer.Argument(metavar=metavar, autocompletion=completion, **more)
    else:
        name = parameter.name.replace("_", "-")
        flags = more.pop("flags", [f"--{name}"])
        # The help shows the value of an option as FILE, DIR, N, or the option's name.
        kinds = {kind, *get_args(kind)}
        metavar = flags[0].strip("-").upper()
        if int in kinds:
            metavar = "N"
        if kinds & {Path, list[Path]}:
            metavar = "DIR" if more["help"].startswith("Directory") else "FILE"
        more.setdefault("metavar", metavar)
        description = typer.Option(*flags, **more)

    return parameter.replace(annotation=Annotated[kind, description], kind=position)


def _task_names() -> list[str]:
    """Return the values that a shell offers for a task."""
    return [*TASKS, "all"]
