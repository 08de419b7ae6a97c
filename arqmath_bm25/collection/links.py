"""PostLinks.xml: which questions the site's users linked with each other or called duplicates.

Links between posts of the collection may be used by participants (the labs hid those that lead to
topics). The direction says who found the other; for what a question is about, both count.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from arqmath_bm25.collection.dump import ID, ParsedRows, check
from arqmath_bm25.core.files import load_array

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_ROOT: Final = "postlinks"
_ENDS: Final = ("PostId", "RelatedPostId")
_NO_IDS: Final = "rows whose PostId or RelatedPostId is no positive number"


class PostLinks:
    """Pairs of linked posts, 16 bytes each way: a link counts for both of its ends.

    `counts` accounts for every row of the file: rows = links + all that was left out.
    """

    counts: dict[str, int]

    def __init__(self, pairs: NDArray[np.int64]) -> None:
        # Sorted rows of (post, linked post), without repeats; by columns, as they are searched.
        self._pairs = np.asfortranarray(pairs)

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read a PostLinks.xml; rows without two ids are left out. No file, no links."""
        found = array("q")
        counts: Counter[str] = Counter(rows=0, links=0)
        if path:
            check(path, _ROOT)
            for _, link in ParsedRows(path, _ROOT):
                counts["rows"] += 1
                if isinstance(link, str):
                    counts[link] += 1
                    continue
                ends = [link.get(end, "") for end in _ENDS]
                if all(map(ID.fullmatch, ends)):
                    counts["links"] += 1
                    one, other = map(int, ends)
                    found.extend((one, other, other, one))
                else:
                    counts[_NO_IDS] += 1
        pairs = np.frombuffer(found, dtype=np.int64).reshape(-1, 2)
        links = cls(np.unique(pairs, axis=0))
        links.counts = dict(counts)
        return links

    def save(self, path: Path) -> None:
        """Write the links as a NumPy file."""
        np.save(path, self._pairs)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read links that `save` wrote."""
        return cls(load_array(path))

    def part(self, post_ids: NDArray[np.int64]) -> PostLinks:
        """Return the links of some posts."""
        ends = self._pairs[:, 0]
        post_ids = np.unique(post_ids)
        first = np.searchsorted(ends, post_ids)
        counts = np.searchsorted(ends, post_ids, side="right") - first
        # Row numbers first, first + 1, ... for each post: to look at all links would take hours.
        skipped = np.repeat(first - counts.cumsum() + counts, counts)
        return PostLinks(self._pairs[skipped + np.arange(len(skipped))])

    def linked(self) -> NDArray[np.int64]:
        """Return all posts that are linked with one."""
        return np.unique(self._pairs[:, 1])

    def of(self, post_id: str) -> list[str]:
        """Return the posts linked with a post, in order of their ids."""
        post = int(post_id)
        begin, end = np.searchsorted(self._pairs[:, 0], [post, post + 1])
        return [str(linked) for linked in self._pairs[begin:end, 1].tolist() if linked != post]
