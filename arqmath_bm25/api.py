r"""The public interface of the library: `import arqmath_bm25 as arq`; tables are pandas frames.

    collection = arq.Collection("/data/ARQMath")  # arq.sample() is the bundled sample
    index = collection.index("task1")
    index.search(r"Why does $\sum 1/n$ diverge?", k=10)
    topics = collection.topics("task1", 2021)
    run = index.run(topics, variant="both")
    arq.evaluate(run, collection.qrels("task1", 2021))

Faulty input raises InputError, with the messages of the command line.
"""

from __future__ import annotations

import re
from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from arqmath_bm25.analysis.analyzer import Analyzer, FormulaAnalyzer, analyze, terms, tokenize
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.analysis.settings import AnalysisSettings, FormulaAnalysisSettings
from arqmath_bm25.collection.collection import INDEXES, CollectionFiles
from arqmath_bm25.collection.imports import Import, import_of_rows
from arqmath_bm25.core.errors import InputError, NoIndexError, check_found
from arqmath_bm25.core.guesses import no_attribute, showing_its_arguments
from arqmath_bm25.core.labs import TASKS
from arqmath_bm25.core.lazy import pd
from arqmath_bm25.core.manifest import digest_of
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.core.system import processors
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import Engine, EngineName, chosen_engine
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.frames import (
    Table,
    compare,
    evaluate,
    fuse,
    read_qrels,
    read_run,
    rows_of,
    run_frame,
    table,
    texts_as_rows,
    triples,
    write_run,
)
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import configured, task_class
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import fitted, with_needed
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.post_filter import PostFilter
from arqmath_bm25.tasks.task import MOSTLY_LATEX, Found

__all__ = [
    "Collection",
    "Index",
    "Table",
    "TaskName",
    "analyze",
    "compare",
    "evaluate",
    "fuse",
    "read_qrels",
    "read_run",
    "sample",
    "terms",
    "tokenize",
    "write_run",
]
_ARGUMENTS = [field.name for field in fields(CollectionFiles) if field.init]
_NAME = re.compile(r"\w([\w.-]*\w)?")
TaskName = Literal["task1", "task2", "task3", "nlps", "docs"]


class _Guessable(ABCMeta):
    """Raises an AttributeError that suggests the name which people mean."""

    def __getattr__(cls, name: str) -> Any:
        raise no_attribute(repr(cls.__name__), name, dir(cls))


class _ValueObject(metaclass=_Guessable):
    """Equality and hash by a value."""

    @property
    @abstractmethod
    def _value(self) -> object:
        """What equal objects have in common."""

    @property
    @abstractmethod
    def _summary(self) -> dict[str, object]:
        """The properties that a notebook shows, by their labels."""

    def _repr_html_(self) -> str:
        summary = pd.Series(self._summary)
        with pd.option_context("display.max_colwidth", None):
            return summary.to_frame().to_html(header=False)

    def __getattr__(self, name: str) -> Any:
        kind = type(self)
        raise no_attribute(repr(kind.__name__), name, dir(kind))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._value == other._value

    def __hash__(self) -> int:
        return hash(str(self._value))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close all files and connections; they are reopened on demand."""


class Collection(_ValueObject, CollectionFiles):
    """A collection: its files, indexes, topics and judgments."""

    @classmethod
    def of(
        cls, documents: Table, name: str | None = None, indexes: str | Path = INDEXES
    ) -> Collection:
        """Return your own documents as a collection; `index` stores them below `indexes`.

        `documents` is a frame, or an iterable of dicts or named tuples, which is read once. Its
        rows have id (or docno, doc_id, _id) and text, and may have title and tags. It may also be a
        list of texts, which get the ids "1", "2", …, or a dict of texts by id.

        Without a `name` the collection gets one that is made from the documents. Other documents
        of the same name have another index. Raises InputError for any other row.
        """
        rows: Iterable[dict[str, Any]]
        rows = rows_of(texts_as_rows(documents, "id", "text"), "documents")
        if name is not None and not _NAME.fullmatch(name):
            raise InputError(f"name {name!r}: expected letters, digits and . _ - between them")
        return cls(import_of_rows(rows, name), indexes)

    def __repr__(self) -> str:
        return f"<Collection {self.name}>"

    def _path(self, path: str | Path) -> Path:
        return super()._path(path).absolute()

    @property
    def pinned(self) -> Self:
        """The same collection with its files fixed as they are now; later changes do not matter."""
        if not self.is_imported:
            return self
        return replace(self, data=self.layout.data)

    def close(self) -> None:
        """Close the file of posts; it is reopened on demand."""
        vars(self).pop("_posts", None)

    @property
    def path(self) -> Path:
        """The directory of its files."""
        return self.layout.data

    @property
    def _value(self) -> object:
        data = self.data
        if isinstance(data, Import):
            data = data.store(self.indexes)
        return [data, *(getattr(self, name) for name in _ARGUMENTS[1:])]

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = {name: getattr(self, name) for name in _ARGUMENTS}
        return partial(type(self), **arguments), ()

    @property
    def _summary(self) -> dict[str, object]:
        return {
            "Collection": self.name,
            "files": self.path,
            "indexes": self.directory,
            **{task: ", ".join(self.years(task)) for task in TASKS},
        }

    @showing_its_arguments
    def index(
        self,
        task: TaskName,
        *,
        indexes: str | Path | None = None,
        config: str | Path | None = None,
        threads: int | None = None,
        overwrite: bool = False,
        engine: EngineName = "auto",
        hosts: str | None = None,
    ) -> Index:
        """Open the index of a task; it is built first if there is none.

        `config` is a YAML file with settings that differ from the defaults. `indexes` is the
        directory of the indexes, by default the collection's own. `threads` (default: all cores)
        build and rank. `engine` is "lucene" or "flat", "opensearch" with the URLs of its `hosts`,
        separated by commas, or "auto", which takes an index of any engine; the ranking is the same.
        `overwrite` checks an existing index
        byte by byte, and builds it again if it is damaged. Raises InputError if the index cannot be
        built, and for an engine that is not available.
        """
        if isinstance(config, Mapping):
            raise InputError(
                "config: expected the path of a YAML file, which may hold only what differs from "
                "the default"
            )

        collection = self
        if indexes is not None:
            collection = replace(self, indexes=Path(indexes))

        threads = threads or processors()
        backend = chosen_engine(engine, hosts)
        settings = None
        if config is not None:
            settings = Path(config)
        asked = configured(task, settings)
        chosen = asked.index_task.settings.of_collection
        collection = collection.configured(chosen)
        opened = None
        with closing(Processes(threads)) as workers:
            collection = collection.imported(overwrite, workers)
            asked = fitted(asked, collection)
            if not overwrite:
                with suppress(NoIndexError):
                    opened = OpenIndex.of(asked, collection, backend)
            if opened is None:
                for content in with_needed([asked.index_task], collection):
                    ensure(content, workers, [backend])
                opened = OpenIndex.of(asked, collection, backend)

        return Index._of(opened, threads)

    @showing_its_arguments
    def documents(self, task: TaskName, config: Path | None = None) -> Iterator[dict[str, Any]]:
        """Yield documents for other engines: dicts with docno, text and fields.

        `fields` is a dict from the name of a field to its list of tokens, by the configuration
        `config` (default: the task's own). Documents of Task 1 are answers with their questions,
        documents of `docs` your own. Raises InputError for other tasks.
        """
        for text, document in configured(task, config).documents(self):
            fields = {name: bag.terms.split() for name, bag in document.own.items()}
            yield {"docno": document.doc_id, "text": text, "fields": fields}

    def years(self, task: TaskName) -> tuple[str, ...]:
        """Return the years whose topics the collection has; for NLPS the sets of statements."""
        if task == "docs":
            return ()
        if task == "nlps":
            return self.premises.splits()
        return self.layout.years(task)

    def judged_years(self, task: TaskName) -> tuple[str, ...]:
        """Return the years, or sets of statements, whose judgments the collection has."""
        return RULES[task_class(task).lab].judged_years(self)

    @showing_its_arguments
    def topics(self, task: TaskName, year: int | str | Path) -> pd.DataFrame:
        """Return the topics of a year, of a set of statements (NLPS: dev, test) or of a file.

        A frame with a row for each topic. Columns: qid, and query (text with `$…$` around its
        formulas). Topics of ARQMath also have title and question (HTML) and tags (a tuple), topics
        of Task 2 formula_id and formula (LaTeX), which is the query. The column excluded (a tuple
        of ids) is there if topics name documents that must not be returned. Raises InputError if
        there are no such topics.
        """
        name = str(year)
        years = self.years(task)
        if name not in years and not Path(name).is_file():
            there = ", ".join(years) or "none"
            raise InputError(f"{task}: no topics {year}; there are {there}, or give a topic file")

        ranking = configured(task)
        ((_, path),) = ranking.topic_files(self, [name])
        topics = ranking.read(self, path)

        names = list(RULES[ranking.lab].topic_columns)
        if any(topic.excluded for topic in topics):
            names.append("excluded")
        columns = {
            "qid": [topic.topic_id for topic in topics],
            "query": list(map(_text, topics)),
        }
        for name in names:
            columns[name] = [getattr(topic, name) for topic in topics]
        return pd.DataFrame(columns).rename(columns={"latex": "formula"})

    @showing_its_arguments
    def qrels(self, task: TaskName, year: int | str | Path) -> pd.DataFrame:
        """Return the official judgments of a year (NLPS: of the set dev), or of a file.

        A frame with a row for each judgment and the columns qid, docno and label (the grade, an
        int). In Task 2 docno is a visual id; Task 3 is judged by the posts of Task 1. `evaluate`
        needs the `attrs` of the frame, which selections keep. Raises InputError if there are no
        judgments.
        """
        rules = RULES[task_class(task).lab]
        file = rules.judgments_named(self, str(year))
        judgments = Evaluator(self).judgments(rules.topic_task, file)

        frame = triples(judgments.qrels, "label")
        frame.attrs.update(task=task, file=str(file), notes=list(judgments.notes))
        if judgments.ids is not None:
            frame.attrs.update(
                formulas=str(self.layout.formulas()),
                tables=str(self.directory),
                ids=judgments.ids,
            )
        return frame


def sample(indexes: str | Path = INDEXES) -> Collection:
    """Return the bundled sample, of 90 questions and an NLPS part, with synthetic judgments."""
    return Collection(indexes=indexes)


class Index(_ValueObject):
    """An open index. It is thread-safe; the first ranking by Lucene starts the JVM."""

    @showing_its_arguments
    def __init__(
        self,
        collection: Collection,
        task: TaskName | str | Path,
        threads: int | None = None,
        config: Path | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Open the index of a task, or the store of an index by its path, with its own settings."""
        if not isinstance(collection, Collection):
            raise InputError("collection: expected a Collection, whose index(TASK) opens an index")

        engine = engine or chosen_engine("auto")
        self._opened = OpenIndex.open(collection, str(task), config, engine)
        self._opened.threads = threads or processors()

    @classmethod
    def _of(cls, opened: OpenIndex, threads: int) -> Self:
        index = cls.__new__(cls)
        index._opened = opened
        opened.threads = threads
        return index

    def __reduce__(self) -> tuple[Any, ...]:
        opened = self._opened
        return _reopened, (
            self.collection.pinned,
            opened.directory,
            opened.task.name,
            self.settings,
            opened.threads,
            opened.engine,
        )

    @property
    def _value(self) -> object:
        opened = self._opened
        return [opened.manifest.digest, self.task, digest_of(self.settings), opened.engine]

    @property
    def collection(self) -> Collection:
        """The collection as it was when this index was opened."""
        collection = self._opened.collection
        assert isinstance(collection, Collection)  # noqa: S101  # which opened it
        return collection

    def __repr__(self) -> str:
        return f"<Index {self.task} of {self.collection.name}>"

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._opened.manifest.counts["documents"]

    def close(self) -> None:
        """Close the files of the index; they are reopened on demand."""
        self._opened.close()

    def __contains__(self, docno: object) -> bool:
        """Return whether the index has a document."""
        return self._opened.task.find(str(docno), self._opened) is not None

    def __getitem__(self, docno: str) -> dict[str, str]:
        """Return a document, as `document` does."""
        return self.document(docno)

    __iter__ = None  # Python would ask for the documents "0", "1", …

    @property
    def task(self) -> str:
        """The name of the task."""
        return self._opened.task.name

    @property
    def path(self) -> Path:
        """The directory of its files."""
        return self._opened.directory

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration, as nested dicts with the keys of a YAML file."""
        settings: dict[str, Any] = self._opened.task.settings.model_dump(mode="json")
        return settings

    @property
    def _summary(self) -> dict[str, object]:
        return {
            "Index": self.task,
            "collection": self.collection.name,
            "files": self.path,
            "documents": len(self),
            "variants": ", ".join(self.variants),
        }

    @property
    def variants(self) -> list[str]:
        """The names of the variants of the ranking; `primary` is the default."""
        return self._opened.variants

    @property
    def primary(self) -> str:
        """The default variant."""
        return self._opened.task.primary

    def chosen(self, variant: str | None) -> str:
        """Return `variant`, by default the primary one; InputError for an unknown variant."""
        return self._opened.task.chosen(variant)

    @showing_its_arguments
    def search(
        self,
        query: str | Iterable[str] | Table,
        k: int = 10,
        variant: str | None = None,
        tags: str | Sequence[str] = (),
        years: int | Sequence[int] = (),
    ) -> pd.DataFrame:
        """Return the `k` best documents for a text with `$…$` around its formulas, or for several.

        With `tags` and `years` only documents are returned whose question has all the tags and is
        of one of the years. The frame has a row for each document, best first, and the columns
        docno, score, rank (from 1), title (of the question) and text (shortened), Task 2 also
        post_id and visual_id, Task 3 answer. For several queries the first column is qid: their
        number from "1" on, or as a dict or frame of them has it (see `run`). Raises InputError for
        an unknown variant, unless k ≥ 1, and for tags and years of a task other than 1 and 2.
        """
        task = self._opened.task
        k = _count("k", k)
        if isinstance(tags, str):
            tags = [tags]
        if isinstance(years, int):
            years = [years]
        posts = PostFilter.of(tags, years)

        is_list = isinstance(query, Iterable) and not isinstance(query, str | bytes)
        queries = query if is_list else [query]
        by_id = [(str(number), text) for number, text in enumerate(queries, 1)]
        if isinstance(query, Mapping | pd.DataFrame):
            rows = table(texts_as_rows(query, "qid", "query"), "topics", "qid", "query")
            by_id = list(zip(rows["qid"], rows["query"], strict=True))

        ranked = []
        found = []
        for qid, text in by_id:
            hits = self._opened.search(_query(text), self.chosen(variant), k, posts)
            ranked.append((qid, hits))
            found += [task.found(hit, self._opened) for hit in hits]

        frame = run_frame(ranked, task.lab)
        if not is_list:
            frame = frame.drop(columns="qid")
        titles = [each.plain_title for each in found]
        return frame.assign(title=titles, text=[each.short_text for each in found])

    def document(self, docno: str) -> dict[str, Any]:
        """Return a document as a dict with docno, title (of its question) and the whole text.

        A document of your own also has the keys that the command `inspect` prints: type, kind,
        words, formulas, references and tags. Raises InputError for an unknown document.
        """
        (hit,) = self._hits([docno])
        found = self._opened.task.found(hit, self._opened)
        if found.is_lost:
            raise InputError(f"docno {docno}: {found.text}; index it again")
        read = {}
        if found.document:
            read = found.document.as_read(found.delimiters)
            del read["id"]
        return {"docno": hit.doc_id, **read, **_texts(found)}

    def analyze(self, text: str, html: bool = False) -> dict[str, list[str]]:
        """Return the terms of a text, or of HTML, by their kind, with the settings of this index.

        For Task 2, `text` is one formula in LaTeX without dollars, and the terms are by field.
        """
        task = self._opened.task.index_task
        task = task.supposing(self._opened.manifest.decisions.get(MOSTLY_LATEX, False))
        settings = task.settings.analysis
        if isinstance(settings, FormulaAnalysisSettings):
            return FormulaAnalyzer(settings, task.settings.fields).latex(text)
        if isinstance(settings, AnalysisSettings):
            return analyze(text, html, Analyzer(settings))
        words_only = AnalysisSettings(text=settings.text)
        return analyze(text, html, Analyzer(words_only, ngrams=False))

    def document_frequency(self, *terms: str) -> pd.DataFrame:
        """Return the number of documents that contain each term, as `analyze` spells it.

        A frame with a row for each term and a column for each field of the index.
        """
        fields = self._opened.task.index_task.fields or ()
        counts = self._opened.searcher().document_counts(dict.fromkeys(fields, terms))
        return pd.DataFrame(counts, terms, list(fields)).fillna(0).astype(int)

    @showing_its_arguments
    def explain(
        self,
        query: str | Mapping[Hashable, Any] | pd.Series,
        docno: str,
        variant: str | None = None,
    ) -> pd.DataFrame:
        """Return the parts of a document's score for a text, or for a row of topics.

        A frame with a row for each term or other evidence. Columns: part (a field, or evidence as
        the configuration names it), term (empty for evidence) and score; the scores add up to the
        score of the document. `attrs` has its score and rank. Raises InputError for a document that
        the index lacks or the query does not find, and for a variant whose scores are not sums.
        """
        variant = self.chosen(variant)
        if isinstance(query, str):
            topic = self._opened.task.topic(query)
        else:
            topic = self._topic(dict(query))

        rank, hit = self._ranked_hit(topic, variant, str(docno))
        (parts,) = self._opened.ranker.explain(topic, variant, [hit])
        rows = []
        for part in parts:
            for term, score in part.terms or [("", part.score)]:
                rows.append((part.name, term, score))

        frame = pd.DataFrame(rows, columns=["part", "term", "score"])
        frame.attrs.update(score=hit.score, rank=rank)
        return frame

    def _ranked_hit(self, topic: Topic, variant: str, docno: str) -> tuple[int, Hit]:
        """Return the rank and the hit of a document; InputError if the query does not find it."""
        # Most documents that are asked for are among the first, and the first never change.
        for depth in (self._opened.task.depth, len(self)):
            (hits,) = self._opened.rank([topic], variant, depth)
            for rank, hit in enumerate(hits, 1):
                if docno in (hit.doc_id, hit.visual_id):
                    return rank, hit

        self._hits([docno])
        raise InputError(f"docno {docno}: it is not among the {len(hits):,} hits of {variant}")

    @showing_its_arguments
    def run(
        self,
        topics: Table,
        variant: str | None = None,
        depth: int | None = None,
        text: bool = False,
    ) -> pd.DataFrame:
        """Return the `depth` best documents of each topic, by default as many as run files have.

        `topics` are rows as `Collection.topics` returns them, rows of qid and query, a list of
        texts, which get the qids "1", "2", …, or a dict of texts by qid. The title and question of
        a row are searched if its query is their text; a query that was rewritten is searched
        instead of them.

        The frame has a row for each document, best first, and the columns qid, docno, score and
        rank (from 1), Task 2 also post_id and visual_id, Task 3 answer; with `text` also title (of
        the question) and the whole text. Scores are as in a run file, where no two of a topic are
        equal. Raises InputError for missing columns, a repeated qid and an unknown variant.
        """
        task = self._opened.task
        variant = self.chosen(variant)
        depth = _count("depth", task.depth if depth is None else depth)

        rows = texts_as_rows(topics, "qid", "query")
        topics = table(rows, "topics", "qid", "query")
        is_repeated = topics["qid"].duplicated()
        if is_repeated.any():
            qid = topics["qid"][is_repeated].iloc[0]
            raise InputError(f"topics: qid {qid} comes twice; drop_duplicates('qid') first")

        records = [self._topic(row) for row in topics.to_dict("records")]
        ranked = self._opened.rank(records, variant, depth)
        return self._run_frame(records, ranked, variant, depth, text)

    @showing_its_arguments
    def score(self, candidates: Table, variant: str | None = None) -> pd.DataFrame:
        """Score given documents, such as the hits of another engine.

        `candidates` are rows of topics (see `run`) with a docno each. Returns these rows with score
        and rank (from 1), best first, as `run` ranks them if its first stage returns only these
        documents; the first-stage score of a document without a term of the query is 0. For answers
        (Task 1) and documents of `docs` only. Raises InputError as `run` does, and one that names
        all documents that the index lacks.
        """
        variant = self.chosen(variant)
        rows = table(candidates, "candidates", "qid", "query", "docno")
        rows = rows.drop(columns=["score", "rank"], errors="ignore")

        records = []
        documents = []
        for _, group in rows.groupby("qid", sort=False):
            records.append(self._topic(group.iloc[0].to_dict()))
            documents.append(list(dict.fromkeys(group["docno"])))

        ranked = self._opened.ranker.score(records, variant, documents)
        scored = self._run_frame(records, ranked, variant)
        return scored.merge(rows, on=["qid", "docno"])[[*rows, "score", "rank"]]

    def features(self, candidates: Table, variant: str | None = None) -> pd.DataFrame:
        """Return the parts of the scores of documents, as features for learning to rank.

        A frame of floats with a row for each of `candidates` (see `score`) and a column for each
        part of a score (see `explain`), which is 0 where it adds nothing. Raises InputError that
        names all documents that the index lacks.
        """
        variant = self.chosen(variant)
        rows = table(candidates, "candidates", "qid", "query", "docno")
        docnos = rows["docno"].drop_duplicates()
        hit_of = dict(zip(docnos, self._hits(docnos), strict=True))
        features = [pd.DataFrame(index=rows.index[:0])]
        for _, group in rows.groupby("qid", sort=False):
            topic = self._topic(group.iloc[0].to_dict())
            hits = [hit_of[docno] for docno in group["docno"]]
            scores = []
            for parts in self._opened.ranker.explain(topic, variant, hits):
                scores.append({part.name: part.score for part in parts})
            features.append(pd.DataFrame(scores, index=group.index))

        frame = pd.concat(features).reindex(rows.index)
        return frame[sorted(map(str, frame))].fillna(0.0)

    def _topic(self, row: Mapping[Hashable, Any]) -> Topic:
        """Return the topic of a row: title and question if `query` is their text, else the query.

        A query that somebody has rewritten is searched in place of title and question.
        """
        qid = str(row["qid"])
        query = _query(row["query"])
        excluded = tuple(map(str, _members(row.get("excluded"))))
        title = row.get("title")
        question = row.get("question")
        if isinstance(title, str) and isinstance(question, str):
            tags = tuple(_members(row.get("tags")))
            formulas = tuple(filter(None, [row.get("formula")]))
            topic = Topic(qid, title, question, tags, row.get("formula_id", ""), formulas, excluded)
            if _text(topic) == query:
                return topic

        return self._opened.task.topic(query)._replace(topic_id=qid, excluded=excluded)

    def _hits(self, docnos: Iterable[object]) -> list[Hit]:
        """Return documents as hits without a score; InputError that names the unknown ones."""
        opened = self._opened
        names = list(map(str, docnos))
        hits = [opened.task.find(name, opened) for name in names]
        check_found(name for name, hit in zip(names, hits, strict=True) if hit is None)
        return list(filter(None, hits))

    def _run_frame(
        self,
        topics: list[Topic],
        ranked: Iterable[list[Hit]],
        variant: str,
        depth: int | None = None,
        text: bool = False,
    ) -> pd.DataFrame:
        """Return the hits of topics as a run, with its manifest in `attrs`."""
        task = self._opened.task
        depth = depth or task.depth
        if text:
            ranked = list(ranked)  # They are needed twice.
        qids = [topic.topic_id for topic in topics]
        frame = run_frame(zip(qids, ranked, strict=True), task.lab)
        if text:
            hits = chain.from_iterable(ranked)
            texts = [_texts(task.found(hit, self._opened)) for hit in hits]
            frame = frame.join(pd.DataFrame(texts, frame.index, ["title", "text"]))

        manifest = self._opened.manifest_of(variant, depth, "arqmath_bm25.Index.run")
        frame.attrs.update(task=task.lab, name=manifest["tag"], manifest=manifest)
        return frame


def _texts(found: Found) -> dict[str, str]:
    """Return title and text of a hit."""
    return {"title": found.plain_title, "text": found.full_text}


def _reopened(
    collection: Collection,
    store: Path,
    name: str,
    settings: Mapping[str, Any],
    threads: int,
    engine: Engine,
) -> Index:
    """Return an index that was pickled; NoIndexError if its store has gone."""
    cls = task_class(name)
    task = fitted(cls(cls.model.model_validate(settings)), collection)
    return Index._of(OpenIndex.at(collection, store, engine, task), threads)


def _count(name: str, number: object) -> int:
    """Return `number` as int; InputError unless it is from 1 on."""
    if isinstance(number, int | np.integer) and number >= 1:
        return int(number)
    raise InputError(f"{name} {number!r}: expected a whole number from 1 on")


def _query(query: object) -> str:
    """Return a query; InputError unless it is a string."""
    if not isinstance(query, str):
        raise InputError(f"query {repr(query)[:60]}: expected a text with $…$ around its formulas")
    return query


def _text(topic: Topic) -> str:
    """Return a topic as one text with `$…$` around its formulas; in Task 2 it is one formula."""
    if topic.formulas:
        return f"${topic.latex}$"
    return f"{read_title(topic.title).text}\n{read_body(topic.question).text}".strip()


def _members(value: object) -> Sequence[Any]:
    """Return a tuple or list; an empty tuple for any other value, such as a missing one."""
    if isinstance(value, tuple | list):
        return value
    return ()
