"""Searches flat postings (flat_build.py): the ranking of Lucene, bit for bit, without a JVM.

BM25Similarity's score of a term in a document is w - w / (1 + freq / norm), in 32 bits, with
w = weight · idf. What stands in brackets depends on no query, so it is a look-up by the posting's
code. Postings are scored by tens of thousands at a time, as fit into a processor's cache.

Scores begin at -0.0. Adding a weight that vanishes in 32 bits gives 0.0, so the sign shows whether
a document matches.

The files of a directory NAME.flat/, numbers little-endian:

* `ids.*`: the ids of the documents (core/id_table.py); `groups`: for each the group that shares
  fields with it, or the number of all groups (int32);
* for each field FIELD.terms: the numbers of its terms, ascending (uint64); FIELD.starts: where the
  postings of each begin, and the number of all (int64); FIELD.docs: for each posting the document,
  or of a shared field the group (int32); FIELD.codes: the row of `pairs` (uint16, or uint32 if
  there are too many rows); of a shared field FIELD.counts: how many documents have each term
  (int32);
* `pairs`: each combination that occurs of a term's frequency in a document and the length of the
  field, in the byte that Lucene stores (int32). So k1 and b can be chosen when searching;
* `flat.json`: the version of this form, and the statistics of the fields.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from arqmath_bm25.analysis.term_numbers import term_numbers
from arqmath_bm25.core.arrays import map_numbers
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable
from arqmath_bm25.engines.engine import Searcher, best_first, flat_directory, ranked
from arqmath_bm25.engines.flat_build import FORM, META, code_kind, lengths_of_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from arqmath_bm25.analysis.term_numbers import Numbers
    from arqmath_bm25.core.records import Hit
    from arqmath_bm25.engines.engine import Query, TermScores
    from arqmath_bm25.engines.flat_build import Integers

    Floats = npt.NDArray[np.float32]
    Sums = npt.NDArray[np.float64]


def _sum_of_scipy() -> Callable[..., None] | None:
    """Return SciPy's product of a sparse matrix, which looks scores up while it adds them.

    It takes a third of the time of np.add.at. It is not public, so None where it is not found; its
    file is loaded alone, as the import of scipy.sparse takes longer than a search.
    """
    scipy: Any = find_spec("scipy")
    places = [f"{place}/sparse" for place in scipy.submodule_search_locations]
    spec: Any = PathFinder.find_spec("_sparsetools", places)
    if spec is None:
        return None

    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, "coo_matvec", None)


coo_matvec: Final = _sum_of_scipy()
_TOGETHER: Final = 1 << 15  # postings
_numbers: Final = lru_cache(4)(term_numbers)  # several fields are asked for the same terms
_ONES: Final = np.ones(2 * _TOGETHER)
_PLACES: Final = np.arange(len(_ONES), dtype=np.int32)


class _Field(NamedTuple):
    """A field with its statistics for BM25."""

    shared: bool  # by groups of documents, which its postings name
    documents: int  # with this field
    divisors: Floats  # of a weight, by code
    counts: Integers | None  # documents with each term; None: as many as postings
    sound: set[tuple[int, int]]  # ranges of postings that were checked already
    terms: Numbers
    starts: Integers
    docs: Integers
    codes: Integers


class FlatSearcher(Searcher):
    """Open flat postings. Thread-safe."""

    def __init__(self, index: Path, k1: float, b: float) -> None:
        """Open the flat postings of an index; InputError if they cannot be used."""
        place = flat_directory(index)
        meta = json.loads((place / META).read_text(encoding="utf-8"))
        if meta["form"] != FORM:
            raise InputError(f"{place}: of another version; build the index again")
        pairs = map_numbers(place / "pairs", "<i4").reshape(-1, 2)
        columns = {"terms": "<u8", "starts": "<i8", "docs": "<i4", "codes": code_kind(len(pairs))}
        self.ids = IdTable(place / "ids")
        self.count = len(self.ids)
        self._groups = map_numbers(place / "groups", "<i4")
        self._fields = {}
        for name, field in meta["fields"].items():
            arrays = [
                map_numbers(place / f"{name}.{column}", kind) for column, kind in columns.items()
            ]
            terms, starts, docs, codes = arrays
            counts = map_numbers(place / f"{name}.counts", "<i4") if field["shared"] else None
            if not (len(terms) == len(starts) - 1 and len(docs) == len(codes) == starts[-1]):
                raise InputError(f"{place}: incomplete; build the index again")
            average = np.float32(max(field["tokens"], 1) / max(field["documents"], 1))
            divisors = _divisors(pairs, np.float32(k1), np.float32(b), average)
            self._fields[name] = _Field(
                field["shared"], field["documents"], divisors, counts, set(), *arrays
            )

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        scores = self.sums(query).astype(np.float32)
        best = best_rows(scores, k)
        return ranked(self.ids.of(best), scores[best], k)

    def score(self, query: Query, doc_ids: Sequence[str]) -> list[Hit]:
        """Score given documents, best first; 0 for one that holds none of the terms."""
        if not self.count:
            return best_first(dict.fromkeys(doc_ids, 0.0))
        rows = self.ids.find(doc_ids)
        scores = np.where(rows >= 0, self.sums(query)[rows], 0)
        return best_first(dict(zip(doc_ids, scores.tolist(), strict=True)))

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return the share of each term in the scores of documents."""
        explained: list[TermScores] = [{} for _ in doc_ids]
        docs = self.ids.find(doc_ids).astype(np.int32)
        for name in query.keys() & self._fields.keys():
            field = self._fields[name]
            rows = np.where(docs < 0, -1, self._groups[docs]) if field.shared else docs
            weighted = zip(*self._weighted(field, query[name]), strict=True)
            for term, weight, begin, end in weighted:
                places = np.minimum(begin + np.searchsorted(field.docs[begin:end], rows), end - 1)
                for number in np.flatnonzero(field.docs[places] == rows).tolist():
                    divisor = field.divisors[field.codes[places[number]]]
                    explained[number].setdefault(name, {})[term] = float(weight - weight / divisor)
        return explained

    def document_counts(self, terms: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
        """Return field → term → the number of documents that hold it, if any do."""
        return {field: self._counts_of(field, list(of_field)) for field, of_field in terms.items()}

    def _counts_of(self, field: str, asked: list[str]) -> dict[str, int]:
        if field not in self._fields:
            return {}
        rows, places = _find(self._fields[field], asked)
        counts = _counts(self._fields[field], places).tolist()
        documents = dict(zip([asked[row] for row in rows], counts, strict=True))
        return {term: documents[term] for term in asked if term in documents}

    def close(self) -> None:
        """Close the index."""

    def sums(self, query: Query) -> Sums:
        """Return the scores of all documents; -0.0 where no term occurs."""
        sums = np.full(self.count, -0.0)
        of_groups = np.full(int(self._groups.max(initial=0)) + 1, -0.0)
        fields = [(self._fields[name], query[name]) for name in query if name in self._fields]
        for field, terms in fields:
            self._add(of_groups if field.shared else sums, field, terms)
        if any(field.shared for field, _ in fields):
            sums += of_groups.take(self._groups)
        return sums

    def _add(self, sums: Sums, field: _Field, terms: Mapping[str, float]) -> None:
        """Add the scores of a field's terms to every document or group."""
        divisors = field.divisors
        docs = field.docs
        codes = field.codes
        _, weights, begins, ends = self._weighted(field, terms)
        lengths = ends - begins

        many = lengths > min(len(divisors), _TOGETHER)  # so that it pays to score all codes
        spans = list(zip(begins[many].clip(0).tolist(), ends[many].tolist(), strict=True))
        for begin, end in set(spans) - field.sound:
            _check(docs[begin:end], len(sums))
            _check(codes[begin:end], len(divisors))
            field.sound.add((begin, end))
        for (begin, end), weight in zip(spans, weights[many], strict=True):
            scores = weight - weight / divisors
            for start in range(begin, end, _TOGETHER):
                piece = slice(start, min(start + _TOGETHER, end))
                _add_at(sums, docs[piece], scores, codes[piece])

        few = np.flatnonzero(~many)
        if not len(few):
            return

        batches = np.cumsum(lengths[few]) // _TOGETHER
        cuts = np.flatnonzero(batches[1:] > batches[:-1]) + 1
        for first, last in pairwise([0, *cuts.tolist(), len(few)]):
            batch = few[first:last]
            pieces = list(map(slice, begins[batch].tolist(), ends[batch].tolist()))
            weight = weights[batch].repeat(lengths[batch])
            chosen = np.concatenate([codes[piece] for piece in pieces])
            scores = weight - weight / divisors.take(chosen)
            rows = np.concatenate([docs[piece] for piece in pieces])
            _check(rows, len(sums))
            _add_at(sums, rows, scores, _PLACES[: len(rows)])

    def _weighted(
        self, field: _Field, terms: Mapping[str, float]
    ) -> tuple[list[str], Floats, Integers, Integers]:
        """Return the terms of a field with their weights and the places of their postings."""
        asked = [term for term, weight in terms.items() if weight > 0]
        rows, places = _find(field, asked)
        there = [asked[row] for row in rows]
        # As Lucene gets them; many terms have the same.
        boosts = {weight: float(f"{weight:.9g}") for weight in set(terms.values())}
        counts = _counts(field, places)
        idf = np.log(1 + (field.documents - counts + 0.5) / (counts + 0.5))
        weights = np.array([boosts[terms[term]] for term in there], np.float32)
        weights *= idf.astype(np.float32)
        if not np.isfinite(weights).all():
            raise InputError(f"the weight of a term is too large: {max(terms.values())}")
        starts = field.starts[places], field.starts[places + 1]
        return there, weights, *starts


def _find(field: _Field, terms: Sequence[str]) -> tuple[list[int], Integers]:
    """Return which of the terms a field has, and their places in it."""
    if not len(field.terms):
        return [], np.empty(0, np.intp)
    numbers = _numbers(tuple(terms))
    places = np.minimum(np.searchsorted(field.terms, numbers), len(field.terms) - 1)
    there = np.flatnonzero(field.terms[places] == numbers)
    there = there[np.argsort(places[there])]
    return there.tolist(), places[there]


def _counts(field: _Field, places: Integers) -> Integers:
    """Return how many documents have each term."""
    if field.counts is not None:
        return field.counts[places]
    return field.starts[places + 1] - field.starts[places]


def _divisors(pairs: Integers, k1: np.float32, b: np.float32, average: np.float32) -> Floats:
    """Return 1 + freq / norm for every code, as BM25Similarity computes it."""
    unit, lengths = np.float32(1), lengths_of_bytes().astype(np.float32)
    with np.errstate(divide="ignore"):  # k1 may be 0
        inverse = unit / (k1 * ((unit - b) + b * lengths / average))
    divisors: Floats = unit + pairs[:, 0].astype(np.float32) * inverse[pairs[:, 1]]
    return divisors


def _check(numbers: Integers, count: int) -> None:
    """Raise IndexError if a number in a file is not below a count: the file is damaged."""
    unsigned = numbers.view(f"u{numbers.itemsize}")  # so that one below 0 is too large
    if np.maximum.reduce(unsigned, initial=0) >= count:  # the method takes twice as long
        raise IndexError("flat postings: a document or a code that is not there")


def _add_at(sums: Sums, docs: Integers, scores: Floats, codes: Integers) -> None:
    """Add the score of each posting, which its code chooses, to the sum of its document.

    The numbers must be sound: no one checks them here.
    """
    if coo_matvec is None:
        np.add.at(sums, docs, scores[codes])
    else:
        coo_matvec(len(docs), docs, codes, _ONES, scores, sums)


def best_rows(scores: Floats, k: int) -> npt.NDArray[np.intp]:
    """Return the k best documents, and documents tied with the last of them, unordered."""
    least = np.partition(scores, -k)[-k] if k < len(scores) else 0
    return np.flatnonzero((scores >= least) & ~np.signbit(scores))
