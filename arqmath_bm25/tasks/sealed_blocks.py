"""A collection in a cluster as blocks: a sealed index for each, named by a digest of its documents.

A block is a run of parts (document_parts.py). Before any of them is analysed, workers read what
their documents are made of. The blocks that the cluster has are left out; each of the others is
loaded and sealed when its last part is written, while workers write the next ones. So documents
that are added cost their own analysis and load, collections share what they have in common, and an
interrupted load does not repeat the blocks that are sealed.

Where parts and blocks end depends on the documents there, not on how many are before them. So
a document that is added, changed or removed gives another name to its own block, and hardly ever to
the next ones.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

_MARKS: Final = 1 << 32


class PartContent(NamedTuple):
    """What the documents of a part are made of."""

    digest: str
    documents: int


class Block(NamedTuple):
    """Parts that follow each other, and make one index."""

    digest: str
    documents: int
    first: int  # number of its first part
    end: int  # number of the part after its last one
    counts: Mapping[str, int]  # of what was met when its documents were made


def run_ends(sizes: Iterable[int], marks: Iterable[int], size: int) -> list[int]:
    """Cut items into runs of about `size`; return after how many items each run ends.

    A run of at least half of `size` ends after an item whose mark, a hash of 32 bits, is small
    enough. No run is larger than twice `size`, except one of a single item. So after an item is
    added or removed, the following runs soon end where they ended before.
    """
    ends = []
    length = 0
    number = 0
    for number, (own, mark) in enumerate(zip(sizes, marks, strict=True), 1):
        if length and length + own > 2 * size:
            ends.append(number - 1)
            length = 0
        length += own
        if 2 * length >= size and mark * size < 2 * own * _MARKS:
            ends.append(number)
            length = 0
    if not ends or ends[-1] != number:
        ends.append(number)
    return ends


def blocks_of(parts: Sequence[PartContent], size: int) -> list[Block]:
    """Return the blocks of a collection, of about `size` documents each."""
    sizes = [part.documents for part in parts]
    marks = [int(part.digest[:8], 16) for part in parts]
    blocks = []
    first = 0
    for end in run_ends(sizes, marks, size):
        blocks.append(_block(parts[first:end], first, end))
        first = end
    return blocks


def _block(parts: Sequence[PartContent], first: int, end: int) -> Block:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.digest.encode("ascii"))
    documents = sum(part.documents for part in parts)
    return Block(digest.hexdigest(), documents, first, end, {})


class Sealing:
    """Gives the blocks of a collection to a cluster while their parts are written."""

    def __init__(
        self,
        size: int,
        counts_of: Callable[[Block], Mapping[str, int] | None],
        load: Callable[[Block, list[Path]], None],
        keeps: bool,
    ) -> None:
        """Take the number of documents in a block, and two functions that call the cluster.

        `counts_of` returns the counts of a block that the cluster has, None for other blocks. With
        `keeps`, all documents are written and stay, because something else needs them.
        """
        self.blocks: list[Block] = []  # that are done, with their counts
        self._planned: list[Block] = []
        self._size = size
        self._counts_of = counts_of
        self._load = load
        self._keeps = keeps
        self._there: dict[int, Mapping[str, int]] = {}  # first part of a block → its counts
        self._counts: Counter[str] = Counter()  # of the block that is being written
        self._files: dict[Path, Path] = {}  # part → the file that tells that it is finished

    def plan(self, parts: Sequence[PartContent]) -> dict[int, Counter[str]]:
        """Plan the blocks; return the number of each part to leave out, with its counts.

        Counts are known of whole blocks: the first part of a block has all of them.
        """
        self._planned = blocks_of(parts, self._size)
        left_out: dict[int, Counter[str]] = {}
        for block in self._planned:
            counts = self._counts_of(block)
            if counts is None:
                continue
            self._there[block.first] = counts
            if self._keeps:
                continue
            for number in range(block.first, block.end):
                left_out[number] = Counter()
            left_out[block.first] = Counter(counts)
        return left_out

    def note(self, number: int, counts: Mapping[str, int], part: Path, finished: Path) -> None:
        """Note that a part is done, and load its block if it is the last part of the block.

        Loaded parts are removed together with their `finished` files, which mark them as done.
        """
        self._counts.update(counts)
        self._files[part] = finished
        block = self._planned[len(self.blocks)]
        if number + 1 < block.end:
            return

        block = block._replace(counts=dict(self._counts))
        if block.first not in self._there:
            self._load(block, list(self._files))
        if not self._keeps:
            for written, finished in self._files.items():
                finished.unlink(missing_ok=True)  # first: by this, a next build trusts the other
                written.unlink(missing_ok=True)
        self.blocks.append(block)
        self._counts.clear()
        self._files.clear()

    def finish(self, digest: str, counts: Mapping[str, int], parts: list[Path]) -> None:
        """Load all documents as one block where no blocks were planned.

        Such a task cannot compute the digest of a part before it is written; `digest` is that of
        all documents.
        """
        if self._planned:
            return
        block = Block(digest, counts["documents"], 0, len(parts), counts)
        if self._counts_of(block) is None:
            self._load(block, parts)
        self.blocks.append(block)
