"""A larger collection out of a given one: its own posts and, around them, invented threads.

An invented thread has the tags and the lengths of a thread of the collection. Its sentences come
from the threads that share one of these tags, and `noise` of its words and formulas from a second
such draw. Threads with an answer that is judged relevant in part (grade 1) or more give nothing, so
that nothing invented answers a topic. Links join threads at random that share a tag. The same
collection, size and seed give the same files.

Where formulas are to be searched, each of an invented thread is an instance with a row in a formula
file. `noise` of those that a relation or a sum cuts in two get the end of another formula of the
thread: a formula of its own, near real ones as real ones are to each other.
"""

from __future__ import annotations

import csv
import random
import re
from collections import defaultdict
from html import escape, unescape
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.collection.formulas import COLUMNS, formula_files, read_formulas
from arqmath_bm25.core.errors import InputError
from experiments.judged import judged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from arqmath_bm25.analysis.html import Content
    from arqmath_bm25.collection.collection import CollectionFiles

# Folders of topics and judgments.
_SHARED: Final = ("Topics", "Evaluation", "Assessments", "qrels_lite")
Sentence = list[str]  # words, and formulas as the HTML that they are in posts
LINKS: Final = 2.5  # of a thread, as in the whole collection
JUDGE: Final = 30_000  # answers of a remix in which settings of Task 1 are compared
_DUPLICATES: Final = 0.23  # of the links of the real subset
_SPAN: Final = re.compile(r'<span class="math-container"(?: id="(\w+)")?>(.*?)</span>')
_TOKEN: Final = re.compile(r"\\(?:[A-Za-z]+|.)|.", re.DOTALL)
_OPENING: Final = ("{", "(", "[", r"\left", r"\begin", r"\{")
_CLOSING: Final = ("}", ")", "]", r"\right", r"\end", r"\}")
_CUTS: Final = {
    "=", "<", ">", "+", "-", r"\le", r"\leq", r"\ge", r"\geq", r"\ne", r"\neq", r"\in", r"\to",
    r"\subset", r"\subseteq", r"\equiv", r"\approx", r"\sim", r"\cong", r"\implies", r"\iff",
    r"\Rightarrow",
}  # fmt: skip


class Source(NamedTuple):
    """A thread in sentences; the title is one sentence."""

    tags: tuple[str, ...]
    title: Sentence
    question: list[Sentence]
    answers: list[list[Sentence]]


def write_remix(
    collection: CollectionFiles, out: Path, answers: int, relevant: set[str],
    seed: int, noise: float, links: float, formulas: bool = False,
) -> None:  # fmt: skip
    """Write the posts and links of a collection of `answers` answers; `out` must not be there.

    Topics and judgments are links to the folders of the given collection.
    `relevant` are the posts whose threads give nothing; `links` is their number for each thread.
    With `formulas` the formula files are written too.
    """
    (out / "Collection").mkdir(parents=True)
    for shared in _SHARED:
        folder = collection.layout.data / shared
        if folder.is_dir():
            (out / shared).symlink_to(folder.resolve())
    table, layout = collection.origin_site.scan(), collection.layout
    sources = [
        Source(
            thread.question.tags,
            list(chain.from_iterable(sentences(read_title(thread.question.title or "")))),
            sentences(read_body(thread.question.body)),
            [sentences(read_body(answer.body)) for answer in thread.answers],
        )
        for thread in table.threads()
        if thread.question
        and not relevant & {post.post_id for post in (thread.question, *thread.answers)}
    ]  # fmt: skip
    chance = random.Random(seed)  # noqa: S311
    book = FormulaBook(layout.formulas(), chance, noise) if formulas else None
    remixer = _Remixer(sources, chance, noise, book)
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
        _write_links(file, threads, links, chance)
        file.write("</postlinks>\n")
    if book:
        book.write(out / "Formulas" / layout.formulas().name)


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
            known = f' id="{piece.formula_id}"' if piece.formula_id else ""
            cut[-1].append(f'<span class="math-container"{known}>{escape(piece.latex)}</span>')
    return [sentence for sentence in cut if sentence]


def halves(latex: str) -> tuple[str, str] | None:
    """Cut a formula before its first relation or sum outside of all brackets, None if it has none.

    The left side must not be empty: the minus of `-x` is no sum.
    """
    depth = place = 0
    for token in _TOKEN.findall(latex):
        depth += (token in _OPENING) - (token in _CLOSING)
        if not depth and token in _CUTS and latex[:place].strip():
            return latex[:place], latex[place:]
        place += len(token)
    return None


class FormulaBook:
    """The formulas of a collection by id, and the formulas of invented threads."""

    def __init__(self, directory: Path, chance: random.Random, noise: float) -> None:
        self._files, self._random, self._noise = formula_files(directory), chance, noise
        self._of_instance: dict[str, str] = {}  # formula id → LaTeX
        self._visual: dict[str, str] = {}  # LaTeX → visual id
        for row in read_formulas(directory):
            self._of_instance[row.formula_id] = row.latex
            self._visual.setdefault(row.latex, row.visual_id)
        self._ids = count(1 + max(map(int, self._of_instance)))
        self._new = count(1 + max(int(visual) for visual in self._visual.values() if visual))
        self._rows: list[tuple[str, ...]] = []

    def renewed(self, text: str, post_id: int, thread_id: int, kind: str) -> str:
        """Return a text whose formulas are instances of their own, some new."""
        tail = ""  # the second half of the previous formula

        def renew(span: re.Match[str]) -> str:
            nonlocal tail
            latex = self._of_instance.get(span[1]) or unescape(span[2])
            if cut := halves(latex):
                if tail and self._random.random() < self._noise:
                    latex = cut[0] + tail
                tail = cut[1]
            if latex not in self._visual:
                self._visual[latex] = str(next(self._new))
            number, visual = str(next(self._ids)), self._visual[latex]
            place = number, str(post_id), str(thread_id), kind
            self._rows.append((*place, "", visual, visual, "", latex))
            return f'<span class="math-container" id="{number}">{escape(latex)}</span>'

        return _SPAN.sub(renew, text)

    def write(self, directory: Path) -> None:
        """Write the formula files: links to the existing files, and a file of invented formulas."""
        directory.mkdir(parents=True)
        for file in self._files:
            (directory / file.name).symlink_to(file.resolve())
        path = directory / f"{len(self._files) + 1}.tsv"
        with path.open("w", encoding="utf-8", newline="") as tsv:
            writer = csv.writer(tsv, delimiter="\t", lineterminator="\n")
            writer.writerows([COLUMNS["v3"], *self._rows])


class _Remixer:
    def __init__(
        self, sources: Sequence[Source], chance: random.Random, noise: float,
        book: FormulaBook | None,
    ) -> None:  # fmt: skip
        self.random, self._noise, self._book = chance, noise, book
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
        title = self._own(title, number, number, "title")
        body = self._mixed(len(form.question), own, other, lambda source: source.question)
        body = self._own(body, number, number, "question")
        rows = [
            f'   <row Id="{number}" PostTypeId="1" Title="{escape(title)}" '
            f'Body="{escape(f"<p>{body}</p>")}" Tags="{escape(tags)}"/>\n'
        ]
        for answer in form.answers:
            post_id = next(numbers)
            body = self._mixed(len(answer), own, other, _of_answers)
            body = self._own(body, post_id, number, "answer")
            rows.append(
                f'   <row Id="{post_id}" PostTypeId="2" ParentId="{number}" '
                f'Body="{escape(f"<p>{body}</p>")}"/>\n'
            )
        return form.tags, rows

    def _own(self, text: str, post_id: int, thread_id: int, kind: str) -> str:
        if self._book:
            return self._book.renewed(text, post_id, thread_id, kind)
        return _SPAN.sub(r'<span class="math-container">\2</span>', text)

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


@command
def remix(
    place: options.Place,
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write the collection.")
    ],
    answers: Annotated[int, typer.Option(help="Number of answers.")] = JUDGE,
    seed: Annotated[int, typer.Option(help="Seed of the random draw.")] = 1,
    noise: Annotated[float, typer.Option(help="Share of what is drawn from anywhere.")] = 0.4,
) -> None:
    """Write a larger collection for Task 1: the posts of DATA among invented threads.

    It has the topics and judgments of DATA, so that other commands take it as their DATA. Choose
    settings by it: in a small subset nearly every relevant answer is found with any settings.

    Example: python -m experiments remix --data data/arqmath-lite -o remix-30000
    """
    if out.exists():
        raise InputError(f"{out}: exists already; choose another directory")

    _, relevant = judged(place.collection, "task1")
    write_remix(place.collection, out, answers, relevant, seed, noise, LINKS)
    options.results.print(f"{out}: {answers:,} answers")
