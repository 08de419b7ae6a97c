"""No file is written through a link that somebody planted; devices, pipes and links stay such."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from program import arqmath, ended, process
from shared_indexes import linked, store

from arqmath_bm25.collection.download import download
from arqmath_bm25.collection.fetching import unpack
from arqmath_bm25.collection.published import Archive
from arqmath_bm25.core.building import building
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import complete, manifest_path, read_manifest, together

RUN = "q1 Q0 d1 1 2.5 me\nq1 Q0 d2 2 1.5 me\n"
JUDGMENTS = "q1 0 d1 1\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Return a folder of somebody's, with a file in it."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    return folder


def is_whole(victim: Path) -> bool:
    files = [path.name for path in victim.iterdir()]
    return files == ["thesis.tex"] and (victim / "thesis.tex").read_text() == "years of work"


@pytest.fixture
def scored(tmp_path: Path) -> list[object]:
    """Return a call of `eval`, without its output."""
    run, judgments = tmp_path / "run.trec", tmp_path / "qrels.txt"
    run.write_text(RUN)
    judgments.write_text(JUDGMENTS)
    return ["eval", run, "--qrels", judgments]


@pytest.mark.parametrize("name", [".{}.building", ".{}.removed", ".{}.lock", "{}"])
def test_an_index_is_not_built_through_a_link(
    name: str, victim: Path, tmp_path: Path, sample_indexes: Path
) -> None:
    linked(sample_indexes, tmp_path / "indexes")
    built = store(tmp_path / "indexes", "task1")
    shutil.rmtree(built)
    (built.parent / name.format(built.name)).symlink_to(victim)
    done = ended("-q", "index", "task1", "--engine", "flat", cwd=tmp_path)
    assert is_whole(victim)
    if name == ".{}.removed":  # what is removed may be a link, and is not followed
        assert done.returncode == 0
    else:
        assert done.returncode == 1
        assert "this is a link" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["table", "documents", "documents/part-0.jsonl"])
def test_what_a_build_left_may_hold_links_and_none_is_followed(
    name: str, victim: Path, tmp_path: Path
) -> None:
    left = tmp_path / ".task1.building"
    (left / "documents").mkdir(parents=True)
    planted = left / name
    if planted.is_dir():
        planted.rmdir()
    to = victim if name == "documents" else victim / "thesis.tex"
    planted.symlink_to(to)
    with building(tmp_path / "task1", resumes=True) as place:
        for path in place.rglob("*"):
            assert not path.is_symlink()
        (place / "documents" / "part-0.jsonl").write_text("new")
        shutil.rmtree(place / "documents")
    assert is_whole(victim)


@pytest.mark.parametrize("name", [".x.tsv.partial", ".x.tsv.manifest.json.partial"])
def test_a_file_is_not_written_through_a_link(name: str, victim: Path, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to(victim / "thesis.tex")
    planted = pytest.raises(InputError, match=r"\.partial: this is a link, where only")
    with planted, complete(tmp_path / "x.tsv", manifest={}):
        pass
    assert [path.name for path in tmp_path.iterdir() if path != victim] == [name]
    assert is_whole(victim)


def test_a_download_is_not_written_through_a_link(victim: Path, tmp_path: Path) -> None:
    (tmp_path / "Posts.xml.part").symlink_to(victim / "thesis.tex")
    with pytest.raises(InputError, match="this is a link"):
        download("http://127.0.0.1:9/Posts.xml", tmp_path / "Posts.xml", lambda _: None)
    (tmp_path / "Formulas.part").symlink_to(victim)
    with pytest.raises(InputError, match="this is a link"):
        unpack(tmp_path / "x.zip", Archive("Formulas", ("1.tsv",), 1), tmp_path / "Formulas")
    assert is_whole(victim)


def test_a_download_is_not_written_to_a_second_name_of_a_file(victim: Path, tmp_path: Path) -> None:
    os.link(victim / "thesis.tex", tmp_path / "Posts.xml.part")
    with pytest.raises(InputError, match=r"Posts\.xml\.part: this file has another name too"):
        download("http://127.0.0.1:9/Posts.xml", tmp_path / "Posts.xml", lambda _: None)
    assert is_whole(victim)


def test_a_link_that_is_an_output_stays_one_and_its_target_is_replaced(
    scored: list[object], tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "scores.json", tmp_path / "scores.json"
    target.write_text("old")
    link.symlink_to(target)
    arqmath(*scored, "--json", link)
    assert link.is_symlink()
    assert target.read_text().startswith("[")
    assert sorted(path.name for path in target.parent.iterdir()) == ["scores.json"]


def test_the_manifest_of_a_link_is_beside_its_target(tmp_path: Path) -> None:
    link = tmp_path / "run.tsv"
    (tmp_path / "real").mkdir()
    link.symlink_to(tmp_path / "real" / "run.tsv")
    with complete(link, manifest={"tag": "x"}, by_user=True) as file:
        file.write(RUN)
    assert manifest_path(link).parent == tmp_path / "real"
    assert read_manifest(link)["tag"] == "x"


def test_a_pipe_is_written_to_and_stays_one(scored: list[object], tmp_path: Path) -> None:
    pipe, texts = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()))
    reader.start()
    arqmath(*scored, "--json", pipe)
    reader.join()
    assert pipe.is_fifo()
    assert texts[0].startswith("[")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_written_to_and_stays_one(scored: list[object], tmp_path: Path) -> None:
    null = tmp_path / "null"  # never the real one
    try:
        os.mknod(null, 0o20666, os.makedev(1, 3))
        null.write_text("")
    except PermissionError:
        pytest.skip("this container makes no devices")
    arqmath(*scored, "--json", null, "--per-topic", tmp_path / "topics.csv")
    assert null.is_char_device()


def test_standard_output_by_its_name_in_dev(scored: list[object], tmp_path: Path) -> None:
    done = process("-q", *scored, "--json", "/dev/stdout", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"run"' in done.stdout
    assert Path("/dev/stdout").is_symlink()


def test_process_substitution(scored: list[object], tmp_path: Path) -> None:
    command = f"{sys.executable} -m arqmath_bm25 -q {' '.join(map(str, scored))} --json >(cat >&2)"
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"run"' in done.stderr


def test_outputs_that_belong_together_appear_together(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("old")
    full = pytest.raises(InputError, match=r"What was there before is as it was")
    with full, together() as outputs:
        outputs.open(first).write("new")
        outputs.open(second).write("new")
        raise OSError(28, "No space left on device")
    assert first.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_an_error_before_any_output_is_raised_as_it_is() -> None:
    with pytest.raises(OSError, match="Input/output error"), together():
        raise OSError(5, "Input/output error")


def test_no_output_appears_beside_one_that_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "b.csv").mkdir()
    refused = pytest.raises(InputError, match=r"b\.csv: Is a directory")
    with refused, together() as outputs:
        outputs.open(tmp_path / "a.csv").write("new")
        outputs.open(tmp_path / "b.csv").write("new")
    assert [path.name for path in tmp_path.iterdir()] == ["b.csv"]


def test_a_link_under_a_name_that_the_program_chose_is_replaced(
    victim: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.tsv"
    run.symlink_to(victim / "thesis.tex")
    with complete(run, manifest={"tag": "x"}) as file:
        file.write(RUN)
    assert is_whole(victim)
    assert not run.is_symlink()
    assert run.read_text() == RUN
    assert read_manifest(run)["tag"] == "x"


def test_a_run_is_not_written_through_a_link(victim: Path, tmp_path: Path) -> None:
    place = ("--indexes", tmp_path / "i", "--engine", "flat")
    ranked = ("run", "task1", *place, "--topics", "2021", "--variant", "text")
    arqmath("index", "task1", *place)
    arqmath(*ranked, "--runs", tmp_path / "r")
    (run,) = (tmp_path / "r").rglob("*.tsv")
    content = run.read_bytes()
    run.unlink()
    run.symlink_to(victim / "thesis.tex")
    arqmath(*ranked, "--runs", tmp_path / "r", "--overwrite")
    assert is_whole(victim)
    assert run.read_bytes() == content


def test_a_second_name_of_a_file_is_not_written_to(victim: Path, tmp_path: Path) -> None:
    os.link(victim / "thesis.tex", tmp_path / ".x.tsv.partial")
    planted = pytest.raises(InputError, match=r"\.x\.tsv\.partial: this file has another name too")
    with planted, complete(tmp_path / "x.tsv"):
        pass
    assert is_whole(victim)


def test_a_pipe_under_a_temporary_name_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".x.tsv.partial")
    planted = pytest.raises(InputError, match=r"\.x\.tsv\.partial: this is no ordinary file")
    with planted, complete(tmp_path / "x.tsv"):
        pass


def test_of_outputs_that_belong_together_the_one_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, calls = os.fsync, list[int]()

    def full_at_first(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full_at_first)
    full = pytest.raises(InputError, match=r"first\.csv: the disk is full")
    with full, together() as outputs:
        outputs.open(tmp_path / "first.csv").write("text")
        outputs.open(tmp_path / "second.csv").write("text")
    assert list(tmp_path.iterdir()) == []
