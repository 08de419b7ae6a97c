"""A collection: its files, where its indexes are kept, and the tables that all callers share."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Final

from arqmath_bm25.collection.dump import parsed_rows
from arqmath_bm25.collection.file_collection import is_file_collection, written_corpus
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.own_documents import IRDS, corpus_in, written_set
from arqmath_bm25.collection.posts import ANSWER, POST_TABLE, QUESTION, Post, PostTable
from arqmath_bm25.collection.premises import PremiseFiles
from arqmath_bm25.collection.site import Site, linked_post
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.manifest import MANIFEST, Manifest
from arqmath_bm25.core.sample_data import NLPS_SAMPLE, SAMPLE
from arqmath_bm25.core.writing import sources

INDEXES: Final = Path("indexes")
_UNTIL: Final = re.compile(r"[0-9]{4}|none")


def _is_of_files(data: Path) -> bool:
    """Return whether DATA is read file by file: it is no distribution, no dump, no corpus."""
    if data.is_dir() and Layout(data).is_known():
        return False
    return corpus_in(data) is None and is_file_collection(data)


class Collection:
    """The files of DATA, and tables read from them once for all threads and commands."""

    def __init__(
        self,
        data: str | Path | None = None,
        indexes: str | Path = INDEXES,
        *,
        site: str | None = None,
        until: str | None = None,
        delimiters: str | None = None,
        whole: bool | None = None,
    ) -> None:
        """`data` is the root of a distribution, by default the bundled sample; see Layout.

        It may also be a file of documents, a directory with one, or irds:NAME (own_documents.py),
        or a folder of LaTeX, Markdown, HTML, notebooks and texts (file_collection.py), of which
        each part is a document; with `whole` each file is one.

        `indexes` is the directory below which indexes are kept, by collection. `site` is the
        address of a dump, `until` the last year of the posts that count, or `none`, `delimiters`
        what encloses formulas. The default of these three is what the indexes were built with, or
        else what the data show. Raises InputError if `data` is missing or of no such form.
        """
        if until is not None and not _UNTIL.fullmatch(until):
            raise InputError(f"--until {until}: expected a year, or none for all posts")
        if data is not None and str(data).startswith(IRDS):
            data = written_set(str(data).removeprefix(IRDS), Path(indexes) / "irds")
        self.of_files = data is not None and _is_of_files(Path(data))
        if data is not None and self.of_files:
            data = written_corpus(Path(data), Path(indexes) / "files", whole)
        self.layout = Layout(Path(data) if data is not None else SAMPLE)
        self.name = self.layout.name  # of its directory; keeps its indexes and runs apart
        self.premises = PremiseFiles.at(Path(data) if data is not None else NLPS_SAMPLE)
        self.indexes = Path(indexes)
        self.on_site = data is not None  # the sample's posts are not on Math Stack Exchange
        self._reading = RLock()
        self._chosen = {"site": site, "until": until, "delimiters": delimiters}

    @property
    def directory(self) -> Path:
        """Where its indexes are kept."""
        return self.indexes / self.name

    @cached_property
    def site(self) -> Site:
        """The site of its posts. Raises InputError if there are none."""
        return Site.of(self.layout, self.chosen.get("until"))

    @cached_property
    def chosen(self) -> dict[str, str]:
        """What was chosen of site, last year and delimiters, now or when an index was built."""
        chosen = {key: value for key, value in self._chosen.items() if value}
        for _, manifest in self._manifests():
            chosen = {**manifest.recipe.get("chosen", {}), **chosen}
        return chosen

    def _manifests(self) -> Iterator[tuple[Path, Manifest]]:
        """Yield the indexes with their manifests; damaged ones are reported when opened."""
        for path in sorted(self.directory.glob(f"*/{MANIFEST}")):
            with suppress(NoIndexError):
                if manifest := Manifest.read(path.parent):
                    yield path.parent, manifest

    @property
    def has_posts(self) -> bool:
        """Return whether there is a dump."""
        return self.layout.has_posts()

    @cached_property
    def has_answers(self) -> bool:
        """Return whether any post is an answer, which is found early in the file."""
        return self.has_posts and any(
            row is not None and row.get("PostTypeId") == str(ANSWER)
            for _, row in parsed_rows(self.site.posts, "posts")
        )

    @cached_property
    def _posts(self) -> PostTable:
        made_of = sources([self.site.posts])
        for index, manifest in self._manifests():
            if (
                POST_TABLE in manifest.files
                and all(source in manifest.sources for source in made_of)
                and not any(manifest.damages(index, [POST_TABLE]))
            ):
                return PostTable.load(index / POST_TABLE, self.site.posts)
        return self.site.scan()

    @property
    def posts_if_known(self) -> PostTable | None:
        """The posts, if an index has their table."""
        have_table = "_posts" in vars(self) or any(self.directory.glob(f"*/{POST_TABLE}"))
        return self.posts if have_table and self.layout.has_posts() else None

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
        """Return the question of an answer, None if it is missing; of a question, itself."""
        return post if post.post_type == QUESTION else self.posts.read(post.parent_id or "")

    def link(self, post: Post) -> str:
        """Return the URL of a post, or nothing for posts of the sample."""
        kind = "q" if post.post_type == QUESTION else "a"
        return f"https://{self.origin}/{kind}/{post.post_id}" if self.origin else ""

    @property
    def origin(self) -> str:
        """The address of the site of the posts, or "" if unknown."""
        return self._address if self.on_site else ""

    @cached_property
    def _address(self) -> str:
        """The address of the site whose users wrote the posts."""
        return (self.chosen.get("site") or self.site.address) if self.has_posts else ""

    def linked_post(self, url: str) -> str | None:
        """Return the id of the post that a link on the page of a post leads to.

        None if it leads to no post of this site. The collection need not have the post.
        """
        host, number = linked_post(url) or ("", "")
        return number or None if host in ("", self._address) else None

    def place(self, post: Post) -> str:
        """Return the URL of a post, or else its kind and id."""
        kind = "question" if post.post_type == QUESTION else "answer"
        return self.link(post) or f"{kind} {post.post_id}"
