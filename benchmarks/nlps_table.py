"""Premise selection on PS-ProofWiki: how configs/nlps.yaml was chosen, and what it is worth.

    python benchmarks/nlps_table.py [DATA] [--choose]

DATA (default: data/nlps below ARQMATH_SHARED) holds the files of the shared task, or that part of
them that there is.

Table 1: every variant, every premise that is known (from the knowledge base, or because the
training set cites it), against the whole lists of premises of all dev statements, so that what
cannot be found counts as missing. "New" statements do not nearly repeat one of the training set
(cosine of tf-idf below 0.9). Table 2: nothing but the knowledge base in play; lists of premises are
cut to it, in the training set as well. Ten minutes of CPU time.

`--choose` prints instead what the parameters are worth, by cross-validation on the training set
alone, one key changed at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.collection import Collection as Data
from arqmath_bm25.collection.premises import (
    Premise,
    PremiseFiles,
    Statement,
    read_premises,
    read_statements,
)
from arqmath_bm25.evaluation.nlps import KEYS, score_premises
from arqmath_bm25.labs import PREMISES
from arqmath_bm25.records import Topic
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import Index, build, directory
from arqmath_bm25.tasks.premise_rankers.settings import NlpsSettings
from arqmath_bm25.tasks.premise_rankers.tfidf import Tfidf
from arqmath_bm25.tasks.premise_selection import PremiseRanker, PremiseSelection
from arqmath_bm25.tuning.premise_folds import cross_validate
from arqmath_bm25.workers.local import Processes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arqmath_bm25.evaluation.nlps import Premises

THREADS = 2
NEAR = 0.9
TRIALS: dict[str, dict[str, Sequence[Any]]] = {
    "bm25": {"fields": [{"contents": 1, "contents_math": w} for w in (0.1, 0.3, 0.5)]},
    "ridge": {
        "profile": (0, 0.2, 0.4),
        "text": (0, 0.1, 0.2, 0.3),
        "citations": (0, 0.1, 0.2),
        "penalty": (0.25, 0.5, 1),
        "self_citation": (0, 0.5, 0.8, 1),
    },
    "learned": {"profile": (0.2,)},
}


def gold_of(statements: Sequence[Statement]) -> Premises:
    """Return the relevant premises; a statement is none of its own."""
    return {s.statement_id: tuple(p for p in s.premises if p != s.statement_id) for s in statements}


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
        texts = {s.statement_id: {"text": s.text, "premises": s.premises} for s in training}
        train.write_text(json.dumps(texts), encoding="utf-8")
        self.data = Data(place, place / "indexes")
        self.manifest = build(PremiseSelection(settings), self.data, Processes(THREADS))

    def opened(self, settings: NlpsSettings) -> Index:
        """Open the index."""
        task = PremiseSelection(settings)
        return Index(task, self.data, directory(task, self.data), self.manifest)

    def predict(
        self, settings: NlpsSettings, variant: str, statements: Sequence[Statement]
    ) -> Premises:
        """Return the first 500 premises of every statement."""
        topics = [Topic(statement.statement_id, statement.text) for statement in statements]
        ranked = self.opened(settings).rank(topics, variant, PREMISES, THREADS)
        return {
            statement.statement_id: tuple(hit.doc_id for hit in hits)
            for statement, hits in zip(statements, ranked, strict=True)
        }


def changed(settings: NlpsSettings, variant: str, key: str, value: Any) -> NlpsSettings:
    """Return the settings with another value of a key of a variant, or of the regression."""
    raw = settings.model_dump()
    place = raw["variants"][variant]
    (place if key in place else raw["ridge"])[key] = value
    return NlpsSettings.model_validate(raw)


def choose(premises: Sequence[Premise], training: Sequence[Statement], work: Path) -> None:
    """Print the averages over the folds for every alternative."""
    default, collections = configured("nlps").settings, dict[str, Collection]()
    table = Table("variant", "set", *KEYS, title="Cross-validation on the training set")

    for variant, keys in TRIALS.items():
        for key, value in ((key, value) for key, values in keys.items() for value in values):
            settings = changed(default, variant, key, value)
            name = str(settings.ridge)
            if name not in collections:
                place = work / f"{len(collections)}"
                collections[name] = Collection(place, premises, training, settings)
            ranker = PremiseRanker(collections[name].opened(settings), settings)
            scores = cross_validate(ranker, variant, THREADS)
            means = [fmean(score.to_json()[key] for score in scores) for key in KEYS]
            style = "bold" if settings == default else None
            table.add_row(
                variant, f"{key} {value}", *(f"{mean:.4f}" for mean in means), style=style
            )
    console.print(table)


def compare(
    premises: Sequence[Premise],
    training: Sequence[Statement],
    dev: Sequence[Statement],
    work: Path,
) -> None:
    """Print both tables."""
    nearest = Tfidf([Premise(s.statement_id, s.text) for s in training]).rank(dev, 1, THREADS)
    new = {s.statement_id for s, ((_, cosine),) in zip(dev, nearest, strict=True) if cosine < NEAR}
    own = {p.premise_id for p in premises}
    tables = (
        ("1. All known premises, whole lists", "all", training, dev),
        ("2. The knowledge base alone", "cut", cut_to(own, training), cut_to(own, dev)),
    )
    for title, name, train, asked in tables:
        statements = [s for s in asked if s.premises]
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
    """Return the statements with those of their premises that are among `ids`."""
    return [replace(s, premises=tuple(p for p in s.premises if p in ids)) for s in statements]


if __name__ == "__main__":
    shared = os.environ.get("ARQMATH_SHARED", Path(__file__).parents[2] / "shared")
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=Path(shared) / "data" / "nlps")
    parser.add_argument("--choose", action="store_true")
    options = parser.parse_args()
    files = PremiseFiles.at(options.data)
    read = read_premises(files.knowledge_base), read_statements(files.train)
    console = Console(width=100)
    with tempfile.TemporaryDirectory() as temporary:
        if options.choose:
            choose(*read, Path(temporary))
        else:
            compare(*read, read_statements(files.statements("dev")), Path(temporary))
