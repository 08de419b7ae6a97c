"""Unpacking published archives: all or nothing, and only what was expected."""

from __future__ import annotations

import random
import stat
import struct
from typing import TYPE_CHECKING
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile, ZipInfo

import pytest

from arqmath_bm25.collection.fetching import unpack
from arqmath_bm25.collection.published import Archive
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

POSTS = Archive("Collection/Posts.V1.3.xml", ("Posts.V1.3.xml",), 1000)
FORMULAS = Archive("Formulas/latex_representation_v3", ("1.tsv", "2.tsv"), 1000)
DUMP = b"<posts></posts>"
ROWS = b"id\tpost_id\tthread_id\ttype\tformula\n"


def zip_of(path: Path, members: Mapping[str, bytes], method: int = ZIP_DEFLATED) -> Path:
    with ZipFile(path, "w", method) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    return path


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_one_member_becomes_a_file(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"Collection/Posts.V1.3.xml": DUMP})
    unpack(path, POSTS, tmp_path / "Posts.V1.3.xml")
    assert (tmp_path / "Posts.V1.3.xml").read_bytes() == DUMP
    assert names(tmp_path) == ["Posts.V1.3.xml", "a.zip"]


@pytest.mark.parametrize("folder", ["", "latex_representation_v3/", "a/b/"])
def test_several_members_become_a_directory(folder: str, tmp_path: Path) -> None:
    members = {
        folder + "2.tsv": ROWS,
        folder + "1.tsv": ROWS + b"1",
        "__MACOSX/._1.tsv": b"?",
        folder + ".DS_Store": b"?",
    }
    target = tmp_path / "latex_representation_v3"
    unpack(zip_of(tmp_path / "a.zip", members), FORMULAS, target)
    assert names(target) == ["1.tsv", "2.tsv"]
    assert (target / "1.tsv").read_bytes() == ROWS + b"1"


@pytest.mark.parametrize("name", ["../1.tsv", "/etc/1.tsv", "a/../../1.tsv", "..\\1.tsv"])
def test_a_member_decides_not_where_it_goes(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    header = b"id\tpost_id\tthread_id\ttype\tvisual_id\tformula\n"
    path = zip_of(tmp_path / "a.zip", {name: header, "2.tsv": header})
    unpack(path, FORMULAS, tmp_path / "in" / "formulas")
    written = ["in", "in/formulas", "in/formulas/1.tsv", "in/formulas/2.tsv"]
    assert names(tmp_path) == ["a.zip", *written]


def test_missing_and_doubled_members_are_named(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"1.tsv": b"one"})
    with pytest.raises(InputError, match=r"no 2\.tsv in this archive; remove it"):
        unpack(path, FORMULAS, tmp_path / "formulas")
    path = zip_of(tmp_path / "b.zip", {"1.tsv": b"", "2.tsv": b"", "old/2.tsv": b""})
    with pytest.raises(InputError, match=r"two files in this archive are called 2\.tsv"):
        unpack(path, FORMULAS, tmp_path / "formulas")


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"Posts.V1.3.xml": b"\0" * 10_000_000})
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match="would unpack to 10 MB; expected about"):
        unpack(path, POSTS, tmp_path / "Posts.V1.3.xml")


def test_a_bomb_that_hides_its_size_is_not_unpacked(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"Posts.V1.3.xml": b"\0" * 10_000_000})
    lie = path.read_bytes().replace(struct.pack("<L", 10_000_000), struct.pack("<L", 100))
    path.write_bytes(lie)
    with pytest.raises(InputError, match="damaged"):
        unpack(path, POSTS, tmp_path / "Posts.V1.3.xml")
    assert names(tmp_path) == ["a.zip"]


def test_a_disk_that_is_too_small_is_named_before(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"Posts.V1.3.xml": DUMP})
    huge = 4_000_000_000  # bytes for every of the 32-bit sizes
    lie = path.read_bytes().replace(struct.pack("<L", len(DUMP)), struct.pack("<L", huge))
    path.write_bytes(lie)
    archive = Archive(POSTS.target, POSTS.members, huge)
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1_000_000}))
        with pytest.raises(InputError, match="4,000 MB are needed, but only 1 MB are free"):
            unpack(path, archive, tmp_path / "Posts.V1.3.xml")


@pytest.mark.parametrize("where", [0.3, 0.6, 0.9])
def test_one_wrong_byte_is_found(where: float, tmp_path: Path) -> None:
    content = ROWS + b"".join(str(number**3).encode() for number in range(30_000))
    path = zip_of(tmp_path / "a.zip", {"1.tsv": ROWS, "2.tsv": content})
    damaged = bytearray(path.read_bytes())
    damaged[int(len(damaged) * where)] ^= 0x55
    path.write_bytes(damaged)
    with pytest.raises(InputError, match=r"a\.zip: damaged"):
        unpack(path, Archive(FORMULAS.target, FORMULAS.members, 1_000_000), tmp_path / "formulas")
    assert names(tmp_path) == ["a.zip"]


def test_a_file_that_is_cut_off_or_no_zip_is_named(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"Posts.V1.3.xml": b"<posts/>" * 50})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"damaged, or not a zip archive.*fetch it again"):
        unpack(path, POSTS, tmp_path / "Posts.V1.3.xml")


def test_remains_of_an_earlier_call_are_removed(tmp_path: Path) -> None:
    (tmp_path / "formulas.part").mkdir()
    (tmp_path / "formulas.part" / "9.tsv").touch()
    path = zip_of(tmp_path / "a.zip", {"1.tsv": ROWS, "2.tsv": ROWS})
    unpack(path, FORMULAS, tmp_path / "formulas")
    assert names(tmp_path / "formulas") == ["1.tsv", "2.tsv"]


@pytest.mark.parametrize("method", [ZIP_BZIP2, ZIP_LZMA])
def test_compression_that_is_not_read_is_named(method: int, tmp_path: Path) -> None:
    path = zip_of(tmp_path / "a.zip", {"Posts.V1.3.xml": DUMP}, method)
    with pytest.raises(InputError, match=rf"method {method}, .* to Collection/Posts\.V1\.3\.xml"):
        unpack(path, POSTS, tmp_path / "Posts.V1.3.xml")


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "secret.zip", {"Posts.V1.3.xml": DUMP})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the flags of the central directory
    path.write_bytes(data)
    with pytest.raises(InputError, match="is encrypted"):
        unpack(path, POSTS, tmp_path / "Posts.V1.3.xml")
    assert names(tmp_path) == ["secret.zip"]


def test_a_link_becomes_a_file_with_its_text(tmp_path: Path) -> None:
    link = ZipInfo("Posts.V1.3.xml")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with ZipFile(tmp_path / "link.zip", "w") as zipped:
        zipped.writestr(link, "/etc/passwd")
    unpack(tmp_path / "link.zip", POSTS, tmp_path / "Posts.V1.3.xml")
    assert not (tmp_path / "Posts.V1.3.xml").is_symlink()
    assert (tmp_path / "Posts.V1.3.xml").read_bytes() == b"/etc/passwd"


@pytest.mark.parametrize("method", [ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
def test_damage_of_any_kind_ends_in_one_message(method: int, tmp_path: Path) -> None:
    members = {
        "1.tsv": ROWS + b"1\t2\t2\ttitle\tx^2\n" * 9,
        "ä/2.tsv": ROWS + bytes(range(32, 127)),
    }
    whole = zip_of(tmp_path / "whole.zip", members, method).read_bytes()
    path, target = tmp_path / "a.zip", tmp_path / "formulas"
    draw = random.Random(method)
    unpacked = 0
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            match draw.randrange(4):
                case 0:
                    data[at] ^= 1 << draw.randrange(8)
                case 1:
                    data[at : at + 4] = draw.randbytes(4)
                case 2:
                    del data[at : at + draw.randint(1, 60)]
                case 3:
                    data[at:at] = data[at : at + draw.randint(1, 60)]
        path.write_bytes(data)
        try:
            unpack(path, FORMULAS, target)
        except InputError as error:
            said = str(error)
            assert said.startswith(str(tmp_path)), said
            assert names(tmp_path) == ["a.zip", "whole.zip"]
        else:
            unpacked += 1
            assert [(target / name).read_bytes() for name in ("1.tsv", "2.tsv")] == [
                *members.values()
            ]
            for name in names(target):
                (target / name).unlink()
            target.rmdir()
    assert unpacked < 50
