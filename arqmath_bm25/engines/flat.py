"""Searches flat postings (flat_build.py): the ranking of Lucene, bit for bit, without a JVM.

BM25Similarity's score of a term in a document is w - w / (1 + freq / norm), in 32 bits, with
w = weight · idf. The number in brackets depends on no query, so it is looked up by the posting's
code. Postings are scored in batches of tens of thousands, which fit into a processor's cache.

Scores begin at -0.0. Adding a weight that vanishes in 32 bits gives 0.0, so the sign shows whether
a document matches.

The files of a directory NAME.flat/, numbers little-endian:

* `ids.*`: the ids of the documents (core/id_table.py); `groups`: for each the group that shares
  fields with it, or the number of all groups;
* for each field FIELD.terms: the numbers of its terms, ascending (uint64); FIELD.starts: where the
  postings of each begin, and the number of all; FIELD.docs: for each posting the document, or the
  group if the field is shared; FIELD.codes: the row of FIELD.pairs; of a shared field FIELD.counts:
  how many documents have each term;
* FIELD.pairs: each combination of a term's frequency in a document and the byte in which Lucene
  stores the length of the field (int32). So k1 and b can be chosen when searching;
* `flat.json`: the version of this form, and the statistics of the fields;
* NAME.crc: checksums of each other file. Postings are tested when they are first read, the other
  files when they are opened (core/tested.py).

Numbers without a type here have as few bytes as the largest possible one needs (`smallest_kind`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arqmath_bm25.analysis.term_numbers import Numbers, term_numbers
from arqmath_bm25.core.arrays import Flags, Floats, lookup, smallest_kind
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.id_table import IdTable
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.tested import TestedNumbers, read_numbers
from arqmath_bm25.engines.engine import (
    Bm25,
    DocumentCounts,
    Query,
    Scores,
    Searcher,
    TermScores,
    TermsOfFields,
    best_first,
    best_hits,
    flat_directory,
)
from arqmath_bm25.engines.flat_build import FORM, META, Integers, lengths_of_bytes


def _find_coo_matvec() -> Callable[..., None] | None:
    """Return SciPy's product of a sparse matrix, which looks scores up while it adds them.

    It takes a third of the time of np.add.at. It is not public, so this is None if this SciPy has
    no such function. Its file is loaded alone: importing scipy.sparse takes longer than a search.
    """
    scipy: Any = find_spec("scipy")
    directories = [f"{path}/sparse" for path in scipy.submodule_search_locations]
    spec: Any = PathFinder.find_spec("_sparsetools", directories)
    if spec is None:
        return None

    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, "coo_matvec", None)


coo_matvec = _find_coo_matvec()
_TOGETHER = 1 << 15  # postings
# Several fields are searched for the same terms, so their numbers are computed once.
_numbers = lru_cache(4)(term_numbers)
_ONES = np.ones(2 * _TOGETHER)
_POSITIONS = np.arange(len(_ONES), dtype=np.int32)


class _Field(NamedTuple):
    """A field with its statistics for BM25."""

    shared: bool  # whether `docs` holds groups of documents
    documents: int  # with this field
    divisors: Scores  # of a weight, by code
    counts: Integers | None  # documents with each term; None if there are as many as postings
    rows: int  # number of documents, or of groups
    terms: Numbers
    starts: Integers
    docs: TestedNumbers
    codes: TestedNumbers
    is_tested: Flags  # for each term, whether its postings are


class FlatSearcher(Searcher):
    """Open flat postings. Thread-safe."""

    def __init__(self, index: Path, bm25: Bm25) -> None:
        """Open the flat postings of an index; InputError if they cannot be used."""
        directory = flat_directory(index)
        meta = json.loads((directory / META).read_text(encoding="utf-8"))
        if meta["form"] != FORM:
            raise InputError(f"{directory}: of another version; build the index again")

        self.ids = IdTable(directory / "ids")
        self.count = len(self.ids)
        self._group_count = meta["groups"]
        self._groups = read_numbers(directory / "groups", smallest_kind(self._group_count))

        self._fields = {}
        for name, statistics in meta["fields"].items():
            rows = self.count
            if statistics["shared"]:
                rows = self._group_count
            self._fields[name] = _open_field(directory / name, statistics, rows, *bm25.of(name))

    def search(self, query: Query, k: int) -> list[Hit]:
        """Return the k best documents that hold at least one of the terms."""
        scores = self.sums(query).astype(np.float32)
        best = best_rows(scores, k)
        ids = self.ids.of(best)
        return best_hits(ids, scores[best], k)

    def score(self, query: Query, doc_ids: Sequence[str]) -> list[Hit]:
        """Score given documents, best first; 0 for a document without any of the terms."""
        rows = self.ids.rows(doc_ids)
        scores = self.sums(query)[rows].tolist()
        return best_first(dict(zip(doc_ids, scores, strict=True)))

    def explain(self, query: Query, doc_ids: Sequence[str]) -> list[TermScores]:
        """Return the share of each term in the scores of documents."""
        explained: list[TermScores] = [{} for _ in doc_ids]
        docs = self.ids.rows(doc_ids).astype(np.int32)
        for name in query.keys() & self._fields.keys():
            field = self._fields[name]
            rows = docs
            if field.shared:
                rows = self._groups[docs].astype(np.int64)

            weighted = zip(*self._weighted(field, query[name]), strict=True)
            for term, weight, begin, end in weighted:
                offsets, is_match = lookup(field.docs.numbers[begin:end], rows)
                for number in np.flatnonzero(is_match).tolist():
                    code = field.codes.numbers[begin + offsets[number]]
                    scores = explained[number].setdefault(name, {})
                    scores[term] = float(weight - weight / field.divisors[code])
        return explained

    def document_counts(self, terms: TermsOfFields) -> DocumentCounts:
        """Return field → term → the number of documents that hold it, if any do."""
        counts = DocumentCounts()
        for name, of_field in terms.items():
            counts[name] = {}
            if name in self._fields:
                asked = list(of_field)
                numbers, rows = _find(self._fields[name], asked)
                found = zip(numbers, _counts(self._fields[name], rows).tolist(), strict=True)
                counts[name] = {asked[number]: count for number, count in sorted(found)}
        return counts

    def close(self) -> None:
        """Close the index."""

    def sums(self, query: Query) -> Floats:
        """Return the scores of all documents; -0.0 where no term occurs."""
        sums = np.full(self.count, -0.0)
        # The last sum is that of documents without a group.
        sums_of_groups = np.full(self._group_count + 1, -0.0)

        any_is_shared = False
        for name, terms in query.items():
            field = self._fields.get(name)
            if field is None or not terms:
                continue
            if field.shared:
                any_is_shared = True
                self._add(sums_of_groups, field, terms)
            else:
                self._add(sums, field, terms)

        if any_is_shared:
            sums += sums_of_groups.take(self._groups)
        return sums

    def _add(self, sums: Floats, field: _Field, terms: Mapping[str, float]) -> None:
        """Add the scores of a field's terms to every document or group."""
        _, weights, begins, ends = self._weighted(field, terms)
        lengths = ends - begins

        # For a term with many postings it pays to score all codes first.
        is_frequent = lengths > min(len(field.divisors), _TOGETHER)
        frequent = np.flatnonzero(is_frequent)
        rare = np.flatnonzero(~is_frequent)
        for begin, end, weight in zip(
            begins[frequent].tolist(), ends[frequent].tolist(), weights[frequent], strict=True
        ):
            scores = weight - weight / field.divisors
            for start in range(begin, end, _TOGETHER):
                batch = slice(start, min(start + _TOGETHER, end))
                _add_at(sums, field.docs.numbers[batch], scores, field.codes.numbers[batch])
        if not len(rare):
            return

        # Terms with few postings are scored in batches of many terms.
        lengths = lengths[rare]
        batches = np.cumsum(lengths) // _TOGETHER
        cuts = np.flatnonzero(batches[1:] > batches[:-1]) + 1
        for first, last in pairwise([0, *cuts.tolist(), len(rare)]):
            some = rare[first:last]
            spans = list(map(slice, begins[some].tolist(), ends[some].tolist()))
            docs = np.concatenate([field.docs.numbers[span] for span in spans])
            codes = np.concatenate([field.codes.numbers[span] for span in spans])

            repeated = weights[some].repeat(lengths[first:last])
            scores = repeated - repeated / field.divisors.take(codes)
            _add_at(sums, docs, scores, _POSITIONS[: len(docs)])

    def _weighted(
        self, field: _Field, terms: Mapping[str, float]
    ) -> tuple[list[str], Scores, Integers, Integers]:
        """Return the terms that a field has, their weights, and where their postings begin and end.

        Raises InputError for a weight that 32 bits cannot hold.
        """
        weighty = [term for term, weight in terms.items() if weight > 0]
        numbers, rows = _find(field, weighty)
        known_terms = [weighty[number] for number in numbers]

        # Weights are rounded as in the query that Lucene gets; many terms have the same.
        boosts = {}
        for weight in set(terms.values()):
            boosts[weight] = float(f"{weight:.9g}")

        counts = _counts(field, rows)
        idf = np.log(1 + (field.documents - counts + 0.5) / (counts + 0.5))
        weights = np.array([boosts[terms[term]] for term in known_terms], np.float32)
        weights *= idf.astype(np.float32)
        if not np.isfinite(weights).all():
            raise InputError(f"the weight of a term is too large: {max(terms.values())}")

        # The postings of terms that no query had before are tested.
        begins, ends = _bounds(field, rows)
        untested = np.flatnonzero(~field.is_tested[rows])
        if len(untested):
            sizes = ((field.docs, field.rows), (field.codes, len(field.divisors)))
            for file, size in sizes:
                file.test(begins[untested], ends[untested])
                for number in untested.tolist():
                    _check(file.numbers[begins[number] : ends[number]], size)
            field.is_tested[rows[untested]] = True
        return known_terms, weights, begins, ends


def _open_field(
    field: Path, statistics: Mapping[str, Any], rows: int, k1: float, b: float
) -> _Field:
    """Open the files that begin with the path of a field; InputError if they do not fit each other.

    `rows` is the number of documents, or of groups for a shared field.
    """
    pairs = read_numbers(Path(f"{field}.pairs"), "<i4").reshape(-1, 2)
    tokens = max(statistics["tokens"], 1)
    average = np.float32(tokens / max(statistics["documents"], 1))
    # 1 + freq / norm for every code, as BM25Similarity computes it in 32 bits.
    unit = np.float32(1)
    lengths = lengths_of_bytes().astype(np.float32)
    with np.errstate(divide="ignore"):  # k1 may be 0
        norms = np.float32(k1) * ((unit - np.float32(b)) + np.float32(b) * lengths / average)
        inverse = unit / norms
    divisors = unit + pairs[:, 0].astype(np.float32) * inverse[pairs[:, 1]]

    terms = read_numbers(Path(f"{field}.terms"), "<u8")
    docs = TestedNumbers(Path(f"{field}.docs"), smallest_kind(rows))
    codes = TestedNumbers(Path(f"{field}.codes"), smallest_kind(len(pairs)))
    postings = len(docs.numbers)
    starts = read_numbers(Path(f"{field}.starts"), smallest_kind(postings))
    if len(terms) != len(starts) - 1 or not postings == len(codes.numbers) == starts[-1]:
        raise InputError(f"{field.parent}: incomplete; build the index again")

    counts = None
    if statistics["shared"]:
        kind = smallest_kind(statistics["documents"])
        counts = read_numbers(Path(f"{field}.counts"), kind)

    return _Field(
        shared=statistics["shared"],
        documents=statistics["documents"],
        divisors=divisors,
        counts=counts,
        rows=rows,
        terms=terms,
        starts=starts,
        docs=docs,
        codes=codes,
        is_tested=np.zeros(len(terms), np.bool_),
    )


def _find(field: _Field, terms: Sequence[str]) -> tuple[list[int], Integers]:
    """Return which of the terms a field has, by their position, and their rows in the field."""
    if not len(field.terms):
        return [], np.empty(0, np.intp)

    numbers = _numbers(tuple(terms))
    rows, is_known = lookup(field.terms, numbers)
    known = np.flatnonzero(is_known)
    known = known[np.argsort(rows[known])]
    return known.tolist(), rows[known]


def _counts(field: _Field, rows: Integers) -> Integers:
    """Return how many documents have each term."""
    if field.counts is not None:
        return field.counts[rows].astype(np.int64)

    begins, ends = _bounds(field, rows)
    return ends - begins


def _bounds(field: _Field, rows: Integers) -> tuple[Integers, Integers]:
    """Return where the postings of each term begin, and where they end."""
    begins = field.starts[rows].astype(np.int64)
    ends = field.starts[rows + 1].astype(np.int64)
    return begins, ends


def _check(numbers: Integers, count: int) -> None:
    """Raise IndexError if a number is not below a count: somebody else may have made the file."""
    unsigned = numbers.view(f"u{numbers.itemsize}")  # A negative number becomes too large.
    largest = np.maximum.reduce(unsigned, initial=0)  # The method `max` takes twice as long.
    if largest >= count:
        raise IndexError("flat postings: a document or a code that is not there")


def _add_at(sums: Floats, docs: Integers, scores: Scores, codes: Integers) -> None:
    """Add the score of each posting, which its code chooses, to the sum of its document.

    The numbers must be sound: they are not checked here.
    """
    if coo_matvec is None:
        np.add.at(sums, docs, scores[codes])
    else:
        coo_matvec(len(docs), docs, codes, _ONES, scores, sums)


def best_rows(scores: Scores, k: int) -> npt.NDArray[np.intp]:
    """Return the k best documents, and documents tied with the last of them, unordered."""
    least = np.float32(0)
    if k < len(scores):
        least = np.partition(scores, -k)[-k]

    is_match = ~np.signbit(scores)
    return np.flatnonzero((scores >= least) & is_match)
