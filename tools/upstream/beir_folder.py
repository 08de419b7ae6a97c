"""Folders in the form of BEIR for ir_datasets, as a module to submit there.

It goes to `ir_datasets/datasets/beir_folder.py`. Each folder below `~/.ir_datasets/beir-folder` is
a collection `beir-folder/NAME`, with `beir-folder/NAME/SPLIT` for each file `qrels/SPLIT.tsv`.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
from ir_datasets.datasets.base import Dataset, ExpectedFile
from ir_datasets.formats import BaseQrels, BaseQueries, JsonlDocs, TrecQrel

NAME = "beir-folder"


class BeirFolderDoc(NamedTuple):
    """A document; the title is empty where a row has none."""

    doc_id: str
    text: str
    title: str

    def default_text(self) -> str:
        """title and text"""
        return f"{self.title} {self.text}".strip()


class BeirFolderQuery(NamedTuple):
    """A query; a ranking leaves out the excluded documents, such as the query itself."""

    query_id: str
    text: str
    excluded_ids: tuple[str, ...]

    def default_text(self) -> str:
        """text"""
        return self.text


class BeirFolderDocs(JsonlDocs):
    """The rows of `corpus.jsonl`."""

    def _iter(self) -> Iterator[BeirFolderDoc]:
        with self.docs_path().open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield BeirFolderDoc(str(row["_id"]), row["text"], row.get("title") or "")


class BeirFolderQrels(BaseQrels):
    """The judgments of a split, below a line that names the columns."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def qrels_path(self) -> Path:
        return self._path

    def qrels_iter(self) -> Iterator[TrecQrel]:
        with self._path.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            next(rows)
            for query_id, doc_id, grade in rows:
                yield TrecQrel(query_id, doc_id, int(grade), "0")

    def qrels_cls(self) -> Any:
        return TrecQrel

    def qrels_defs(self) -> dict[int, str]:
        return {0: "not relevant", 1: "relevant"}


class BeirFolderQueries(BaseQueries):
    """The queries that a split judges; `queries.jsonl` has those of all splits."""

    def __init__(self, path: Path, qrels: BeirFolderQrels) -> None:
        self._path, self._qrels = path, qrels

    def queries_path(self) -> Path:
        return self._path

    def queries_iter(self) -> Iterator[BeirFolderQuery]:
        judged = {qrel.query_id for qrel in self._qrels.qrels_iter()}
        with self._path.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if str(row["_id"]) in judged:
                    excluded = tuple(map(str, row.get("excluded_ids") or ()))
                    yield BeirFolderQuery(str(row["_id"]), row["text"], excluded)

    def queries_cls(self) -> Any:
        return BeirFolderQuery


def register_folder(folder: Path) -> list[str]:
    """Make the collection in a folder known, and return its ids."""
    base = f"{NAME}/{folder.name}"
    store = ir_datasets.util.home_path() / f"{NAME}-{folder.name}.pklz4"
    docs = BeirFolderDocs(
        ExpectedFile(folder / "corpus.jsonl"), BeirFolderDoc, docstore_path=str(store)
    )
    datasets = {base: Dataset(docs)}
    for path in sorted(folder.glob("qrels/*.tsv")):
        qrels = BeirFolderQrels(path)
        queries = BeirFolderQueries(folder / "queries.jsonl", qrels)
        datasets[f"{base}/{path.stem}"] = Dataset(docs, queries, qrels)

    for name, dataset in datasets.items():
        ir_datasets.registry.register(name, dataset)
    return list(datasets)


for _corpus in sorted((ir_datasets.util.home_path() / NAME).glob("*/corpus.jsonl")):
    register_folder(_corpus.parent)
