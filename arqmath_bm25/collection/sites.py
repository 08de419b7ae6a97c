"""Several dumps as one collection: the sites of a Stack Exchange release, or two of them.

Every site numbers its posts from 1. So where there is more than one site, the id of a post is
`SITE:ID`, `math.stackexchange.com:123`, with the name of the site's directory; in tables, where
ids are integers, the site's number stands above the 40 bits of the id. Sites are numbered in order
of their names, whatever the order in which they are given. One dump alone keeps its plain ids.

The name of a site's directory says where it is on the web (`cs.stackexchange.com`), or else the
links between its posts do; the labs' posts are of Mathematics Stack Exchange.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import PostTable, with_site
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import LAST_YEAR, SITE
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.core.workers.local import HERE

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

    name: str  # of its directory, which ids carry; nothing where there is one dump alone
    layout: Layout  # its files
    posts: Path
    links: Path | None  # between its posts, if there are any
    address: str  # the name of its host, nothing where it is not known
    until: int | None  # the last year of its posts that count


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
    match = _POST.fullmatch(url)
    return (match["host"] or "", match[4] or match[3] or match[2]) if match else None


def dumps_in(data: Path) -> list[Layout]:
    """Return the dump in a directory, or else those in the directories in it."""
    own = Layout(data)
    if own.has_posts():
        return [own]
    entries = data.iterdir() if data.is_dir() else ()
    inner = (Layout(entry) for entry in entries if entry.is_dir())
    return [layout for layout in inner if layout.has_posts()]


def find_sites(data: Path, until: str | None = None) -> tuple[Site, ...]:
    """Return the dump in a directory, or those in the directories in it, in order of names.

    Posts count up to the year `until`, or all if it is `none`; without it, those of Mathematics
    Stack Exchange and those that lie beside topics of the labs count as they do in the labs.

    Raises InputError if there is none.
    """
    sites = []
    layouts = dumps_in(data) or [Layout(data)]
    for layout in layouts:
        name = layout.name if len(layouts) > 1 else ""
        posts, links = layout.posts(), layout.dump("PostLinks")
        address = _address(layout.name, posts)
        last = int(until) if until and until != "none" else None
        if not until and (layout.has_lab_topics() or address == SITE):
            last = LAST_YEAR
        sites.append(Site(name, layout, posts, links, address, last))
    for site in sites:
        if site.name and not _NAME.fullmatch(site.name):
            raise InputError(
                f"DATA: the name of the directory {shown(site.name)} becomes a part of ids; it "
                "must be of letters, digits, '.', '_' and '-'"
            )
    return tuple(sorted(sites, key=lambda site: site.name))


def scan_sites(sites: Sequence[Site], workers: Workers = HERE) -> PostTable:
    """Note the place of every post of all sites; see `PostTable.scan` and `PostTable.joined`."""
    tables = {site.name: PostTable.scan(site.posts, workers, site.until) for site in sites}
    return PostTable.joined(tables) if len(sites) > 1 else tables[sites[0].name]


def read_links(sites: Sequence[Site]) -> PostLinks:
    """Read the links of all sites; a link never leads from one to another."""
    links = [PostLinks.read(site.links) for site in sites]
    if len(sites) == 1:
        return links[0]
    return PostLinks(np.concatenate([with_site(of.rows, n) for n, of in enumerate(links)]))
