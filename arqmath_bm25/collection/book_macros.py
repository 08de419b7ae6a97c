"""Macros that front matter, or the configuration of a book, declares for its formulas."""

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from arqmath_bm25.analysis.macros import Macro

CONFIGURATIONS = ("myst.yml", "_config.yml", "conf.py")  # of MyST, Jupyter Book, Sphinx
_TABLES = ("math", "macros", "Macros")  # of MyST, MathJax 3, MathJax 2
_NAME = re.compile(r"\\?([A-Za-z]+)")
_PARAMETER = re.compile(r"#([1-9])")
_DEEPEST = 9  # a table of macros in other tables


def configured(text: str, name: str) -> str:
    """Return the definitions in a configuration, in LaTeX; of Python, values alone are read."""
    from arqmath_bm25.core.configuration import from_yaml  # pydantic loads slowly

    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        if name.endswith(".py"):
            values: Any = {}
            for node in ast.parse(text).body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("math"):
                    values[len(values)] = ast.literal_eval(node.value)
        else:
            values = from_yaml(text)
        return "\n".join(definitions(values))
    return ""


def definitions(values: Any, depth: int = 0) -> Iterator[str]:
    r"""Yield the definitions in tables: `math: {"\\R": "\\mathbb{R}"}`, `macros: {f: [#1, 1]}`."""
    if not isinstance(values, dict) or depth > _DEEPEST:
        return
    for key, table in values.items():
        if key in _TABLES and isinstance(table, dict):
            for name, body in table.items():
                yield from _definition(str(name), body)
        else:
            yield from definitions(table, depth + 1)


def _definition(name: str, body: Any) -> Iterator[str]:
    default = None
    if isinstance(body, dict):
        body = body.get("macro")
    if isinstance(body, list | tuple) and body:
        default = str(body[2]) if len(body) > 2 else None
        body = body[0]
    named = _NAME.fullmatch(name)
    if named and isinstance(body, str):
        count = max(map(int, _PARAMETER.findall(body)), default=0)
        yield Macro(body, count, default).definition(named[1])
