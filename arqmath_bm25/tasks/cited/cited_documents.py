"""The variant `cited` of one's own documents: what similar documents refer to comes first.

The score of a document is that of its fields and, in units of the best such score of the query, a
weighted sum of the parts that are learnt (`ridge.py`). Learnt are the references of the documents,
or of the statements of a training file, when a run or a search first asks for it, and kept
in a store beside the index. Of these a query never has its own: hidden are the document that
it is, those that it excludes, and all with its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import UserDocument, read_documents
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.arrays import Ints
from arqmath_bm25.core.building import building
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.id_table import IdTable
from arqmath_bm25.core.progress import counted, status, tell
from arqmath_bm25.core.records import Hit, HitLists, Part, PartLists, Topic
from arqmath_bm25.core.stores import LEARNT
from arqmath_bm25.core.writing import contents, sources
from arqmath_bm25.tasks.cited.candidates import Candidates, CandidateScores
from arqmath_bm25.tasks.task import Ranker, SearchedIndex

if TYPE_CHECKING:
    from arqmath_bm25.tasks.cited.ridge import References
    from arqmath_bm25.tasks.document_task import FieldRanker
    from arqmath_bm25.tasks.settings import DocumentSettings

_FILES = "references"  # what is learnt, in a store of its own
_MANY = 2_000  # statements from which on the cost of learning is told
_BY_FIELDS = 1000  # best documents by fields: the scores of others are 0
STATEMENTS = "statements with references"  # as a count of the index


def count_statements(
    collection: CollectionFiles, documents: IdTable, settings: DocumentSettings
) -> int:
    """Count the documents, or the statements of a training file, that refer to documents.

    Raises InputError if a training file refers to none, or where the order of documents counts.
    """
    train = collection.train
    ordered = [variant for variant, chosen in settings.cited.items() if chosen.earlier]
    if train is not None and ordered:
        raise InputError(
            f"{train}: cited.{ordered[0]}.earlier goes by the order of the documents; set "
            "it to false, or index without a training file"
        )

    number = sum(1 for _ in _referring(collection, _ids(documents)))
    if train is not None and not number:
        raise InputError(
            f"{train}: no row refers to a document of {collection.given}; expected "
            '"references" with ids of documents'
        )
    return number


def _ids(documents: IdTable) -> list[str]:
    encoded = documents.of(np.arange(len(documents)))
    return [doc_id.decode() for doc_id in encoded]


def _referring(collection: CollectionFiles, ids: Iterable[str]) -> Iterator[UserDocument]:
    """Yield the documents, or the rows of a training file, that refer to some of these."""
    known = set(ids)
    for document, _ in read_documents(collection.train or collection.documents_file):
        if not known.isdisjoint(document.references):
            yield document


def learnt_store(index: SearchedIndex) -> Path:
    """Return the path of the learnt references; its name has the digest of the index.

    It exists if they have been learnt and stored.
    """
    digest = index.directory.name.partition("-")[2]
    return index.directory.with_name(f"{LEARNT}-{digest}")


def _tell_of_cost(source: str | Path, number: int) -> None:
    """Say from how many statements is learnt, by which regression, and what many of them cost."""
    from arqmath_bm25.tasks.cited.ridge import MOST_WHOLE, NEAR

    seconds = number / 1_000
    size = number * 16 / 1_000  # MB
    form = f"by a regression over the {NEAR} most similar to each query"
    if number <= MOST_WHOLE:
        form = "by one regression over all of them"
        seconds += number**3 / 1e10
        size += number**2 * 16 / 1e6
    cost = ""
    if number >= _MANY:
        cost = f"; this once takes about {seconds:,.0f} s and {size:,.0f} MB"
    tell(
        f"{source}: the variant cited learns from the references of "
        f"{counted(number, 'statements')}, without those of the query itself, {form}{cost}"
    )


class CitedRanker(Ranker):
    """Ranks documents by their fields and, in some variants, by learnt references."""

    def __init__(
        self, index: SearchedIndex, settings: DocumentSettings, by_fields: FieldRanker
    ) -> None:
        """Take the ranker by fields."""
        self._index = index
        self._settings = settings
        self._by_fields = by_fields
        self._ids: IdTable = index.texts.ids  # in the order of the corpus
        self._learning = RLock()

    def rank(self, topics: Sequence[Topic], variant: str, depth: int) -> HitLists:
        """Yield the `depth` best documents of every topic."""
        if variant not in self._settings.cited:
            yield from self._by_fields.rank(topics, variant, depth)
            return

        size = self._references.block
        for start in range(0, len(topics), size):
            block = topics[start : start + size]
            found = list(self._by_fields.rank(block, variant, _BY_FIELDS))
            gains = _total(self._gains(block, variant))
            for topic, hits, gain in zip(block, found, gains, strict=True):
                yield self._best(topic, hits, gain, depth)

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> HitLists:
        """Rank given documents of each topic."""
        by_fields = self._by_fields.score(topics, variant, candidates)
        if variant not in self._settings.cited:
            yield from by_fields
            return

        position = self._references.candidates.position
        for topic, hits, ids in zip(topics, by_fields, candidates, strict=True):
            (gain,) = _total(self._gains([topic], variant))
            places = [position[doc_id] for doc_id in ids]
            gain_of_given = np.zeros_like(gain)
            gain_of_given[places] = gain[places]
            yield self._best(topic, hits, gain_of_given, len(ids))

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return what the fields and each part that is learnt add to the scores."""
        parts = self._by_fields.explain(topic, variant, hits)
        if variant not in self._settings.cited:
            return parts

        (found,) = self._by_fields.rank([topic], variant, _BY_FIELDS)
        by_fields = {hit.doc_id for hit in found}
        unit = _unit(found)
        gains = self._gains([topic], variant)
        position = self._references.candidates.position
        explained = []
        for hit, of_fields in zip(hits, parts, strict=True):
            of_hit = []
            if hit.doc_id in by_fields:
                of_hit += of_fields
            place = position[hit.doc_id]
            of_hit += [Part(name, float(unit * gain[0, place])) for name, gain in gains.items()]
            explained.append(of_hit)

        return explained

    @property
    def _references(self) -> References:
        with self._learning:
            return self._learnt

    @cached_property
    def _learnt(self) -> References:
        if not self._index.manifest.counts[STATEMENTS]:
            raise InputError(
                "no document of this index has references to learn from; put them into the rows "
                'as "references", or index with a training file',
                train="FILE",
            )
        from arqmath_bm25.tasks.cited.ridge import References, words_only

        store = learnt_store(self._index)
        analyzer = words_only(self._settings.analysis.text)
        with suppress(NoIndexError):  # it is damaged
            if store.exists():
                return References.load(store / _FILES, self._settings.ridge, analyzer)

        candidates = Candidates(_ids(self._ids))
        statements = self._statements(candidates.ids)
        with status("Learning from references"):
            learnt = References.learn(statements, candidates, self._settings.ridge, analyzer)
        try:
            with building(store) as place:
                learnt.save(place / _FILES)
                manifest = self._index.manifest
                replace(manifest, files=contents(place), counts={}, decisions={}).write(place)
        except InputError as error:  # as if the folder cannot be written to
            tell(f"{error}; what was learnt is not kept, and this process ranks in memory")
        return learnt

    def _statements(self, ids: Iterable[str]) -> list[Statement]:
        """Read the statements to learn from, and report how many they are.

        Raises InputError if the files have changed since the index was built.
        """
        index = self._index
        collection = index.collection
        corpus = collection.documents_file
        asked = index.manifest.recipe.get("chosen", {}).get("train")
        if sources([corpus]) != index.manifest.sources or collection.chosen.get("train") != asked:
            raise InputError(
                f"{index.directory}: {corpus.name} or the training file is not what this index "
                "was built from, and nothing is learnt yet; index again"
            )

        delimiters = self._settings.analysis.latex.delimiters
        statements = []
        for document in _referring(collection, ids):
            title, body = document.marked(delimiters).contents(delimiters)
            text = f"{title.text} {body.text}".strip()
            references = tuple(dict.fromkeys(document.references))
            statements.append(Statement(document.doc_id, text, references))
        _tell_of_cost(collection.train or collection.given, len(statements))
        return statements

    def _best(
        self, topic: Topic, hits: Sequence[Hit], gain: CandidateScores, depth: int
    ) -> list[Hit]:
        """Return the best documents by the sum of both scores, without those at 0."""
        candidates = self._references.candidates
        position = candidates.position
        scores = _unit(hits) * gain
        for hit in hits:
            scores[position[hit.doc_id]] += hit.score
        for doc_id in topic.excluded:
            if doc_id in position:
                scores[position[doc_id]] = 0

        best = candidates.best(scores, depth)
        return [Hit(doc_id, score) for doc_id, score in best if score > 0]

    def _gains(self, topics: Sequence[Topic], variant: str) -> dict[str, CandidateScores]:
        """Return the weighted parts that are learnt, topics × documents."""
        learnt = self._references
        chosen = self._settings.cited[variant]  # type: ignore[index]
        delimiters = self._settings.analysis.latex.delimiters
        texts = []
        hidden = []
        for topic in topics:
            title = read_title(topic.title, delimiters)
            body = read_body(topic.question, delimiters)
            text = f"{title.text} {body.text}".strip()
            texts.append(text)

            # A topic learns nothing from the rows of these statements.
            own = [topic.topic_id, *topic.excluded]
            left_out = set(learnt.with_text(text))
            left_out.update(learnt.row[doc_id] for doc_id in own if doc_id in learnt.row)
            rows = self._ids.find(own)
            rows = rows[rows >= 0]
            if chosen.earlier and len(rows):
                left_out.update(np.flatnonzero(self._places >= rows.min()).tolist())
            hidden.append(sorted(left_out))

        queries = learnt.queries(texts, hidden, near=chosen.earlier)
        parts = learnt.parts(queries)
        return {name: getattr(chosen, name) * scores for name, scores in parts.items()}

    @cached_property
    def _places(self) -> Ints:
        """The place of every statement in the corpus."""
        return self._ids.find(self._references.statements)


def _total(parts: Mapping[str, CandidateScores]) -> CandidateScores:
    return np.asarray(np.sum(list(parts.values()), axis=0))


def _unit(hits: Sequence[Hit]) -> float:
    """Return the best score, in units of which the parts that are learnt are added."""
    if not hits:
        return 1.0
    return hits[0].score
