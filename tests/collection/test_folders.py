r"""Folders as people have them: a text once, and no file that ends, hangs or falsifies the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from program import printed

from arqmath_bm25.collection.listing import listed
from arqmath_bm25.collection.own_documents import corpus_in, read_documents
from arqmath_bm25.core.errors import InputError
from tests.support.importing import imported

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = "# Sums\n\nThe sum $a+b$ of two numbers commutes.\n"
Files = dict[str, str | bytes]


def write(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def ids_of(data: Path, indexes: Path) -> list[str]:
    corpus = corpus_in(imported(data, indexes))
    assert corpus is not None
    return [document.doc_id for document, _ in read_documents(corpus)]


def main_file(title: str, *chapters: str) -> str:
    taken = "".join(f"\\include{{{name}}}\n" for name in chapters)
    return (
        f"\\documentclass{{book}}\\title{{{title}}}\n\\begin{{document}}\n\\maketitle\n"
        f"{taken}\\end{{document}}\n"
    )


def chapter(name: str) -> str:
    return f"\\section{{{name}}}\nWhat is said in {name} about many things.\n"


def test_of_main_files_with_the_same_chapters_one_is_read(tmp_path: Path) -> None:
    names = ["ch/one", "ch/two", "ch/three"]
    folder = write(
        tmp_path / "book",
        {f"{name}.tex": chapter(name.removeprefix("ch/")) for name in names}
        | {
            "book-letter.tex": main_file("Book", *names),
            "book.tex": main_file("Book", *names),
            "part.tex": main_file("Part", *names[:2]),
            "lecture.tex": main_file("Other", "ch/one").replace(
                r"\maketitle", "Words of its own, more than those that it takes in from others."
            ),
        },
    )
    plan = listed(folder, tmp_path / "i").plan
    assert list(plan.inputs) == ["book.tex", "lecture.tex"]
    assert plan.left_out == {
        "book-letter.tex": "its chapters are those of book.tex",
        "part.tex": "its chapters are those of book.tex",
    }
    printed_plan = printed("inspect", folder)
    assert "book.tex: .tex, takes in ch/one.tex, ch/three.tex, ch/two.tex" in printed_plan
    assert "part.tex: left out, its chapters are those of book.tex" in printed_plan


def test_main_files_may_share_the_document_itself(tmp_path: Path) -> None:
    files: Files = {f"book-{name}.tex": f"\\documentclass[{name}]{{book}}\n\\input{{main}}\n"
                    for name in ("a4", "letter", "ebook")}  # fmt: skip
    files |= {"one.tex": chapter("one"), "two.tex": chapter("two")}
    files["main.tex"] = main_file("Book", "one", "two").partition("\n")[2]
    folder = write(tmp_path / "book", files)
    assert ids_of(folder, tmp_path / "i") == ["book-a4.tex#one", "book-a4.tex#two"]
    plan = listed(folder, tmp_path / "i").plan
    assert list(plan.inputs) == ["book-a4.tex"]


def test_a_main_file_that_judgments_name_stays(tmp_path: Path) -> None:
    files: Files = {"one.tex": chapter("one"), "b.tex": main_file("B", "one")}
    files["long.tex"] = main_file("L", "one")
    files["qrels/test.tsv"] = "query-id\tcorpus-id\tscore\nq\tlong.tex#one\t1\n"
    ids = ids_of(write(tmp_path / "book", files), tmp_path / "i")
    assert ids == ["b.tex#one", "long.tex#one"]


def test_a_text_is_one_document_and_its_labels_are_those_of_the_first(tmp_path: Path) -> None:
    body = "# Rings\n\nA ring has two operations.\n"
    files: Files = {"a.md": body, "copy/a.md": body, "other.md": body.replace("two", "both")}
    folder = write(tmp_path / "notes", files)
    assert ids_of(folder, tmp_path / "i") == ["a.md#rings", "other.md#rings"]


def test_a_copy_that_a_query_names_stays(tmp_path: Path) -> None:
    body = "# Rings\n\nA ring has two operations.\n"
    queries = '{"id": "copy/a.md#rings", "text": "rings"}\n'
    files: Files = {"a.md": body, "copy/a.md": body, "queries.jsonl": queries}
    folder = write(tmp_path / "notes", files)
    assert ids_of(folder, tmp_path / "i") == ["a.md#rings", "copy/a.md#rings"]


@pytest.mark.parametrize(
    ("files", "read"),
    [
        ({"_bookdown.yml": 'output_dir: "docs"', "i.Rmd": GOOD, "docs/i.html": GOOD}, ["i.Rmd"]),
        ({"_bookdown.yml": "", "i.Rmd": GOOD, "_book/i.html": GOOD}, ["i.Rmd"]),
        ({"_quarto.yml": "project:\n  output-dir: out", "i.qmd": GOOD, "out/i.html": GOOD},
         ["i.qmd"]),
        ({"mkdocs.yml": "site_dir: www", "docs/i.md": GOOD, "www/i.html": GOOD}, ["docs/i.md"]),
        ({"book.toml": '[build]\nbuild-dir = "out"', "src/i.md": GOOD, "out/i.html": GOOD},
         ["src/i.md"]),
        ({"hugo.toml": "", "content/i.md": GOOD, "public/i.html": GOOD}, ["content/i.md"]),
        ({"docs/conf.py": "", "docs/i.rst": GOOD, "docs/_build/html/i.html": GOOD}, ["docs/i.rst"]),
        ({"source/conf.py": "", "source/i.rst": GOOD, "build/html/i.html": GOOD}, ["source/i.rst"]),
        ({"objects.inv": "", "i.html": GOOD, "genindex.html": GOOD, "_sources/i.rst": GOOD},
         ["i.html"]),
        ({"z/_bookdown.yml": "output_dir: ../docs", "z/i.Rmd": GOOD, "docs/i.html": GOOD},
         ["z/i.Rmd"]),
        # Without its sources a site is read, and nobody's `public` is left out.
        ({"mkdocs.yml": "", "site/i.html": GOOD}, ["site/i.html"]),
        ({"public/i.md": GOOD, "_book/i.md": GOOD}, ["_book/i.md", "public/i.md"]),
        ({"build/walls.md": GOOD, "output/i.md": GOOD}, ["build/walls.md", "output/i.md"]),
        ({".gitignore": "/old/\n*.html\n!keep.html\n", "old/a.md": GOOD, "sub/old/a.md": GOOD,
          "a.html": GOOD, "keep.html": GOOD}, ["keep.html", "sub/old/a.md"]),
        ({"sub/.gitignore": "a.md\n", "a.md": GOOD, "sub/a.md": GOOD}, ["a.md"]),
    ],
)  # fmt: skip
def test_what_programs_wrote_from_sources_is_left_out(
    tmp_path: Path, files: Files, read: list[str]
) -> None:
    listing = listed(write(tmp_path / "notes", files), tmp_path / "i")
    assert listing.names == read
    hidden = {name for name in files if name.startswith(".") or "/." in name}
    left_out = {
        name
        for name in files
        if any(name == each or name.startswith(f"{each.rstrip('/')}/") for each in listing.left_out)
    }
    assert {*listing.names, *listing.others, *left_out, *hidden} == set(files)


def test_everything_can_be_read(tmp_path: Path) -> None:
    files: Files = {".gitignore": "a.md", "a.md": GOOD, "mkdocs.yml": "", "site/i.html": GOOD}
    folder = write(tmp_path / "notes", files)
    assert listed(folder, tmp_path, True).names == ["a.md", "site/i.html"]


def test_what_is_ignored_is_read_when_asked_and_only_then(tmp_path: Path) -> None:
    files: Files = {".gitignore": "draft.md", "draft.md": "a draft of rings", "a.md": "on rings"}
    folder = write(tmp_path / "notes", files)
    place = ("--data", folder, "--indexes", tmp_path / "i")
    assert "1 document indexed" in printed("index", "docs", *place)
    assert "2 documents indexed" in printed("index", "docs", *place, "--all")
    assert "a draft" in printed("search", "docs", "rings", *place, "--all")
    assert "a draft" not in printed("search", "docs", "rings", *place)
    assert "draft.md: left out, named by .gitignore" in printed("inspect", folder)
    assert "draft.md: .md" in printed("inspect", folder, "--all")
    del files["a.md"]
    alone = write(tmp_path / "alone", files)
    assert "1 document indexed" in printed("index", "docs", "--data", alone, *place[2:], "--all")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: os.mkfifo(folder / "pipe.md"),
        lambda folder: os.mkfifo(folder / "macros.tex"),
        lambda folder: (folder / "x.md").symlink_to("x.md"),
        lambda folder: (folder / "macros.tex").symlink_to("/etc/passwd"),
        lambda folder: (folder / "queries.jsonl").symlink_to("/etc/passwd"),
        lambda folder: (folder / "a.md").write_bytes(b"words\0 and more"),
        lambda folder: (folder / "macros.tex").write_bytes(bytes(range(256))),
        lambda folder: (folder / "n.ipynb").write_text('{"cells": ['),
        lambda folder: (folder / "data.txt").write_text("1.25;3.75;-2.5\n" * 500),
    ],
)
def test_what_is_no_text_is_named_and_ends_nothing(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    folder = write(tmp_path / "notes", {"good.md": GOOD})
    make(folder)
    (name,) = {path.name for path in folder.iterdir()} - {"good.md"}
    place = ("--data", folder, "--indexes", tmp_path / "i")
    said = printed("index", "docs", *place, "--engine", "flat")
    assert "1 file read; left out: 1 named below" in said
    assert name in said
    assert "good.md#sums" in printed("search", "docs", "sum of two numbers", *place)


@pytest.mark.parametrize(
    "files",
    [
        {"a.tex": "\\section{A} words \\input{b}", "b.tex": "\\section{B} words \\input{a}"},
        {"a.tex": "\\section{A} words \\input{b c} \\input{" + "é" * 190 + "}"},
        {"a.tex": "\\section{A} words" + "\\input{b}" * 2_000, "b.tex": "words " * 100},
        {f"a{n}.tex": f"\\section{{S{n}}} words\n\\input{{a{n + 1}}}" for n in range(400)},
        {"a.md": "{{#include b.md}}", "b.md": "words {{#include a.md}}\n{{#include b.md}}"},
        {f"a{n}.md": f"words {n}\n\n{{{{#include a{n + 1}.md}}}}" for n in range(400)},
        {"n.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": "# A \ud800 w"}]})},
        {"a b.md": "# One\n\nwords", "a%20b.md": "# One\n\nother words"},
        {"a.md": "# T {#" + "漢" * 190 + "}\n\nwords\n"},
        {"a.lean": "".join(
            f"theorem {'.'.join(['Aaaaaaaaa'] * 22)}.{name} : 1 = 1 := rfl\n" for name in "xy")},
        {os.fsdecode(b"\xff.md"): "# A\n\nwords", os.fsdecode(b"\xfe.md"): "# A\n\nother words"},
    ],
)  # fmt: skip
def test_no_file_falsifies_a_folder(tmp_path: Path, files: Files) -> None:
    ids = ids_of(write(tmp_path / "notes", {"good.md": GOOD} | files), tmp_path / "i")
    assert "good.md#sums" in ids
    assert len(ids) >= 2
    assert all(len(doc_id.encode()) <= 512 for doc_id in ids)


def test_a_long_novel_is_no_table(tmp_path: Path) -> None:
    files: Files = {"novel.txt": "It was in 1805, she said, 3 o'clock. " * 30_000}
    assert ids_of(write(tmp_path / "n", files), tmp_path / "i") == ["novel.txt"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("id;text\n1;words, and words\n2;more words\n", ["1", "2"]),
        ("id\ttext\n1\twords\n", ["1"]),
        ('\ufeffid,text\n1,"a\nb words"\n', ["1"]),
        ('id,text\n1,"' + "long words " * 20_000 + '"\n', ["1"]),
        ('id,text\n1,"words\n2,more\n3,more\n', "line 4: not CSV: unexpected end of data"),
        ("id,text,text\n1,first,second\n", "two columns text"),
        ("id,text\n1,words,more\n", "line 2: 3 cells, for 2 columns"),
    ],
)
def test_tables_are_read_strictly(tmp_path: Path, content: str, found: list[str] | str) -> None:
    table = tmp_path / "rows.csv"
    table.write_text(content, encoding="utf-8")
    if isinstance(found, list):
        assert ids_of(table, tmp_path / "i") == found
    else:
        with pytest.raises(InputError, match=found):
            ids_of(table, tmp_path / "i")
