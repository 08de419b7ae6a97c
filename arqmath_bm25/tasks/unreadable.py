"""No document ends a build: what cannot be read is counted, named and left out.

The readers are tested on hostile input, so a fault is a defect of theirs that nobody has met yet.
It costs the text of one document, not the hours of a build; many faults end the build after all.
"""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from arqmath_bm25.core.errors import InputError, shown

UNREADABLE = "of them unreadable"
_NAME = "unreadable: "  # before an id and its error, as a key of counts
_NAMED = 5
_FEW = 5  # are no reason to end a build, whatever the size of the collection
_PER = 1_000  # documents of which one may be unreadable

T = TypeVar("T")
R = TypeVar("R")


def read_or_leave_out(
    read: Callable[[T], R], content: T, instead: T, doc_id: str, counts: Counter[str]
) -> R:
    """Return what `read` makes of a content or, if it fails, of the one to take `instead`.

    Faults are noted in `counts`. InputError, which is about settings and files, is raised.
    """
    try:
        return read(content)
    except InputError:
        raise
    except Exception as error:  # any fault of a reader
        counts[UNREADABLE] += 1
        if counts[UNREADABLE] <= _NAMED:
            reason = " ".join(f"{type(error).__name__} {error}".split())[:80]
            counts[f"{_NAME}{shown(doc_id)} ({reason})"] = 1
        return read(instead)


def settle(counts: Counter[str], things: str) -> None:
    """Say which documents were left out, and forget their names.

    Raises InputError if they are more than one in a thousand, and more than five.
    """
    from arqmath_bm25.core.progress import tell  # loads rich, which workers need not

    unreadable = counts[UNREADABLE]
    if not unreadable:
        del counts[UNREADABLE]
        return

    keys = [key for key in counts if key.startswith(_NAME)]
    for key in keys:
        del counts[key]
    first = ", ".join(key.removeprefix(_NAME) for key in keys[:_NAMED])
    said = f"{unreadable:,} {things} cannot be read: {first}"
    if unreadable > max(_FEW, counts["documents"] // _PER):
        raise InputError(
            f"{said}. More than one in {_PER:,} is too many to leave out; please report it, with "
            "the text of one of them"
        )
    tell(f"{said}; their text is left out, please report it")
