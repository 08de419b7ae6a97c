"""Premise selection on PS-ProofWiki: what configs/nlps.yaml is worth.

    python -m experiments.nlps_table [DATA]

DATA (default: data/nlps below ARQMATH_SHARED) holds the files of the shared task, or that part of
them that there is.

Table 1: every variant, every premise that is known (from the knowledge base, or because the
training set cites it), against the whole lists of premises of all dev statements, so that what
cannot be found counts as missing. "New" statements do not nearly repeat one of the training set
(cosine of tf-idf below 0.9). Table 2: nothing but the knowledge base in play; lists of premises are
cut to it, in the training set as well. Ten minutes of CPU time.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.collection import Collection as Data
from arqmath_bm25.collection.premises import (
    Premise,
    PremiseFiles,
    read_premises,
    read_statements,
)
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.labs import PREMISES
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.evaluation.score import score_premises
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import Index
from arqmath_bm25.tasks.premises.premise_selection import PremiseSelection
from arqmath_bm25.tasks.premises.tfidf import Tfidf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.tasks.settings import NlpsSettings

THREADS = 2
NEAR = 0.9
KEYS = ("map_500_official", "map_500", "recall_500")


def gold_of(statements: Sequence[Statement]) -> dict[str, tuple[str, ...]]:
    """Return the relevant premises of each statement, without the statement itself."""
    return {
        s.statement_id: tuple(p for p in s.references if p != s.statement_id) for s in statements
    }


class Collection:
    """Premises and training statements in files of their own, and their index."""

    def __init__(
        self,
        place: Path,
        premises: Sequence[Premise],
        training: Sequence[Statement],
        settings: NlpsSettings,
    ) -> None:
        place.mkdir()
        knowledge_base, train = place / "knowledge_base.json", place / "train_set.json"
        knowledge_base.write_text(json.dumps(dict(premises)), encoding="utf-8")
        texts = {s.statement_id: {"text": s.text, "premises": s.references} for s in training}
        train.write_text(json.dumps(texts), encoding="utf-8")
        self.data = Data(place, place / "indexes")
        task = PremiseSelection(settings)
        ensure(IndexContent.of(task, self.data), Processes(THREADS))
        self.index = Index.of(task, self.data)

    def opened(self, settings: NlpsSettings) -> Index:
        """Open the index with other settings of the ranking."""
        task = PremiseSelection(settings)
        return Index(task, self.data, self.index.directory, self.index.manifest)

    def predict(
        self, settings: NlpsSettings, variant: str, statements: Sequence[Statement]
    ) -> dict[str, tuple[str, ...]]:
        """Return the first 500 premises of every statement."""
        topics = [Topic(statement.statement_id, statement.text) for statement in statements]
        ranked = self.opened(settings).rank(topics, variant, PREMISES, THREADS)
        return {
            statement.statement_id: tuple(hit.doc_id for hit in hits)
            for statement, hits in zip(statements, ranked, strict=True)
        }


def compare(
    premises: Sequence[Premise],
    training: Sequence[Statement],
    dev: Sequence[Statement],
    work: Path,
) -> None:
    """Print both tables."""
    nearest = Tfidf([Premise(s.statement_id, s.text) for s in training]).rank(dev, 1)
    new = {s.statement_id for s, ((_, cosine),) in zip(dev, nearest, strict=True) if cosine < NEAR}
    own = {p.premise_id for p in premises}
    tables = (
        ("1. All known premises, whole lists", "all", training, dev),
        ("2. The knowledge base alone", "cut", cut_to(own, training), cut_to(own, dev)),
    )
    for title, name, train, asked in tables:
        statements = [s for s in asked if s.references]
        collection = Collection(work / name, premises, train, configured("nlps").settings)
        table = Table("variant", "statements", *KEYS, title=title)
        for variant in configured("nlps").settings.variants:
            predicted = collection.predict(configured("nlps").settings, variant, statements)
            for group in (statements, [s for s in statements if s.statement_id in new]):
                values = score_premises(predicted, gold_of(group)).to_json()
                scores = (f"{values[key]:.4f}" for key in KEYS)
                count = f"{len(group)}{'' if group is statements else ' new'}"
                table.add_row(variant, count, *scores)
        console.print(table)


def cut_to(ids: set[str], statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements without the premises that are not among `ids`."""
    cut = []
    for statement in statements:
        references = tuple(premise for premise in statement.references if premise in ids)
        cut.append(replace(statement, references=references))
    return cut


if __name__ == "__main__":
    shared = os.environ.get("ARQMATH_SHARED", Path(__file__).parents[2] / "shared")
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=Path(shared) / "data" / "nlps")
    options = parser.parse_args()
    files = PremiseFiles.at(options.data)
    read = read_premises(files.knowledge_base), read_statements(files.train)
    console = Console(width=100)
    with tempfile.TemporaryDirectory() as temporary:
        compare(*read, read_statements(files.statements("dev")), Path(temporary))
