"""Dollars that are money, in texts where dollars begin formulas too.

Where both could be meant, it is money: "US$ 5 million and US$ 7 million", "5$ and 6$", "$HOME and
$PATH" have no formula, "for 5 $ we sell $n$ pieces" has one.
"""

from arqmath_bm25.core.lazy import expression

_SIGNS_OF_FORMULAS = frozenset("\\^_{}")
_WORD = expression(r"[A-Za-z]{3}")
_SHORT_WORD = expression(r"(?<![A-Za-z])[a-z]{2,}")
_AMOUNT = expression(r"\s?[0-9][0-9.,]*")
_ENDS_WITH_AMOUNT = expression(r"[0-9][kmKM]?\s?\Z")
_BEFORE = expression(r"(?:(?P<amount>[0-9]\s?)|(?<![A-Za-z\\])(?P<currency>[A-Z]{1,3}))\$\Z")
_OTHERS = expression(r"(?<!\\)\\\(|`[^`'\n]+`")  # formulas and code
_OF_WORDS = expression(r"\\(?:text|mbox)")  # may hold these
_MARKS = frozenset(" \n\t,.;:/)–—-")  # which follow an amount
_LONGEST = 1000  # characters between two dollars of prose


def is_money(text: str, begin: int, end: int) -> bool:
    """Return whether prose is between two dollars; it begins after the first of them."""
    between = text[begin:end]
    if _OTHERS.search(between) and not _OF_WORDS.search(between):
        return True
    if not between or end - begin > _LONGEST or not _SIGNS_OF_FORMULAS.isdisjoint(between):
        return False

    follows = text[end + 1 : end + 3]
    has_words = _WORD.search(between) is not None
    is_loose = between[0].isspace() or between[-1].isspace()
    opens_next = between[-1].isspace() and (follows[:1].isalnum() or follows[:1] == "\\")
    amount = _AMOUNT.match(between)
    ends_with_amount = _ENDS_WITH_AMOUNT.search(between) is not None
    before = _BEFORE.search(text, max(0, begin - 5), begin)

    if before is not None and before["amount"] and (has_words or between[0] in _MARKS):
        return has_words or ends_with_amount or opens_next
    if before is not None and before["currency"] and has_words and between[0] in _MARKS:
        return True
    if (
        has_words
        and not between[0].isspace()
        and (between[-1].isspace() or follows[:1].isdecimal())
    ):
        return True
    if amount is None:
        return False

    is_number = amount.end() == len(between.rstrip())
    if is_number:
        return is_loose
    if before is not None and before["currency"]:
        return True
    if follows[:1].isdecimal() or opens_next or (has_words and is_loose):
        return True
    if between[-1].isspace() and follows.strip()[:1].isdecimal():
        return True
    return ends_with_amount and _SHORT_WORD.search(between) is not None
