"""Formulas of a dump without formula files: counted, numbered, found again."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from program import arqmath

from arqmath_bm25.collection.formulas import read_formulas
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.collection.site import Site
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.tasks.formulas.post_formulas import contents, find_formula, write_post_formulas

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

DUMP = """<posts>
<row Id="7" PostTypeId="2" ParentId="3" Body="&lt;p&gt;$a$ or $b$ or $c$&lt;/p&gt;"/>
<row Id="3" PostTypeId="1" Title="Why $x$?" Body="&lt;p&gt;as $y$ &amp;amp; $z$&lt;/p&gt;"/>
<row Id="9" PostTypeId="2" ParentId="8" Body="$u$"/>
</posts>"""


def test_formulas_of_the_archive_are_numbered_by_post_and_place(tmp_path: Path) -> None:
    posts = tmp_path / "Posts.xml"
    posts.write_text(DUMP)
    write_post_formulas(Site.of(Layout(tmp_path)), tmp_path / "1.tsv", HERE)
    found = list(read_formulas(tmp_path / "1.tsv"))
    assert [
        (int(f.formula_id) - 10**9, f.post_id, f.thread_id, f.type, f.latex) for f in found
    ] == [
        (0, "3", "3", "title", "x"),
        (1, "3", "3", "question", "y"),
        (2, "3", "3", "question", "z"),
        (400, "7", "3", "answer", "a"),
        (401, "7", "3", "answer", "b"),
        (402, "7", "3", "answer", "c"),
        (800, "9", "8", "answer", "u"),
    ]
    table = PostTable.scan(posts)
    for row in found:
        post = table.read(row.post_id)
        assert post is not None
        place = find_formula(row.formula_id, contents(post))
        assert place is not None
        assert place[1].latex == row.latex


def test_processes_and_parts_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site.of(Layout(SAMPLE))
    write_post_formulas(site, tmp_path / "one", HERE)
    monkeypatch.setattr("arqmath_bm25.tasks.formulas.post_formulas._PER_PART", 37)
    write_post_formulas(site, tmp_path / "two", Processes(2))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_formulas_of_the_labs_posts_keep_their_ids(tmp_path: Path) -> None:
    write_post_formulas(Site.of(Layout(SAMPLE)), tmp_path / "1.tsv", HERE)
    kept = {f.formula_id: f.latex for f in read_formulas(tmp_path / "1.tsv")}
    official = {
        f.formula_id: f.latex
        for f in read_formulas(Layout(SAMPLE).formulas())
        if f.type != "comment" and f.issue not in ("d", "dv")
    }
    assert official.keys() <= kept.keys()
    assert all("".join(kept[i].split()) == "".join(official[i].split()) for i in official)


def test_a_raw_dump_can_be_searched_for_formulas(tmp_path: Path) -> None:
    data = tmp_path / "dump"
    data.mkdir()
    shutil.copy(Layout(SAMPLE).posts(), data / "Posts.xml")

    where = ("--data", data, "--indexes", tmp_path / "indexes")
    built = arqmath("index", "task2", *where, "--engine", "flat")
    assert "visually distinct" in built.stdout
    notes = " ".join(built.stderr.split())
    assert "get ids of our own" in notes
    assert "up to date" in arqmath("index", "task2", *where).stdout
    assert "int" in arqmath("search", "task2", r"\int_0^1 x dx", *where, "--depth", 3).stdout
