"""What the formulas of posts are like: their signatures (`formula_similarity`) beside an index.

Each part of the documents leaves those of its posts in a file of its own; these are put one behind
the other, in the order of the table of posts, and mapped into memory where they are used. The idf
of terms is counted in distinct formulas: all of them, or of a large collection the share whose
checksums are multiples of a number, so that memory stays flat.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import numpy as np

from arqmath_bm25.analysis.formula_similarity import FormulaIdf, Formulas, norms, signatures
from arqmath_bm25.analysis.term_numbers import Trees
from arqmath_bm25.core.arrays import load_array, new_array, ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.terms import FormulaTree

    Rows = NDArray[np.int64]  # of posts, in their table; -1 of none

SIGNATURES: Final = "signatures"  # the directory in that of an index
_COUNTED: Final = 1 << 20  # distinct formulas of parts that idf is counted in


class PartSignatures:
    """Collects the formulas of some posts, in the order of their table, for their signatures."""

    def __init__(self) -> None:
        self._trees = Trees()
        self._formulas: list[int] = []  # by these numbers
        self._ends: list[int] = []  # of the formulas of each post
        self._titles: list[int] = []  # of the formulas of its title, which come first

    def add(self, body: Sequence[FormulaTree] = (), title: Sequence[FormulaTree] = ()) -> None:
        """Add the trees of the next post; one that is never looked at has none."""
        self._formulas += map(self._trees.number, title)
        self._titles.append(len(self._formulas))
        self._formulas += map(self._trees.number, body)
        self._ends.append(len(self._formulas))

    def save(self, path: Path) -> None:
        """Write the signatures of the distinct formulas for `write_signatures`."""
        terms, ends = signatures(self._trees)
        cuts = pairwise([0, *ends.tolist()])
        np.savez(
            path,
            terms=terms,
            ends=ends,
            checks=np.array([crc32(terms[cut[0] : cut[1]].tobytes()) for cut in cuts], np.uint32),
            formulas=np.array(self._formulas, np.int64),
            posts=np.array(self._ends, np.int64),
            titles=np.array(self._titles, np.int64),
        )


def write_signatures(parts: Path, directory: Path) -> None:
    """Put the signatures of all parts together, with their idf."""
    files = sorted(parts.glob("*.npz"))
    sizes = Counter[str]()
    for part in _read(files):
        sizes.update({name: len(part[name]) for name in ("terms", "ends", "formulas", "posts")})
    directory.mkdir()
    idf = _idf(files, share=1 + sizes["ends"] // _COUNTED)
    np.savez(directory / "idf.npz", **idf._asdict())

    def column(name: str, kind: type, size: int) -> NDArray[Any]:
        return new_array(directory / f"{name}.npy", kind, (size,))

    terms = column("terms", np.uint32, sizes["terms"])
    starts = column("starts", np.int64, sizes["ends"] + 1)
    lengths = column("norms", np.float32, sizes["ends"])
    formulas = column("formulas", np.int32, sizes["formulas"])
    posts = column("posts", np.int64, sizes["posts"] + 1)
    titles = column("titles", np.int64, sizes["posts"])
    done = Counter[str]()
    for part in _read(files):
        term, signature, formula, post = (done[name] for name in sizes)
        terms[term : term + len(part["terms"])] = part["terms"]
        of_part = np.concatenate(([0], part["ends"]))
        starts[signature : signature + len(of_part)] = term + of_part
        lengths[signature : signature + len(part["ends"])] = norms(part["terms"], of_part, idf)
        formulas[formula : formula + len(part["formulas"])] = signature + part["formulas"]
        posts[post + 1 : post + 1 + len(part["posts"])] = formula + part["posts"]
        titles[post : post + len(part["titles"])] = formula + part["titles"]
        done.update({name: len(part[name]) for name in sizes})


def _idf(files: Sequence[Path], share: int) -> FormulaIdf:
    """Count terms in the distinct formulas of all parts, or in a share of them."""
    counted, seen = [np.empty(0, np.uint32)], np.empty(0, np.uint32)
    for part in _read(files):
        starts = np.concatenate(([0], part["ends"]))
        checks, first = np.unique(part["checks"], return_index=True)
        new = (checks % share == 0) & ~np.isin(checks, seen)
        seen = np.concatenate((seen, checks[new]))
        chosen = np.sort(first[new])
        counted.append(part["terms"][ranges(starts[chosen], starts[chosen + 1] - starts[chosen])])
    return FormulaIdf.of(np.concatenate(counted), len(seen))


def _read(files: Sequence[Path]) -> Iterator[dict[str, NDArray[Any]]]:
    for file in files:
        with np.load(file, allow_pickle=False) as part:
            yield dict(part)


class PostSignatures:
    """The signatures of all posts, as `write_signatures` wrote them. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        names = ("terms", "starts", "norms", "formulas", "posts", "titles")
        self._terms, self._starts, self._norms, self._formulas, self._posts, self._titles = (
            load_array(directory / f"{name}.npy") for name in names
        )
        with np.load(directory / "idf.npz", allow_pickle=False) as idf:
            self.idf = FormulaIdf(**idf)

    def of(
        self, posts: Rows, titles: Rows
    ) -> tuple[Formulas, NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct formulas of posts and of titles.

        Also the number of each one that posts, then titles, hold; and where those of each start.
        """
        begins = np.concatenate((self._posts[posts], self._posts[titles]))
        ends = np.concatenate((self._posts[posts + 1], self._titles[titles]))
        ends[np.concatenate((posts, titles)) < 0] = 0
        lengths = np.maximum(ends - begins, 0)
        formulas, numbers = np.unique(self._formulas[ranges(begins, lengths)], return_inverse=True)
        first, last = self._starts[formulas], self._starts[formulas + 1]
        distinct = Formulas(
            self._terms[ranges(first, last - first)],
            np.concatenate(([0], np.cumsum(last - first))),
            self._norms[formulas],
        )
        return distinct, numbers, np.concatenate(([0], np.cumsum(lengths)))
