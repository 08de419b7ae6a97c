"""Names that people try first, and the names that this package has for the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

COMMANDS: Final = {
    "help": "--help", "version": "--version", "evaluate": "eval", "score": "eval",
    "download": "fetch", "query": "search", "find": "search", "rank": "run", "retrieve": "run",
    "build": "index", "merge": "fuse", "check": "validate", "annotate": "judge", "web": "serve",
    "info": "inspect", "add": "index", "update": "index", "reindex": "index",
}  # fmt: skip

# Of several, the first that the command has.
OPTIONS: Final = {
    **dict.fromkeys(("-m", "--metric", "--metrics", "--measures"), ("--measure",)),
    **dict.fromkeys(("-q", "--qrel", "--judgments", "--judgements"), ("--qrels",)),
    **dict.fromkeys(
        ("-n", "-k", "--k", "--top", "--limit", "--num", "--hits", "--top-k"), ("--depth",)
    ),
    **dict.fromkeys(("--year", "--years", "-t", "--topic"), ("--topics",)),
    **dict.fromkeys(("--to", "--csv", "--latex", "--markdown", "--trec"), ("--format",)),
    **dict.fromkeys(("--model", "--ranker"), ("--variant",)),
    **dict.fromkeys(("-d", "-i", "--input", "--documents", "--corpus"), ("--data",)),
    **dict.fromkeys(
        ("-o", "--out", "--output", "--output-dir", "--html"), ("--output", "--runs")
    ),
    **dict.fromkeys(("-j", "--threads", "--workers"), ("--jobs",)),
    **dict.fromkeys(("--force", "-f"), ("--overwrite",)),
    **dict.fromkeys(("--configuration", "-c", "--k1", "--b"), ("--config",)),
    "--index": ("--indexes",), "--bind": ("--host",), "-p": ("--port",),
}  # fmt: skip

# What to write in Python; `Collection` and `Index` are those of the library.
_SEARCH: Final = "Collection(DATA).index(TASK).search(query)"
_FOR: Final = {
    "index": "Collection(DATA).index(TASK)", "build": "Collection(DATA).index(TASK)",
    "search": _SEARCH, "query": _SEARCH, "retrieve": _SEARCH, "BM25": _SEARCH,
    "load": "Collection(DATA)", "open": "Collection(DATA)", "load_collection": "Collection(DATA)",
    "from_list": "Collection.of(texts)", "from_dicts": "Collection.of(documents)",
    "from_dataframe": "Collection.of(frame)", "from_pandas": "Collection.of(frame)",
    "transform": "Index.run(topics)", "batch_search": "Index.run(topics)",
    "rank": "Index.run(topics)", "save_run": "write_run(run, path)",
    "save": "write_run(run, path)", "load_run": "read_run(path)", "load_qrels": "read_qrels(path)",
    "eval": "evaluate(run, qrels)", "measure": "evaluate(run, qrels)",
    "ttest": "compare(runs, qrels)", "help": "help(arqmath_bm25), in Python itself",
    "report": "the command `arqmath-bm25 report`", "serve": "the command `arqmath-bm25 serve`",
    "pool": "the command `arqmath-bm25 pool`", "from_files": "Collection(folder)",
    "doc": "Index.document(docno)", "get": "Index.document(docno)",
    "k1": "Index.settings", "b": "Index.settings", "config": "Index.settings",
}  # fmt: skip


def no_attribute(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error of a name that a module or an object does not have, with one that helps."""
    message = f"{owner} has no attribute {name!r}"
    public = [other for other in known if not other.startswith("_")]
    near = get_close_matches(name, public, n=1)
    if name in _FOR:
        message += f"; there is {_FOR[name]}"
    elif near:
        message += f"; did you mean {near[0]}?"
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
            raise TypeError(f"{function.__qualname__}: {error}; it takes {takes}") from None
        return function(*values, **named)

    return called
