"""Tables of constants, which stand in a file beside the module that reads them."""

import tomllib
from pathlib import Path
from typing import Any


def read_table(module_file: str) -> dict[str, Any]:
    """Return the table beside a module: `html.toml` beside `html.py`."""
    return tomllib.loads(Path(module_file).with_suffix(".toml").read_text(encoding="utf-8"))
