"""A saved file costs itself: rows of the other files are those of the former import."""

import json
import random
from collections.abc import Callable
from contextlib import closing
from multiprocessing import active_children
from pathlib import Path

import pytest

from arqmath_bm25.collection import file_collection
from arqmath_bm25.core.workers.local import Processes
from tests.support.importing import imported

FILES = {
    "intro.md": "# Groups\n\nOf order $n$, see @thm-x.\n\n# Rings\n\nAn ideal $I$.\n",
    "book/main.tex": (
        "\\documentclass{book}\n\\newcommand{\\R}{\\mathbb{R}}\n\\begin{document}\n"
        "\\input{one}\n\\section{End}\\label{end} As in \\ref{thm:one}.\n\\end{document}\n"
    ),
    "book/one.tex": (
        "\\begin{theorem}\\label{thm:one} $\\R$ is complete.\\end{theorem}\n"
        "\\begin{proof} By \\ref{lem:cut}. \\end{proof}\n"
    ),
    "cut.tex": "\\begin{lemma}\\label{lem:cut} Every cut $x<y$ ends.\\end{lemma}\n",
    "takes.md": "# Takes\n\n![[part]]\n\nand more.\n",
    "part.md": "# Part\n\nOf another note: $x^2$.\n",
    "page.html": "<html><body><h2>Page</h2><p>A norm $\\|x\\|$.</p></body></html>",
    "cell.ipynb": json.dumps(
        {"cells": [{"cell_type": "markdown", "source": ["# Cell\n", "It is $y$."]}]}
    ),
    "plain.txt": "A plain text about sums.\n",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def content(store: Path) -> dict[str, bytes]:
    paths = [path for path in store.rglob("*") if path.is_file()]
    return {path.relative_to(store).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    names: list[str] = []
    read_source = file_collection.read_source

    def noting(path: Path, root: Path, whole: bool, macros: str) -> object:
        names.append(path.relative_to(root).as_posix())
        return read_source(path, root, whole, macros)

    monkeypatch.setattr(file_collection, "read_source", noting)
    return names


def test_two_processes_read_what_one_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(file_collection, "_PER_JOB", 1)
    notes = written(tmp_path / "notes", FILES | {"cut.ipynb": '{"cells": '})
    alone = content(imported(notes, tmp_path / "one"))
    said = capsys.readouterr().err
    with closing(Processes(2)) as workers:
        assert content(imported(notes, tmp_path / "two", workers=workers)) == alone
    assert capsys.readouterr().err == said
    assert "expected a Jupyter notebook" in said


def test_the_processes_that_read_files_stay_for_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_collection, "_PER_JOB", 1)  # byte
    notes = written(tmp_path / "notes", FILES)
    with closing(Processes(2)) as workers:
        list(workers.map(abs, range(20)))
        before = {process.pid for process in active_children()}
        assert before
        imported(notes, tmp_path / "i", workers=workers)
        assert before <= {process.pid for process in active_children()}


def test_only_the_saved_file_is_read_again(tmp_path: Path, read: list[str]) -> None:
    notes = written(tmp_path / "notes", FILES)
    imported(notes, tmp_path / "i")
    del read[:]
    (notes / "intro.md").write_text("\n\n# Fields\n\nAnother text.\n")
    imported(notes, tmp_path / "i")
    assert read == ["intro.md"]


def test_a_file_is_read_again_when_what_it_takes_in_is_saved(
    tmp_path: Path, read: list[str]
) -> None:
    notes = written(tmp_path / "notes", FILES)
    imported(notes, tmp_path / "i")
    del read[:]
    (notes / "book" / "one.tex").write_text("Another chapter.")
    imported(notes, tmp_path / "i")
    assert read == ["book/main.tex"]


def test_a_file_is_read_again_when_what_it_lacked_is_there(tmp_path: Path, read: list[str]) -> None:
    notes = written(tmp_path / "notes", {"a.tex": "A. \\input{b}", "c.tex": "C."})
    imported(notes, tmp_path / "i")
    del read[:]
    (notes / "b.tex").write_text("It is there.")
    assert "It is there" in (imported(notes, tmp_path / "i") / "corpus.jsonl").read_text()
    assert read == ["a.tex"]


def test_other_options_take_nothing_over(tmp_path: Path, read: list[str]) -> None:
    notes = written(tmp_path / "notes", FILES)
    imported(notes, tmp_path / "i")
    count = len(read)
    imported(notes, tmp_path / "i", whole=True)
    assert len(read) == 2 * count


@pytest.mark.parametrize("name", ["rows.json", "corpus.jsonl", "manifest.json"])
@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"{}\n")])
def test_what_is_damaged_is_not_taken_over(
    tmp_path: Path, name: str, harm: Callable[[Path], object]
) -> None:
    notes = written(tmp_path / "notes", FILES)
    harm(imported(notes, tmp_path / "i") / name)
    (notes / "plain.txt").write_text("Another text.")
    anew = content(imported(notes, tmp_path / "anew"))
    assert content(imported(notes, tmp_path / "i")) == anew


def edit(folder: Path, chance: random.Random, number: int) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file, other = chance.choice(files), chance.choice(files)
    label = chance.choice(["thm:one", "lem:cut", "end", "new"])
    new = folder / chance.choice(
        [f"new-{number}.md", f"book/new{number}.tex", "a b.md", "a%20b.md"]
    )
    match chance.randrange(9):
        case 0:
            file.write_text(
                f"{file.read_text()}\n\n# Later {number}\n\nOne more $x^{{{number}}}$.\n"
            )
        case 1:
            new.write_text(f"# New\n\nText {number} of $y$.\n")
        case 2 if len(files) > 4:
            file.unlink()
        case 3:
            file.rename(file.with_name(f"renamed-{number}{file.suffix}"))
        case 4:
            text, moved = file.read_text(), other.read_text()
            file.write_text(moved)
            other.write_text(text)
        case 5:
            (folder / f"label-{number % 3}.tex").write_text(
                f"\\begin{{lemma}}\\label{{{label}}} Case {number}.\\end{{lemma}}\n"
                f"\\begin{{proof}} Of \\ref{{thm:one}} and \\ref{{end}}.\\end{{proof}}"
            )
        case 6:
            (folder / f"copy-{number % 3}.md").write_text(other.read_text())
        case 7:
            (folder / "refers.tex").write_text(f"See \\ref{{{label}}}. \\input{{book/one}}")
        case 8:
            book = folder / "conf.py"
            book.unlink() if book.exists() else book.write_text("")


def check_edits(tmp_path: Path, rounds: int) -> None:
    chance = random.Random(69)
    notes = written(tmp_path / "notes", FILES)
    for number in range(rounds):
        kept = content(imported(notes, tmp_path / "i"))
        assert kept == content(imported(notes, tmp_path / f"anew-{number}"))
        for _ in range(chance.randint(1, 3)):
            edit(notes, chance, number)


def test_edits_leave_what_is_read_anew(tmp_path: Path) -> None:
    check_edits(tmp_path, 30)


@pytest.mark.nightly
def test_a_hundred_edits_leave_what_is_read_anew(tmp_path: Path) -> None:
    check_edits(tmp_path, 100)
