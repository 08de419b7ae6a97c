"""A saved file costs itself: postings of other documents are those of the former index."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import arqmath_bm25 as arq
from arqmath_bm25.tasks import document_retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the documents that are analysed."""
    ids: list[str] = []
    documents = document_retrieval._documents

    def noting(*arguments: object) -> Iterator[object]:
        for document in documents(*arguments):  # type: ignore[arg-type]
            ids.append(document.doc_id)
            yield document

    monkeypatch.setattr(document_retrieval, "_documents", noting)
    return ids


def write(folder: Path, name: str, chance: random.Random) -> None:
    words = " ".join(chance.choices("group ring field ideal norm limit".split(), k=9))
    link = chance.choice(["", f" See [[n{chance.randrange(60)}]]."])
    (folder / name).write_text(
        f"# About {name}\n\nA {words} of $x^{{{chance.randrange(99)}}}$.{link}\n"
    )


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(60):
        write(folder, f"n{number}.md", random.Random(number))
    return folder


def built(notes: Path, indexes: Path) -> dict[str, object]:
    store = arq.Collection(notes, indexes).index("docs", threads=1).path
    manifest = json.loads((store / "manifest.json").read_bytes())
    files: dict[str, object] = {
        path.relative_to(store).as_posix(): path.read_bytes()
        for path in store.rglob("*")
        if path.is_file() and path.name != "manifest.json"  # which says how long it took
    }
    return files | {"counts": manifest["counts"], "decisions": manifest["decisions"]}


def edit(folder: Path, chance: random.Random, number: int) -> None:
    file = chance.choice(sorted(folder.glob("*.md")))
    match chance.randrange(5):
        case 0:
            write(folder, file.name, chance)
        case 1:
            write(folder, f"a{number}.md", chance)
        case 2:
            file.unlink()
        case 3:
            file.rename(file.with_name(f"renamed{number}.md"))
        case 4:
            file.write_text(f"{file.read_text()}\n\n# Later\n\nMore of $y$.\n")


def check_edits(notes: Path, rounds: int) -> None:
    chance = random.Random(69)
    for number in range(rounds):
        kept = built(notes, notes.parent / "i")
        assert kept == built(notes, notes.parent / f"anew-{number}")
        for _ in range(chance.randint(1, 3)):
            edit(notes, chance, number)


def test_edits_leave_what_is_indexed_anew(notes: Path, analysed: list[str]) -> None:
    check_edits(notes, 5)


@pytest.mark.nightly
def test_a_hundred_edits_leave_what_is_indexed_anew(notes: Path, analysed: list[str]) -> None:
    check_edits(notes, 100)


def test_a_document_before_all_others_leaves_their_postings(
    notes: Path, tmp_path: Path, analysed: list[str]
) -> None:
    built(notes, tmp_path / "i")
    assert len(analysed) == 60
    del analysed[:]
    write(notes, "a.md", random.Random(1))
    built(notes, tmp_path / "i")
    assert "a.md#about-a-md" in analysed
    assert len(analysed) < 30


@pytest.mark.parametrize(
    "name", ["documents.rows", "documents.counts", "words", "lucene.flat/contents.docs"]
)
def test_what_is_damaged_is_not_taken_over(
    notes: Path, tmp_path: Path, analysed: list[str], name: str
) -> None:
    built(notes, tmp_path / "i")
    (file,) = (tmp_path / "i" / "notes").rglob(name)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 8
    file.write_bytes(content)
    write(notes, "a.md", random.Random(1))
    assert built(notes, tmp_path / "i") == built(notes, tmp_path / "anew")


def test_nothing_is_kept_but_the_last_index(notes: Path, tmp_path: Path) -> None:
    for number in range(3):
        write(notes, f"a{number}.md", random.Random(number))
        built(notes, tmp_path / "i")
    stores = {path.parent for path in (tmp_path / "i").rglob("manifest.json")}
    assert len(stores) == 2  # the import and its index
    assert {path.parent.name for path in stores} == {"notes", "docs"}


def test_most_documents_are_indexed_anew_with_all(
    notes: Path, tmp_path: Path, analysed: list[str]
) -> None:
    built(notes, tmp_path / "i")
    del analysed[:]
    for number in range(40):
        write(notes, f"n{number}.md", random.Random(100 + number))
    assert built(notes, tmp_path / "i") == built(notes, tmp_path / "anew")
    assert len(analysed) == 2 * 60
