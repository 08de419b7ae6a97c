"""PostLinks.xml: questions that the site's users linked with each other or called duplicates.

Links between posts of the collection may be used by participants (the labs hid those that lead to
topics). A link has a direction, but both of its ends are evidence of what a question is about.
"""

from array import array
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import numpy as np

from arqmath_bm25.collection.activity import KINDS as DUMPS
from arqmath_bm25.collection.activity import good_rows, is_id
from arqmath_bm25.collection.dump import check, written_rows
from arqmath_bm25.core.arrays import Ints, rows_of

# How a post relates to another: twice the LinkTypeId, and 1 more for the target of a link.
DUPLICATE = 6
_LINKS = DUMPS["postlinks"]
KINDS = {
    2: "links to",
    6: "duplicate of",
    3: "linked from",
    7: "has the duplicate",
}


class PostLinks:
    """Rows of (post, linked post, relation), 24 bytes, for both ends of every link.

    `counts` accounts for every row of the file: rows = links + all that was left out.
    """

    name: Final = "PostLinks"

    def __init__(self, rows: Ints, counts: Mapping[str, int]) -> None:
        self.rows = np.asfortranarray(rows)  # sorted, without repeats; searched by columns
        self.counts = counts

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read a PostLinks.xml; rows without two ids are left out. No file, no links."""
        ends = array("q")
        counts = Counter(rows=0, links=0)
        if path:
            check(path, _LINKS.root)
            links = written_rows(path, _LINKS.root)
            for _, link in good_rows(links, _LINKS, counts):
                counts["links"] += 1
                post = int(link["PostId"])
                other = int(link["RelatedPostId"])
                link_type = link.get("LinkTypeId", "")
                if not is_id(link_type):
                    link_type = "1"
                kind = 2 * int(link_type)
                ends.extend((post, other, kind))
                ends.extend((other, post, kind + 1))

        rows = np.frombuffer(ends, np.int64).reshape(-1, 3)
        return cls(np.unique(rows, axis=0), counts)

    def rows_of(self, post: int) -> list[list[int]]:
        """Return the posts linked with a post, and the kind of each link."""
        linked: list[list[int]] = self.rows[rows_of(self.rows[:, 0], post), 1:].tolist()
        return linked

    def of(self, post: int) -> list[int]:
        """Return the posts linked with a post, in their order."""
        others = {other for other, _ in self.rows_of(post)}
        others.discard(post)
        return sorted(others)
