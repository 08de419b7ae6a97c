"""Every way to name a place, for every command that takes one."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import ended

import arqmath_bm25 as arq
from arqmath_bm25.collection.file_collection import folder_name
from arqmath_bm25.core.errors import InputError

NOTE = "# Newton\n\nThe method of Newton converges for $f(x)=0$.\n"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "notes"
    folder.mkdir(parents=True)
    (folder / "one.md").write_text(NOTE)
    (folder / "empty.md").touch()
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "linked.md").symlink_to(folder / "one.md")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


INSIDE = [".", "./", "../notes", "one.md", "./one.md", "~/notes", "~/notes/one.md", "{root}/link"]
OUTSIDE = ["home/notes", "home/notes/", "home/../home/notes", "link", "linked.md", "~/notes"]
PLACES = [("home/notes", name) for name in INSIDE] + [(".", name) for name in OUTSIDE]


@pytest.mark.parametrize(("where", "name"), PLACES)
def test_each_name_of_a_place_serves(
    notes: Path, where: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / where)
    data = name.format(root=tmp_path)
    index = arq.Collection(data, tmp_path / "indexes").index("docs")
    assert next(iter(index.search("newton")["docno"])).endswith("#newton")


@pytest.mark.parametrize(
    "line",
    [
        ["index", "docs", "--data=~/notes"],
        ["index", "docs", "--data", "."],
        ["search", "docs", "newton", "--data", "."],
        ["search", "docs", "newton", "--data=~/notes"],
        ["search", "docs", "newton", "--data", "one.md"],
        ["inspect", ".", "--text"],
        ["inspect", "one.md", "--text"],
        ["inspect", "~/notes", "--text"],
    ],
)
def test_commands_take_each_name(
    notes: Path, line: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes)
    said = ended(*line, cwd=notes)
    assert said.returncode == 0, said.stderr
    assert "Traceback" not in said.stderr


def test_a_root_has_a_name() -> None:
    assert folder_name(Path("/")) == "files"


def test_a_file_without_bytes_is_named(notes: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"empty\.md: there are no words"):
        arq.Collection(notes / "empty.md", tmp_path / "indexes").index("docs")


def test_serve_in_a_folder_of_notes_names_the_way(notes: Path) -> None:
    said = ended("serve", cwd=notes)
    assert said.returncode == 2
    assert "arqmath-bm25 serve ." in said.stderr + said.stdout


def test_a_pattern_and_a_query_in_place_of_the_task_name_the_way(
    notes: Path, tmp_path: Path
) -> None:
    said = ended("search", "docs", "newton", "--data", "home/notes/*.tex", cwd=tmp_path)
    assert said.stderr.strip().endswith("no such file; give the folder, home/notes")
    said = ended("search", "newton", "home/notes", cwd=tmp_path)
    assert "`arqmath-bm25 search docs newton --data home/notes`" in said.stderr
    said = ended("search", "home/notes", "newton", cwd=tmp_path)
    assert "`arqmath-bm25 search docs newton --data home/notes`" in said.stderr
    said = ended("search", "newton", "steps", cwd=tmp_path)
    assert "`arqmath-bm25 search docs 'newton steps' --data FOLDER`" in said.stderr
