"""pandas, which takes half a second to load, and which not every call needs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["pd"]


class _Pandas:
    """Stands for the module, which is imported when one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pandas"), name)


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Pandas()
