"""Task 2 from end to end: the index of visually distinct formulas, and rankings of instances."""

from __future__ import annotations

import time
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.formula import FormulaAnalyzer
from arqmath_bm25.collection.formulas import formula_files
from arqmath_bm25.documents.formulas import write_formula_documents
from arqmath_bm25.documents.instances import InstanceTable
from arqmath_bm25.documents.parts import clear
from arqmath_bm25.documents.post_formulas import write_post_formulas
from arqmath_bm25.errors import InputError
from arqmath_bm25.lucene.index import (
    DOCUMENTS,
    InputFile,
    Manifest,
    building,
    index_documents,
    read_manifest,
)
from arqmath_bm25.lucene.search import Searcher
from arqmath_bm25.progress import console, progress
from arqmath_bm25.runs import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.collection.formula_topics import FormulaTopic
    from arqmath_bm25.config import FormulaVariant, Task2Settings
    from arqmath_bm25.lucene.search import Hit
    from arqmath_bm25.retrieval.task1 import Task1
    from arqmath_bm25.runs import Variant

_LUCENE: Final = "lucene"
_INSTANCES: Final = "instances.npy"


class FormulaHit(NamedTuple):
    """One visually distinct formula of a ranking, by one of its instances."""

    formula_id: str
    post_id: str
    visual_id: str
    score: float


class Context(NamedTuple):
    """What the posts of a thread are worth for a question; threads are sorted."""

    threads: NDArray[np.int32]
    scores: NDArray[np.float64]


_NO_MATHML: Final[Mapping[str, str]] = MappingProxyType({})
_NO_CONTEXT: Final = Context(np.empty(0, np.int32), np.empty(0))


def build_index(
    formulas: Path,
    index: Path,
    settings: Task2Settings,
    threads: int,
    keep_documents: bool = False,
) -> Manifest:
    """Index the formula TSVs in the directory `formulas`, replacing what is in `index`.

    `formulas` may also be a Posts.xml, whose formulas are then read from the posts. With
    `keep_documents`, what Lucene was given stays beside the index as JSON lines.

    Raises InputError if they cannot be read or Lucene did not index every document; the old
    index, if there is one, is then as it was.
    """
    began = time.monotonic()
    inputs = _inputs(formulas)
    with building(index, settings.fingerprint, inputs) as place:
        documents, source = place / DOCUMENTS, formulas
        if formulas.suffix == ".xml":
            source = place / "formulas.tsv"
            with console.status("Reading formulas of posts ..."):
                write_post_formulas(formulas, source, threads)
        size = sum(file.size for file in _inputs(source))
        with progress("Analysing formulas", size, "B") as advance:
            counts = write_formula_documents(
                source, settings, documents, place / _INSTANCES, threads, advance
            )
        if source != formulas:
            source.unlink()
        if not counts["documents"]:
            raise InputError(
                f"{formulas}: none of the {counts['rows']:,} rows may be returned; expected "
                "formulas of type title, question or answer"
            )
        with console.status("Indexing ..."):
            index_documents(
                documents, place / _LUCENE, settings.fields[1:], counts["documents"], threads
            )
        clear(documents, keep_documents)
        manifest = Manifest(
            task="task2",
            analysis=settings.analysis.model_dump(mode="json"),
            fingerprint=settings.fingerprint,
            inputs=inputs,
            counts=counts,
            seconds=round(time.monotonic() - began, 1),
        )
        manifest.write(place)
    return manifest


def _inputs(formulas: Path) -> list[InputFile]:
    return [InputFile.of(file) for file in formula_files(formulas)]


def why_stale(manifest: Manifest, formulas: Path, settings: Task2Settings) -> str | None:
    """Tell why an index does not serve these settings and formulas; None if it does."""
    if manifest.fingerprint != settings.fingerprint:
        return "this index was built with other analysis settings"
    if manifest.inputs != _inputs(formulas):
        return f"this index was built from other data ({manifest.inputs[0].path})"
    return None


class Task2:
    """Ranks formulas. Opens the index, and so starts the JVM."""

    def __init__(
        self, index: Path, settings: Task2Settings, formulas: Path, answers: Task1 | None
    ) -> None:
        """Open an index; `answers` serves the variants with a context weight.

        Raises InputError if there is no index, or it is not of these settings and formulas.
        """
        manifest = read_manifest(index)
        if manifest is None:
            raise InputError(f"{index}: there is no index; `make index TASK=task2` builds it")
        if reason := why_stale(manifest, formulas, settings):
            raise InputError(f"{index}: {reason}; `make index TASK=task2` builds it anew")
        self.manifest = manifest
        self._settings = settings
        self._answers = answers
        self._posts = answers.posts() if answers else None
        self._analyzer = FormulaAnalyzer(settings.analysis, settings.fields)
        self._instances = InstanceTable.load(index / _INSTANCES)
        self._searcher = Searcher(index / _LUCENE, settings.bm25.k1, settings.bm25.b)

    def rank(
        self,
        topics: Sequence[FormulaTopic],
        variant: Variant,
        depth: int,
        threads: int,
        mathml: Mapping[str, str] = _NO_MATHML,
    ) -> Iterator[tuple[FormulaTopic, list[FormulaHit]]]:
        """Yield every topic with its `depth` best formulas, in the order of the topics.

        `mathml` holds the topics' formulas by their ids as the source of the index has them. For
        one that is not there its LaTeX serves; but an index of operator trees finds nothing for
        that, and without any it raises InputError.
        """
        weights = self._settings.variants[variant]
        if not mathml:
            self._check_latex()
        queries = [self._query([self._analyse(topic, mathml)], weights) for topic in topics]
        found = self._searcher.search_many(queries, _searched(weights, depth), threads)
        contexts: Iterator[Context] = (_NO_CONTEXT for _ in topics)
        if weights.context and self._answers:
            questions = [topic.topic for topic in topics]
            ranked = self._answers.rank(questions, "text", MAX_DEPTH, threads)
            contexts = (self._context(hits) for _, hits in ranked)
        for topic, hits, context in zip(topics, found, contexts, strict=True):
            yield topic, self._choose(hits, context, weights.context)[:depth]

    def search(
        self, formulas: Sequence[str], words: str, variant: Variant, depth: int
    ) -> list[FormulaHit]:
        """Return the best matches of some formulas; `words` are looked for in their threads.

        Raises InputError if this is an index of operator trees.
        """
        self._check_latex()
        weights = self._settings.variants[variant]
        query = self._query([self._analyzer.latex(formula) for formula in formulas], weights)
        hits = self._searcher.search(query, _searched(weights, depth))
        context = _NO_CONTEXT
        if weights.context and self._answers and words:
            context = self._context(self._answers.search(words, "text", MAX_DEPTH))
        return self._choose(hits, context, weights.context)[:depth]

    def _check_latex(self) -> None:
        """Raise InputError if formulas in LaTeX cannot be looked for."""
        if self._settings.analysis.source == "opt":
            raise InputError(
                "analysis.source: opt: a formula in LaTeX has no operator tree; run the topics of "
                "a year, whose trees DATA holds, or index with source latex or slt"
            )

    def _analyse(self, topic: FormulaTopic, mathml: Mapping[str, str]) -> dict[str, list[str]]:
        if formula := mathml.get(topic.formula_id):
            return self._analyzer.mathml(formula)
        # Of some formulas LaTeXML made nothing.
        if self._settings.analysis.source == "opt":
            return {}
        return self._analyzer.latex(topic.latex)

    def _query(
        self, analysed: Sequence[dict[str, list[str]]], variant: FormulaVariant
    ) -> dict[str, dict[str, float]]:
        """Return field → term → weight; a term that occurs twice weighs twice as much."""
        query: dict[str, dict[str, float]] = {}
        for field, weight in variant.fields.items():
            terms = Counter(term for fields in analysed for term in fields.get(field, ()))
            query[field] = {term: weight * n for term, n in terms.items()}
        return query

    def _context(self, hits: list[Hit]) -> Context:
        """Give every thread the score of its best answer, as a share of the best of all."""
        if not hits or self._posts is None:
            return _NO_CONTEXT
        threads = self._posts.threads_of([hit.doc_id for hit in hits]).astype(np.int32)
        # Hits are sorted by score, so that the first of a thread is its best.
        distinct, first = np.unique(threads, return_index=True)
        scores = np.array([hit.score for hit in hits])
        return Context(distinct, scores[first] / scores[0])

    def _choose(self, hits: list[Hit], context: Context, weight: float) -> list[FormulaHit]:
        """Take one instance of each formula; with a context, rank them anew."""
        chosen = []
        for hit in hits:
            instance, text = self._instances.best(hit.doc_id, *context)
            score = hit.score / hits[0].score + weight * text if weight else hit.score
            chosen.append(FormulaHit(instance.formula_id, instance.post_id, hit.doc_id, score))
        return sorted(chosen, key=lambda hit: -hit.score)


def _searched(weights: FormulaVariant, depth: int) -> int:
    return MAX_DEPTH if weights.context else depth
