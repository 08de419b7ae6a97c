"""A collection: its files, where its indexes are kept, and the tables that all callers share."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any, Literal, Self

from arqmath_bm25.analysis.kinds import are_mostly_latex
from arqmath_bm25.collection.dump import written_rows
from arqmath_bm25.collection.file_collection import is_file_collection
from arqmath_bm25.collection.imports import (
    FILES,
    Import,
    import_name,
    importing,
    rows_of,
)
from arqmath_bm25.collection.layout import Layout, ntcir_topics
from arqmath_bm25.collection.own_documents import IRDS, QRELS, UserDocument, read_documents
from arqmath_bm25.collection.posts import ANSWER, POST_TABLE, QUESTION, Post, PostTable
from arqmath_bm25.collection.premises import PremiseFiles
from arqmath_bm25.collection.site import Site, linked_post
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.guesses import showing_its_arguments
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.sample_data import NLPS_SAMPLE, SAMPLE
from arqmath_bm25.core.stores import readable_manifest, stores
from arqmath_bm25.core.workers import HERE, Workers
from arqmath_bm25.core.writing import sources

INDEXES = Path("indexes")
_UNTIL = re.compile(r"[0-9]{4}|none")


@dataclass(frozen=True, eq=False, init=False)
class CollectionFiles:
    """The files of DATA, and tables read from them once for all threads and commands.

    `data` is the root of a distribution, by default the bundled sample; see Layout. It may also be
    a file of documents or a directory with one (own_documents.py). Others are imported first: a
    folder of LaTeX, Markdown, HTML, notebooks and texts, of which each part is a document (with
    `whole` each file), a table, or irds:NAME. Raises InputError if `data` is missing or of no such
    form. No file is opened for writing before `imported`.
    """

    data: str | Path | Import | None
    indexes: Path  # the directory below which indexes are kept, by collection
    site: str | None  # the address of a dump; by default what the data show
    until: str | None  # the last year of the posts that count, or `none`
    delimiters: str | None  # what encloses formulas; by default what the configuration says
    whole: bool
    everything: bool  # whether files that a .gitignore names are read
    # A file of statements; an index of documents learns from their references, not from its own.
    train: Path | None
    _reading: RLock = field(init=False, repr=False)

    @showing_its_arguments
    def __init__(
        self,
        data: str | Path | Import | None = None,
        indexes: str | Path = INDEXES,
        *,
        site: str | None = None,
        until: str | None = None,
        delimiters: str | None = None,
        whole: bool = False,
        everything: bool = False,
        train: Path | None = None,
    ) -> None:
        if until is not None and not _UNTIL.fullmatch(until):
            raise InputError(f"until={until}: expected a year, or none for all posts")
        if data is not None and not isinstance(data, str | Path | Import):
            raise InputError(
                "data: expected the path of a file or folder; Collection.of(documents) takes the "
                "documents themselves"
            )

        if isinstance(data, str | Path) and not str(data).startswith(IRDS):
            data = self._path(data)
        vars(self).update(
            data=data,
            indexes=self._path(indexes),
            site=site,
            until=until,
            delimiters=delimiters,
            whole=whole,
            everything=everything,
            train=train,
            _reading=RLock(),
        )
        if not self.is_imported:
            _ = self.layout

    def _path(self, path: str | Path) -> Path:
        """Return a path as it is kept; the library keeps it absolute."""
        return Path(path).expanduser()

    @cached_property
    def is_imported(self) -> bool:
        """Whether DATA is read from an import: it is no distribution, no dump, no corpus."""
        if self.data is None:
            return False
        if isinstance(self.data, Import) or str(self.data).startswith(IRDS):
            return True
        data = Path(self.data)
        if data.is_dir() and Layout(data).is_known():
            return False
        if ntcir_topics(data):
            raise InputError(
                f"DATA={data}: the files of NTCIR; `python tools/ntcir.py {data} OUT` of the "
                "project's repository writes them as documents of your own",
                data="OUT",
            )
        return is_file_collection(data, self.indexes, self.everything)

    @classmethod
    def of_store(cls, store: Path) -> Self:
        """Return the collection that an index was built from, with DATA as its manifest names it.

        Rows of an import are found below the same folder of indexes, even after it moved. Raises
        NoIndexError if there is no index, InputError if DATA is not there.
        """
        manifest = Manifest.read(store)
        _, folder, indexes = store.absolute().parents[:3]
        rows = rows_of(manifest.sources, indexes / FILES / folder.name)
        return cls(rows or manifest.data, indexes)

    def imported(self, read_all: bool = False, workers: Workers = HERE) -> Self:
        """Return the collection as it is now, imported if need be; with `read_all`, read anew."""
        if not self.is_imported:
            return self
        now = replace(self)
        place = self._import(read_all, workers).ensure(self.indexes, read_all)
        vars(now)["layout"] = Layout(place)
        return now

    def _import(self, read_all: bool = False, workers: Workers = HERE) -> Import:
        """Return the import of DATA as it is now, written or not."""
        assert self.data is not None  # noqa: S101  # the sample is read as it is
        return importing(self.data, self.indexes, self.whole, read_all, self.everything, workers)

    @cached_property
    def layout(self) -> Layout:
        """Its files. Raises NoIndexError if they are to be imported first."""
        if self.data is None:
            return Layout(SAMPLE)
        if not self.is_imported:
            return Layout(str(self.data))

        found = self._import()
        why = found.why_unusable(self.indexes)
        if why:
            raise NoIndexError(f"{why}; index it (task docs; in Python: index('docs'))", "docs")
        return Layout(found.store(self.indexes))

    @property
    def rows(self) -> Path | None:
        """The import of DATA as it is now, written or not; None if DATA is read as it is."""
        if not self.is_imported:
            return None
        return self._import().store(self.indexes)

    @cached_property
    def premises(self) -> PremiseFiles:
        """The files of NLPS."""
        if self.data is None:
            return PremiseFiles.at(NLPS_SAMPLE)
        return PremiseFiles.at(self.layout.data)

    @property
    def given(self) -> str | Path:
        """What the user knows it by."""
        if isinstance(self.data, Import):
            return self.data.name
        return self.data or SAMPLE

    @property
    def origin_of_index(self) -> str | None:
        """The place of DATA as an index states it, the same from every folder."""
        if isinstance(self.data, Path):
            return str(self.data.absolute())
        return str(self.given) if self.data else None

    @property
    def on_site(self) -> bool:
        """Whether its posts are on a site; the sample's are not."""
        return self.data is not None

    @cached_property
    def name(self) -> str:
        """The name of its directory, which keeps its indexes and runs apart."""
        if self.data is not None and self.is_imported:
            return import_name(self.data)
        return self.layout.name

    @property
    def directory(self) -> Path:
        """Where its indexes are kept."""
        return self.indexes / self.name

    @property
    def import_folder(self) -> Path:
        """Where its imports are kept."""
        return self.indexes / FILES / self.name

    @cached_property
    def origin_site(self) -> Site:
        """The site of its posts. Raises InputError if there are none."""
        return Site.of(self.layout, self.until)

    def configured(self, settings: Mapping[str, Any]) -> Self:
        """Return the collection with the choices of a configuration that no option overrides."""
        unsaid = {}
        for name, value in settings.items():
            if value is not None and not getattr(self, name):
                unsaid[name] = value
        if not unsaid:
            return self
        return replace(self, **unsaid)

    @cached_property
    def chosen(self) -> dict[str, str]:
        """The options given that decide the content of an index."""
        chosen = {"site": self.site, "until": self.until, "delimiters": self.delimiters}
        train = self.train
        if train is not None:
            if not train.is_file():
                raise InputError(f"{train}: no such file; expected rows of JSON with references")
            # Its name and digest: no index depends on where the file is.
            (source,) = sources([train])
            chosen["train"] = f"{source.name} {source.sha256}"
        return {name: value for name, value in chosen.items() if value}

    @property
    def corpus(self) -> Path | None:
        """The file of own documents; None if there are none."""
        return self.layout.corpus

    @property
    def documents_file(self) -> Path:
        """The file of own documents; InputError if there are none."""
        if self.corpus is None:
            raise InputError(
                f"DATA={self.layout.data}: there are no documents of your own, such as a folder "
                "of files (DOCX as `pandoc a.docx -t markdown -o a.md` converts it), JSON lines, "
                "TSV, CSV, Parquet, a directory with corpus.jsonl, or irds:NAME",
                data="DATA",
            )
        return self.corpus

    def own_documents(self) -> Iterator[UserDocument]:
        """Yield the own documents; InputError if there are none."""
        for document, _ in read_documents(self.documents_file):
            yield document

    @cached_property
    def is_mostly_latex(self) -> bool:
        """Whether own documents of a certain kind are LaTeX mostly."""
        kinds = Counter[str](each.kind_under("auto") for each in self.own_documents())
        return are_mostly_latex(kinds)

    @property
    def judgments(self) -> Path | None:
        """The file of judgments next to own documents; None if there is none."""
        if self.corpus is None:
            return None
        places = (self.corpus.parent / name for name in QRELS)
        return next(filter(Path.is_file, places), None)

    @property
    def run_task(self) -> Literal["docs"] | None:
        """The task of all its runs, if it has own documents; None if each run says its task."""
        if self.corpus:
            return "docs"
        return None

    @property
    def has_posts(self) -> bool:
        """Return whether there is a dump."""
        return self.layout.has_posts()

    @cached_property
    def has_answers(self) -> bool:
        """Return whether any post is an answer, which is found early in the file."""
        if not self.has_posts:
            return False
        rows = written_rows(self.origin_site.posts, "posts")
        return any(row is not None and row.get("PostTypeId") == str(ANSWER) for _, row in rows)

    @cached_property
    def _posts(self) -> PostTable:
        posts = self.origin_site.posts
        (made_of,) = sources([posts])
        for task in self.directory.glob("*/"):
            for store in stores(task):
                manifest = readable_manifest(store)  # A damaged one is reported when it is opened.
                if manifest is None or POST_TABLE not in manifest.files:
                    continue
                until = manifest.recipe.get("chosen", {}).get("until")
                if made_of in manifest.sources and until == self.until:
                    with suppress(NoIndexError):  # it is damaged
                        return PostTable.load(store / POST_TABLE, posts)
        return self.origin_site.scan()

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
        return f"https://{self.origin}/{post.kind[0]}/{post.post_id}"

    @property
    def origin(self) -> str:
        """The address of the site of the posts, or "" if unknown."""
        return self._address if self.on_site else ""

    @cached_property
    def _address(self) -> str:
        """The address of the site whose users wrote the posts."""
        if not self.has_posts:
            return ""
        return self.site or self.origin_site.address

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
        return self.link(post) or f"{post.kind} {post.post_id}"
