"""The variant `cited` of one's own documents: what similar documents refer to comes first.

The score of a document is that of its fields and, in units of the best such score of the query, a
weighted sum of the parts that are learnt (`ridge.py`). Learnt are the references of the documents,
or of the statements of `--train`. Of these a query never has its own: hidden are the document that
it is, those that it excludes, and all with its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import Delimiters, read_body, read_title
from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.own_documents import UserDocument, read_documents
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable
from arqmath_bm25.core.progress import counted, status, tell
from arqmath_bm25.core.records import Hit, Part, Topic
from arqmath_bm25.tasks.cited.candidates import Candidates
from arqmath_bm25.tasks.task import OpenIndex, Ranker

if TYPE_CHECKING:
    from arqmath_bm25.tasks.cited.candidates import CandidateScores
    from arqmath_bm25.tasks.cited.ridge import References
    from arqmath_bm25.tasks.document_task import FieldRanker
    from arqmath_bm25.tasks.settings import DocumentSettings

REFERENCES: Final = "references"  # what is learnt, in the directory of an index
_BY_FIELDS: Final = 1000  # best documents by fields: the scores of others are 0
STATEMENTS: Final = "statements with references"  # as a count of the index


def learn_references(
    collection: Collection,
    corpus: Path,
    documents: IdTable,
    directory: Path,
    settings: DocumentSettings,
) -> int:
    """Learn from the references of documents, or of the statements of `--train`; write the result.

    Returns the number of statements learnt from; nothing is written if there are none. Raises
    InputError if a training file refers to no document.
    """
    train = collection.train
    ordered = [variant for variant, chosen in settings.cited.items() if chosen.earlier]
    if train is not None and ordered:
        raise InputError(
            f"--train {train}: cited.{ordered[0]}.earlier goes by the order of the documents; set "
            "it to false, or index without --train"
        )

    encoded = documents.of(np.arange(len(documents)))
    ids = [doc_id.decode() for doc_id in encoded]
    known = set(ids)
    delimiters = settings.analysis.latex.delimiters
    statements = []
    for document, _ in read_documents(train or corpus):
        if not known.isdisjoint(document.references):
            statements.append(_statement(document, delimiters))

    if not statements:
        if train is not None:
            raise InputError(
                f"--train {train}: no row refers to a document of {collection.given}; expected "
                '"references" with ids of documents'
            )
        return 0

    if find_spec("sklearn") is None:
        having = counted(len(statements), "documents")
        tell(
            f"{collection.given}: {having} have references; to learn from them, pip install "
            "'arqmath-bm25[nlps]' and index again"
        )
        return 0

    from arqmath_bm25.tasks.cited.ridge import NEAR, References  # which loads SciPy

    with status("Learning from references"):
        candidates = Candidates(ids)
        analyzer = _analyzer(settings)
        learnt = References.learn(statements, candidates, settings.ridge, analyzer)
        learnt.save(directory)

    source = train or collection.given
    number = counted(len(statements), "statements")
    form = "by one regression over all of them"
    if learnt.inverse is None:
        form = f"by a regression over the {NEAR} most similar to each query"
    tell(
        f"{source}: the variant cited learns from the references of {number}, without those of "
        f"the query itself, {form}"
    )
    return len(statements)


def _statement(document: UserDocument, delimiters: Delimiters) -> Statement:
    title, body = document.marked(delimiters).contents(delimiters)
    text = f"{title.text} {body.text}".strip()
    references = tuple(dict.fromkeys(document.references))
    return Statement(document.doc_id, text, references)


def _analyzer(settings: DocumentSettings) -> Analyzer:
    analysis = AnalysisSettings(text=settings.analysis.text)
    return Analyzer(analysis, ngrams=False)


class CitedRanker(Ranker):
    """Ranks documents by their fields and, in some variants, by learnt references."""

    def __init__(
        self, index: OpenIndex, settings: DocumentSettings, by_fields: FieldRanker, ids: IdTable
    ) -> None:
        """Take the ids of the documents in the order of the corpus."""
        self._settings = settings
        self._by_fields = by_fields
        self._ids = ids
        self._directory = index.directory / REFERENCES

    def rank(
        self, topics: Sequence[Topic], variant: str, depth: int, threads: int
    ) -> Iterator[list[Hit]]:
        """Yield the `depth` best documents of every topic."""
        if variant not in self._settings.cited:
            yield from self._by_fields.rank(topics, variant, depth, threads)
            return

        size = self._references.block
        for start in range(0, len(topics), size):
            block = topics[start : start + size]
            found = list(self._by_fields.rank(block, variant, _BY_FIELDS, threads))
            gains = _total(self._gains(block, variant))
            for topic, hits, gain in zip(block, found, gains, strict=True):
                yield self._best(topic, hits, gain, depth)

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> Iterator[list[Hit]]:
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

    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> list[list[Part]]:
        """Return what the fields and each part that is learnt add to the scores."""
        parts = self._by_fields.explain(topic, variant, hits)
        if variant not in self._settings.cited:
            return parts

        (found,) = self._by_fields.rank([topic], variant, _BY_FIELDS, 1)
        by_fields = {hit.doc_id for hit in found}
        unit = _unit(found)
        gains = self._gains([topic], variant)
        position = self._references.candidates.position
        explained = []
        for hit, of_fields in zip(hits, parts, strict=True):
            of_hit: list[Part] = []
            if hit.doc_id in by_fields:
                of_hit += of_fields
            place = position[hit.doc_id]
            for name, gain in gains.items():
                score = float(unit * gain[0, place])
                of_hit.append(Part(name, score))
            explained.append(of_hit)

        return explained

    @cached_property
    def _references(self) -> References:
        if not self._directory.is_dir():
            raise InputError(
                "no document of this index has references to learn from; give them in the rows "
                'as "references", or index with --train FILE'
            )

        from arqmath_bm25.tasks.cited.ridge import References

        return References.load(self._directory, self._settings.ridge, _analyzer(self._settings))

    def _best(
        self, topic: Topic, hits: Sequence[Hit], gain: CandidateScores, depth: int
    ) -> list[Hit]:
        """Return the best documents by the sum of both scores, without those at 0."""
        candidates = self._references.candidates
        position = candidates.position
        scores = _unit(hits) * gain
        for hit in hits:
            place = position[hit.doc_id]
            scores[place] += hit.score
        for doc_id in topic.excluded:
            if doc_id in position:
                place = position[doc_id]
                scores[place] = 0

        best = candidates.best(scores, depth)
        return [Hit(doc_id, score) for doc_id, score in best if score > 0]

    def _gains(self, topics: Sequence[Topic], variant: str) -> dict[str, CandidateScores]:
        """Return the weighted parts that are learnt, topics × documents."""
        learnt = self._references
        chosen = self._settings.cited[variant]  # type: ignore[index]
        texts = []
        hidden = []
        for topic in topics:
            text = self._text(topic)
            texts.append(text)
            hidden.append(self._hidden(topic, text, chosen.earlier))

        queries = learnt.queries(texts, hidden, near=chosen.earlier)
        parts = learnt.parts(queries)
        return {
            "ridge": chosen.ridge * parts["ridge"],
            "profile": chosen.profile * parts["profile"],
            "citations": chosen.citations * parts["citations"],
        }

    def _text(self, topic: Topic) -> str:
        delimiters = self._settings.analysis.latex.delimiters
        title = read_title(topic.title, delimiters)
        body = read_body(topic.question, delimiters)
        return f"{title.text} {body.text}".strip()

    def _hidden(self, topic: Topic, text: str, earlier: bool) -> list[int]:
        """Return the rows of the statements from which a topic does not learn."""
        learnt = self._references
        own = [topic.topic_id, *topic.excluded]
        hidden = set(learnt.with_text(text))
        for doc_id in own:
            if doc_id in learnt.row:
                hidden.add(learnt.row[doc_id])
        if earlier:
            hidden.update(self._not_before(own))
        return sorted(hidden)

    def _not_before(self, own: Sequence[str]) -> list[int]:
        """Return the rows of the statements that come after one of these documents, or are it."""
        rows = self._ids.find(own)
        rows = rows[rows >= 0]
        if not len(rows):
            return []
        later = self._places >= rows.min()
        return np.flatnonzero(later).tolist()

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The place of every statement in the corpus."""
        return self._ids.find(self._references.statements)


def _total(parts: Mapping[str, CandidateScores]) -> CandidateScores:
    scores = list(parts.values())
    return np.asarray(np.sum(scores, axis=0))


def _unit(hits: Sequence[Hit]) -> float:
    """Return the best score, in units of which the parts that are learnt are added."""
    if not hits:
        return 1.0
    return hits[0].score
