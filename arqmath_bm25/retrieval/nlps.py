"""Premise selection from end to end: the index of a collection, and its variants of ranking.

An index is three Lucene indexes: premises, training statements, profiles (documents/premises.py).
"""

from __future__ import annotations

import shutil
import time
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.premises import read_premises, read_statements
from arqmath_bm25.config import Bm25Variant, TfidfVariant
from arqmath_bm25.documents.premises import (
    MATH,
    premise_documents,
    profile_documents,
    statement_documents,
    write_documents,
)
from arqmath_bm25.errors import InputError
from arqmath_bm25.lucene.index import (
    InputFile,
    Manifest,
    building,
    index_documents,
    read_manifest,
)
from arqmath_bm25.lucene.search import Searcher
from arqmath_bm25.progress import console
from arqmath_bm25.retrieval.nlps_bm25 import Bm25
from arqmath_bm25.retrieval.nlps_ranking import Candidates
from arqmath_bm25.retrieval.nlps_supervised import Supervised
from arqmath_bm25.retrieval.nlps_tfidf import Tfidf
from arqmath_bm25.retrieval.queries import text_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.premises import Statement
    from arqmath_bm25.config import NlpsSettings
    from arqmath_bm25.retrieval.nlps_ranking import Ranking

DEPTH: Final = 500  # premises of a statement that the shared task demands and evaluates


class Ranker(Protocol):
    """A way to rank premises."""

    def rank(self, statements: Sequence[Statement], depth: int, threads: int) -> Iterator[Ranking]:
        """Yield the `depth` best premises of every statement, all if there are fewer."""


def build_index(
    knowledge_base: Path, train: Path, index: Path, settings: NlpsSettings, threads: int
) -> Manifest:
    """Index a collection in the directory `index`, replacing what is there.

    Raises InputError if a file cannot be read or Lucene did not index every document; the old
    index, if there is one, is then as it was.
    """
    began = time.monotonic()
    inputs = [InputFile.of(knowledge_base), InputFile.of(train)]
    premises, training = read_premises(knowledge_base), read_statements(train)
    if not any(statement.premises for statement in training):
        raise InputError(f"{train}: no statement names premises; is this a test set?")
    analyzer = Analyzer(settings.analysis)
    kinds = {
        "premises": premise_documents(premises, analyzer),
        "statements": statement_documents(training, analyzer),
        "profiles": profile_documents(training, analyzer),
    }
    counts = {}
    with building(index) as place, console.status("Indexing ..."):
        for kind, documents in kinds.items():
            directory = place / "documents"
            directory.mkdir()
            counts[kind] = write_documents(documents, directory / f"{kind}.jsonl")
            index_documents(directory, place / kind, [MATH], counts[kind], threads)
            shutil.rmtree(directory)
        manifest = Manifest(
            task="nlps",
            analysis=settings.analysis.model_dump(mode="json"),
            fingerprint=settings.analysis.fingerprint,
            inputs=inputs,
            counts=counts,
            seconds=round(time.monotonic() - began, 1),
        )
        manifest.write(place)
    return manifest


def why_stale(
    manifest: Manifest, knowledge_base: Path, train: Path, settings: NlpsSettings
) -> str | None:
    """Tell why an index does not serve these settings and files; None if it does."""
    if manifest.fingerprint != settings.analysis.fingerprint:
        return "this index was built with other analysis settings"
    if manifest.inputs != [InputFile.of(knowledge_base), InputFile.of(train)]:
        return f"this index was built from other data ({manifest.inputs[0].path})"
    return None


class Nlps:
    """A collection to rank premises of. Opens the index, and so starts the JVM."""

    def __init__(
        self, index: Path, settings: NlpsSettings, knowledge_base: Path, train: Path
    ) -> None:
        """Open an index; InputError if there is none or it is not of these settings and files."""
        manifest = read_manifest(index)
        if manifest is None:
            raise InputError(f"{index}: there is no index; `make index TASK=nlps` builds it")
        if reason := why_stale(manifest, knowledge_base, train, settings):
            raise InputError(f"{index}: {reason}; `make index TASK=nlps` builds it anew")
        self.manifest = manifest
        self.premises = read_premises(knowledge_base)
        self._training = read_statements(train)
        self._index = index
        self._searchers: dict[str, Searcher] = {}
        self._settings = settings
        self._analyzer = Analyzer(settings.analysis)

    def ranker(self, variant: str) -> Ranker:
        """Return the ranker of a variant of the configuration."""
        chosen = self._settings.variants[variant]
        if isinstance(chosen, TfidfVariant):
            return Tfidf(self.premises)
        query = partial(
            text_query,
            analyzer=self._analyzer,
            weights={str(field): weight for field, weight in chosen.fields.items()},
            saturation=self._settings.query.saturation,
        )
        known = {premise.premise_id for premise in self.premises}
        if isinstance(chosen, Bm25Variant):
            return Bm25(Candidates(known), self._searcher("premises"), query)
        cited = {premise for statement in self._training for premise in statement.premises}
        return Supervised(
            Candidates(known | cited),
            self._searcher("premises"),
            self._searcher("statements"),
            self._searcher("profiles"),
            self._training,
            query,
            chosen,
        )

    def _searcher(self, kind: str) -> Searcher:
        if kind not in self._searchers:
            k1, b = self._settings.bm25.k1, self._settings.bm25.b
            self._searchers[kind] = Searcher(self._index / kind, k1, b)
        return self._searchers[kind]
