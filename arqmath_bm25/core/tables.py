"""Tables of constants, which stand in a file beside the module that reads them."""

import tomllib
from pathlib import Path
from typing import Any


def read_table(module_file: str) -> dict[str, Any]:
    """Return the table of a module: that of `html.py` is `html.toml` in the same folder."""
    path = Path(module_file)
    name = path.name.partition(".")[0]  # of a compiled module too
    return tomllib.loads(path.with_name(f"{name}.toml").read_text(encoding="utf-8"))
