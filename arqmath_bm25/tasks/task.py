"""What a task is: what it reads, what it indexes, its topics, how it ranks, what a hit is.

A task is a subclass of `Task` in a file of its own and one line in the register (`tasks/__init__`);
index, run, search, the API and the pages know no more of it than what stands here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from pydantic import ValidationError

from arqmath_bm25.analysis.answer_text import answer_text
from arqmath_bm25.analysis.excerpts import beginning, excerpt
from arqmath_bm25.analysis.html import Delimiters, Formula, read_body, read_title, without_macros
from arqmath_bm25.analysis.settings import VERSION
from arqmath_bm25.analysis.tokenizer import TRUSTED, tokenizer_version
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.collection.posts import ANSWER, Post
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core import labs
from arqmath_bm25.core.configuration import faults
from arqmath_bm25.core.errors import InputError, NoIndexError, shown
from arqmath_bm25.core.labs import MAX_DEPTH, parse_run_name
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.progress import counted
from arqmath_bm25.core.records import Hit, HitLists, Json, PartLists, Topic
from arqmath_bm25.core.workers import Workers
from arqmath_bm25.engines.engine import Document, Engine, Searcher
from arqmath_bm25.tasks.document_parts import PartForms
from arqmath_bm25.tasks.queries import advice, marked_topic
from arqmath_bm25.tasks.settings import TaskSettings

MOSTLY_LATEX = "mostly LaTeX"  # a decision of a build
_SHORT = 300  # characters of a text on one line
_AROUND = 120  # characters before and after a formula


class SearchedIndex(Protocol):
    """The part of an open index that rankers use; see `tasks.open_index.OpenIndex`."""

    task: Task
    collection: CollectionFiles
    directory: Path
    manifest: Manifest
    engine: Engine

    @property
    def texts(self) -> Any:
        """What the texts of hits are read from."""

    def searcher(self) -> Searcher:
        """Open the searcher of the index."""


class Ranker(ABC):
    """Ranks documents. Thread-safe."""

    @abstractmethod
    def rank(self, topics: Sequence[Topic], variant: str, depth: int) -> HitLists:
        """Yield the `depth` best hits of every topic, in the order of the topics."""

    @abstractmethod
    def explain(self, topic: Topic, variant: str, hits: Sequence[Hit]) -> PartLists:
        """Return the parts of the score of each hit of a topic."""

    def score(
        self, topics: Sequence[Topic], variant: str, candidates: Sequence[Sequence[str]]
    ) -> HitLists:
        """Yield the hits of every topic that `rank` gives if its search finds just these ids.

        Raises InputError if the task cannot.
        """
        raise InputError("only rows of task1 and docs can be scored")


class TopicFile(NamedTuple):
    """The topics of one file."""

    folder: str  # under runs: the year, or the name of the file
    path: Path
    topics: Sequence[Topic]


class Found(NamedTuple):
    """The records of a hit; pages and the terminal choose how to show them."""

    title: str = ""  # of the question or document, with delimiters around formulas
    body: str = ""  # HTML of the post or document
    text: str = ""  # premises, extracted answers: plain text with dollars around formulas
    delimiters: Delimiters = "mathjax"  # of formulas in title and body
    post: Post | None = None
    question: Post | None = None  # of an answer; of a question, itself; None if it is missing
    formula: Formula | None = None
    around: tuple[str, str] = ("", "")  # the text before and after the formula
    document: UserDocument | None = None
    is_lost: bool = False  # its row was changed since it was indexed, as `text` says

    @property
    def plain_title(self) -> str:
        """The title with dollars around formulas."""
        return read_title(self.title, self.delimiters).text

    @property
    def short_text(self) -> str:
        """The beginning of the text, or the text around the formula, on one line."""
        if self.formula and any(self.around):
            before, after = self.around
            left = before[-_AROUND:].partition(" ")[2]
            right = after[:_AROUND].rpartition(" ")[0]
            return f"… {left} ${self.formula.latex}$ {right} …"

        if self.text:
            return excerpt(read_title(self.text), _SHORT).text
        if self.document:
            content = read_body(self.body, self.delimiters)
            return excerpt(without_macros(content), _SHORT).text
        return beginning(self.body, _SHORT, self.delimiters).text

    @property
    def full_text(self) -> str:
        """The whole text, or the formula, with dollars around formulas."""
        if self.formula:
            return f"${self.formula.latex}$"
        return self.text or answer_text(self.body)


def listed(counts: Mapping[str, int]) -> str:
    """Join the counts that are not zero: "3 questions, 1 wiki"."""
    return ", ".join(counted(count, kind) for kind, count in counts.items() if count)


class Task(ABC):
    """A task with its settings. Thread-safe."""

    name: ClassVar[str]
    model: ClassVar[type[TaskSettings]]
    title: ClassVar[str]  # what is looked for
    example: ClassVar[str]  # a query
    nothing: ClassVar[str]  # what to say when there are no hits
    # Words of what `run` reports: "77 topics, 1,234 rows …; no answer for A.1".
    topics_are = "topics"
    rows_are = "rows"
    hits_are = "answer"
    lab: ClassVar[labs.RunTask] = "task1"  # whose columns and measures a run has
    topics_of: ClassVar[labs.LabTask] = "task1"  # whose topic files and judgments it has
    depth = MAX_DEPTH  # most hits of a topic in a run file
    finds_posts = False  # which can be chosen by tag and year

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @property
    @abstractmethod
    def index_task(self) -> IndexedTask:
        """The task whose index this one searches."""

    @abstractmethod
    def fitted(self, collection: CollectionFiles) -> Task:
        """Return the task with the delimiters that were chosen for a collection."""

    @classmethod
    def of(cls, settings: Mapping[str, Any], kept_by: Path) -> Self:
        """Return the task with the settings that an index or a run keeps in its manifest.

        Raises NoIndexError for settings that are none, InputError if they name code to be run:
        the manifest may be somebody else's.
        """
        try:
            task = cls(cls.model.model_validate(settings))
        except ValidationError as error:
            raise NoIndexError(
                f"{kept_by}: its manifest has no settings of this version ({faults(error)})",
                cls.name,
            ) from None
        if task.tokenizer and task.tokenizer not in TRUSTED:
            raise InputError(
                f"{kept_by}: its manifest names the tokenizer {task.tokenizer}, which would be run;"
                " if you trust it, give the configuration that names it",
                config="FILE",
            )
        return task

    @property
    def _latex(self) -> Any:
        """The settings of formulas, which an analysis may have among its own."""
        analysis = self.index_task.settings.analysis
        return getattr(analysis, "latex", analysis)

    @property
    def tokenizer(self) -> str | None:
        """The name of the user's own tokenizer, if the analysis has one."""
        return getattr(self._latex, "tokenizer", None)

    @classmethod
    @abstractmethod
    def has_data(cls, collection: CollectionFiles) -> bool:
        """Return whether a collection has what the task indexes; decides what `all` means."""

    @staticmethod
    def place(collection: CollectionFiles) -> str:
        """Return the name under which indexes and runs of a collection are kept."""
        return collection.name

    @property
    def delimiters(self) -> Delimiters:
        """The delimiters of formulas in posts and queries."""
        return getattr(self._latex, "delimiters", "mathjax")

    @property
    def macros(self) -> str:
        """Macro definitions for all posts and queries."""
        return getattr(self._latex, "macros", "")

    def documents(self, collection: CollectionFiles) -> Iterator[tuple[str, Document]]:
        """Yield every document as text and as its terms, for other engines."""
        raise InputError(f"{self.name}: its documents cannot be had one by one")

    # Its topics

    def topic_files(
        self, collection: CollectionFiles, chosen: Sequence[str] | None = None
    ) -> list[tuple[str, Path]]:
        """Return topic files, each with the name of its folder under runs.

        `chosen` are years or files, all years of the collection without. Raises InputError for what
        is not there.
        """
        return collection.layout.topic_files(self.topics_of, chosen)

    def read(
        self, collection: CollectionFiles, path: Path, index: SearchedIndex | None = None
    ) -> list[Topic]:
        """Read a topic file; an index of the collection, if one is open, makes it faster."""
        return [self.placed(self.marked(topic)) for topic in read_topics(path)]

    def asked(
        self, collection: CollectionFiles, chosen: Sequence[str] | None = None
    ) -> dict[str, Topic]:
        """Return the topics of topic files by their ids; see `topic_files`."""
        topics = {}
        for _, path in self.topic_files(collection, chosen):
            for topic in self.read(collection, path):
                topics[topic.topic_id] = topic
        return topics

    def judgments(self, collection: CollectionFiles, topics: Path) -> Path | None:
        """Return the judgments of a topic file, if the collection has both."""
        layout = collection.layout
        lab = self.topics_of
        for year in layout.years(lab, "qrels"):
            if year in layout.years(lab) and layout.topics(lab, year) == topics:
                return layout.qrels(lab, year)
        return None

    def placed(self, topic: Topic) -> Topic:
        """Return a topic with the question of the collection that it is, if it is one."""
        return topic

    def marked(self, topic: Topic) -> Topic:
        """Return a topic with its formulas marked, if nobody marked one."""
        return marked_topic(topic, self.delimiters)

    def advice(self, query: str) -> str:
        """Return what may be wrong with a query that was typed; nothing if it seems right."""
        return advice(query, self.lab == "task2", self.delimiters)

    def topic(self, text: str) -> Topic:
        """Make a topic of free text."""
        return self.marked(Topic("", text))

    # How it ranks

    @property
    def variants(self) -> list[str]:
        """The names of the variants."""
        return list(self.settings.variants)

    @property
    def primary(self) -> str:
        """The default variant."""
        return str(self.settings.primary)

    def chosen(self, variant: str | None) -> str:
        """Return a variant, the primary one for None; InputError if the configuration lacks it."""
        if variant is not None and variant not in self.variants:
            names = ", ".join(self.variants)
            raise InputError(f"variant {shown(variant)}: the configuration has {names}")
        return variant or self.primary

    def runnable(self, index: SearchedIndex) -> tuple[list[str], str]:
        """Return the variants that a collection has the files for, and a note if some are not."""
        return self.variants, ""

    def served(self, variant: str, index: SearchedIndex) -> tuple[str, str]:
        """Return the variant by which a server ranks, which learns nothing; and what to say."""
        return variant, ""

    @abstractmethod
    def ranker(self, index: SearchedIndex) -> Ranker:
        """Return the ranker for an index; each variant opens its files."""

    # Its runs

    def tag(self, variant: str) -> str:
        """Return the tag of the run of a variant: the last column of its rows."""
        return str(self.settings.run.tag(self.lab, variant))

    def file_stem(self, tag: str, variant: str) -> str:
        """Return the name of the file of a run without its ending."""
        return tag

    def manual_tag(self, variant: str) -> str:
        """Return the tag of a run of manual queries; InputError if the task has none."""
        name = parse_run_name(self.tag(variant))
        if name is None:
            raise InputError(
                f"queries: {self.name} has no manual runs; tasks of ARQMath have", topics="FILE"
            )
        return str(replace(name, manual=True))

    # What a hit is

    def texts(self, index: SearchedIndex) -> Any:
        """Return what the texts of hits are read from, opened once for an index."""
        return index.collection

    def found(self, hit: Hit, index: SearchedIndex) -> Found:
        """Return the records of a hit: its post, and the question that this answers."""
        post = index.collection.post(hit.post_id or hit.doc_id)
        question = index.collection.question_of(post)
        title = getattr(question, "title", None) or ""
        return Found(title, post.body, "", self.delimiters, post, question)

    def find(self, docno: str, index: SearchedIndex) -> Hit | None:
        """Return a document of an index as a hit without a score, None if there is none."""
        post = index.collection.posts.read(docno)
        if post is None or post.post_type != ANSWER:
            return None
        return Hit(docno, 0)


class IndexedTask(Task):
    """A task with an index of its own, which it builds from its sources."""

    # Settings beside the analysis that decide its content, if they are not false.
    decisive: ClassVar[tuple[str, ...]] = ()

    @property
    def index_task(self) -> IndexedTask:
        """The task itself."""
        return self

    def fitted(self, collection: CollectionFiles) -> Self:
        """Return the task with these delimiters for all of its texts."""
        if not collection.delimiters:
            return self
        return self.reading(delimiters=collection.delimiters)

    def supposing(self, is_mostly_latex: bool) -> Self:
        """Return the task for a collection in which a text that could be LaTeX is, or not."""
        if not is_mostly_latex or self.delimiters != "auto":
            return self
        return self.reading(delimiters="auto_latex")

    def reading(self, **changed: str) -> Self:
        """Return the task for texts with other delimiters or macros."""
        analysis = self.settings.analysis
        latex = getattr(analysis, "latex", None)
        if latex is not None:
            changed = {"latex": latex.model_copy(update=changed)}

        settings = {"analysis": analysis.model_copy(update=changed)}
        return type(self)(self.settings.model_copy(update=settings))

    @abstractmethod
    def sources(self, collection: CollectionFiles) -> list[Path]:
        """Return the files that the index is made from."""

    @property
    def recipe(self) -> Json:
        """The settings that decide the content of the index, and the version of the analysis."""
        settings = self.settings.model_dump(mode="json")
        recipe = {"analysis version": VERSION, **settings["analysis"]}
        if self.tokenizer:
            recipe["tokenizer version"] = tokenizer_version(self.tokenizer)
        if self.fields:
            recipe["fields"] = list(self.fields)
        for name in self.decisive:
            if settings[name]:
                recipe[name] = settings[name]
        return recipe

    def needed(self, collection: CollectionFiles) -> list[str]:
        """Return the names of the tasks whose indexes this one searches too."""
        return []

    @property
    def fields(self) -> Sequence[str] | None:
        """The fields that an engine indexes, `contents` first; None if no engine searches."""
        fields: Sequence[str] | None = self.settings.fields
        return fields

    @abstractmethod
    def write_documents(
        self, collection: CollectionFiles, place: Path, workers: Workers, forms: PartForms
    ) -> dict[str, int]:
        """Write the documents, and the tables of the index, in `place`.

        Documents go to `place`/documents in the forms that engines want: `write_parts` does that.
        A task that gives `forms.cluster` digests of all writes only what the cluster lacks.
        Returns the counts: of every row of the sources, and of `documents`.
        """

    def decisions(self, counts: Mapping[str, int]) -> dict[str, bool]:
        """Return what the counts of a build decide, for every search in this index."""
        return {}

    def account(self, counts: Mapping[str, int]) -> str:
        """Account for every row, in words."""
        others = dict(counts)
        indexed = counted(others.pop("documents"), f"{self.title.lower()} indexed")
        return ", ".join(filter(None, (indexed, listed(others))))
