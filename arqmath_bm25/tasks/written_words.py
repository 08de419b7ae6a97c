"""The words of an index as its documents spell them, to complete and to correct queries.

An index of the user's own documents keeps them, one of answers if its configuration says `words`.
An engine has stems only, some as numbers. So the file `words` of a store has a line for each word,
in order: the word as `words_in` folds it, a TAB, and the number of documents that have it.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from arqmath_bm25.analysis.html import Content
from arqmath_bm25.analysis.text import STOP_WORDS, WordAnalyzer, words_in
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.core.tested import read_bytes, write_checksums
from arqmath_bm25.engines.engine import Searcher
from arqmath_bm25.tasks.document_parts import WORDS
from arqmath_bm25.tasks.settings import kind

FILE = "words"
_TYPED = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+\Z")
_COMPLETIONS = 8  # the most frequent words that one begins
_LEAST = 4  # letters of a word that may be meant as another one
_LONG = 8  # letters of a word that may have two wrong ones


def write_words(counts: Counter[str], directory: Path) -> None:
    """Write the words that are searched for, with the number of documents that have them.

    The directory has the counts of its parts, and `counts` are of other documents.
    """
    for file in (directory / DOCUMENTS).glob(f"*{WORDS}"):
        counts.update(json.loads(file.read_bytes()))

    counts = +counts
    path = directory / FILE
    words = sorted(word for word in counts.keys() - STOP_WORDS if not word.isdecimal())
    path.write_text("".join(f"{word}\t{counts[word]}\n" for word in words), encoding="utf-8")
    write_checksums(path)


def read_counts(directory: Path) -> dict[str, int]:
    """Return the words of a store; NoIndexError if they are not as written."""
    lines = read_bytes(directory / FILE).tobytes().decode().splitlines()
    return {word: int(count) for word, count in (line.split("\t") for line in lines)}


class WrittenWords:
    """The words of an index."""

    def __init__(
        self, directory: Path, searcher: Searcher, fields: Iterable[str], analyze: WordAnalyzer
    ) -> None:
        """Read the words of a store and its `fields`; NoIndexError if they are not as written."""
        self._lines = "\n" + read_bytes(directory / FILE).tobytes().decode()
        self._searcher = searcher
        self._fields = [field for field in fields if kind(field) == "text"]
        self._analyze = analyze

    def completed(self, text: str, content: Content) -> str:
        """Return a query with the words that its last word begins, unless a formula is open."""
        last = _TYPED.search(text)
        ends_in_prose = content.pieces and isinstance(content.pieces[-1], str)
        if last is None or not ends_in_prose or text.count("$") % 2:
            return text
        (word, *_) = words_in(last[0])
        ranked = sorted(self._beginning(word), key=lambda entry: (-entry[1], entry[0]))
        return " ".join([text, *(found for found, _ in ranked[:_COMPLETIONS] if found != word)])

    def suggested(self, text: str, content: Content) -> str:
        """Return a query with its unknown words replaced by known ones; "" if nothing changes."""
        better = text
        for word in dict.fromkeys(words_in(content.prose)):
            if len(word) < _LEAST or word.isdecimal():
                continue
            # A word is known if a document has one of its forms, or it is never searched for.
            stems = self._analyze(word)
            counts = self._searcher.document_counts(dict.fromkeys(self._fields, stems))
            if not stems or any(any(of_field.values()) for of_field in counts.values()):
                continue
            meant = self._meant(word)
            if meant:
                better = re.sub(rf"(?<!\w){word}(?!\w)", meant, better, flags=re.IGNORECASE)
        if better == text:
            return ""
        return better

    def _meant(self, word: str) -> str:
        """Return the nearest word of the documents, else a longer one, else a beginning of it."""
        edits = 1
        if len(word) >= _LONG:
            edits = 2
        near = []
        for other, count in self._sharing_a_piece(word, edits):
            distance = _distance(word, other)
            if distance <= edits:
                near.append((distance, other[0] != word[0], -count, other))
        if near:
            return min(near)[-1]

        longer = [(-count, other) for other, count in self._beginning(word)]
        if longer:
            return min(longer)[-1]
        for length in range(len(word) - 1, _LEAST, -1):
            if f"\n{word[:length]}\t" in self._lines:
                return word[:length]
        return ""

    def _beginning(self, start: str) -> Iterator[tuple[str, int]]:
        """Yield the words that begin so, with their numbers of documents."""
        line = re.compile(rf"\n({start}[^\t]*)\t([0-9]+)")
        found = line.match(self._lines, self._lines.find(f"\n{start}"))
        while found:
            yield found[1], int(found[2])
            found = line.match(self._lines, found.end())

    def _sharing_a_piece(self, word: str, edits: int) -> Collection[tuple[str, int]]:
        """Return the words within some edits, and others: each has a piece of the word in place.

        Of edits + 2 pieces one is whole, as two neighbours that change their places spoil two.
        """
        found = {}
        pieces = edits + 2
        for number in range(pieces):
            begin = number * len(word) // pieces
            piece = word[begin : (number + 1) * len(word) // pieces]
            for match in re.finditer(piece, self._lines):
                start = self._lines.rindex("\n", 0, match.start()) + 1
                if abs(match.start() - start - begin) > edits:
                    continue
                other, count = self._lines[start : self._lines.index("\n", start)].split("\t")
                # An edit adds a letter to the word, takes one away, or both.
                if len(set(word) ^ set(other)) <= 2 * edits:
                    found[other] = int(count)
        return found.items()


def _distance(word: str, other: str) -> int:
    """Return the edits between two words: letters changed, added, left out, two that change places.

    This is the optimal string alignment distance (Damerau 1964).
    """
    rows = [list(range(len(other) + 1))]
    for number, letter in enumerate(word, 1):
        last = rows[-1]
        row = [number]
        for place, theirs in enumerate(other, 1):
            edits = min(row[-1] + 1, last[place] + 1, last[place - 1] + (letter != theirs))
            swapped = word[number - 2 : number] == other[place - 2 : place][::-1]
            if swapped and number > 1 and place > 1:
                edits = min(edits, rows[-2][place - 2] + 1)
            row.append(edits)
        rows.append(row)
    return rows[-1][-1]
