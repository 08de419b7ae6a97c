"""Short names for the runs of one table or report: the words that differ."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

_WORD: Final = re.compile(r"[^-_./ ]*[-_./ ]+|[^-_./ ]+")  # of a name, with the separator after it


def short_names(names: Sequence[str]) -> list[str]:
    """Leave out the words with which all names begin or end; one is left of each."""
    words = [_WORD.findall(name) for name in names]
    most = min(map(len, words)) - 1
    first = min(_common(words), most)
    reversed_words = [of_name[::-1] for of_name in words]
    last = min(_common(reversed_words), most - first)

    short = []
    for of_name in words:
        middle = of_name[first : len(of_name) - last]
        short.append("".join(middle).strip("-_./ "))

    distinct = len(set(short) - {""}) == len(names)
    if len(names) > 1 and distinct:
        return short
    return list(names)


def _common(words: Sequence[Sequence[str]]) -> int:
    """Count the words with which all names begin."""
    columns = zip(*words, strict=False)
    return len(list(takewhile(lambda column: len(set(column)) == 1, columns)))
