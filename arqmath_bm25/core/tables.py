"""Tables of constants, which stand in a file beside the module that reads them."""

import tomllib
from pathlib import Path
from typing import Any


def read_table(module_file: str) -> dict[str, Any]:
    """Return the table of a module: that of `html.py` is `html.toml` in the same folder."""
    path = Path(module_file)
    name = path.name.partition(".")[0]  # of a compiled module too
    return tomllib.loads(path.with_name(f"{name}.toml").read_text(encoding="utf-8"))


def names_in(text: str) -> frozenset[str]:
    """Return the names of an entry, which are separated by blanks."""
    return frozenset(text.split())


def by_name(entries: dict[str, str]) -> dict[str, str]:
    """Map each name of the entries to their keys."""
    keys = {}
    for key, text in entries.items():
        for name in text.split():
            keys[name] = key
    return keys
