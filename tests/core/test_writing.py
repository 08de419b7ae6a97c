"""Files and directories are complete or absent, whatever happens to those who write them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from arqmath_bm25.core import building as build_files
from arqmath_bm25.core import writing
from arqmath_bm25.core.building import building
from arqmath_bm25.core.errors import InputError, InterruptedWorkError, shown
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.writing import Source, complete, manifest_path, read_manifest

MANIFEST = Manifest("task1", {}, True, {}, [Source("p", 1, "x")], {}, {"documents": 3}, 0.1)


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
    target = tmp_path / "task1"
    for error in (KeyboardInterrupt, InterruptedWorkError):
        with pytest.raises(error), building(target, "these", "settings") as place:
            (place / "documents" / "part").touch()
            (place / "table").touch()
            raise error
        assert ".task1.building" in present(tmp_path)
        with building(target, "these", "settings") as place:
            assert present(place) == ["builder.pid", "documents", "made_of"]
            assert present(place / "documents") == ["part"]
        assert present(target) == ["documents"]
    with pytest.raises(KeyboardInterrupt), building(target, "these", "settings") as place:
        (place / "documents" / "part").touch()
        raise KeyboardInterrupt
    with building(target, "other", "settings") as place:
        assert present(place / "documents") == []


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / ".task1.building"
    left.mkdir()
    (left / "half").touch()
    with building(tmp_path / "task1") as place:
        assert present(place) == ["builder.pid"]
    assert present(tmp_path) == ["task1"]
    assert present(tmp_path / "task1") == []


@pytest.mark.parametrize("both", [False, True])
def test_a_swap_that_was_cut_off_is_finished(tmp_path: Path, both: bool) -> None:
    previous = build_files._previous(tmp_path / "task1")
    previous.mkdir()
    MANIFEST.write(previous)
    if both:
        (tmp_path / "task1").mkdir()
        MANIFEST.write(tmp_path / "task1")
    assert Manifest.read(tmp_path / "task1") == MANIFEST
    with building(tmp_path / "task1"):
        assert present(tmp_path) == [".task1.building", "task1"]


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
    assert Manifest.read(tmp_path / "absent") is None
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"manifest\.json: damaged, or of another version"):
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
        assert "another process is writing this" in str(error), error
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


SWAPS = """
import sys
from pathlib import Path
from arqmath_bm25.core import building as build_files
from arqmath_bm25.core import writing
if sys.argv[2] == "two renames":
    build_files.exchange = lambda one, other: False
if sys.argv[3] == "read":
    while not Path(sys.argv[1], "stop").exists():
        build_files.restore(Path(sys.argv[1], "task1"))
for number in range(300 if sys.argv[3] == "build" else 0):
    with build_files.building(Path(sys.argv[1], "task1")) as place:
        (place / "number").write_text(str(number))
"""


@pytest.mark.parametrize("way", ["exchange", "two renames"])
def test_who_reads_never_undoes_the_swap_of_a_build(tmp_path: Path, way: str) -> None:
    command = [sys.executable, "-c", SWAPS, str(tmp_path), way]
    readers = [subprocess.Popen([*command, "read"]) for _ in range(3)]
    try:
        subprocess.run([*command, "build"], check=True)
    finally:
        (tmp_path / "stop").touch()
        assert [reader.wait() for reader in readers] == [0, 0, 0]
    assert (tmp_path / "task1" / "number").read_text() == "299"
    assert present(tmp_path) == ["stop", "task1"]


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

    with pytest.raises(KeyboardInterrupt), building(tmp_path / "task1", "one") as place:
        (place / "documents" / "part").touch()
        raise KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(build_files.shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt), building(tmp_path / "task1", "other"):
            pass
    with building(tmp_path / "task1", "one") as place:
        assert list((place / "documents").iterdir()) == []


def test_files_that_differ_in_their_suffix_have_manifests_of_their_own(tmp_path: Path) -> None:
    for name in ("run.tsv", "run.trec"):
        with complete(tmp_path / name, manifest={"of": name}) as file:
            file.write(name)
    assert [read_manifest(tmp_path / name)["of"] for name in ("run.tsv", "run.trec")] == [
        "run.tsv", "run.trec",
    ]  # fmt: skip


def test_a_manifest_of_the_old_name_is_read_if_it_is_of_that_file(tmp_path: Path) -> None:
    for name in ("run.tsv", "run.trec"):
        with complete(tmp_path / name, manifest={"of": name}) as file:
            file.write(name)
        (tmp_path / f"{name}.manifest.json").replace(tmp_path / "run.manifest.json")
    assert read_manifest(tmp_path / "run.trec")["of"] == "run.trec"
    assert read_manifest(tmp_path / "run.tsv") == {}
