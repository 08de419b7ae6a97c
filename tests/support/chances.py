"""Cases that are drawn: some of many that are alike, by a fixed seed that pytest prints.

`drawn(items, number)` returns some of the items in their order. With ARQMATH_EXHAUSTIVE=1, as `make
exhaustive` sets it every night, it returns all, and what is random is drawn anew; ARQMATH_SEED=N
draws again what the seed N drew.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
_FIXED: Final = "1"


def seed() -> str:
    anew = str(random.SystemRandom().randrange(10**6)) if exhaustive() else _FIXED
    return os.environ.setdefault("ARQMATH_SEED", anew)


def told() -> str:
    drawn_cases = "all cases" if exhaustive() else "some of many like cases"
    return f"{drawn_cases}, drawn by ARQMATH_SEED={seed()}"


def exhaustive() -> bool:
    return os.environ.get("ARQMATH_EXHAUSTIVE") == "1"


def drawn(items: Sequence[T], number: int, name: str = "") -> list[T]:
    if exhaustive() or len(items) <= number:
        return list(items)
    places = random.Random(f"{seed()} {name}").sample(range(len(items)), number)
    return [items[place] for place in sorted(places)]
