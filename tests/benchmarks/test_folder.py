"""A folder of files that is timed, benchmarks/folder.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from folder import write_files

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import corpus_in, read_documents
from arqmath_bm25.core.sample_data import SAMPLE
from tests.support.importing import imported

if TYPE_CHECKING:
    from pathlib import Path


def test_each_file_has_two_sections_of_its_own(tmp_path: Path) -> None:
    size = write_files(CollectionFiles(SAMPLE), tmp_path / "notes", 8)
    assert size == sum(path.stat().st_size for path in (tmp_path / "notes").iterdir())
    corpus = corpus_in(imported(tmp_path / "notes", tmp_path / "i"))
    assert corpus is not None
    titles = [document.title for document, _ in read_documents(corpus)]
    headings = {title.rpartition(" › ")[2] for title in titles}
    parts = {f"Note {number}, part {part}" for number in range(8) for part in (1, 2)}
    assert parts <= headings
