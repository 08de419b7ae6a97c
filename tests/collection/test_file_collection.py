"""A folder of files as a collection: what is read, what is left out, when it is read again."""

from __future__ import annotations

import csv
import gc
import gzip
import json
import os
import pickle
import shutil
import sys
from pathlib import Path

import pytest
from program import arqmath, printed, refused

import arqmath_bm25 as arq
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import corpus_in, read_documents
from arqmath_bm25.core.errors import InputError
from tests.support.importing import imported

FILES = {
    "week1.tex": r"\section{Limits}\label{sec:limits} A sequence $x_n$ converges."
    r" \begin{theorem}\label{thm:bw} Bounded sequences.\end{theorem}",
    "week2.tex": r"\section{Series} See Theorem \ref{thm:bw} and \ref{absent}.",
    "sub/groups.md": "# Lagrange\n\nThe order $|H|$ divides $|G|$.\n",
    "a page.html": "<html><title>Spaces</title><body><h1>Compact</h1>every cover</body></html>",
    "note.txt": "Primes are infinitely many.",
    ".git/config.md": "hidden",
    "node_modules/x/README.md": "a package",
    "slides.odt": "PK",
    "picture.PNG": "x",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "secret.md").write_text("outside")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    return folder


def documents(directory: Path) -> dict[str, tuple[str, ...]]:
    corpus = corpus_in(directory)
    assert corpus is not None
    return {document.doc_id: document.references for document, _ in read_documents(corpus)}


def test_every_part_is_a_document_and_references_are_ids(notes: Path, tmp_path: Path) -> None:
    assert documents(imported(notes, tmp_path / "i")) == {
        "a%20page.html#compact": (),
        "note.txt": (),
        "sub/groups.md#lagrange": (),
        "week1.tex#sec:limits": (),
        "week1.tex#thm:bw": (),
        "week2.tex#series": ("week1.tex#thm:bw",),
    }


def test_a_file_that_another_takes_in_is_no_document_and_gives_it_its_labels(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "chapter.tex").write_text(r"\section{Limits}\label{sec:limits} Sequences.")
    (notes / "main.tex").write_text(r"A book. \input{chapter}")
    (notes / "series.tex").write_text(r"\section{Series}\label{sec:limits} See \ref{sec:limits}.")
    (notes / "words.tex").write_text(r"As in \ref{sec:limits}.")
    assert documents(imported(notes, tmp_path / "i")) == {
        "main.tex": (),
        "main.tex#sec:limits": (),
        "series.tex#sec:limits": (),
        "words.tex": ("main.tex#sec:limits",),
    }


def test_messages_name_the_folder_not_the_corpus_that_is_made_of_it(
    notes: Path, tmp_path: Path
) -> None:
    indexes = tmp_path / "indexes"
    said = printed("index", "docs", "--data", notes, "--indexes", indexes, "--engine", "flat")
    assert "notes: documents by kind: HTML of other programs" not in said
    assert "notes: documents by kind: LaTeX source 3, Markdown 1" in said
    assert "corpus.jsonl" not in said
    options = ("--data", notes, "--indexes", indexes, "--runs", tmp_path / "runs")
    assert f"{notes}/queries.jsonl: no such file" in refused("run", "docs", *options)


def test_what_is_left_out_is_counted(notes: Path, tmp_path: Path) -> None:
    (notes / "broken.md").write_bytes(b"a\0")
    said = printed("index", "docs", "--data", notes, "--indexes", tmp_path, "--engine", "flat")
    assert "6 documents indexed" in said
    assert ("5 files read; left out: 1 .odt, 1 .png, 3 named below") in said
    assert "left out, it holds the character NUL; a text was expected: broken.md" in said


def test_every_file_is_found_and_a_changed_one_is_noticed(notes: Path, tmp_path: Path) -> None:
    place = ("--data", notes, "--indexes", tmp_path / "indexes")
    index = ("index", "docs", *place, "--engine", "flat")
    arqmath(*index)
    for query, name in {
        "sequence converges $x_n$": "week1.tex#sec:limits",
        "bounded sequences": "week1.tex#thm:bw",
        "order divides $|G|$": "sub/groups.md#lagrange",
        "every cover": "a%20page.html#compact",
        "infinitely many primes": "note.txt",
    }.items():
        assert name in printed("search", "docs", query, *place, "--depth", 1)
    assert "up to date" in printed(*index)

    (notes / "note.txt").write_text("Twin primes.")
    assert "Twin primes" in printed("search", "docs", "primes", *place)
    assert "up to date" in printed(*index)
    assert "Twin primes" in printed("search", "docs", "primes", *place)


def test_it_is_said_which_files_differ_from_those_of_the_last_index(
    notes: Path, tmp_path: Path
) -> None:
    index = ("index", "docs", "--data", notes, "--indexes", tmp_path / "i", "--engine", "flat")
    assert "since the last time" not in printed(*index)
    (notes / "note.txt").write_text("Twin primes.")
    (notes / "week2.tex").unlink()
    for number in range(6):
        (notes / f"new{number}.md").write_text("# New\n\nGroups.\n")
    added = "new0.md, new1.md, new2.md, new3.md, new4.md, … (6 in all)"
    changes = f"changed note.txt; added {added}; removed week2.tex"
    assert f"notes: files since the last time: {changes}" in printed(*index)
    assert "since the last time" not in printed(*index)


def test_a_heading_without_a_text_is_a_hit_like_any_other(notes: Path, tmp_path: Path) -> None:
    (notes / "empty.md").write_text("# Bounded sequences\n\n# Series\n\nThey converge.\n")
    place = ("--data", notes, "--indexes", tmp_path)
    arqmath("index", "docs", *place, "--engine", "flat")
    said = printed("search", "docs", "bounded sequence", *place)
    assert "empty.md#bounded-sequences empty.md:1 " in said
    (hit, *_) = json.loads(printed("search", "docs", "bounded sequence", *place, "--json"))[
        "results"
    ]
    assert (hit["file"], hit["line"]) == ("empty.md", 1)
    assert "training set" not in said


def test_a_passage_has_macros_expanded_and_no_definitions(tmp_path: Path) -> None:
    macros = r"\newcommand{\R}{\mathbb{R}}" + "\n" + r"\newcommand{\eps}{\varepsilon}"
    text = rf"{macros}\begin{{document}}A sequence in $\R$ with $\eps>0$.\end{{document}}"
    (tmp_path / "week.tex").write_text(text)
    place = ("--data", tmp_path, "--indexes", tmp_path / "indexes")
    arqmath("index", "docs", *place, "--engine", "flat")
    said = printed("search", "docs", "sequence", *place)
    assert r"A sequence in $\mathbb{R}$ with $\varepsilon >0$." in said
    assert "newcommand" not in said


def test_a_changed_file_that_another_takes_in_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "week.tex").write_text(r"\section{A} Limits. \input{part.inc}")
    for given in (tmp_path, tmp_path / "week.tex"):
        texts = []
        for words in ("Series.", "Integrals."):
            (tmp_path / "part.inc").write_text(words)
            corpus = corpus_in(imported(given, tmp_path / ".i"))
            assert corpus is not None
            texts.append(corpus.read_text())
        assert "Series." in texts[0]
        assert "Integrals." in texts[1]


def test_a_whole_file_is_one_document_if_asked_for(notes: Path, tmp_path: Path) -> None:
    names = ["a%20page.html", "note.txt", "week1.tex", "week2.tex", "sub/groups.md"]
    assert list(documents(imported(notes, tmp_path / "i", whole=True))) == names
    assert len(documents(imported(notes, tmp_path / "i"))) == 6


def test_two_folders_of_one_name_never_meet(notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "notes"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("words")
    stores = [imported(data, tmp_path / "i") for data in (notes, other)]
    assert stores[0] != stores[1]
    assert [CollectionFiles(data, tmp_path / "i").name for data in (notes, other)] == ["notes"] * 2
    assert [imported(data, tmp_path / "i") for data in (notes, other)] == stores


def test_a_moved_folder_finds_its_import_again(notes: Path, tmp_path: Path) -> None:
    before = imported(notes, tmp_path / "i")
    (tmp_path / "elsewhere").mkdir()
    notes.rename(tmp_path / "elsewhere" / "notes")
    assert CollectionFiles(tmp_path / "elsewhere" / "notes", tmp_path / "i").layout.data == before


def test_a_former_import_of_the_same_path_goes_unless_it_is_open(
    notes: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy" / "notes"
    shutil.copytree(notes, copy, symlinks=True)
    indexes = tmp_path / "i"
    place = ("--indexes", indexes, "--engine", "flat")
    first = imported(notes, indexes)
    arqmath("index", "docs", "--data", notes, *place)

    (notes / "note.txt").write_text("Twin primes.")
    second = imported(notes, indexes)
    assert first.exists()  # until the second has an index, which takes over what it can
    opened = arq.Collection(notes, indexes).index("docs", engine="flat")
    assert first.exists() is False
    (notes / "note.txt").write_text("No primes.")
    imported(copy, indexes)  # which is like the first
    imported(notes, indexes)
    assert first.exists()
    assert second.exists()
    assert opened.document("note.txt")["text"] == "Twin primes."
    assert opened.search("twin primes")["docno"][0] == "note.txt"

    again = pickle.loads(pickle.dumps(opened))  # noqa: S301
    assert again == opened
    assert again.search("twin primes")["text"][0] == "Twin primes."
    del opened, again
    gc.collect()
    arqmath("index", "docs", "--data", notes, *place)
    assert first.exists()  # it is the copy's
    assert not second.exists()


def test_a_changed_file_of_the_same_size_and_time_is_noticed(notes: Path, tmp_path: Path) -> None:
    before = imported(notes, tmp_path / "i")
    note = notes / "note.txt"
    status = note.stat()
    note.write_text(note.read_text().replace("many", "more"))
    os.utime(note, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert imported(notes, tmp_path / "i") != before


def test_a_collection_opens_no_file_for_writing(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    places = [notes, None, *tables(tmp_path)]

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & 3:
            written.append(arguments[0])

    with monkeypatch.context():
        sys.addaudithook(audit)
        for data in places:
            CollectionFiles(data, tmp_path / "i")
        arq.Collection.of(["a text"], indexes=tmp_path / "i")
    assert not written
    assert not (tmp_path / "i").exists()


def test_the_indexes_in_a_folder_are_no_notes(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes)
    for data in (".", "./", "../notes", notes):
        said = printed("search", "docs", "infinitely many", "--data", data)
        assert "note.txt" in said
    assert "up to date" in printed("index", "docs", "--data", ".")
    assert "week1.tex" in printed("search", "docs", "bounded", "--data", "week1.tex")
    monkeypatch.chdir(notes / "sub")
    assert "groups.md" in printed("search", "docs", "order", "--data", "..")
    assert "groups.md" in printed("search", "docs", "order", "--data", "groups.md")


def test_queries_and_judgments_of_the_folder_are_used(notes: Path, tmp_path: Path) -> None:
    (notes / "queries.jsonl").write_text('{"id": "q", "text": "bounded sequences"}\n')
    (notes / "qrels").mkdir()
    (notes / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq\tweek1.tex#thm:bw\t1\n"
    )
    place = ("--data", notes, "--indexes", tmp_path / "i")
    arqmath("index", "docs", *place, "--engine", "flat")
    arqmath("run", "docs", *place, "--runs", tmp_path / "runs", "--variant", "both")
    (run,) = (tmp_path / "runs").rglob("both.trec")
    assert "1.0000" in printed("eval", run, *place, "--measure", "RR")


def test_a_folder_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "empty.md").write_text("\n")
    with pytest.raises(InputError, match="there are no words"):
        imported(tmp_path / "notes", tmp_path / "i")


def test_distributions_and_corpora_are_no_folders_of_files(tmp_path: Path, lite: Path) -> None:
    (tmp_path / "README.md").write_text("# A corpus")
    (tmp_path / "corpus.jsonl").write_text('{"id": "1", "text": "a"}\n')
    assert not CollectionFiles(tmp_path, tmp_path / "i").is_imported
    assert not CollectionFiles(lite, tmp_path / "i").is_imported


ROWS = [{"id": "1", "title": "T", "text": 'A, "b"\nand $c$'}, {"id": "2", "text": "d"}]


def tables(folder: Path) -> list[Path]:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "title", "text"])
        writer.writeheader()
        writer.writerows(ROWS)
    return [folder / "rows.jsonl.gz", folder / "table.csv"]


def test_tables_are_read_as_rows(tmp_path: Path) -> None:
    for path in tables(tmp_path):
        corpus = corpus_in(imported(path, tmp_path / "i"))
        assert corpus is not None
        read = [(row.doc_id, row.title, row.text) for row, _ in read_documents(corpus)]
        assert read == [(row["id"], row.get("title", ""), row["text"]) for row in ROWS]


def test_parquet_and_zst_are_read_as_rows(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    with pa.output_stream(str(tmp_path / "more.jsonl.zst"), compression="zstd") as file:
        file.write("".join(json.dumps(row) + "\n" for row in ROWS).encode())
    for name in ("rows.parquet", "more.jsonl.zst"):
        corpus = corpus_in(imported(tmp_path / name, tmp_path / "i"))
        assert corpus is not None
        assert [row.doc_id for row, _ in read_documents(corpus)] == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"id,text\n1\n"),
        ("a.csv", b"id,text\n1,\xff\n"),
        ("a.jsonl.gz", b"no gzip"),
        ("a.jsonl.gz", gzip.compress(b"[1]\n", mtime=0)),
        ("a.jsonl.gz", gzip.compress(b'{"id": "1", "text": "x"}\n', mtime=0)[:-9]),
    ],
)
def test_a_faulty_table_is_one_message(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"a(\.csv|\.jsonl)?"):
        imported(tmp_path / name, tmp_path / "i")
    assert not list((tmp_path / "i").rglob("*.jsonl"))


def test_statements_ask_for_what_their_proofs_refer_to(tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "a.tex").write_text(
        "\\begin{lemma}\\label{lem:a}A lemma.\\end{lemma}\n"
        "\\begin{theorem}\\label{thm:b}A claim after \\ref{lem:a}.\\end{theorem}\n"
        "\\begin{proof}By \\cref{lem:a}, secretly.\\end{proof}\n"
    )
    directory = imported(folder, tmp_path / "i")
    ((query, _),) = read_documents(directory / "queries.jsonl")
    assert query.doc_id == "a.tex#thm:b"
    assert query.excluded == ("a.tex#thm:b",)
    assert "A claim" in query.text
    assert "secretly" not in query.text
    judgments = (directory / "qrels" / "test.tsv").read_text().splitlines()
    assert judgments[1:] == ["a.tex#thm:b\ta.tex#lem:a\t1"]

    (folder / "queries.jsonl").write_text('{"id": "q", "text": "mine"}\n')
    ((query, _),) = read_documents(imported(folder, tmp_path / "i") / "queries.jsonl")
    assert query.text == "mine"


def test_pruning_leaves_the_indexes_of_another_folder_of_the_name(
    notes: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "notes"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("words")
    place = ("--indexes", tmp_path / "i", "--engine", "flat")
    arqmath("index", "docs", "--data", other, *place)
    arqmath("index", "docs", "--data", notes, *place, "--delimiters", "none")
    said = printed("index", "docs", "--data", notes, *place, "--prune")
    assert said.count("removed") == 1
    assert "up to date" in printed("index", "docs", "--data", other, *place)


@pytest.mark.parametrize("damage", ["word", "last row", "torn", "missing", "manifest"])
def test_a_damaged_import_is_never_an_answer_and_is_mended(
    notes: Path, tmp_path: Path, damage: str
) -> None:
    place = ("--data", notes, "--indexes", tmp_path / "i")
    search = ("search", "docs", "infinitely many primes", *place)
    expected = arqmath("-q", *search).stdout
    (corpus,) = (tmp_path / "i" / "files").rglob("corpus.jsonl")
    before = corpus.read_bytes()
    match damage:
        case "word":
            corpus.write_bytes(before.replace(b"Primes", b"Pximes"))
        case "last row":
            corpus.write_bytes(b"".join(before.splitlines(keepends=True)[:-1]))
        case "torn":
            corpus.write_bytes(before[: len(before) // 2])
        case "missing":
            corpus.unlink()
        case "manifest":
            corpus.with_name("manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"corpus\.jsonl|manifest\.json"):
        _ = CollectionFiles(notes, tmp_path / "i").layout
    assert arqmath("-q", *search).stdout == expected
    assert corpus.read_bytes() == before


def test_options_may_stand_in_the_configuration_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# One\n\nA sum $x^2$.\n\n# Two\n\nRings.\n")
    (tmp_path / "mine.yaml").write_text("collection: {delimiters: none, whole: true}\n")
    place = ("--data", tmp_path / "notes", "--indexes", tmp_path / "i")
    index = ("index", "docs", *place)
    arqmath(*index, "--delimiters", "none", "--whole")
    found = sorted((tmp_path / "i" / "notes" / "docs").iterdir())
    assert "up to date" in printed(*index, "--config", tmp_path / "mine.yaml")
    monkeypatch.setenv("ARQMATH_WHOLE", "1")
    monkeypatch.setenv("ARQMATH_DELIMITERS", "none")
    assert "up to date" in printed(*index)
    assert sorted((tmp_path / "i" / "notes" / "docs").iterdir()) == found


def test_a_file_that_is_taken_in_may_come_later(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "week.tex").write_text(r"\section{A} Limits. \input{part.inc}")
    imported(notes, tmp_path / "i")
    (notes / "part.inc").write_text("Series.")
    corpus = imported(notes, tmp_path / "i") / "corpus.jsonl"
    assert "Series." in corpus.read_text()
