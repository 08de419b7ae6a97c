"""PostLinks.xml: which questions the site's users linked with each other or called duplicates.

Links between posts of the collection may be used by participants (the labs hid those that lead to
topics). The direction says who found the other; for what a question is about, both count.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from arqmath_bm25.collection.dump import check, parsed_rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_ROOT: Final = "postlinks"
_ENDS: Final = ("PostId", "RelatedPostId")


class PostLinks:
    """Pairs of linked posts, 16 bytes each way: a link counts for both of its ends."""

    def __init__(self, pairs: NDArray[np.int64]) -> None:
        self._pairs = pairs  # sorted rows of (post, linked post), without repeats

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read a PostLinks.xml; rows without two ids are passed over. No file, no links."""
        found = array("q")
        if path:
            check(path, _ROOT)
            for _, link in parsed_rows(path, _ROOT):
                ends = [(link or {}).get(end, "") for end in _ENDS]
                if all(end.isdecimal() and len(end) < 19 for end in ends):
                    one, other = map(int, ends)
                    found.extend((one, other, other, one))
        pairs = np.frombuffer(found, dtype=np.int64).reshape(-1, 2)
        return cls(np.unique(pairs, axis=0))

    def part(self, post_ids: NDArray[np.int64]) -> PostLinks:
        """Return the links of some posts."""
        return PostLinks(self._pairs[np.isin(self._pairs[:, 0], post_ids)])

    def linked(self) -> NDArray[np.int64]:
        """Return all posts that are linked with one."""
        return np.unique(self._pairs[:, 1])

    def of(self, post_id: str) -> list[str]:
        """Return the posts linked with a post, in order of their ids."""
        post = int(post_id)
        begin, end = np.searchsorted(self._pairs[:, 0], [post, post + 1])
        return [str(linked) for linked in self._pairs[begin:end, 1].tolist() if linked != post]
