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
from arqmath_bm25.collection.layout import QUICKLY_READ, Layout
from arqmath_bm25.collection.ntcir import is_ntcir, written_formulas
from arqmath_bm25.collection.own_documents import IRDS, corpus_in, write_ir_dataset
from arqmath_bm25.collection.posts import ANSWER, POST_TABLE, QUESTION, Post, PostTable
from arqmath_bm25.collection.premises import PremiseFiles
from arqmath_bm25.collection.site import Site, linked_post
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.guesses import showing_its_arguments
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.sample_data import NLPS_SAMPLE, SAMPLE
from arqmath_bm25.core.stores import stores
from arqmath_bm25.core.writing import sources

INDEXES: Final = Path("indexes")
_UNTIL: Final = re.compile(r"[0-9]{4}|none")


def _is_of_files(data: Path) -> bool:
    """Return whether DATA is read file by file: it is no distribution, no dump, no corpus."""
    if data.is_dir() and Layout(data).is_known():
        return False
    return corpus_in(data) is None and is_file_collection(data)


def _named(train: Path) -> str:
    """Return the name of a file with its digest: no index depends on where the file is."""
    if not train.is_file():
        raise InputError(f"--train {train}: no such file; expected rows of JSON with references")
    (source,) = sources([train])
    return f"{source.name} {source.sha256}"


class Collection:
    """The files of DATA, and tables read from them once for all threads and commands."""

    @showing_its_arguments
    def __init__(
        self,
        data: str | Path | None = None,
        indexes: str | Path = INDEXES,
        *,
        site: str | None = None,
        until: str | None = None,
        delimiters: str | None = None,
        whole: bool | None = None,
        train: Path | None = None,
    ) -> None:
        """`data` is the root of a distribution, by default the bundled sample; see Layout.

        It may also be a file of documents, a directory with one, or irds:NAME (own_documents.py),
        or a folder of LaTeX, Markdown, HTML, notebooks and texts (file_collection.py), of which
        each part is a document; with `whole` each file is one.

        `indexes` is the directory below which indexes are kept, by collection. `site` is the
        address of a dump, `until` the last year of the posts that count, or `none`, `delimiters`
        what encloses formulas. The default of these three is what the indexes were built with, or
        else what the data show. `train` is a file of statements; an index of documents learns from
        their references in place of its own. Raises InputError if `data` is missing or of no such
        form.
        """
        if until is not None and not _UNTIL.fullmatch(until):
            raise InputError(f"--until {until}: expected a year, or none for all posts")

        if data is not None and not isinstance(data, str | Path):
            raise InputError(
                "data: expected the path of a file or folder; Collection.of(documents) takes the "
                "documents themselves"
            )

        self.indexes = Path(indexes)
        self.on_site = data is not None  # the sample's posts are not on Math Stack Exchange
        self.of_files = False
        self.given = SAMPLE  # the directory or file that the user knows
        layout_root, premises_root = SAMPLE, NLPS_SAMPLE
        if data is not None:
            self.given = Path(data)
            layout_root = premises_root = self._written(data, whole)

        self.layout = Layout(layout_root)
        self.name = self.layout.name  # of its directory; keeps its indexes and runs apart
        self.premises = PremiseFiles.at(premises_root)
        self._reading = RLock()
        self.train_file = train
        self.opened: dict[str, Path] = {}  # task → the store that was opened last
        self._chosen = {"site": site, "until": until, "delimiters": delimiters}
        if train is not None:
            self._chosen["train"] = _named(train)

    def _written(self, data: str | Path, whole: bool | None) -> Path:
        """Return DATA, or the corpus that is written from a set of ir_datasets or a folder."""
        if str(data).startswith(IRDS):
            return write_ir_dataset(str(data).removeprefix(IRDS), self.indexes / "irds")

        if is_ntcir(Path(data)):
            return written_formulas(Path(data), self.indexes / "ntcir")

        self.of_files = _is_of_files(Path(data))
        if self.of_files:
            return written_corpus(Path(data), self.indexes / "files", whole)
        return Path(data)

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
        for _, manifest in self._indexes():
            chosen = {**manifest.recipe.get("chosen", {}), **chosen}
        return chosen

    def _indexes(self) -> Iterator[tuple[Path, Manifest]]:
        """Yield a store of each task with its manifest: of these files, or else the last one."""
        for folder in sorted(self.directory.glob("*/")):
            found = list[tuple[Path, Manifest]]()
            for store in stores(folder):
                with suppress(NoIndexError):  # it is damaged, and reported when it is opened
                    manifest = Manifest.read(store)
                    if manifest:
                        found.append((store, manifest))

            # Another collection of this name, in another folder, may have its stores here.
            of_these = found
            if len(found) > 1:
                of_these = [index for index in found if self._is_of_these_files(index[1])]
            yield from (of_these or found)[:1]

    def _is_of_these_files(self, manifest: Manifest) -> bool:
        paths = [self.layout.dump("Posts"), corpus_in(self.layout.data)]
        here = sources(path for path in paths if path)
        names = {source.name for source in here}
        return all(source in here for source in manifest.sources if source.name in names)

    @property
    def has_posts(self) -> bool:
        """Return whether there is a dump."""
        return self.layout.has_posts()

    @cached_property
    def has_answers(self) -> bool:
        """Return whether any post is an answer, which is found early in the file."""
        if not self.has_posts:
            return False
        return any(
            row is not None and row.get("PostTypeId") == str(ANSWER)
            for _, row in parsed_rows(self.site.posts, "posts")
        )

    @cached_property
    def _posts(self) -> PostTable:
        made_of = sources([self.site.posts])
        for store, manifest in self._indexes():
            of_same_file = all(source in manifest.sources for source in made_of)
            if POST_TABLE not in manifest.files or not of_same_file:
                continue
            if not any(manifest.damages(store, names=[POST_TABLE])):
                return PostTable.load(store / POST_TABLE, self.site.posts)

        return self.site.scan()

    @property
    def posts_if_known(self) -> PostTable | None:
        """The posts, if an index has their table or their file is read quickly."""
        if not self.layout.has_posts():
            return None
        have_table = "_posts" in vars(self) or any(self.directory.glob(f"*/*/{POST_TABLE}"))
        if have_table or self.site.posts.stat().st_size <= QUICKLY_READ:
            return self.posts
        return None

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
        if post.post_type == QUESTION:
            return post
        return self.posts.read(post.parent_id or "")

    def link(self, post: Post) -> str:
        """Return the URL of a post, or nothing for posts of the sample."""
        if not self.origin:
            return ""
        kind = "a"
        if post.post_type == QUESTION:
            kind = "q"
        return f"https://{self.origin}/{kind}/{post.post_id}"

    @property
    def origin(self) -> str:
        """The address of the site of the posts, or "" if unknown."""
        if self.on_site:
            return self._address
        return ""

    @cached_property
    def _address(self) -> str:
        """The address of the site whose users wrote the posts."""
        if not self.has_posts:
            return ""
        return self.chosen.get("site") or self.site.address

    def linked_post(self, url: str) -> str | None:
        """Return the id of the post that a link on the page of a post leads to.

        None if it leads to no post of this site. The collection need not have the post.
        """
        host, number = linked_post(url) or ("", "")
        if number and host in ("", self._address):
            return number
        return None

    def place(self, post: Post) -> str:
        """Return the URL of a post, or else its kind and id."""
        kind = "answer"
        if post.post_type == QUESTION:
            kind = "question"
        return self.link(post) or f"{kind} {post.post_id}"
