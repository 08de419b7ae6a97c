"""Measures of ir_measures by their names, without its own reader of names.

`ir_measures.parse_measure` reads no cutoff on Python 3.14: it asks for `ast.Num`, which is gone.
"""

from __future__ import annotations

from typing import Any

import ir_measures


def measure_of(name: str) -> Any:
    """Return the measure of a name, which is a Python expression: `P(rel=2)@10`."""
    return eval(name, dict(ir_measures.measures.registry))  # noqa: S307  # names of tests alone
