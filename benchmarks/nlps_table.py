"""Premise selection on PS-ProofWiki: how configs/nlps.yaml was chosen, and what it is worth.

    python benchmarks/nlps_table.py [DATA] [--choose]

DATA (default: data/nlps below ARQMATH_SHARED) holds the files of the shared task, or that part of
them that there is.

Table 1: every variant with nothing but the knowledge base in play; lists of premises are cut to
it, in the training set as well. Table 2: every premise that is known, from the knowledge base or
because the training set cites it; statements with all their premises among these. "New" ones do
not nearly repeat a statement of the training set (cosine of tf-idf below 0.9). Two minutes.

`--choose` prints instead what every parameter is worth, by cross-validation on the training set
alone: five folds, 120 held-out statements of each, one key changed at a time. Ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.premises import (
    Premise,
    PremiseFiles,
    Statement,
    read_premises,
    read_statements,
)
from arqmath_bm25.config import NlpsSettings, load_nlps
from arqmath_bm25.evaluation.nlps import KEYS, score_premises
from arqmath_bm25.retrieval.nlps import DEPTH, Nlps, build_index
from arqmath_bm25.retrieval.nlps_tfidf import Tfidf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arqmath_bm25.evaluation.nlps import Premises

FOLDS, HELD_OUT, SEED, THREADS = 5, 120, 16, 2
NEAR = 0.9
MATH_WEIGHTS = {"bm25": (0.1, 0.3, 0.5, 1.0), "supervised": (0.0, 0.05, 0.1, 0.2)}
PARAMETERS: dict[str, Sequence[float]] = {
    "neighbours": (50, 200, 1000),
    "sharpness": (2, 3, 4),
    "profile": (0, 0.2, 0.4),
    "text": (0, 0.15, 0.3, 0.45),
    "citations": (0, 0.05, 0.1, 0.2),
}


def known(premises: Sequence[Premise], training: Sequence[Statement]) -> set[str]:
    """Return the ids that a supervised ranking may return."""
    return {p.premise_id for p in premises} | {p for s in training for p in s.premises}


def gold_of(statements: Sequence[Statement]) -> Premises:
    """Return the relevant premises; a statement is none of its own."""
    return {s.statement_id: tuple(p for p in s.premises if p != s.statement_id) for s in statements}


class Collection:
    """Premises and training statements in files of their own, and their index."""

    def __init__(
        self, directory: Path, premises: Sequence[Premise], training: Sequence[Statement]
    ) -> None:
        directory.mkdir()
        self.knowledge_base, self.train = directory / "kb.json", directory / "train.json"
        self.index = directory / "index"
        self.knowledge_base.write_text(json.dumps(dict(premises)), encoding="utf-8")
        texts = {s.statement_id: {"text": s.text, "premises": s.premises} for s in training}
        self.train.write_text(json.dumps(texts), encoding="utf-8")
        build_index(self.knowledge_base, self.train, self.index, load_nlps(), THREADS)

    def predict(
        self, settings: NlpsSettings, variant: str, statements: Sequence[Statement]
    ) -> Premises:
        """Return the first 500 premises of every statement."""
        nlps = Nlps(self.index, settings, self.knowledge_base, self.train)
        ranked = nlps.ranker(variant).rank(statements, DEPTH, THREADS)
        return {
            statement.statement_id: tuple(premise for premise, _ in ranking)
            for statement, ranking in zip(statements, ranked, strict=True)
        }


def changed(settings: NlpsSettings, variant: str, key: str, value: Any) -> NlpsSettings:
    """Return the settings with another value of a key of a variant."""
    raw = settings.model_dump()
    raw["variants"][variant][key] = value
    return NlpsSettings.model_validate(raw)


def alternatives(settings: NlpsSettings) -> Iterator[tuple[str, str, NlpsSettings]]:
    """Yield variant, what is set, and settings that differ from the default in this."""
    for variant, weights in MATH_WEIGHTS.items():
        for weight in weights:
            fields = {"contents": 1, "contents_math": weight}
            yield variant, f"math {weight}", changed(settings, variant, "fields", fields)
    for key, values in PARAMETERS.items():
        for value in values:
            yield "supervised", f"{key} {value}", changed(settings, "supervised", key, value)


def choose(premises: Sequence[Premise], training: Sequence[Statement], work: Path) -> None:
    """Print the averages over the folds for every alternative."""
    shuffled = sorted(training, key=lambda s: s.statement_id)
    random.Random(SEED).shuffle(shuffled)
    folds = []
    for fold in range(FOLDS):
        held_out = shuffled[fold::FOLDS]
        rest = [s for n, s in enumerate(shuffled) if n % FOLDS != fold]
        ids = known(premises, rest)
        complete = [s for s in held_out if gold_of([s])[s.statement_id] and ids >= set(s.premises)]
        collection = Collection(work / f"fold{fold}", premises, rest)
        folds.append((collection, complete[:HELD_OUT]))
    table = Table("variant", "set", *KEYS, title="Cross-validation on the training set")
    settings = load_nlps()
    for variant, what, alternative in alternatives(settings):
        scores = [
            score_premises(collection.predict(alternative, variant, held_out), gold_of(held_out))
            for collection, held_out in folds
        ]
        averages = [score.to_json() for score in scores]
        mean = [sum(one[key] for one in averages) / FOLDS for key in KEYS]
        default = alternative == settings
        table.add_row(variant, what, *(f"{m:.3f}" for m in mean), style="bold" if default else None)
    console.print(table)


def compare(
    premises: Sequence[Premise],
    training: Sequence[Statement],
    dev: Sequence[Statement],
    work: Path,
) -> None:
    """Print both tables."""
    settings = load_nlps()
    own = {p.premise_id for p in premises}
    collection = Collection(work / "cut", premises, cut_to(own, training))
    statements = [s for s in cut_to(own, dev) if s.premises]
    table = Table("variant", *KEYS, title=f"1. Knowledge base only, {len(statements)} statements")
    for variant in settings.variants:
        score = score_premises(
            collection.predict(settings, variant, statements), gold_of(statements)
        )
        table.add_row(variant, *(f"{score.to_json()[key]:.4f}" for key in KEYS))
    console.print(table)

    collection = Collection(work / "all", premises, training)
    ids = known(premises, training)
    complete = [s for s in dev if s.premises and ids >= set(s.premises)]
    nearest = Tfidf([Premise(s.statement_id, s.text) for s in training]).rank(complete, 1, THREADS)
    new = [s for s, ((_, cosine),) in zip(complete, nearest, strict=True) if cosine < NEAR]
    predicted = collection.predict(settings, "supervised", complete)
    table = Table("supervised", "statements", *KEYS, title=f"2. All {len(ids):,} known premises")
    for name, chosen in (("all", complete), ("new", new)):
        values = score_premises(predicted, gold_of(chosen)).to_json()
        table.add_row(name, str(len(chosen)), *(f"{values[key]:.4f}" for key in KEYS))
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
