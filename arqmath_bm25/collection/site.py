"""The site of a dump: the URLs of its posts, and which of them count.

The name of a dump's directory is the address of its site (`cs.stackexchange.com`), or else the
links between its posts tell it; the labs' posts are of Mathematics Stack Exchange.
"""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple, Self

from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.labs import LAST_YEAR, SITE
from arqmath_bm25.core.workers import HERE, Workers

_HOST = (
    r"(?:[a-z0-9-]++\.)*(?:(?:stackexchange|stackoverflow|superuser|serverfault|askubuntu"
    r"|stackapps)\.com|mathoverflow\.net)"
)
_ADDRESS = re.compile(_HOST)
_LINK = re.compile(rf"//({_HOST})/(?:q|a|questions)/([1-9][0-9]{{0,17}})".encode())
_ROW_ID = re.compile(rb'<row Id="([0-9]{1,18})"')
_READ_FOR_LINKS = 1 << 24  # bytes of a dump
_FEWEST_LINKS = 3
# /q/1, /a/2, /questions/1/title/2, /questions/1/title#2; numbers after /q/1/ and /a/2/ are users'.
_POST = re.compile(
    r"(?:(?:https?:)?//(?:www\.)?(?P<host>[^/?#]+))?/(?:q|a|questions|posts)/(\d+)"
    r"(?:/[^/?#]*(?:/(\d+))?)?/?(?:\?[^#]*)?(?:#(\d+)?.*)?"
)


class Site(NamedTuple):
    """The posts of a site."""

    posts: Path
    address: str  # the name of its host, empty where it is not known
    until: int | None  # the last year of its posts that count

    @classmethod
    def of(cls, layout: Layout, until: str | None = None) -> Self:
        """Return the site of a dump.

        Posts count up to the year `until`, or all if it is `none`. By default, posts of Mathematics
        Stack Exchange and dumps with topics of the labs count up to the last year of the labs.

        Raises InputError if there is no dump.
        """
        posts = layout.posts()
        address = _address(layout.name, posts)
        last = None
        if until and until != "none":
            last = int(until)
        has_lab_topics = (layout.data / "Topics").is_dir() or posts.name.startswith("Posts.V")
        if not until and (has_lab_topics or address == SITE):
            last = LAST_YEAR
        return cls(posts, address, last)

    def scan(self, workers: Workers = HERE, with_contents: bool = False) -> PostTable:
        """Record the offset of every post that counts; see `PostTable.scan`."""
        return PostTable.scan(self.posts, workers, self.until, with_contents)


def _address(name: str, posts: Path) -> str:
    if _ADDRESS.fullmatch(name):
        return name
    if posts.name.startswith("Posts.V"):
        return SITE
    with posts.open("rb") as file:
        head = file.read(_READ_FOR_LINKS)
    ids = set(_ROW_ID.findall(head))
    hosts = Counter(host for host, post in _LINK.findall(head) if post in ids)
    for host, count in hosts.items():
        if count >= _FEWEST_LINKS and 2 * count > hosts.total():
            return str(host, "ascii")

    return ""


def linked_post(url: str) -> tuple[str, str] | None:
    """Return the host of a link ("" for the page's own) and the id of the post it names."""
    match = _POST.fullmatch(url)
    if match is None:
        return None
    return match["host"] or "", match[4] or match[3] or match[2]
