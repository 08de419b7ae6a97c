"""Sparse retrieval for mathematics: a BM25 baseline for the ARQMath labs (CLEF 2020-2022).

As a library: see `arqmath_bm25.api`, whose names are found here. They are imported when they are
asked for.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from arqmath_bm25.version import __version__

if sys.platform == "win32":
    raise ImportError(
        "arqmath-bm25 runs on Linux and macOS. On Windows install it in the Windows Subsystem for "
        "Linux (WSL)."
    )

from arqmath_bm25.core.errors import InputError, ScoreWarning
from arqmath_bm25.core.guesses import no_attribute

if TYPE_CHECKING:
    from arqmath_bm25.analysis.analyzer import analyze, terms, tokenize
    from arqmath_bm25.analysis.formula_similarity import formula_similarities, formula_similarity
    from arqmath_bm25.api import (
        Collection,
        Index,
        compare,
        evaluate,
        fuse,
        read_qrels,
        read_run,
        sample,
        write_run,
    )
    from arqmath_bm25.irdatasets import register_ir_datasets

__all__ = [
    "Collection", "Index", "InputError", "ScoreWarning", "__version__", "analyze", "compare",
    "evaluate", "formula_similarities", "formula_similarity", "fuse", "read_qrels",
    "read_run", "register_ir_datasets", "sample", "terms", "tokenize", "write_run",
]  # fmt: skip
_ELSEWHERE = {
    **dict.fromkeys(("analyze", "terms", "tokenize"), "analysis.analyzer"),
    **dict.fromkeys(("formula_similarities", "formula_similarity"), "analysis.formula_similarity"),
    **dict.fromkeys(("InputError", "ScoreWarning"), "core.errors"),
    "register_ir_datasets": "irdatasets",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise no_attribute(f"module {__name__!r}", name, __all__)
    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'api')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
