"""The labs' years, by the numbers of their topics."""

from __future__ import annotations

import pytest

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import year_of


@pytest.mark.parametrize(
    ("topics", "year"),
    [
        (["A.1", "A.100"], "2020"), (["B.201", "B.300"], "2021"), (["A.301", "A.400"], "2022"),
    ],
)  # fmt: skip
def test_the_year_is_told_by_the_numbers_of_topics(topics: list[str], year: str) -> None:
    assert year_of(topics) == year


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        (["A.1", "A.101"], "topic 'A.101' is of none of the labs"),
        (["D.7"], "topic 'D.7' is of none of the labs"),
        (["A.1", "A.301"], r"more than one year, A\.1 \(2020\) and A\.301 \(2022\)"),
        ([], "there is no topic that names the year"),
    ],
)
def test_topics_that_tell_no_year_are_named(topics: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        year_of(topics)
