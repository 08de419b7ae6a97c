"""A collection: its files, where its indexes are kept, and the tables that all callers share."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import POST_TABLE, QUESTION
from arqmath_bm25.collection.premises import PremiseFiles
from arqmath_bm25.collection.sites import dumps_in, find_sites, load_posts, scan_sites
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.files import sources
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.sample_data import NLPS_SAMPLE, SAMPLE

if TYPE_CHECKING:
    from arqmath_bm25.collection.posts import Post, PostTable
    from arqmath_bm25.collection.sites import Site

INDEXES: Final = Path("indexes")
_SITE: Final = "math.stackexchange.com"


class Collection:
    """The files of DATA, and what is read of them once for all threads and commands."""

    def __init__(self, data: str | Path | None = None, indexes: str | Path = INDEXES) -> None:
        """`data` is the root of a distribution, the bundled sample without; see Layout.

        It may also be a directory of directories with a dump of one site each; see sites.py.

        `indexes` is the directory below which indexes are kept, by collection. Raises InputError if
        `data` is no directory.
        """
        self.layout = Layout(Path(data) if data is not None else SAMPLE)
        self.premises = PremiseFiles.at(Path(data) if data is not None else NLPS_SAMPLE)
        self.indexes = Path(indexes)
        self.on_site = data is not None  # the sample's posts are not on Math Stack Exchange
        self._reading = RLock()

    @property
    def name(self) -> str:
        """Name of its directory, which keeps its indexes and runs apart."""
        return self.layout.name

    @property
    def directory(self) -> Path:
        """Where its indexes are kept."""
        return self.indexes / self.name

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Its dumps, in order of their names. Raises InputError if there is none."""
        return find_sites([self.layout.data])

    @property
    def has_posts(self) -> bool:
        """Tell whether there is a dump, or one in a directory of its directory."""
        return bool(dumps_in(self.layout.data))

    @cached_property
    def site_names(self) -> list[str]:
        """Names of its sites, which ids carry where there are several; of one alone none."""
        return [site.name for site in self.sites] if len(dumps_in(self.layout.data)) > 1 else []

    @cached_property
    def _posts(self) -> PostTable:
        made_of = sources(site.posts for site in self.sites)
        for table in sorted(self.directory.glob(f"*/{POST_TABLE}")):
            manifest = Manifest.read(table.parent)
            if (
                manifest is not None
                and manifest.sites == self.site_names
                and all(source in manifest.sources for source in made_of)
                and not any(manifest.damages(table.parent, [table.name]))
            ):
                return load_posts(table, self.sites)
        return scan_sites(self.sites)

    @property
    def posts_if_known(self) -> PostTable | None:
        """The posts, if an index has their table."""
        known = "_posts" in vars(self) or any(self.directory.glob(f"*/{POST_TABLE}"))
        return self.posts if known and self.layout.has_posts() else None

    @property
    def posts(self) -> PostTable:
        """The posts: by the table of an index of the same file, else by reading it all."""
        with self._reading:
            return self._posts

    def post(self, post_id: str) -> Post:
        """Return a post that an index says is there; InputError if it is not."""
        post = self.posts.read(post_id)
        if post is None:
            raise InputError(f"{self.posts.path}: post {post_id} is not in it; index it again")
        return post

    def question_of(self, post: Post) -> Post | None:
        """Return the question of an answer, None if it is missing; a question itself."""
        return post if post.post_type == QUESTION else self.posts.read(post.parent_id or "")

    def link(self, post: Post) -> str:
        """Return where a post stands on Stack Exchange; nothing for the sample's, which do not."""
        kind = "q" if post.post_type == QUESTION else "a"
        site, _, number = post.post_id.rpartition(":")
        return f"https://{site or _SITE}/{kind}/{number}" if self.on_site else ""

    def place(self, post: Post) -> str:
        """Say where a post is to be found: its link, else its kind and id."""
        kind = "question" if post.post_type == QUESTION else "answer"
        return self.link(post) or f"{kind} {post.post_id}"
