"""A document whose reading fails is counted, named and left out; many of them end the build.

No input is known that makes a reader fail, so the tests plant a fault in one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from program import arqmath, printed

from arqmath_bm25.analysis import analyzer
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the reader of formulas fail on `boom`."""
    read = analyzer.read

    def failing(latex: str) -> object:
        if "boom" in latex:
            raise IndexError("pop from empty list")
        return read(latex)

    monkeypatch.setattr(analyzer, "read", failing)


def corpus(path: Path, faulty: int, sound: int) -> Path:
    rows = [{"id": f"bad-{n}", "text": f"Words and $boom_{n}$"} for n in range(faulty)]
    rows += [{"id": f"good-{n}", "text": f"Sound words with $x^{n}$"} for n in range(sound)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_few_are_named_and_left_out(tmp_path: Path) -> None:
    data = corpus(tmp_path / "mine.jsonl", 3, 20)
    place = ("--data", data, "--indexes", tmp_path, "--engine", "flat")
    said = printed("index", "docs", *place, "--jobs", 1)
    assert "3 documents cannot be read: 'bad-0' (IndexError pop from empty list), 'bad-1'" in said
    assert "23 documents indexed" in said
    assert "3 of them unreadable" in said
    assert "good-1" in printed("search", "docs", "sound words $x^1$", *place, "--depth", 1)


def test_more_than_one_in_a_thousand_end_the_build(tmp_path: Path) -> None:
    data = corpus(tmp_path / "mine.jsonl", 6, 20)
    with pytest.raises(InputError, match=r"6 documents cannot be read: .*bad-4.*one in 1,000"):
        arqmath("index", "docs", "--data", data, "--indexes", tmp_path, "--jobs", 1)
    assert not list((tmp_path / "mine" / "docs").iterdir())


def test_a_post_is_left_out_with_its_formulas(tmp_path: Path) -> None:
    posts = tmp_path / "data" / "Posts.xml"
    posts.parent.mkdir()
    body = "&lt;p&gt;Words $boom$&lt;/p&gt;"
    posts.write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n'
        f'<row Id="1" PostTypeId="1" Title="A title" Body="{body}" Tags="" Score="1" '
        'CreationDate="2015-01-01T00:00:00.000" />\n'
        f'<row Id="2" PostTypeId="2" ParentId="1" Body="{body}" Score="1" '
        'CreationDate="2015-01-01T00:00:00.000" />\n</posts>\n'
    )
    place = ("--data", posts.parent, "--indexes", tmp_path, "--engine", "flat")
    said = printed("index", "task1", *place, "--jobs", 1, "--until", "none")
    assert "2 posts cannot be read: '1' (IndexError pop from empty list), '2'" in said
