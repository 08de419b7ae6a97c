"""Files and directories are complete or absent, whatever happens to those who write them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arqmath_bm25.core import building as build_files
from arqmath_bm25.core import writing
from arqmath_bm25.core.building import building
from arqmath_bm25.core.errors import InputError, InterruptedWorkError, shown
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.writing import Source, alone, complete, manifest_path, read_manifest

MANIFEST = Manifest("task1", {}, None, {}, [Source("p", 1, "x")], {}, {"documents": 3}, 0.1)


def present(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_build_is_complete_or_absent(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "task1"
    with pytest.raises(KeyboardInterrupt), building(target) as place:
        (place / "half").touch()
        raise KeyboardInterrupt
    assert present(target.parent) == []
    for content in ("first", "second"):
        with building(target) as place:
            (place / "data").write_text(content)
            MANIFEST.write(place)
        assert (target / "data").read_text() == content
    with pytest.raises(InputError, match="task1: the disk is full"), building(target):
        raise OSError(28, "No space left")
    assert (target / "data").read_text() == "second"
    assert Manifest.read(target) == MANIFEST
    assert present(target.parent) == ["task1"]


def test_documents_of_an_interrupted_build_are_kept_for_the_same_build(tmp_path: Path) -> None:
    target = tmp_path / "flat-1"
    for error in (KeyboardInterrupt, InterruptedWorkError):
        with pytest.raises(error), building(target, resumes=True) as place:
            (place / "documents" / "part").touch()
            (place / "table").touch()
            raise error
        assert present(tmp_path) == [".flat-1.building"]
        with building(tmp_path / "flat-2", resumes=True) as place:
            assert present(place / "documents") == []
        shutil.rmtree(tmp_path / "flat-2")
        with building(target, resumes=True) as place:
            assert present(place) == ["documents"]
            assert present(place / "documents") == ["part"]
        assert present(target) == ["documents"]
        shutil.rmtree(target)


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    for name in (".task1.building", ".task1.removed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").touch()
    (tmp_path / ".task1.lock").write_text("123456")
    with building(tmp_path / "task1") as place:
        assert present(place) == []
    assert present(tmp_path) == ["task1"]
    assert present(tmp_path / "task1") == []


@pytest.mark.parametrize("left", ["building", "removed"])
def test_what_a_kill_left_beside_a_complete_directory_is_swept(tmp_path: Path, left: str) -> None:
    target, beside = tmp_path / "task1", tmp_path / f".task1.{left}"
    for directory in (target, beside):
        directory.mkdir()
        (directory / "file").touch()
    with alone(target):
        build_files.sweep(target)  # a build is at work
        assert beside.is_dir()
    build_files.sweep(target)
    assert present(tmp_path) == ["task1"]
    assert present(target) == ["file"]


def test_a_directory_is_removed_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "task1"
    target.mkdir()
    (target / "file").touch()

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(build_files.shutil, "rmtree", killed)
        build_files.remove(target)
    assert present(tmp_path) == [".task1.removed"]
    build_files.sweep(target)
    assert present(tmp_path) == []


@pytest.mark.parametrize("exchanging", [True, False])
def test_a_directory_is_replaced_where_names_cannot_be_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanging: bool
) -> None:
    if not exchanging:
        monkeypatch.setattr(build_files, "exchange", lambda one, other: False)
    for content in ("old", "new"):
        with building(tmp_path / "pages") as place:
            (place / "page").write_text(content)
    assert present(tmp_path) == ["pages"]
    assert (tmp_path / "pages" / "page").read_text() == "new"


def test_two_builds_of_one_index_do_not_meet(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from arqmath_bm25.core.building import building\n"
        "with building(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "task1")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        with (
            pytest.raises(InputError, match=f"process {other.pid} is writing this"),
            building(tmp_path / "task1"),
        ):
            pass
        other.kill()
    with building(tmp_path / "task1"):
        pass  # the lock went with the process


def test_no_manifest_and_a_foreign_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this file is missing"):
        Manifest.read(tmp_path / "absent")
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"manifest\.json: damaged"):
        Manifest.read(tmp_path)


def test_a_file_whose_writing_fails_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    with complete(path) as file:
        file.write("first")
    with pytest.raises(KeyboardInterrupt), complete(path) as file:
        file.write("half")
        file.flush()
        assert path.read_text() == "first"
        raise KeyboardInterrupt
    assert path.read_text() == "first"
    assert present(tmp_path) == ["run.tsv"]


def test_the_digest_of_a_large_file_is_kept_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(writing, "_REMEMBERED", 1)
    path = tmp_path / "Posts.xml"
    for content in (b"one", b"two"):
        path.write_bytes(content)
        source = Source("Posts.xml", 3, hashlib.sha256(content).hexdigest())
        assert writing.sources([path]) == [source]
        with monkeypatch.context() as unread:
            unread.setattr(hashlib, "file_digest", None)
            assert writing.sources([path]) == [source]


WRITER = """
import sys, time
from pathlib import Path
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import complete
path, own = Path(sys.argv[1]), sys.argv[2]
for _ in range(50):
    try:
        with complete(path, manifest={"own": own}) as file:
            for _ in range(20):
                file.write(own * 500 + "\\n")
                file.flush()
    except InputError as error:
        assert "is writing this; wait for it or end it" in str(error), error
"""


def test_writers_of_one_file_never_mix_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, own]) for own in "abcdefgh"]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            (own,) = set(path.read_text()) - {"\n"}
            assert len(path.read_text()) % 501 == 0
            seen += bool(own)
    assert [writer.returncode for writer in writers] == [0] * 8
    assert seen > 10
    (own,) = set(path.read_text()) - {"\n"}
    manifest = {"own": own, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert manifest_path(path).read_text() == json.dumps(manifest, indent=2) + "\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.tsv", "run.tsv.manifest.json"]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"file/run\.tsv: "),
        complete(tmp_path / "file" / "run.tsv"),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"run\.tsv: the disk is full"),
        complete(tmp_path / "run.tsv"),
    ):
        raise OSError("5 requested and 0 written")  # as NumPy tells it
    with (
        pytest.raises(InputError, match=r"run\.tsv: no such thing\. What was there"),
        complete(tmp_path / "run.tsv"),
    ):
        raise OSError("no such thing")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("call", ["replace", "rename"])
def test_a_disk_that_is_full_when_a_file_gets_its_name_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    (tmp_path / "run.tsv").write_text("old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self), None, str(target))

    monkeypatch.setattr(Path, call, full)
    message = rf"{re.escape(str(tmp_path))}/(run\.tsv|task1): the disk is full; make room"
    with pytest.raises(InputError, match=message):
        if call == "replace":
            with complete(tmp_path / "run.tsv", manifest={"a": 1}) as file:
                file.write("new")
        else:
            with building(tmp_path / "task1") as place:
                (place / "new").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["run.tsv"]
    assert (tmp_path / "run.tsv").read_text() == "old"


def test_a_replacement_that_fails_brings_the_old_directory_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with building(tmp_path / "pages") as place:
        (place / "page").write_text("old")
    rename = Path.rename

    def full(self: Path, target: Path) -> Path:
        if self.name == ".pages.building" and target.name == "pages":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self), None, str(target))
        return rename(self, target)

    monkeypatch.setattr(build_files, "exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", full)
    message = "pages: the disk is full; make room"
    with pytest.raises(InputError, match=message), building(tmp_path / "pages") as place:
        (place / "page").write_text("new")
    assert present(tmp_path) == ["pages"]
    assert (tmp_path / "pages" / "page").read_text() == "old"


BUILDS = """
import sys
from pathlib import Path
from arqmath_bm25.core.building import building
for number in range(300):
    with building(Path(sys.argv[1])) as place:
        (place / "number").write_text(str(number))
"""


def test_readers_always_find_a_directory_that_is_replaced(tmp_path: Path) -> None:
    target, seen = tmp_path / "pages", 0
    with building(target) as place:
        (place / "number").write_text("0")
    with subprocess.Popen([sys.executable, "-c", BUILDS, str(target)]) as builder:
        while builder.poll() is None:
            assert target.is_dir()
            seen += 1
    assert builder.returncode == 0
    assert seen > 100
    assert (target / "number").read_text() == "299"
    assert present(tmp_path) == ["pages"]


@pytest.mark.parametrize(
    "command",
    [
        [b"fuse", b"a.tsv", b"b.tsv", b"-o", b"caf\xe9.tsv"],
        [b"eval", b"caf\xe9.tsv", b"--per-topic", b"p.csv"],
        [b"index", b"task1", b"--indexes", b"caf\xe9.tsv"],
    ],
)
def test_names_that_are_not_utf_8_are_said(tmp_path: Path, command: list[bytes]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arqmath_bm25", *command],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "error: caf\\udce9.tsv: this is not UTF-8; rename the file, and write UTF-8\n"
    )


def test_values_are_quoted_shortly() -> None:
    assert shown("0.5") == "'0.5'"
    assert len(shown("x" * 100_000)) == len(shown(["x" * 100_000])) == 61


def test_documents_that_were_being_removed_are_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    target = tmp_path / "flat-1"
    with pytest.raises(KeyboardInterrupt), building(target, resumes=True) as place:
        (place / "documents" / "part").touch()
        raise KeyboardInterrupt
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(build_files.shutil, "rmtree", interrupted)
        with building(target, resumes=True):
            raise InputError("the disk is full")
    with building(target, resumes=True) as place:
        assert list((place / "documents").iterdir()) == []


def test_files_that_differ_in_their_suffix_have_manifests_of_their_own(tmp_path: Path) -> None:
    for name in ("run.tsv", "run.trec"):
        with complete(tmp_path / name, manifest={"of": name}) as file:
            file.write(name)
    assert [read_manifest(tmp_path / name)["of"] for name in ("run.tsv", "run.trec")] == [
        "run.tsv", "run.trec",
    ]  # fmt: skip
