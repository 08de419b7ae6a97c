"""Short names for the runs of one table or report: the words that differ."""

import re
from collections.abc import Sequence

_SEPARATORS = "-_./ "

# A word of a name, with the separators after it.
_WORD = re.compile(r"[^-_./ ]*[-_./ ]+|[^-_./ ]+")


def short_names(names: Sequence[str]) -> list[str]:
    """Leave out the words with which all names begin or end, but keep a word of each name."""
    words = [_WORD.findall(name) for name in names]
    reversed_words = [name_words[::-1] for name_words in words]
    removable = min(map(len, words)) - 1
    first = min(_count_shared(words), removable)
    removable -= first
    last = min(_count_shared(reversed_words), removable)

    short = []
    for name_words in words:
        end = len(name_words) - last
        middle = "".join(name_words[first:end])
        short.append(middle.strip(_SEPARATORS))

    distinct = set(short) - {""}
    if len(names) > 1 and len(distinct) == len(names):
        return short
    return list(names)


def _count_shared(words: Sequence[Sequence[str]]) -> int:
    """Count the words with which all names begin."""
    count = 0
    for column in zip(*words, strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    return count
