"""Other records of a dump: comments, votes, links, tags, users.

Rows are read with their attributes as the lab's files and the archive's dumps name them
(README_DATA.md of the lab, the archive's schema). Only those ids and texts are required without
which a row is useless: the lab's files lack other attributes in many rows (only the last comment of
a post has a score, a date and a user), and the archive drops deleted users.

A table keeps the offsets of the rows of each post or user, which takes little memory; rows are read
on demand, as in `posts.py`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from arqmath_bm25.collection.dump import BROKEN, ParsedRows, Row, read_places, scan_places
from arqmath_bm25.core.arrays import rows_of
from arqmath_bm25.core.tables import read_table
from arqmath_bm25.core.workers import HERE, Workers

Attributes = dict[str, str]

_ID = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")  # -1 is the site's own user


@dataclass(frozen=True)
class RowKind:
    """A kind of dump: its root element, and what every row has."""

    root: str
    ids: Sequence[str]  # whole numbers
    texts: Sequence[str] = ()
    date: str = "CreationDate"  # an attribute that some rows lack
    type: str = ""  # the attribute with the type of a row
    types: Mapping[str, str] = field(default_factory=dict)  # value of this attribute → its name

    def lacks(self, row: Attributes) -> str | None:
        """Return the reason why a row does not count; None if it does."""
        has_ids = all(is_id(row.get(name, "")) for name in self.ids)
        if has_ids and row.keys() >= set(self.texts):
            return None

        *names, last = (*self.ids, *self.texts)
        return f"rows without {', '.join(names)} or {last}"


def is_id(text: str) -> bool:
    """Return whether a text is an id in the form of the dumps."""
    return _ID.fullmatch(text) is not None


def good_rows(
    rows: ParsedRows, kind: RowKind, counts: Counter[str]
) -> Iterator[tuple[Row, Attributes]]:
    """Yield complete rows with their offsets; count all others."""
    for place, row in rows:
        counts["rows"] += 1
        if row is None:
            counts[BROKEN] += 1
            continue

        reason = kind.lacks(row)
        if reason is None:
            yield place, row
        else:
            counts[reason] += 1


KINDS = {root: RowKind(root, **what) for root, what in read_table(__file__).items()}
COMMENTS, USERS = KINDS["comments"], KINDS["users"]


class RowTable:
    """The offsets of a dump's rows by one of their ids (of comments, the post's), 32 bytes each.

    `counts` accounts for every row: rows = rows kept + all that was left out.
    """

    def __init__(self, path: Path, kind: RowKind, key: str, workers: Workers = HERE) -> None:
        """Record the offset of every row by its attribute `key`, one of the kind's `ids`.

        Broken rows, rows without a required attribute and rows that repeat an Id are left out and
        counted. Raises InputError as `scan` does.
        """
        place = partial(_place, kind=kind, key=key)
        places, self.counts = scan_places(path, kind.root, place, workers)
        self.counts["rows kept"] = len(places)
        by_key = np.argsort(places[:, 0], kind="stable")
        self._places = places[by_key]  # key, id, offset, length, CRC-32
        self._path = path
        self._key = key
        self.name = path.name

    def of(self, key: str) -> list[Attributes]:
        """Read the rows of a post or user, in the order of the file.

        Raises InputError if the file has changed since.
        """
        if not is_id(key):
            return []

        places = self._places[rows_of(self._places[:, 0], int(key))]
        return read_places(self._path, self._key, places[:, [0, 2, 3, 4]].tolist())


def _place(row: Attributes, kind: RowKind, key: str) -> tuple[int, int] | str:
    reason = kind.lacks(row)
    if reason is not None:
        return reason
    return int(row[key]), int(row["Id"])
