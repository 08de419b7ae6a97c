"""Modules that take long to load, and that not every call needs."""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module, which is imported when one of its names is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
