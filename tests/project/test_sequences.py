"""No answer depends on what was left: random sequences, each answer beside a fresh one.

Two folders of notes of one name, and two of rows, are indexed, searched, opened, copied, renamed
and changed in random order, by the program and in Python. Each answer is that of a process in an
empty folder after `index` with the same DATA, configuration and options. With rows (which no
command but `index` indexes) a message is an answer too.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from program import ended

import arqmath_bm25 as arq
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIGS: Final = {
    "": "",
    "A": "analysis: {text: {stemmer: none}}\n",
    "B": "bm25: {k1: 2.0}\ncollection: {delimiters: none}\n",
}
QUERIES: Final = ("sums of groups $x^2+y^2=z^2$", r"cyclic rings $\frac{a}{b}$ commute")
WORDS: Final = "groups rings cyclic commute sums fields order".split()
FORMULAS: Final = ("x^2+y^2=z^2", r"\frac{a}{b}", "a+b=b+a")
OPTIONS: Final = ((), (), ("--delimiters", "none"), ("--until", "2015"))
STEPS: Final = 26


class Place:
    """Two folders of one name, one directory of indexes, and what was opened of them."""

    def __init__(self, root: Path, kind: str, chance: random.Random) -> None:
        self.root, self.kind, self.chance = root, kind, chance
        self.data = [root / side / "notes" for side in "ab"]
        self.opened: list[tuple[arq.Index, Path, str]] = []
        self.answers: dict[object, object] = {}
        self.fresh = 0
        for data in self.data:
            data.mkdir(parents=True)
            self.write(data)
        for name, text in CONFIGS.items():
            (root / f"{name}.yaml").write_text(text)

    def write(self, data: Path) -> None:
        rows = []
        for number in range(8):
            words = " ".join(self.chance.choices(WORDS, k=20))
            text = f"{words} ${self.chance.choice(FORMULAS)}$ {self.chance.choice(WORDS)}."
            rows.append({"id": f"d{number}", "text": text.ljust(250)})
        if self.kind == "rows":
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            (data / "corpus.jsonl").write_text(text)
            return
        for row in rows:
            (data / f"{row['id']}.md").write_text(f"# {row['id']}\n\n{row['text']}\n")

    def edit(self, data: Path) -> None:
        """Change a file without a change of its size and time."""
        path = self.chance.choice(sorted(data.glob("*.*")))
        status = path.stat()
        path.write_text(path.read_text().replace("rings", "rungs").replace("order", "ordre"))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def config(self, name: str) -> tuple[object, ...]:
        return ("--config", self.root / f"{name}.yaml") if name else ()

    def program(self, cwd: Path, *words: object) -> str:
        done = ended("-q", *words, cwd=cwd)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout if done.returncode == 0 else "refused"

    def expected(self, data: Path, config: str, options: tuple[str, ...], query: str) -> Any:
        """Return what `search` prints and what Python ranks in an empty folder."""
        content = "".join(path.read_text() for path in sorted(data.glob("*.*")))
        key = (content, config, options, query)
        if key not in self.answers:
            self.fresh += 1
            cwd = self.root / f"fresh{self.fresh}"
            shutil.copytree(data, cwd / "notes")
            chosen = ("--data", "notes", *self.config(config), *options)
            self.program(cwd, "index", "docs", *chosen, "-j", 1)
            shown = self.program(cwd, "search", "docs", query, *chosen)
            collection = arq.Collection(cwd / "notes", cwd / "indexes")
            path = self.root / f"{config}.yaml" if config else None
            ranked = collection.index("docs", config=path, threads=1)
            self.answers[key] = shown, ranking(ranked, query)
            shutil.rmtree(cwd)
        return self.answers[key]


def ranking(index: arq.Index, query: str) -> list[tuple[str, float]]:
    hits = index.search(query, k=5)
    return list(zip(hits["docno"], hits["score"], strict=True))


def step(place: Place) -> None:
    """Do one thing at random, and compare its answer."""
    chance = place.chance
    data = chance.choice(place.data)
    config = chance.choice(["", "", *CONFIGS])
    options = chance.choice(OPTIONS)
    query = chance.choice(QUERIES)
    chosen = ("--data", data, *place.config(config), *options)
    names = "index index search search search open python python edit copy touch prune rename"
    match chance.choice(names.split()):
        case "index":
            assert place.program(place.root, "index", "docs", *chosen, "-j", 1) != "refused"
        case "prune":
            assert place.program(place.root, "index", "docs", *chosen, "--prune") != "refused"
        case "search":
            found = place.program(place.root, "search", "docs", query, *chosen)
            allowed = [place.expected(data, config, options, query)[0]]
            if place.kind == "rows":
                allowed.append("refused")
            assert found in allowed
        case "open":
            collection = arq.Collection(data, place.root / "indexes")
            path = place.root / f"{config}.yaml" if config else None
            index = collection.index("docs", config=path, threads=1)
            copy = place.root / f"copy{len(place.opened)}" / "notes"
            shutil.copytree(data, copy)
            place.opened.append((index, copy, config))
        case "python" if place.opened:
            index, copy, config = chance.choice(place.opened)
            assert ranking(index, query) == place.expected(copy, config, (), query)[1]
        case "edit":
            place.edit(data)
        case "touch":
            for path in (place.root / "indexes").rglob("manifest.json"):
                if chance.random() < 0.5:
                    path.touch()
        case "copy":
            with_other_times(place.root / "indexes")
        case "rename":
            first, second = place.data
            first.rename(first.with_name("aside"))
            second.rename(first)
            first.with_name("aside").rename(second)


def with_other_times(indexes: Path) -> None:
    if indexes.exists():
        shutil.copytree(indexes, indexes.with_name("backup"), copy_function=shutil.copy)
        shutil.rmtree(indexes)
        indexes.with_name("backup").rename(indexes)


@pytest.mark.parametrize("kind", ["notes", "notes of others", "rows"])
def test_no_answer_depends_on_what_was_left(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = Place(tmp_path, kind, random.Random(kind))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for number in range(STEPS):
        monkeypatch.chdir((tmp_path, elsewhere)[number % 2])
        step(place)


ANSWERS: Final[dict[str, Callable[[arq.Index], object]]] = {
    "document": lambda index: index.document("d1"),
    "full texts": lambda index: index.run(["sums of groups"], text=True)["text"].tolist(),
    "search": lambda index: index.search("sums of groups")["text"].tolist(),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_row_that_was_changed_is_never_shown_under_another_id(what: str, tmp_path: Path) -> None:
    rows = [{"id": f"d{number}", "text": f"sums of groups {number}"} for number in range(2)]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    index = arq.Collection(tmp_path, tmp_path / "indexes").index("docs", engine="flat")
    before = index.search("sums of groups")[["docno", "score"]]
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in reversed(rows)))
    try:
        shown = ANSWERS[what](index)
    except InputError as error:
        shown = str(error)
    assert "changed in corpus.jsonl since it was indexed" in str(shown)
    assert "groups 0" not in str(shown)
    assert index.search("sums of groups")[["docno", "score"]].equals(before)
