"""Cases drawn by a seed that pytest prints: some of many that are alike, each time others.

`drawn(items, number)` returns some of the items in their order, or all with ARQMATH_EXHAUSTIVE=1,
as `make exhaustive` sets it. ARQMATH_SEED=N draws again what the seed N drew.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def seed() -> str:
    return os.environ.setdefault("ARQMATH_SEED", str(random.SystemRandom().randrange(10**6)))


def told() -> str:
    return "all cases" if exhaustive() else f"cases drawn: ARQMATH_SEED={seed()}"


def exhaustive() -> bool:
    return os.environ.get("ARQMATH_EXHAUSTIVE") == "1"


def drawn(items: Sequence[T], number: int, name: str = "") -> list[T]:
    if exhaustive() or len(items) <= number:
        return list(items)
    places = random.Random(f"{seed()} {name}").sample(range(len(items)), number)
    return [items[place] for place in sorted(places)]
