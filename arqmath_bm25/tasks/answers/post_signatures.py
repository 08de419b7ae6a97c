"""What the formulas of posts are like: their signatures (`formula_similarity`) beside an index.

Each part of the documents leaves those of its posts in a file of its own. They are put together in
the order of the table of posts, each distinct signature once, and mapped into memory where they are
used. The idf of terms is counted in distinct signatures: all of them, or of a large collection the
share whose hashes are multiples of a number, so that memory stays flat.
"""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from arqmath_bm25.analysis.formula_similarity import FormulaIdf, Formulas, norms, signatures
from arqmath_bm25.analysis.term_numbers import Trees, mixed
from arqmath_bm25.analysis.terms import FormulaTree
from arqmath_bm25.core.arrays import Numbering, load_array, new_array, ranges

Rows = NDArray[np.int64]  # of posts, in their table; -1 of none

SIGNATURES: Final = "signatures"  # the directory in that of an index
_COUNTED: Final = 1 << 20  # distinct signatures that idf is counted in


class PartSignatures:
    """Collects the formulas of some posts, in the order of their table, for their signatures."""

    def __init__(self) -> None:
        self.trees = Trees()  # which others may add to
        # Where the formulas of each post begin, where those of its title end, and the others.
        self._ends = array("q")

    def add(self, body: Sequence[FormulaTree] = (), title: Sequence[FormulaTree] = ()) -> None:
        """Add the trees of the next post, or none if no ranking reads its formulas."""
        begin = self.trees.added
        self.trees.add(title)
        end_of_title = self.trees.added
        self.trees.add(body)
        self._ends.extend((begin, end_of_title, self.trees.added))

    def save(self, path: Path) -> None:
        """Write the signatures of the distinct formulas for `write_signatures`."""
        begins, titles, ends_of_posts = np.frombuffer(self._ends, np.int64).reshape(-1, 3).T
        lengths = ends_of_posts - begins
        posts = np.cumsum(lengths)
        terms, ends = signatures(self.trees)
        starts = np.concatenate(([0], ends))
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed(terms.astype(np.uint64)))))
        np.savez(
            path,
            terms=terms,
            starts=starts,
            hashes=mixed(np.diff(sums[starts])),
            formulas=self.trees.members[ranges(begins, lengths)],
            posts=posts,
            titles=posts - ends_of_posts + titles,
        )


def write_signatures(parts: Path, directory: Path) -> None:
    """Merge the signatures of all parts, each once, and compute their idf."""
    files = sorted(parts.glob("*.npz"))
    numbering = Numbering()
    numbers, new = [], []  # of each part: the numbers of its signatures, and which come first here
    sizes = dict.fromkeys(("terms", "signatures", "formulas", "posts"), 0)
    for part in _read(files):
        of_part, is_new = numbering.add(part["hashes"])
        numbers.append(of_part)
        new.append(np.flatnonzero(is_new))
        sizes["terms"] += int(np.diff(part["starts"])[is_new].sum())
        sizes["signatures"] += len(new[-1])
        sizes["formulas"] += len(part["formulas"])
        sizes["posts"] += len(part["posts"])
    directory.mkdir()
    idf = _idf(files, new, share=1 + sizes["signatures"] // _COUNTED)
    np.savez(directory / "idf.npz", **idf._asdict())

    def column(name: str, kind: type, size: int) -> NDArray[Any]:
        return new_array(directory / f"{name}.npy", kind, (size,))

    terms = column("terms", np.uint32, sizes["terms"])
    starts = column("starts", np.int64, sizes["signatures"] + 1)
    lengths = column("norms", np.float32, sizes["signatures"])
    formulas = column("formulas", np.int32, sizes["formulas"])
    posts = column("posts", np.int64, sizes["posts"] + 1)
    titles = column("titles", np.int64, sizes["posts"])
    term = signature = formula = post = 0
    for part, of_part, rows in zip(_read(files), numbers, new, strict=True):
        signed, ends = _chosen(part, rows)
        terms[term : term + len(signed)] = signed
        starts[signature : signature + len(ends)] = term + ends
        lengths[signature : signature + len(rows)] = norms(signed, ends, idf)
        formulas[formula : formula + len(part["formulas"])] = of_part[part["formulas"]]
        posts[post + 1 : post + 1 + len(part["posts"])] = formula + part["posts"]
        titles[post : post + len(part["titles"])] = formula + part["titles"]
        term, signature = term + len(signed), signature + len(rows)
        formula, post = formula + len(part["formulas"]), post + len(part["posts"])


def _idf(files: Sequence[Path], new: Sequence[Rows], share: int) -> FormulaIdf:
    """Count document frequencies over the distinct signatures of all parts, or a share of them."""
    counted, signatures_counted = [np.empty(0, np.uint32)], 0
    for part, rows in zip(_read(files), new, strict=True):
        of_share = rows[part["hashes"][rows] % np.uint64(share) == 0]
        counted.append(_chosen(part, of_share)[0])
        signatures_counted += len(of_share)
    return FormulaIdf.of(np.concatenate(counted), signatures_counted)


def _chosen(
    part: dict[str, NDArray[Any]], rows: Rows
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the terms of some signatures of a part, with the offset of each and the end."""
    starts = part["starts"]
    lengths = starts[rows + 1] - starts[rows]
    terms = part["terms"][ranges(starts[rows], lengths)]
    return terms, np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))


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
