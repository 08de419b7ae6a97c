"""Comments, votes, users, tags and links: real files of the archive, and rows that lack things."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.collection.activity import (
    COMMENTS,
    USERS,
    RowKind,
    RowTable,
    good_rows,
)
from arqmath_bm25.collection.activity import (
    KINDS as DUMPS,
)
from arqmath_bm25.collection.dump import check
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.links import KINDS, PostLinks
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.workers.local import Processes
from tests.support.parsed_dumps import parsed_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VOTES = DUMPS["votes"]
# As the lab wrote them: of three comments on post 7 only the last has more than a text.
COMMENT_ROWS = """<?xml version="1.0" ?>
<comments>
   <row Id="11" PostId="7" Text="Is $x&lt;y$ &amp; so on?"/>
   <row Id="12" PostId="9" Text="&lt;span class=&quot;math-container&quot; id=&quot;3&quot;&gt;x"/>
   <row Id="10" PostId="7" Text=""/>
   <row Id="11" PostId="9" Text="the same Id again"/>
   <row Id="14" PostId="7"/>
   <row Id="x" PostId="7" Text="no number"/>
   <row CreationDate="2013-05-01T10:00:00.123" Id="15" PostId="7" Score="4" Text="Yes" UserId="2"/>
</comments>
"""


def dump(path: Path, root: str, rows: list[dict[str, str]]) -> Path:
    lines = [
        "<row " + " ".join(f"{name}={quoteattr(value)}" for name, value in row.items()) + " />"
        for row in rows
    ]
    text = "\r\n  ".join([f'<?xml version="1.0" encoding="utf-8"?>\r\n<{root}>', *lines])
    path.write_text(f"{text}\r\n</{root}>", encoding="utf-8-sig")
    return path


def read(path: Path, kind: RowKind, counts: Counter[str]) -> Iterator[dict[str, str]]:
    check(path, kind.root)
    return (row for _, row in good_rows(parsed_rows(path, kind.root), kind, counts))


def elements(path: Path) -> list[dict[str, str]]:
    return [row.attrib for row in ElementTree.parse(path).getroot()]


@pytest.fixture
def comments(tmp_path: Path) -> Path:
    path = tmp_path / "Comments.V1.3.xml"
    path.write_text(COMMENT_ROWS, encoding="utf-8")
    return path


def test_comments_are_read_with_what_they_have(comments: Path) -> None:
    counts: Counter[str] = Counter()
    first, *_, last = read(comments, COMMENTS, counts)
    assert first == {"Id": "11", "PostId": "7", "Text": "Is $x<y$ & so on?"}
    assert (last["Text"], last["Score"], last["UserId"]) == ("Yes", "4", "2")
    assert last["CreationDate"] == "2013-05-01T10:00:00.123"
    assert counts == {"rows": 7, "rows without Id, PostId or Text": 2}


def test_comments_of_a_post_are_found_by_their_places(comments: Path) -> None:
    table = RowTable(comments, COMMENTS, "PostId")
    assert [comment["Id"] for comment in table.of("7")] == ["11", "10", "15"]
    assert [comment["Text"] for comment in table.of("9")] == [
        '<span class="math-container" id="3">x'
    ]
    assert table.of("8") == table.of("x") == table.of("07") == table.of("9" * 99) == []
    assert table.counts == {
        "rows": 7,
        "rows kept": 4,
        "rows without Id, PostId or Text": 2,
        "rows with a repeated Id": 1,
    }
    comments.write_text(COMMENT_ROWS.replace('PostId="7"', 'PostId="5"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"the row of PostId 7 at byte 37 is another"):
        table.of("7")


def test_users_are_found_by_their_id(tmp_path: Path) -> None:
    path = dump(
        tmp_path / "Users.xml",
        "users",
        [
            {"Id": "-1", "Reputation": "1", "DisplayName": "Community", "AboutMe": "<p>Hi\n</p>"},
            {"Id": "5", "DisplayName": 'É"<b>', "CreationDate": "2010-07-20T19:09:27.200"},
            {"Id": "6"},
        ],
    )
    table = RowTable(path, USERS, "Id")
    (site,), (user,) = table.of("-1"), table.of("5")
    assert (site["DisplayName"], site["Reputation"]) == ("Community", "1")
    assert (user["DisplayName"], user["CreationDate"]) == ('É"<b>', "2010-07-20T19:09:27.200")
    assert table.of("6") == []
    assert table.counts["rows without Id or DisplayName"] == 1


def test_dumps_without_rows(tmp_path: Path) -> None:
    users = RowTable(dump(tmp_path / "Users.xml", "users", []), USERS, "Id")
    assert (users.of("1"), users.counts["rows kept"]) == ([], 0)


def test_links_say_who_is_a_duplicate(tmp_path: Path) -> None:
    rows = [
        {"PostId": "154", "RelatedPostId": "19108", "LinkTypeId": "1"},
        {"Id": "2", "CreationDate": "2012-02-01T14:27:45.283", "PostId": "154",
         "RelatedPostId": "7", "LinkTypeId": "3"},
        {"PostId": "154", "RelatedPostId": "19108"},
    ]  # fmt: skip
    links = PostLinks.read(dump(tmp_path / "PostLinks.xml", "postlinks", rows))
    told = [[(other, KINDS[kind]) for other, kind in links.rows_of(n)] for n in (154, 7, 19108)]
    assert told[0] == [(7, "duplicate of"), (19108, "links to")]
    assert told[1:] == [[(154, "has the duplicate")], [(154, "linked from")]]


@pytest.mark.parametrize("name", ["Votes", "Tags", "PostLinks", "Badges"])
def test_real_files_are_read_whole(name: str, shared: Path) -> None:
    path = shared / "data" / "se-archive" / f"{name}.xml"
    counts: Counter[str] = Counter()
    rows = list(read(path, DUMPS[name.lower()], counts))
    assert counts == {"rows": len(rows)}
    assert rows == elements(path)
    assert len(rows) > 100


@pytest.mark.parametrize("size", [1 << 24, 5000])
def test_real_votes_and_links_by_post(
    size: int, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arqmath_bm25.collection.dump._RANGE", size)
    archive = shared / "data" / "se-archive"
    rows = elements(archive / "Votes.xml")
    table = RowTable(archive / "Votes.xml", VOTES, "PostId")
    for post in sorted({row["PostId"] for row in rows})[::10]:
        assert table.of(post) == [row for row in rows if row["PostId"] == post]
    assert {row["VoteTypeId"] for row in rows} <= set(VOTES.types)
    assert table.counts["rows"] == len(rows) == 6000

    links = PostLinks.read(archive / "PostLinks.xml")
    expected = set()
    for row in elements(archive / "PostLinks.xml"):
        post, other = int(row["PostId"]), int(row["RelatedPostId"])
        kind = 2 * int(row["LinkTypeId"])
        assert kind in KINDS
        expected |= {(post, other, kind), (other, post, kind + 1)}
    assert list(map(tuple, links.rows.tolist())) == sorted(expected)


def test_comments_of_the_real_subset(lite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "arqmath_bm25.collection.dump._RANGE", 1 << 21
    )  # several, so that processes are started
    path = Layout(lite).dump("Comments")
    assert path is not None
    table = RowTable(path, COMMENTS, "PostId", Processes(2))
    assert table.counts == {"rows": 16_712, "rows kept": 16_712}
    assert [comment["Id"] for comment in table.of("320")] == ["441", "517", "6289632"]


def test_damage_costs_rows_that_are_counted(shared: Path, tmp_path: Path) -> None:
    real = (shared / "data" / "se-archive" / "Votes.xml").read_bytes()
    whole = b"\n".join([*real.splitlines()[:42], b"</votes>"])
    path = tmp_path / "Votes.xml"
    draw = random.Random(16)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 5)):
            at = draw.randrange(len(data))
            data[at : at + draw.choice([0, 1, 9])] = draw.choice([b"", b"<", b'"', b"&", b"\xff\0"])
        path.write_bytes(data)
        counts: Counter[str] = Counter()
        try:
            votes = list(read(path, VOTES, counts))
        except InputError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
            refused += 1
        else:
            assert counts["rows"] == len(votes) + sum(counts.values()) - counts["rows"]
            assert all(vote["VoteTypeId"].isdecimal() and vote["PostId"] for vote in votes)
    assert refused < 100


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"Id": st.sampled_from(["1", "2", "-3", "", "x", "9" * 19])},
            optional={
                "PostId": st.sampled_from(["1", "2", "03", "9" * 18]),
                "Text": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9),
            },
        ),
        max_size=12,
    ),
    cuts=st.lists(st.integers(1, 900), max_size=4),
)
def test_every_row_is_accounted_for_wherever_ranges_end(
    rows: list[dict[str, str]], cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = dump(tmp_path_factory.mktemp("dump") / "Comments.xml", "comments", rows)
    table = RowTable(path, COMMENTS, "PostId")
    assert table.counts["rows"] == len(rows)
    assert table.counts["rows"] == sum(table.counts.values()) - len(rows)
    ends = sorted({0, *cuts, path.stat().st_size})
    parts = [
        [place for place, _ in good_rows(parsed_rows(path, "comments", *part), COMMENTS, Counter())]
        for part in pairwise(ends)
    ]
    whole = good_rows(parsed_rows(path, "comments"), COMMENTS, Counter())
    assert [place for part in parts for place in part] == [place for place, _ in whole]
