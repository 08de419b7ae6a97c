"""Which posts a search may return: by the tags of their questions, and when these were asked."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, Self

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.records import Hit

FIRST_SEARCHED = 1000  # best documents among which the filter looks at first
SEARCHED = 100_000  # … if too few of these pass
NONE_PASSES = "No post that holds a term of this query has these tags and years."


class PostFilter(NamedTuple):
    """Lets posts through whose question has all of the tags, and is of one of the years."""

    tags: frozenset[str] = frozenset()
    years: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tags: Iterable[str] = (), years: Iterable[int | str] = ()) -> Self:
        """Return the filter for tags, in upper or lower case, and years; without any, for all."""
        names = {tag.strip().lower() for tag in tags}
        names.discard("")
        return cls(frozenset(names), frozenset(map(str, years)))

    @property
    def is_open(self) -> bool:
        """Return whether everything passes."""
        return not (self.tags or self.years)

    def passing(self, hits: list[Hit], collection: CollectionFiles) -> Iterator[Hit]:
        """Yield the hits that pass the filter; an answer without its question never does."""
        if self.is_open:
            yield from hits
            return
        posts = collection.posts

        @lru_cache(maxsize=SEARCHED)
        def passes(thread: int) -> bool:
            question = posts.read(str(thread))
            if question is None or not self.tags <= set(question.tags):
                return False
            if not self.years:
                return True
            date = question.creation_date or ""
            return date[:4] in self.years

        ids = [hit.post_id or hit.doc_id for hit in hits]
        threads = posts.threads_of(ids)
        for hit, thread in zip(hits, threads.tolist(), strict=True):
            if passes(thread):
                yield hit


ALL_POSTS = PostFilter()
