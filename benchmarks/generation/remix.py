"""A larger collection out of a given one: its own posts and, around them, invented threads.

An invented thread has the tags and the lengths of a thread of the collection. Its sentences come
from the threads that share one of these tags, and `noise` of its words and formulas from a second
such draw. Threads with an answer that is judged relevant in part (grade 1) or more give nothing, so
that nothing invented answers a topic. Links join threads at random that share a tag. The same
collection, size and seed give the same files.
"""

from __future__ import annotations

import random
from collections import defaultdict
from html import escape
from itertools import chain, count
from typing import TYPE_CHECKING, Final, NamedTuple

from arqmath_bm25.analysis.html import read_body, read_title

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TextIO

    from arqmath_bm25.analysis.html import Content
    from arqmath_bm25.collection.collection import Collection

Sentence = list[str]  # words, and formulas as the HTML that they are in posts
_DUPLICATES: Final = 0.23  # of the links of the real subset


class Source(NamedTuple):
    """A thread in sentences: those of the title are one."""

    tags: tuple[str, ...]
    title: Sentence
    question: list[Sentence]
    answers: list[list[Sentence]]


def write_remix(
    collection: Collection, out: Path, answers: int, relevant: set[str],
    seed: int, noise: float, links: float,
) -> None:  # fmt: skip
    """Write the posts and links of a collection of `answers` answers; `out` must not be there.

    `relevant` are the answers whose threads give nothing; `links` is their number for each thread.
    """
    (out / "Collection").mkdir(parents=True)
    (out / "Topics").symlink_to((collection.layout.data / "Topics").resolve())
    table, layout = collection.site.scan(), collection.layout
    sources = [
        Source(
            thread.question.tags,
            list(chain.from_iterable(sentences(read_title(thread.question.title or "")))),
            sentences(read_body(thread.question.body)),
            [sentences(read_body(answer.body)) for answer in thread.answers],
        )
        for thread in table.threads()
        if thread.question and not relevant & {answer.post_id for answer in thread.answers}
    ]  # fmt: skip
    remixer = _Remixer(sources, random.Random(seed), noise)
    threads = defaultdict[str, list[int]](list)  # by tag
    for thread in table.threads():
        for tag in thread.question.tags if thread.question else ():
            threads[tag].append(int(thread.question.post_id))  # type: ignore[union-attr]
    numbers = count(int(table.ids.max()) + 1)
    made = table.answer_count
    with (out / "Collection" / layout.posts().name).open("w", encoding="utf-8") as file:
        file.write(layout.posts().read_text(encoding="utf-8").rpartition("</posts>")[0])
        while made < answers:
            number = next(numbers)
            tags, rows = remixer.thread(number, numbers)
            made += len(rows) - 1
            file.writelines(rows)
            for tag in tags:
                threads[tag].append(number)
        file.write("</posts>\n")
    links_file = layout.posts().parent / layout.posts().name.replace("Posts", "PostLinks")
    with (out / "Collection" / links_file.name).open("w", encoding="utf-8") as file:
        file.write(links_file.read_text(encoding="utf-8").rpartition("</postlinks>")[0])
        _write_links(file, threads, links, remixer.random)
        file.write("</postlinks>\n")


def sentences(content: Content) -> list[Sentence]:
    """Cut a text after words that end in a stop, a question mark or an exclamation mark."""
    cut: list[Sentence] = [[]]
    for piece in content.pieces:
        if isinstance(piece, str):
            for word in piece.split():
                cut[-1].append(escape(word))
                if word[-1] in ".?!":
                    cut.append([])
        else:
            cut[-1].append(f'<span class="math-container">{escape(piece.latex)}</span>')
    return [sentence for sentence in cut if sentence]


class _Remixer:
    def __init__(self, sources: Sequence[Source], chance: random.Random, noise: float) -> None:
        self.random, self._noise = chance, noise
        self._sources = [source for source in sources if source.tags]
        self._answered = [source for source in self._sources if source.answers]
        self._by_tag = defaultdict[str, list[Source]](list)
        for source in self._sources:
            for tag in source.tags:
                self._by_tag[tag].append(source)

    def thread(self, number: int, numbers: count[int]) -> tuple[tuple[str, ...], list[str]]:
        """Return the tags of a new thread, and its rows: a question and its answers."""
        form = self.random.choice(self._answered)
        own, other = self._pool(form), self._pool(self.random.choice(self._sources))
        tags = "".join(f"<{tag}>" for tag in form.tags)
        title = self._mixed(1, own, other, lambda source: [source.title])
        body = self._mixed(len(form.question), own, other, lambda source: source.question)
        rows = [
            f'   <row Id="{number}" PostTypeId="1" Title="{escape(title)}" '
            f'Body="{escape(f"<p>{body}</p>")}" Tags="{escape(tags)}"/>\n'
        ]
        for answer in form.answers:
            body = self._mixed(len(answer), own, other, _of_answers)
            rows.append(
                f'   <row Id="{next(numbers)}" PostTypeId="2" ParentId="{number}" '
                f'Body="{escape(f"<p>{body}</p>")}"/>\n'
            )
        return form.tags, rows

    def _pool(self, source: Source) -> list[Source]:
        return self._by_tag[self.random.choice(source.tags)]

    def _mixed(
        self, length: int, own: list[Source], other: list[Source],
        part: Callable[[Source], list[Sentence]],
    ) -> str:  # fmt: skip
        """Return a text of some sentences, with noise."""
        words = self._draw(length, own, part)
        noise = self._draw(length, other, part)
        mixed = [
            noise[place] if place < len(noise) and self.random.random() < self._noise else word
            for place, word in enumerate(words)
        ]
        return " ".join(mixed)

    def _draw(
        self, length: int, pool: list[Source], part: Callable[[Source], list[Sentence]]
    ) -> Sentence:
        words: Sentence = []
        for _ in range(length):
            if found := part(self.random.choice(pool)):
                words += self.random.choice(found)
        return words


def _of_answers(source: Source) -> list[Sentence]:
    return [sentence for answer in source.answers for sentence in answer]


def _write_links(
    file: TextIO, threads: dict[str, list[int]], links: float, chance: random.Random
) -> None:
    """Join threads with a common tag, so that each has `links` links on average."""
    everyone = sorted({number for numbers in threads.values() for number in numbers})
    tags = defaultdict[int, list[str]](list)
    for tag, numbers in threads.items():
        for number in numbers:
            tags[number].append(tag)
    for _ in range(round(links * len(everyone) / 2)):
        one = chance.choice(everyone)
        other = chance.choice(threads[chance.choice(tags[one])])
        kind = 3 if chance.random() < _DUPLICATES else 1
        file.write(f'   <row PostId="{one}" RelatedPostId="{other}" LinkTypeId="{kind}"/>\n')
