"""Searches flat postings (flat_build.py): the ranking of Lucene, bit for bit, without a JVM.

BM25Similarity's score of a term in a document is w - w / (1 + freq / norm), in 32 bits, with
w = weight · idf. What stands in brackets depends on no query, so it is a look-up by the posting's
code. Postings are scored by tens of thousands at a time, as fit into a processor's cache.

Scores begin at -0.0. A term that adds nothing, because its weight vanishes in 32 bits, makes that
0.0: the sign tells documents that match from those that do not.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Hit
from arqmath_bm25.engines.engine import Searcher, best_first, flat_place
from arqmath_bm25.engines.flat_build import BLOCK, FORM, META, code_kind, lengths_of_bytes, mapped
from arqmath_bm25.engines.lucene.ids import read_ids

try:  # not public, but looks scores up while it adds them: a quarter of the time of np.add.at
    from scipy.sparse._sparsetools import coo_matvec
except ImportError:
    coo_matvec = None

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from arqmath_bm25.engines.engine import Query, TermScores
    from arqmath_bm25.engines.flat_build import Integers

    Floats = npt.NDArray[np.float32]
    Sums = npt.NDArray[np.float64]

_TOGETHER: Final = 1 << 15  # postings
_ONES: Final = np.ones(2 * _TOGETHER)
_FOUND: Final = 1 << 16  # terms whose numbers are remembered: topics share two of three


class FieldScores(NamedTuple):
    """What each field of a query gives to some documents."""

    doc_ids: list[str]
    fields: list[str]
    scores: Floats  # documents × fields; their sum over the fields is the score of the document


class _Field(NamedTuple):
    """A field: its terms, in blocks, and what BM25 needs to know of it."""

    heads: list[bytes]  # the first term of each block
    places: list[int]  # of the end of the line before each block, and of the last line
    first: int  # term
    documents: int
    divisors: Floats  # of a weight, by code


class FlatSearcher(Searcher):
    """Open flat postings. Thread-safe."""

    def __init__(self, index: Path, k1: float, b: float) -> None:
        """Open the flat postings beside a Lucene index; InputError if they cannot be used."""
        place = flat_place(index)
        meta = json.loads((place / META).read_text(encoding="utf-8"))
        with (place / "terms").open("rb") as file:
            self._terms = mmap(file.fileno(), 0, access=ACCESS_READ)
        pairs = mapped(place / "pairs", "<i4").reshape(-1, 2)
        self._ids = read_ids(index)
        self.count = len(self._ids)
        self._starts = mapped(place / "starts", "<i8")
        self._docs = mapped(place / "docs", "<i4")
        self._codes = mapped(place / "codes", code_kind(len(pairs)))
        if meta["form"] != FORM or not len(self._docs) == len(self._codes) == self._starts[-1]:
            raise InputError(f"{place}: incomplete, or of another version; build the index anew")
        self._number = lru_cache(maxsize=_FOUND)(self._find)
        blocks = mapped(place / "blocks", "<i8").tolist()
        begins = [0, *(field["terms"] for field in meta["fields"])]
        self._fields = {}
        for field, (begin, end) in zip(meta["fields"], pairwise(begins), strict=True):
            places = blocks[: 1 - (begin - end) // BLOCK]
            blocks = blocks[len(places) - 1 :]
            average = np.float32(field["tokens"] / field["documents"])
            self._fields[field["name"]] = _Field(
                [self._terms[at + 1 : self._terms.find(b"\n", at + 1)] for at in places[:-1]],
                places,
                begin,
                field["documents"],
                _divisors(pairs, np.float32(k1), np.float32(b), average),
            )

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        scores = self._sums(query).astype(np.float32)
        best = _best(scores, k)
        ids = self._ids[best]
        ranked = np.lexsort((ids, scores[best]))[::-1][:k]
        found = zip(ids[ranked].tolist(), scores[best][ranked].tolist(), strict=True)
        return [Hit(doc_id.decode(), score) for doc_id, score in found]

    def score(self, query: Query, doc_ids: Sequence[str]) -> list[Hit]:
        """Score given documents, best first; 0 for one that holds none of the terms."""
        if not self.count:
            return best_first(dict.fromkeys(doc_ids, 0.0))
        wanted = np.array([doc_id.encode() for doc_id in doc_ids], np.bytes_)
        places = np.searchsorted(self._ids, wanted, sorter=self._by_id) % self.count
        numbers = self._by_id[places]
        scores = np.where(self._ids[numbers] == wanted, self._sums(query)[numbers], 0)
        return best_first(dict(zip(doc_ids, scores.tolist(), strict=True)))

    @cached_property
    def _by_id(self) -> npt.NDArray[np.intp]:
        return np.argsort(self._ids, kind="stable")

    def field_scores(
        self, queries: Iterable[Query], depth: int, threads: int
    ) -> Iterator[FieldScores]:
        """Yield what each field gives to the `depth` best documents of any field, and of all."""
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(lambda query: self._field_scores(query, depth), queries)

    def _field_scores(self, query: Query, depth: int) -> FieldScores:
        if not query:
            return FieldScores([], [], np.empty((0, 0), np.float32))
        of_fields = [self._sums({field: terms}) for field, terms in query.items()]
        sums = np.stack([*of_fields, np.sum(of_fields, axis=0)], axis=1).astype(np.float32)
        best = np.unique(np.concatenate([_best(column, depth) for column in sums.T]))
        ids = [doc_id.decode() for doc_id in self._ids[best].tolist()]
        return FieldScores(ids, list(query), sums[best, :-1])

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return what the terms that a document holds give to its score, for each document."""
        return [self._explain(query, doc_id) for doc_id in doc_ids]

    def _explain(self, query: Query, doc_id: str) -> TermScores:
        found: TermScores = {}
        for doc in np.flatnonzero(self._ids == doc_id.encode()).astype(self._docs.dtype):
            for name in query.keys() & self._fields.keys():
                if of_field := dict(self._given(name, query[name], doc)):
                    found[name] = of_field
        return found

    def _given(
        self, name: str, terms: Mapping[str, float], doc: np.integer
    ) -> Iterator[tuple[str, float]]:
        """Yield the terms of a field that a document holds, with what they give."""
        divisors = self._fields[name].divisors
        for term, weight, begin, end in zip(*self._weighted(name, terms), strict=True):
            at = begin + np.searchsorted(self._docs[begin:end], doc)
            if at < end and self._docs[at] == doc:
                yield term, float(weight - weight / divisors[self._codes[at]])

    def document_counts(self, field: str, terms: Iterable[str]) -> dict[str, int]:
        """Count the documents that hold a term in a field, of those terms that any holds."""
        if field not in self._fields:
            return {}
        numbers = {term: self._number(field, term) for term in terms}
        return {
            term: int(self._starts[number + 1] - self._starts[number])
            for term, number in numbers.items()
            if number is not None
        }

    def close(self) -> None:
        """Close the index."""
        self._terms.close()

    def _sums(self, query: Query) -> Sums:
        """Return the scores of all documents; -0.0 where no term occurs."""
        sums = np.full(self.count, -0.0)
        for name, terms in query.items():
            if name in self._fields:
                self._add(sums, name, terms)
        return sums

    def _add(self, sums: Sums, name: str, terms: Mapping[str, float]) -> None:
        """Add what the terms of a field give to every document."""
        divisors = self._fields[name].divisors
        _, weights, begins, ends = self._weighted(name, terms)
        lengths = ends - begins
        # So that it pays to score all codes.
        many = lengths > min(len(divisors) // 4, _TOGETHER)
        for begin, end, weight in zip(begins[many], ends[many], weights[many], strict=True):
            of_codes = (weight - weight / divisors).astype(np.float64)
            for at in range(begin, end, _TOGETHER):
                piece = slice(at, min(at + _TOGETHER, end))
                _add_at(sums, self._docs[piece], of_codes, self._codes[piece])
        few = np.flatnonzero(~many)
        for batch in np.split(few, _cuts(lengths[few])) if len(few) else ():
            pieces = list(map(slice, begins[batch].tolist(), ends[batch].tolist()))
            codes = np.concatenate([self._codes[piece] for piece in pieces])
            weight = weights[batch].repeat(lengths[batch])
            scores = weight - weight / divisors.take(codes)
            docs = np.concatenate([self._docs[piece] for piece in pieces])
            _add_at(sums, docs, scores.astype(np.float64), np.arange(len(docs)))

    def _weighted(
        self, name: str, terms: Mapping[str, float]
    ) -> tuple[list[str], Floats, Integers, Integers]:
        """Return the terms that a field has, with weights, and where their postings are."""
        field = self._fields[name]
        found = sorted(
            (number, f"{weight:.9g}", term)  # as Lucene gets it
            for term, weight in terms.items()
            if weight > 0 and (number := self._number(name, term)) is not None
        )
        numbers = np.array([number for number, *_ in found], np.intp)
        boosts = np.array([boost for _, boost, _ in found], np.str_).astype(np.float32)
        begins, ends = self._starts[numbers], self._starts[numbers + 1]
        lengths = ends - begins
        idf = np.log(1 + (field.documents - lengths + 0.5) / (lengths + 0.5))
        weights = boosts * idf.astype(np.float32)
        if not np.isfinite(weights).all():
            raise InputError(f"the weight of a term is too large: {max(terms.values())}")
        return [term for *_, term in found], weights, begins, ends

    def _find(self, name: str, term: str) -> int | None:
        """Return the number of a term, if the field has it."""
        field, word = self._fields[name], term.encode()
        block = bisect_right(field.heads, word) - 1
        if block < 0 or b"\n" in word:
            return None
        lines = self._terms[field.places[block] : field.places[block + 1] + 1]
        at = lines.find(b"\n" + word + b"\n")
        return None if at < 0 else field.first + BLOCK * block + lines.count(b"\n", 0, at)


def _divisors(pairs: Integers, k1: np.float32, b: np.float32, average: np.float32) -> Floats:
    """Return 1 + freq / norm for every code, as BM25Similarity computes it."""
    one, lengths = np.float32(1), lengths_of_bytes().astype(np.float32)
    with np.errstate(divide="ignore"):  # k1 may be 0
        inverse = one / (k1 * ((one - b) + b * lengths / average))
    divisors: Floats = one + pairs[:, 0].astype(np.float32) * inverse[pairs[:, 1]]
    return divisors


def _cuts(lengths: Integers) -> npt.NDArray[np.intp]:
    """Return where to cut a sequence of lists so that parts have about _TOGETHER postings."""
    return np.flatnonzero(np.diff(np.cumsum(lengths) // _TOGETHER)) + 1


def _add_at(sums: Sums, docs: Integers, scores: Sums, codes: Integers) -> None:
    """Add the score of each posting, which its code chooses, to the sum of its document.

    Raises IndexError for numbers of a damaged file.
    """
    if docs.view(np.uint32).max() >= len(sums) or codes.max() >= len(scores):
        raise IndexError("flat postings: a document or a code that is not there")
    if coo_matvec is None:
        np.add.at(sums, docs, scores[codes])
    else:
        coo_matvec(len(docs), docs, codes.astype(docs.dtype), _ONES[: len(docs)], scores, sums)


def _best(scores: Floats, k: int) -> npt.NDArray[np.intp]:
    """Return the k best documents that match, and those tied with the last, in no order."""
    least = np.partition(scores, -k)[-k] if k < len(scores) else 0
    return np.flatnonzero((scores >= least) & ~np.signbit(scores))
