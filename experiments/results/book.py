"""The book of results, configs/expected/*.yaml: tables whose rows are runs and what they score.

A row with a `variant` is made by this program; the others are other people's, with their `source`.
One file is about one collection, which is known by the content of some of its files; the file that
names none is about the official collection. All numbers of README and docs/RESULTS.md stand here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from arqmath_bm25.core.configuration import Settings, default_config, load
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RunTask
from arqmath_bm25.core.writing import sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arqmath_bm25.collection.collection import CollectionFiles

Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]  # part of names of files


class Row(Settings):
    """A run of each set of topics, and its scores."""

    name: str  # Markdown
    variant: str = ""
    config: str = ""  # the configuration, a file below configs/; by default that of the task
    change: dict[str, Any] = Field({})  # of it: a.b → the value of the key b of a
    learns: bool = False  # from the judgments of the other queries, as what these refer to
    scores: dict[str, tuple[float | None, ...]] = Field(
        {}
    )  # set → values in the order of the measures
    source: str = ""
    main: bool = False  # shown in README


class Table(Settings):
    """Runs of one task, scored alike."""

    title: str
    task: RunTask
    # Set (a year, `dev`, or `queries`) → its judgments, a file in DATA of which the topics count
    # that have something relevant; without a file the official ones, all topics of them.
    sets: dict[Key, str | None]
    topics: dict[str, int] = Field({})  # set → how many topics are judged
    size: str = ""  # of the collection, where the table stands beside one of another size
    measures: dict[str, str]  # name in `eval --json` → name in tables
    eval: tuple[str, ...] = ()  # further options of eval
    note: str = ""
    rows: dict[Key, Row]

    @model_validator(mode="after")
    def _fits(self) -> Table:
        for key, row in self.rows.items():
            for name, values in row.scores.items():
                if name not in self.sets or len(values) > len(self.measures):
                    raise ValueError(
                        f"rows.{key}.scores.{name}: expected one of {', '.join(self.sets)} with "
                        f"at most {len(self.measures)} values ({', '.join(self.measures)})"
                    )
        return self


class Book(Settings):
    """Tables about one collection."""

    collection: str
    known_by: dict[str, str] = Field({})  # file in DATA → SHA-256
    note: str = ""
    tables: dict[Key, Table]


def books() -> Iterator[Book]:
    """Read all books, in the order of their names."""
    for path in sorted(default_config("expected/*").parent.glob("*.yaml")):
        yield load(Book, path)


def book_of(collection: CollectionFiles) -> Book:
    """Return the book about a collection; that of the official one if there is no other."""

    def knows(book: Book) -> bool:
        paths = [collection.layout.data / name for name in book.known_by]
        if not paths or not all(path.is_file() for path in paths):
            return False
        return [one.sha256 for one in sources(paths)] == list(book.known_by.values())

    found = [*filter(knows, books()), *(book for book in books() if not book.known_by)]
    if not found:
        raise InputError(f"{collection.layout.data}: no book of results is about this")
    return found[0]
