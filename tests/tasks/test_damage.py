"""Damaged indexes: never a wrong ranking in silence, and what the message advises mends them."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
from typing import TYPE_CHECKING

import pytest
from chances import drawn, exhaustive, seed
from program import arqmath, printed, refused
from shared_indexes import store

from arqmath_bm25.cli import tasks
from arqmath_bm25.cli.data import inspect
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core import writing
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.id_table import ENDINGS
from arqmath_bm25.core.manifest import CHECKSUMS, MANIFEST
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.engines.engine import chosen_engine
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUERY = "prime numbers $x^2$"
IDS = [f"lucene.ids.{ending}" for ending in ENDINGS]
DAMAGES: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "missing": lambda content, chance: None,
    "cut": lambda content, chance: content[: chance.randrange(len(content))],
    "longer": lambda content, chance: content + b"\0",
    "bit": lambda content, chance: _replaced(content, chance, 1, lambda b: bytes([b[0] ^ 4])),
    "zeros": lambda content, chance: _replaced(content, chance, 64, lambda b: bytes(len(b))),
    "reversed": lambda content, chance: _replaced(content, chance, 32, lambda b: b[::-1]),
}


def _replaced(
    content: bytes, chance: random.Random, length: int, new: Callable[[bytes], bytes]
) -> bytes:
    begin = chance.randrange(len(content))
    block = content[begin : begin + length]
    return content[:begin] + new(block) + content[begin + length :]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("indexes")
    tasks.index("task2", indexes=place, engine=["lucene", "flat"])
    return place


def files(indexes: Path) -> list[Path]:
    """Return the files of both indexes, with their manifests."""
    return sorted(path for path in indexes.rglob("*") if path.is_file() and path.stat().st_size)


def ranking(indexes: Path, engine: str = "auto") -> list[tuple[str, float]]:
    opened = OpenIndex.open(
        CollectionFiles(indexes=indexes), "task2", engine=chosen_engine(engine, None)
    )
    return [(hit.doc_id, hit.score) for hit in opened.search(QUERY, "both", 50)]


def refusal(indexes: Path, engine: str, expected: list[tuple[str, float]]) -> str:
    """Return how an index is refused; "" if it ranks as before: not all files are read."""
    try:
        assert ranking(indexes, engine) == expected
    except NoIndexError as error:
        return str(error)
    return ""


def damage(path: Path, kind: str, chance: random.Random) -> bool:
    """Change a file; False if it is as it was."""
    before = path.read_bytes()
    after = DAMAGES[kind](before, chance)
    path.unlink()
    if after is not None:
        path.write_bytes(after)
    return before != after


@pytest.mark.parametrize("kind", DAMAGES)
def test_no_damage_is_ranked(indexes: Path, tmp_path: Path, kind: str) -> None:
    chance = random.Random(kind)
    copy = tmp_path / "indexes"
    shutil.copytree(indexes, copy)
    some = drawn(files(indexes), 12, kind)
    seen = 0
    for original in some:
        path = copy / original.relative_to(indexes)
        if damage(path, kind, chance):
            engine = path.relative_to(copy).parts[2].partition("-")[0]
            told = refusal(copy, engine, ranking(indexes, engine))
            if told:
                assert re.search(rf"damaged|{MANIFEST}", told)
                assert path.name.removesuffix(CHECKSUMS) in told or path.name == MANIFEST
            if path.name != MANIFEST:
                folder = copy.joinpath(*path.relative_to(copy).parts[:2])
                with pytest.raises(InputError, match=re.escape(path.name)):
                    inspect(folder)
            seen += 1
        shutil.copy2(original, path)
    assert seen > len(some) / 2  # of the others, the bytes were the same before
    for engine in ENGINES:
        assert ranking(copy, engine) == ranking(indexes, engine)


WAYS = ("missing", "cut", "longer", "bit")
ENGINES = ("lucene", "flat")
TASKS = ("task1", "task2", "task3", "nlps", "docs")


@pytest.fixture(scope="module")
def all_indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with indexes of all tasks for all engines, and with documents of one's own."""
    place = tmp_path_factory.mktemp("all")
    rows = [{"id": n, "title": f"Of ${n}x$", "text": f"prime numbers $x^{n}$"} for n in "123"]
    (place / "own").mkdir()
    (place / "own" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for task in ("all", "docs"):
        for engine in ENGINES:
            arqmath("index", task, *where(place, task), "--engine", engine)
    return place


def where(place: Path, task: str) -> list[object]:
    data = ["--data", place / "own"] if task == "docs" else []
    return [*data, "--indexes", place / "my indexes"]


def searched(place: Path, task: str, engine: str) -> str:
    return printed("search", task, QUERY, *where(place, task), "--engine", engine)


def advised(said: str) -> list[str]:
    """Return the command that a message names."""
    command = re.search(r"`arqmath-bm25 (index .*)` builds it", said)
    assert command, said
    return shlex.split(command[1])


@pytest.mark.parametrize(
    "lost", ["lucene.flat/operators.terms", "lucene.flat", "manifest.json", ""]
)
def test_what_the_message_advises_mends_the_store_of_every_engine(
    indexes: Path, tmp_path: Path, lost: str
) -> None:
    copy = tmp_path / "my indexes"
    shutil.copytree(indexes, copy)
    path = store(copy, "task2", "flat") / lost
    shutil.rmtree(path) if path.is_dir() else damage(path, "bit", random.Random(1))
    search = ("search", "task2", QUERY, "--indexes", copy, "--engine", "flat")
    arqmath(*advised(refused(*search)))
    for engine in ENGINES:
        assert ranking(copy, engine) == ranking(indexes, engine)


def test_the_message_names_the_engine_that_an_index_is_not_built_for(tmp_path: Path) -> None:
    search = ("search", "docs", QUERY, *where(tmp_path, "docs"), "--engine")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "corpus.jsonl").write_text('{"id": "1", "text": "prime"}')
    for engine in ("flat", "lucene"):
        command = advised(refused(*search, engine))
        assert command[-2:] == ["--engine", engine]
        arqmath(*command)
        assert "prime" in printed(*search, engine)


@pytest.mark.slow
def test_what_the_message_advises_mends_the_index(all_indexes: Path, tmp_path: Path) -> None:
    chance = random.Random(seed())
    expected = {
        (task, engine): searched(all_indexes, task, engine) for task in TASKS for engine in ENGINES
    }
    place = tmp_path / "place"
    for _ in range(300 if exhaustive() else 8):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(all_indexes, place)
        task, engine, way = chance.choice(TASKS), chance.choice(ENGINES), chance.choice(WAYS)
        index = "task1" if task == "task3" else task
        (directory,) = place.glob(f"my indexes/*/{index}")
        read = [path for path in directory.iterdir() if path.name.startswith((engine, "tables"))]
        path = chance.choice(files(read[0]))
        if not damage(path, way, chance):
            continue
        case = (task, engine, way, path.name)
        try:
            assert searched(place, task, engine) == expected[task, engine], case
        except InputError as error:
            arqmath(*advised(" ".join(str(error).split())))
        for each in ENGINES:  # that of the message, and the other one, which is there as before
            assert searched(place, task, each) == expected[task, each], (case, each)


def test_index_mends_what_only_reading_all_shows(
    indexes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "indexes"
    shutil.copytree(indexes, copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(writing, "_REMEMBERED", 1)
    expected = ranking(copy)
    index = store(copy, "task1", "lucene")
    path = max(files(index / "lucene"), key=lambda file: file.stat().st_size)
    (good,) = writing.digests([path])
    damage(path, "bit", random.Random(1))
    # A disk that loses a bit says nothing of it: what is remembered is still the good digest.
    writing.digests([path])
    remembered = tmp_path / "cache" / "arqmath-bm25" / "digests.json"
    (now,) = writing.digests([path], read_all=True)
    remembered.write_text(remembered.read_text().replace(now, good))
    with pytest.raises(InputError, match=f"{path.name} has other content than was written"):
        inspect(index)
    tasks.index("task1", indexes=copy, engine=["lucene"])
    inspect(index)
    assert ranking(copy) == expected


def rotten(path: Path, cache: Path, place: int) -> None:
    """Change a bit, and let the cache say of the file what it said before."""
    (good,) = writing.digests([path], read_all=True)
    content = bytearray(path.read_bytes())
    content[place] ^= 16
    with path.open("r+b") as file:  # the file that an open index has
        file.write(content)
    (bad,) = writing.digests([path], read_all=True)
    cache.write_text(cache.read_text().replace(bad, good))
    assert writing.digests([path]) == [good]


@pytest.mark.parametrize("engine", ENGINES)
def test_rot_is_seen_before_a_wrong_number(
    all_indexes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Bits of each file that is not Lucene's own, half of them below an index that is open."""
    chance = random.Random(6)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(writing, "_REMEMBERED", 1)
    copy = tmp_path / "indexes"
    shutil.copytree(all_indexes / "my indexes", copy)
    seen = set()
    for task in ("task1", "task2", "docs"):
        data = all_indexes / "own" if task == "docs" else None
        index = store(copy, task, engine, "own" if data else SAMPLE.name)
        of_index = [path for path in files(index) if "lucene/" not in path.as_posix()]
        for path in drawn([path for path in of_index if path.suffix != ".json"], 30, task):
            before = path.read_bytes()
            for below_open in (False, True):
                opened = opened_for(copy, task, engine, data)
                expected = found(opened)
                again = opened if below_open else opened_for(copy, task, engine, data)
                place = chance.randrange(len(before))
                rotten(path, tmp_path / "cache" / "arqmath-bm25" / "digests.json", place)
                said = ""
                try:
                    assert found(again) == expected, path
                except NoIndexError as error:
                    said = str(error)
                if said:
                    assert path.name.removesuffix(CHECKSUMS) in said
                    seen.add(path.suffix)
                path.write_bytes(before)
    assert CHECKSUMS in seen


def opened_for(indexes: Path, task: str, engine: str, data: Path | None) -> OpenIndex:
    return OpenIndex.open(CollectionFiles(data, indexes), task, engine=chosen_engine(engine, None))


def found(index: OpenIndex) -> list[tuple[str, float, str]]:
    hits = index.search(QUERY, "math", 50)
    texts = [index.task.found(hit, index).short_text for hit in hits]
    return [(hit.doc_id, hit.score, text) for hit, text in zip(hits, texts, strict=True)]


def test_a_sound_index_is_said_to_be_so(indexes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for task in ("task1", "task2"):
        inspect(indexes / SAMPLE.name / task)
        said = capsys.readouterr().out
        assert said.count("all as they were written") == 2
        lucene = store(indexes, task, "lucene") / "lucene"
        assert f"{lucene}: Lucene's directory, which Pyserini opens" in said
