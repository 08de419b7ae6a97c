"""The files of a generated collection, in the official layout and formats."""

from __future__ import annotations

import re
from html import escape, unescape
from itertools import count
from typing import IO, TYPE_CHECKING, Final

import numpy as np

from arqmath_bm25.collection.formulas import COLUMNS
from arqmath_bm25.collection.published import official
from generation.formulas import mathml
from generation.measured import NO_MATHML
from generation.posts import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from generation.posts import Batch, FormulaRows, Question

_THREADS: Final = 500  # of a batch: 2 MB of posts
_TOPICS: Final = 100
_ROWS_PER_FILE: Final = 280_000  # as in the official files
_DUPLICATES: Final = 8  # one link in so many is of type 3
_DECLARATION: Final = '<?xml version="1.0" ?>\n'
_SPAN: Final = re.compile(r"id=&quot;\d+&quot;&gt;(.*?)&lt;/span&gt;")
_LONGEST: Final = 60  # characters of a formula that is a topic


def write_collection(
    directory: Path, size: int, seed: int, slt: bool, advance: Callable[[int], None]
) -> None:
    """Write a collection whose posts have `size` bytes (or up to 1 % and a batch more).

    `advance` is called with the number of bytes of posts that each step wrote.
    """
    threads = Threads(seed)
    representations = ("latex", "slt") if slt else ("latex",)
    dumps = directory / "Collection"
    dumps.mkdir(parents=True, exist_ok=True)
    with (
        (dumps / "Posts.V1.3.xml").open("w", encoding="utf-8", newline="\n") as posts,
        (dumps / "PostLinks.V1.3.xml").open("w", encoding="utf-8", newline="\n") as links,
        _FormulaFiles(directory / "Formulas", representations, seed) as formulas,
    ):
        posts.write(f"{_DECLARATION}<posts>\n")
        links.write(f"{_DECLARATION}<postlinks>\n")
        written = number = 0
        while written < size:
            batch = threads.batch(_THREADS)
            rows = "".join(batch.posts)
            posts.write(rows)
            formulas.write(batch.formulas)
            number = _write_links(links, batch, number)
            written += len(rows)
            advance(len(rows))
        posts.write("</posts>\n")
        links.write("</postlinks>\n")
    _write_topics(directory, threads.batch(_THREADS).questions)


def _write_links(file: IO[str], batch: Batch, number: int) -> int:
    for one, other in batch.links:
        number += 1
        kind = 1 if number % _DUPLICATES else 3
        file.write(
            f'   <row Id="{number}" CreationDate="2018-12-31T00:00:00.000" PostId="{one}" '
            f'RelatedPostId="{other}" LinkTypeId="{kind}"/>\n'
        )
    return number


class _FormulaFiles:
    """The numbered TSV files of one or more representations, row by row alike."""

    def __init__(self, directory: Path, representations: Iterable[str], seed: int) -> None:
        self._directories = {
            name: directory / f"{name}_representation_v3" for name in representations
        }
        for path in self._directories.values():
            path.mkdir(parents=True)
        self._random = np.random.default_rng([seed, 1])
        self._files: dict[str, IO[str]] = {}
        self._number = 0
        self._room = 0

    def __enter__(self) -> _FormulaFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def write(self, rows: FormulaRows) -> None:
        """Write the formulas of a batch."""
        if not self._room:
            self._open_next()
        columns = list(rows[:8])
        begins = ["\t".join(map(str, values)) for values in zip(*columns, strict=True)]
        for name, file in self._files.items():
            formulas = rows.latex if name == "latex" else self._mathml(rows)
            lines = [
                f"{begin}\t{_field(formula)}\r\n"
                for begin, formula in zip(begins, formulas, strict=True)
            ]
            file.write("".join(lines))
        self._room = max(0, self._room - len(begins))

    def _mathml(self, rows: FormulaRows) -> list[str]:
        formulas = mathml(rows.number, rows.latex)
        for index in np.flatnonzero(self._random.random(len(formulas)) < NO_MATHML).tolist():
            formulas[index] = ""
        return formulas

    def _open_next(self) -> None:
        self.__exit__()
        self._number += 1
        self._room = _ROWS_PER_FILE
        for name, directory in self._directories.items():
            path = directory / f"{self._number}.tsv"
            self._files[name] = path.open("w", encoding="utf-8", newline="")
            self._files[name].write("\t".join(COLUMNS["v3"]) + "\r\n")


def _field(text: str) -> str:
    """Quote a field as the csv module does."""
    if '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _write_topics(directory: Path, questions: Iterable[Question]) -> None:
    """Write the topics of 2022 for Task 1 and Task 2: questions that are no posts."""
    plain: list[str] = []
    formulas: list[str] = []
    next_id = 1
    for question in questions:
        if len(plain) == _TOPICS:
            break
        found = [unescape(unescape(latex)) for latex in _SPAN.findall(question.body)]
        candidates = [latex for latex in found if 0 < len(latex) <= _LONGEST]
        if not candidates:
            continue
        title, next_body_id = _as_topic(question.title, next_id)
        body, following_id = _as_topic(question.body, next_body_id)
        chosen = max(candidates, key=len)
        formula_id = next_body_id + found.index(chosen)
        next_id = following_id
        common = (
            f"      <Title>{title}</Title>\n      <Question>{body}</Question>\n"
            f"      <Tags>{','.join(question.tags)}</Tags>\n   </Topic>\n"
        )
        number = 301 + len(plain)
        plain.append(f'   <Topic number="A.{number}">\n{common}')
        formulas.append(
            f'   <Topic number="B.{number}">\n      <Formula_Id>q_{formula_id}</Formula_Id>\n'
            f"      <Latex>{escape(chosen, quote=False)}</Latex>\n{common}"
        )
    for path, topics in (
        (official("topics", "task1")["2022"], plain),
        (official("topics", "task2")["2022"], formulas),
    ):
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = f"{_DECLARATION}<Topics>\n{''.join(topics)}</Topics>\n"
        target.write_text(text, encoding="utf-8", newline="\n")


def _as_topic(text: str, next_id: int) -> tuple[str, int]:
    """Number the formulas of a text from `next_id` on and put them between dollars."""
    ids = count(next_id)
    numbered = _SPAN.sub(
        lambda span: f"id=&quot;q_{next(ids)}&quot;&gt;${span[1]}$&lt;/span&gt;", text
    )
    return numbered, next(ids)
