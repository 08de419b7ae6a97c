"""Names that people try first, and the names that this package has for the same."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from arqmath_bm25.core.tables import read_table

P = ParamSpec("P")
R = TypeVar("R")
_CLOSE = 0.8  # so near to a name that it is a mistake in writing


def no_attribute(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error of a name that a module or an object does not have, with one that helps."""
    advice = read_table(__file__)
    public = [other for other in known if not other.startswith("_")]
    parts = "_".join(re.findall("[A-Z]?[a-z0-9]+", name)).lower()
    about = [advice["parts"][begin] for begin in advice["parts"] if f"_{begin}" in f"_{parts}"]
    near = get_close_matches(name, public, n=1)
    is_close = bool(get_close_matches(name, near, cutoff=_CLOSE))

    message = f"{owner} has no attribute {name!r}"
    if name in advice:
        message += f"; there is {advice[name]}"
    elif about and not is_close:
        message += f"; there is {about[0]}"
    elif near:
        message += f"; did you mean {near[0]}?"
    else:
        message += f"; there are {', '.join(public)}"
    return AttributeError(message, name=name)


def showing_its_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Add to the TypeError of a wrong call which arguments the function takes."""
    described = signature(function)
    names = []
    for name, parameter in described.parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY:
            names.append(f"{name}=")
        elif name not in ("self", "cls"):
            names.append(name)

    @wraps(function)
    def called(*values: P.args, **named: P.kwargs) -> R:
        try:
            described.bind(*values, **named)
        except TypeError as error:
            takes = ", ".join(names)
            called_as = function.__qualname__
            if function.__name__ == "__init__":  # perhaps of a base class
                called_as = type(values[0]).__name__
            raise TypeError(f"{called_as}: {error}; it takes {takes}") from None
        return function(*values, **named)

    return called
