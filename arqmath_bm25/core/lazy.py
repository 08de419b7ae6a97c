"""What takes long to load or to make, and what not every call needs: pandas, expressions."""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

__all__ = ["expression", "pd"]


class _Pandas:
    """Stands for the module, which is imported when one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pandas"), name)


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Pandas()


class Expression:
    """Stands for a regular expression, which is compiled when one of its methods is asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.made_with = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self.made_with), name)
        setattr(self, name, value)  # where it is found the next time
        return value


def expression(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used."""
    return cast("re.Pattern[str]", Expression(pattern, flags))
