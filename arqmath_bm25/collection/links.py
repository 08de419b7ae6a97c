"""PostLinks.xml: which questions the site's users linked with each other or called duplicates.

Links between posts of the collection may be used by participants (the labs hid those that lead to
topics). The direction says who found the other; for what a question is about, both count.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from arqmath_bm25.collection.dump import attributes, rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_ENDS: Final = ("PostId", "RelatedPostId")


class PostLinks:
    """Pairs of linked posts, 16 bytes each way: a link counts for both of its ends."""

    def __init__(self, pairs: NDArray[np.int64]) -> None:
        self._pairs = pairs  # sorted rows of (post, linked post), without repeats

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read a PostLinks.xml; rows without two ids are passed over. No file, no links."""
        found = array("q")
        for row in rows(path, "postlinks") if path else ():
            ends = [(attributes(row.xml) or {}).get(end, "") for end in _ENDS]
            if all(end.isdecimal() and len(end) < 19 for end in ends):
                one, other = map(int, ends)
                found.extend((one, other, other, one))
        pairs = np.frombuffer(found, dtype=np.int64).reshape(-1, 2)
        return cls(np.unique(pairs, axis=0))

    def save(self, path: Path) -> None:
        """Write the pairs as a NumPy file."""
        np.save(path, self._pairs)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote."""
        return cls(np.load(path, allow_pickle=False))

    def of(self, post_id: str) -> list[str]:
        """Return the posts linked with a post, in order of their ids."""
        post = int(post_id)
        begin, end = np.searchsorted(self._pairs[:, 0], [post, post + 1])
        return [str(linked) for linked in self._pairs[begin:end, 1].tolist() if linked != post]
