"""A tokenizer of the user's own: `analysis.latex.tokenizer: package.module:function`.

The function is called with the LaTeX of a formula, without delimiters, and returns its tokens: a
list of strings without white space. Their n-grams are the terms of the fields of math. It must
return the same for the same LaTeX; workers and queries import it as well.

So a configuration is code, but an index is not: a tokenizer that its manifest names runs only if a
configuration of the user names the same tokenizer.
"""

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

from arqmath_bm25.core.errors import InputError

TRUSTED = set[str]()  # tokenizers that configurations of the user name
_KEY = "analysis.latex.tokenizer"


@cache
def load_tokenizer(name: str) -> Callable[[str], list[str]]:
    """Import a tokenizer; InputError if it cannot be imported or is not a function."""
    module, _, function = name.partition(":")
    try:
        tokenize = getattr(import_module(module), function, None)
    except Exception as error:  # a user's module may raise anything
        raise InputError(
            f"{_KEY}: cannot import {module} ({type(error).__name__}: {error}); install it, or put "
            "its directory on PYTHONPATH"
        ) from None
    if not callable(tokenize):
        raise InputError(f"{_KEY}: {module} has no function {function}")

    def tokens(latex: str) -> list[str]:
        try:
            made = tokenize(latex)
        except Exception as error:
            raise InputError(
                f"{_KEY}: {name} failed on {latex[:60]!r}: {type(error).__name__}: {error}"
            ) from error

        if not isinstance(made, list) or any(
            not isinstance(token, str) or token.split() != [token] for token in made
        ):
            raise InputError(
                f"{_KEY}: {name} returned {repr(made)[:60]} for {latex[:60]!r}; expected a list "
                "of strings without white space"
            )
        return made

    return tokens


@cache  # an imported module stays the same, even if its file changes
def tokenizer_version(name: str) -> str:
    """Return the fingerprint of a tokenizer: its package's version and its source's digest."""
    load_tokenizer(name)
    module = sys.modules[name.partition(":")[0]]
    package = sys.modules[module.__name__.partition(".")[0]]
    source = getattr(module, "__file__", None)
    digest = ""
    if source:
        digest = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    return f"{getattr(package, '__version__', '')} {digest}".strip()
