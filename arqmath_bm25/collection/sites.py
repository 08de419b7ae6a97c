"""Several dumps as one collection: the sites of a Stack Exchange release, or two of them.

Ids are counted anew on every site. So where there is more than one, the id of a post is
`SITE:ID`, `math.stackexchange.com:123`, with the name of the site's directory; in tables, where
ids are integers, the site's number stands above the 40 bits of the id. Sites are numbered in order
of their names, whatever the order in which they are given. One dump alone keeps its plain ids.

Where a site is on the web, the name of its directory says (`cs.stackexchange.com`), else the links
that its posts have to each other; the labs' posts are of Mathematics Stack Exchange.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.collection.dump import ID
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import ANSWER, QUESTION, Post, PostTable
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.files import load_array
from arqmath_bm25.core.labs import LAST_YEAR, SITE
from arqmath_bm25.core.workers.local import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arqmath_bm25.collection.posts import IntMatrix, IntVector
    from arqmath_bm25.core.workers import Workers

_ID_BITS: Final = 40
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HOST: Final = (
    r"(?:[a-z0-9-]++\.)*(?:(?:stackexchange|stackoverflow|superuser|serverfault|askubuntu"
    r"|stackapps)\.com|mathoverflow\.net)"
)
_ADDRESS: Final = re.compile(_HOST)
_LINK: Final = re.compile(rf"//({_HOST})/(?:q|a|questions)/([1-9][0-9]{{0,17}})".encode())
_ROW_ID: Final = re.compile(rb'<row Id="([0-9]{1,18})"')
_READ_FOR_LINKS: Final = 1 << 24  # bytes of a dump
_FEWEST_LINKS: Final = 3
# /q/1, /a/2, /questions/1/title/2, /questions/1/title#2; numbers after /q/1/ and /a/2/ are users'.
_POST: Final = re.compile(
    r"(?:(?:https?:)?//(?:www\.)?(?P<host>[^/?#]+))?/(?:q|a|questions|posts)/(\d+)"
    r"(?:/[^/?#]*(?:/(\d+))?)?/?(?:\?[^#]*)?(?:#(\d+)?.*)?"
)


class Site(NamedTuple):
    """A dump of one site."""

    name: str
    data: Path
    until: int | None  # the last year of its posts that count

    @property
    def layout(self) -> Layout:
        """Its files."""
        return Layout(self.data)

    @property
    def posts(self) -> Path:
        """Its posts."""
        return self.layout.posts()

    @property
    def links(self) -> Path | None:
        """Links between its posts, if there are any."""
        return self.layout.post_links()

    @property
    def address(self) -> str:
        """The name of its host, nothing where it is not known."""
        return _address(self.name, self.posts)


@lru_cache
def _address(name: str, posts: Path) -> str:
    if _ADDRESS.fullmatch(name):
        return name
    if posts.name.startswith("Posts.V"):
        return SITE
    with posts.open("rb") as file:
        head = file.read(_READ_FOR_LINKS)
    ids = set(_ROW_ID.findall(head))
    hosts = Counter(host for host, post in _LINK.findall(head) if post in ids)
    for host, count in hosts.most_common(1):
        if count >= _FEWEST_LINKS and 2 * count > hosts.total():
            return str(host, "ascii")
    return ""


def linked_post(url: str) -> tuple[str, str] | None:
    """Return the host of a link, nothing for the page's own, and the id of the post it names."""
    found = _POST.fullmatch(url)
    return (found["host"] or "", found[4] or found[3] or found[2]) if found else None


def dumps_in(data: Path) -> list[Layout]:
    """Return the dump in a directory, or else those in the directories in it."""
    own = Layout(data)
    if own.has_posts():
        return [own]
    entries = data.iterdir() if data.is_dir() else ()
    inner = (Layout(entry) for entry in entries if entry.is_dir())
    return [layout for layout in inner if layout.has_posts()]


def find_sites(data: Iterable[Path], until: str | None = None) -> tuple[Site, ...]:
    """Return the dumps in some directories or in the directories in these, in order of names.

    Posts count up to the year `until`, or all if it is `none`; without it, those of Mathematics
    Stack Exchange and those that lie beside topics of the labs count as they do in the labs.

    Raises InputError if one holds none, or two have the same name.
    """
    found: dict[str, Site] = {}
    for path in data:
        for layout in dumps_in(path) or [Layout(path)]:
            layout.posts()  # or there is none
            site = Site(layout.name, layout.data, int(until) if until and until != "none" else None)
            if not until and (layout.has_lab_topics() or site.address == SITE):
                site = site._replace(until=LAST_YEAR)
            other = found.setdefault(site.name, site)
            if other.posts.resolve() != site.posts.resolve():
                raise InputError(
                    f"DATA: two dumps are called {site.name}, {other.posts} and {site.posts}; "
                    "rename a directory, since its name tells the sites' posts apart"
                )
    for name in found:
        if len(found) > 1 and not _NAME.fullmatch(name):
            raise InputError(
                f"DATA: the name of the directory {shown(name)} becomes a part of ids; it must "
                "be of letters, digits, '.', '_' and '-'"
            )
    return tuple(found[name] for name in sorted(found))


def scan_sites(
    sites: Sequence[Site], workers: Workers = HERE, progress: Callable[[int], None] = lambda _: None
) -> PostTable:
    """Note the place of every post of all sites; see `PostTable.scan`.

    Of several sites, posts with ids of more than 40 bits are left out, and counted.
    """
    if len(sites) == 1:
        return PostTable.scan(sites[0].posts, workers, progress, sites[0].until)
    counts: Counter[str] = Counter()
    found = []
    for number, site in enumerate(sites):
        table = PostTable.scan(site.posts, workers, progress, site.until)
        places = _numbered(table._places, number, columns=2)
        counts.update(table.counts)
        if left_out := len(table) - len(places):
            counts[f"ids of more than {_ID_BITS} bits"] += left_out
        found.append(places)
    all_posts = SitePosts(sites, np.concatenate(found))
    kinds = all_posts._places[:, 2]
    numbers = {"questions": int((kinds == QUESTION).sum()), "answers": int((kinds == ANSWER).sum())}
    all_posts.counts = {**counts, **numbers}
    return all_posts


def load_posts(path: Path, sites: Sequence[Site]) -> PostTable:
    """Read a table that was saved; `sites` are those that were scanned."""
    if len(sites) == 1:
        return PostTable.load(path, sites[0].posts)
    return SitePosts(sites, load_array(path))


def read_links(sites: Sequence[Site]) -> PostLinks:
    """Read the links of all sites; a link never leads from one to another."""
    if len(sites) == 1:
        return PostLinks.read(sites[0].links)
    links = [
        _numbered(PostLinks.read(site.links)._pairs, number, columns=2)
        for number, site in enumerate(sites)
    ]
    return SiteLinks(_Ids(sites), np.concatenate(links))


def _numbered(ids: IntMatrix, site: int, columns: int) -> IntMatrix:
    """Put the number of a site above the ids in the first columns; leave out rows with no room."""
    ids = ids[(ids[:, :columns] >> _ID_BITS == 0).all(axis=1)]  # of negative ones this is -1
    ids[:, :columns] |= site << _ID_BITS
    return ids


class _Ids:
    """Translates between the two forms of an id."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._names = [site.name for site in sites]
        self._numbers = {name: number for number, name in enumerate(self._names)}

    def text(self, number: int) -> str:
        """Return `SITE:ID`."""
        return f"{self._names[number >> _ID_BITS]}:{number & ((1 << _ID_BITS) - 1)}"

    def number(self, text: str) -> int:
        """Return the number of an id; -1 if it can be none of these sites."""
        name, _, post = text.rpartition(":")
        if name not in self._numbers or not ID.fullmatch(post) or int(post) >> _ID_BITS:
            return -1
        return self._numbers[name] << _ID_BITS | int(post)


class SitePosts(PostTable):
    """Where every post of several dumps lies: the tables of the sites, one after the other."""

    def __init__(self, sites: Sequence[Site], places: IntMatrix) -> None:
        super().__init__(
            Path(os.path.commonpath([site.posts.absolute() for site in sites])), places
        )
        self.sites = sites
        self._ids = _Ids(sites)
        self._dumps = [PostTable(site.posts, places[:0]) for site in sites]

    def __reduce__(self) -> tuple[type[PostTable], tuple[object, ...]]:
        sites = [site._replace(data=site.data.absolute()) for site in self.sites]
        return SitePosts, (sites, np.asarray(self._places))

    def part(self, start: int, end: int) -> PostTable:
        """Return a table of the posts in rows `start` … `end` - 1."""
        return SitePosts(self.sites, super().part(start, end)._places)

    def subset(self, post_ids: Iterable[int]) -> PostTable:
        """Return a table of those of some posts that the collection has, in its order."""
        return SitePosts(self.sites, super().subset(post_ids)._places)

    def read(self, post_id: str) -> Post | None:
        """Read one post; None if the collection has none with this id."""
        return super().read(str(self._ids.number(post_id)))

    def numbers(self, post_ids: Sequence[str]) -> IntVector:
        """Return ids as the numbers that they are in the table; -1 of what is no id here."""
        return np.fromiter(map(self._ids.number, post_ids), np.int64, len(post_ids))

    def text(self, number: int) -> str:
        """Return the id of a number of the table."""
        return self._ids.text(number)

    def answers_of(self, number: int) -> list[str]:
        """Return the ids of the answers in a thread, without reading them."""
        return [self.text(int(answer)) for answer in super().answers_of(number)]

    def _read(self, places: IntMatrix) -> list[Post]:
        posts = []
        for number, rows in groupby(places.tolist(), lambda row: row[1] >> _ID_BITS):
            own = np.array(list(rows))
            own[:, :2] &= (1 << _ID_BITS) - 1
            for post in self._dumps[number]._read(own):
                ids = {
                    field: f"{self.sites[number].name}:{found}"
                    for field in ("post_id", "parent_id", "accepted_answer_id")
                    if (found := getattr(post, field)) is not None
                }
                posts.append(post._replace(**ids))
        return posts

    def close(self) -> None:
        """Close the dumps."""
        for dump in self._dumps:
            dump.close()


class SiteLinks(PostLinks):
    """Pairs of linked posts of several sites."""

    def __init__(self, ids: _Ids, pairs: IntMatrix) -> None:
        super().__init__(pairs)
        self._ids = ids

    def part(self, post_ids: IntVector) -> PostLinks:
        """Return the links of some posts."""
        return SiteLinks(self._ids, super().part(post_ids)._pairs)

    def of(self, post_id: str) -> list[str]:
        """Return the posts linked with a post, in order of their ids."""
        found = super().of(str(self._ids.number(post_id)))
        return [self._ids.text(int(linked)) for linked in found]
