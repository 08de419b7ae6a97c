r"""The library's face: `import arqmath_bm25 as arq`, with pandas as its language.

    collection = arq.Collection("/data/ARQMath")  # arq.sample() is the bundled one
    index = collection.index("task1")
    index.search(r"Why does $\sum 1/n$ diverge?", k=10)
    topics = collection.topics("task1", 2021)
    run = index.run(topics, variant="both")
    arq.evaluate(run, collection.qrels("task1", 2021))

Faults of the input are raised as InputError, with the messages of the command line.
"""

from __future__ import annotations

import re
from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np

from arqmath_bm25.analysis.analyzer import Analyzer, FormulaAnalyzer, analyze, terms, tokenize
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.analysis.settings import AnalysisSettings, FormulaAnalysisSettings
from arqmath_bm25.collection.collection import INDEXES
from arqmath_bm25.collection.collection import Collection as Files
from arqmath_bm25.collection.own_documents import write_corpus
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.guesses import no_attribute, showing_its_arguments
from arqmath_bm25.core.labs import MAX_DEPTH, TASKS
from arqmath_bm25.core.lazy import LazyModule
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
    qrels_frame,
    read_qrels,
    read_run,
    rows_of,
    run_frame,
    table,
    texts_as_rows,
    write_run,
)
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import configured, task_class
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import as_built, of_config, with_needed
from arqmath_bm25.tasks.open_index import Index as TaskIndex
from arqmath_bm25.tasks.post_filter import PostFilter
from arqmath_bm25.tasks.task import Task

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = LazyModule("pandas")  # takes half a second to load

__all__ = [
    "Collection", "Index", "Table", "TaskName", "analyze", "compare", "evaluate", "fuse",
    "read_qrels", "read_run", "sample", "terms", "tokenize", "write_run",
]  # fmt: skip
_NAME: Final = re.compile(r"\w([\w.-]*\w)?")
TaskName = Literal["task1", "task2", "task3", "nlps", "docs"]


class _Guessable(ABCMeta):
    """Answers a name that a class does not have with the one that people mean."""

    def __getattr__(cls, name: str) -> Any:
        raise no_attribute(repr(cls.__name__), name, dir(cls))


class _ValueObject(metaclass=_Guessable):
    """What is compared, hashed and pickled by what it is made from."""

    @property
    @abstractmethod
    def _made_by(self) -> tuple[Any, ...]:
        """The arguments from which its class makes the like."""

    @property
    @abstractmethod
    def _summary(self) -> dict[str, object]:
        """What a notebook shows of it."""

    def _repr_html_(self) -> str:
        with pd.option_context("display.max_colwidth", None):
            return pd.Series(self._summary).to_frame().to_html(header=False)

    def __getattr__(self, name: str) -> Any:
        kind = type(self)
        raise no_attribute(repr(kind.__name__), name, dir(kind))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), self._made_by

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._made_by == other._made_by

    def __hash__(self) -> int:
        return hash(self._made_by)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close what is open; what is asked afterwards opens it again."""


class Collection(_ValueObject, Files):
    """A collection: its indexes, topics and judgments."""

    @classmethod
    def of(
        cls, documents: Table, name: str = "documents", indexes: str | Path = INDEXES
    ) -> Collection:
        """Keep documents of one's own below `indexes`, and return the collection that they are.

        Rows have id (or docno, doc_id, _id) and text, and may have title and tags: a frame, or
        dicts or named tuples from any iterable, which is read once; or texts alone, in a list (ids
        "1", "2", …) or by their ids in a dict. A collection of the same name is replaced; its index
        is then stale, unless the documents are the same. Raises InputError for any other row.
        """
        if not _NAME.fullmatch(name):
            raise InputError(f"name {name!r}: expected letters, digits and . _ - between them")
        place = Path(indexes) / "own" / name
        rows = texts_as_rows(documents, "id", "text")
        return cls(write_corpus(rows_of(rows, "documents"), place), indexes)

    def __repr__(self) -> str:
        return f"<Collection {self.name}>"

    def close(self) -> None:
        """Close the posts; what is asked afterwards opens them again."""
        vars(self).pop("_posts", None)

    @property
    def path(self) -> Path:
        """The directory of its files."""
        return self.layout.data

    @property
    def _made_by(self) -> tuple[Any, ...]:
        data = self.layout.data.absolute() if self.on_site else None
        return data, self.indexes.absolute()

    @property
    def _summary(self) -> dict[str, object]:
        years: dict[str, object] = {task: ", ".join(self.years(task)) for task in TASKS}
        return {"Collection": self.name, "files": self.path, "indexes": self.directory, **years}

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
        """Open the index of a task; it is built first where there is none.

        Without `config` an index is used with the settings that it was built with. `indexes` is a
        directory in place of the collection's own, `threads` (default: all cores) are used to build
        and to rank. `engine` is lucene or flat, for which an index is also built where it is there
        for another, opensearch, with the URLs of its `hosts` and commas between, or auto, which
        takes what is there; none changes the ranking. Raises InputError if the index is of other
        files or settings, unless `overwrite`, if it cannot be built, and for an engine that cannot
        be had.
        """
        files = self
        if indexes is not None:
            files = Collection(self.layout.data if self.on_site else None, indexes)
        if isinstance(config, Mapping):
            raise InputError(
                "config: expected the path of a YAML file, which may hold only what differs from "
                "the default"
            )
        settings = Path(config) if config is not None else None
        threads, by = threads or processors(), chosen_engine(engine, hosts)
        asked = as_built(task, files)
        if settings:
            asked = of_config(task, files, settings)
        try:
            TaskIndex.of(asked, files, by)
            is_there = not overwrite
        except NoIndexError:
            is_there = False
        if not is_there:
            with closing(Processes(threads)) as workers:
                for content in with_needed([asked.index_task], files):
                    ensure(content, workers, [by], read_all=overwrite)
        return Index(files, task, threads, settings and settings.absolute(), by)

    @showing_its_arguments
    def documents(self, task: TaskName, config: Path | None = None) -> Iterator[dict[str, Any]]:
        """Yield what other engines may index: docno, text, and fields → tokens.

        These are the terms of a configuration, without `config` of the task's own: of Task 1 those
        of an answer and its question, of `docs` those of a document. Raises InputError for other
        tasks.
        """
        for text, document in configured(task, config).documents(self):
            fields = {name: bag.terms.split() for name, bag in document.own.items()}
            yield {"docno": document.doc_id, "text": text, "fields": fields}

    def years(self, task: TaskName) -> tuple[str, ...]:
        """Return the years whose topics are there; of NLPS the sets of statements."""
        if task == "docs":
            return ()
        return self.premises.splits() if task == "nlps" else self.layout.years(task)

    def judged_years(self, task: TaskName) -> tuple[str, ...]:
        """Return the years, or sets, whose judgments are there."""
        return RULES[task_class(task).lab].judged_years(self)

    @showing_its_arguments
    def topics(self, task: TaskName, year: int | str | Path) -> pd.DataFrame:
        """Return the topics of a year, of a set of statements (NLPS: dev, test) or of a file.

        Columns: qid and query, text with `$…$` around its formulas; of ARQMath title and question
        (HTML) and tags (a tuple), of Task 2 formula_id and formula (LaTeX) as well, which query is;
        excluded (a tuple of ids) where queries name documents that must not be returned.
        Raises InputError if there are none.
        """
        ranking, years = configured(task), self.years(task)
        if str(year) not in years and not Path(str(year)).is_file():
            there = ", ".join(years) or "none"
            raise InputError(f"{task}: no topics {year}; there are {there}, or give a topic file")
        ((folder, path),) = ranking.topic_files(self, [str(year)])
        topics, rules = ranking.read(self, folder, path).topics, RULES[ranking.lab]
        columns: dict[str, list[Any]] = {
            "qid": [topic.topic_id for topic in topics], "query": list(map(_text, topics)),
        }  # fmt: skip
        for name in rules.topic_columns:
            columns[name] = [getattr(topic, name) for topic in topics]
        if any(topic.excluded for topic in topics):
            columns["excluded"] = [topic.excluded for topic in topics]
        return pd.DataFrame(columns).rename(columns={"latex": "formula"})

    @showing_its_arguments
    def qrels(self, task: TaskName, year: int | str | Path) -> pd.DataFrame:
        """Return the official judgments of a year, or of a file: qid, docno, label; of NLPS `dev`.

        Of Task 2 docno is a visual id; Task 3 has the posts of Task 1. `evaluate` needs the `attrs`
        of the frame, which selections keep. Raises InputError if there are none.
        """
        rules = RULES[task_class(task).lab]
        file = rules.judgments_named(self, str(year))
        read = Evaluator(self).judgments(rules.topic_task, file)
        attrs: dict[str, Any] = {"task": task, "file": str(file), "notes": list(read.notes)}
        if read.ids is not None:
            attrs.update(formulas=str(self.layout.formulas()), tables=str(self.directory))
            attrs.update(ids=read.ids)
        frame = qrels_frame(read.qrels)
        frame.attrs.update(attrs)
        return frame


def sample(indexes: str | Path = INDEXES) -> Collection:
    """Return the bundled sample, of 90 questions and an NLPS part, with synthetic judgments."""
    return Collection(indexes=indexes)


class Index(_ValueObject):
    """An index that is open. Thread-safe; the first ranking by Lucene starts the JVM."""

    @showing_its_arguments
    def __init__(
        self, collection: Collection, task: TaskName, threads: int | None = None,
        config: Path | None = None, engine: Engine | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(collection, Collection):
            raise InputError("collection: expected a Collection, whose index(TASK) opens an index")
        self.collection = collection
        self._opened = TaskIndex.open(collection, task, config, engine or chosen_engine("auto"))
        self._threads = threads or processors()
        self._config = config

    def __repr__(self) -> str:
        return f"<Index {self.task} of {self.collection.name}>"

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._opened.manifest.counts["documents"]

    def close(self) -> None:
        """Close what is open; what is asked afterwards opens it again."""
        self._opened.close()

    def __contains__(self, docno: object) -> bool:
        """Return whether a document is there."""
        return self._opened.task.find(str(docno), self._opened) is not None

    def __getitem__(self, docno: str) -> dict[str, str]:
        """Return a document, as `document` does."""
        return self.document(docno)

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
        """The configuration, as a YAML file would have it."""
        settings: dict[str, Any] = self._opened.task.settings.model_dump(mode="json")
        return settings

    @property
    def _made_by(self) -> tuple[Any, ...]:
        return self.collection, self.task, self._threads, self._config, self._opened.engine

    @property
    def _summary(self) -> dict[str, object]:
        about = {"Index": self.task, "collection": self.collection.name, "files": self.path}
        return {**about, "documents": len(self), "variants": ", ".join(self.variants)}

    @property
    def variants(self) -> list[str]:
        """Names of what can be run; `primary` is the one for those who do not choose."""
        return self._opened.variants

    @property
    def primary(self) -> str:
        """The variant of calls that name none."""
        return self._opened.task.primary

    def chosen(self, variant: str | None) -> str:
        """Return a variant, the primary one for None; InputError if the configuration lacks it."""
        return self._opened.task.chosen(variant)

    @showing_its_arguments
    def search(
        self,
        query: str | Sequence[str],
        k: int = 10,
        variant: str | None = None,
        tags: str | Sequence[str] = (),
        years: int | Sequence[int] = (),
    ) -> pd.DataFrame:
        """Return the `k` best documents for a text with `$…$` around its formulas.

        Only those whose question has all `tags` and is of one of the `years`, if any are given.
        Columns: docno, score, rank (from 1), title (of the question) and text, shortened; for
        several queries also qid, their number from "1" on. Raises InputError for a variant that the
        configuration lacks, unless 1 ≤ k ≤ 1,000, and for tags and years of a task other than 1
        and 2.
        """
        task, k = self._opened.task, _count("k", k)
        if isinstance(tags, str):
            tags = [tags]
        if isinstance(years, int):
            years = [years]
        posts = PostFilter.of(tags, years)
        several = isinstance(query, Iterable) and not isinstance(query, str | bytes)
        ranked = [
            (str(number), self._opened.search(_query(text), self.chosen(variant), k, posts))
            for number, text in enumerate(query if several else [query], 1)
        ]
        frame = run_frame(ranked, task.lab).drop(columns=[] if several else "qid")
        found = [task.found(hit, self.collection) for _, hits in ranked for hit in hits]
        titles = [each.plain_title for each in found]
        texts = [each.short_text for each in found]
        return frame.assign(title=titles, text=texts)

    def document(self, docno: str) -> dict[str, str]:
        """Return a document: docno, title (of its question) and text, all of it.

        Raises InputError if there is none.
        """
        hit = self._opened.task.find(str(docno), self._opened)
        if hit is None:
            raise InputError(f"docno {docno}: {self.path} has no such document")
        return {"docno": hit.doc_id, **self._texts(hit)}

    def analyze(self, text: str, html: bool = False) -> dict[str, list[str]]:
        """Return the terms of a text, or of HTML, by their kind, with the settings of this index.

        Those of Task 2 are the terms of one formula, in LaTeX without dollars, by field.
        """
        task = self._opened.task.index_task
        settings = task.settings.analysis
        if isinstance(settings, FormulaAnalysisSettings):
            return FormulaAnalyzer(settings, task.settings.fields).latex(text)
        if isinstance(settings, AnalysisSettings):
            return analyze(text, html, Analyzer(settings))
        return analyze(text, html, Analyzer(AnalysisSettings(text=settings.text), ngrams=False))

    def document_frequency(self, *terms: str) -> pd.DataFrame:
        """Return how many documents hold terms, spelled as `analyze` returns them.

        A row for each term, a column for each field of the index.
        """
        fields = self._opened.task.index_task.fields or ()
        counts = self._opened.searcher().document_counts(dict.fromkeys(fields, terms))
        frame = pd.DataFrame(counts, terms, list(fields))
        return frame.fillna(0).astype(int)

    @showing_its_arguments
    def explain(
        self,
        query: str | Mapping[Hashable, Any] | pd.Series,
        docno: str,
        variant: str | None = None,
    ) -> pd.DataFrame:
        """Return what gave a document its score for a text, or for a row of topics.

        Columns: part (a field, or evidence as the configuration names it), term (of a field, else
        empty) and score, which add up to that of the document; `attrs` has its score and rank.
        Raises InputError if it is not among the best 1,000, or the variant's scores are no sums.
        """
        task, chosen = self._opened.task, self.chosen(variant)
        topic = task.topic(query) if isinstance(query, str) else _topic(dict(query), task)
        (hits,) = self._opened.rank([topic], chosen, MAX_DEPTH, self._threads)
        for rank, hit in enumerate(hits, 1):
            if str(docno) in (hit.doc_id, hit.visual_id):
                (parts,) = self._opened.explain(topic, chosen, [hit])
                rows = [(p.name, *of) for p in parts for of in p.terms or [("", p.score)]]
                frame = pd.DataFrame(rows, columns=["part", "term", "score"])
                frame.attrs.update(score=hit.score, rank=rank)
                return frame
        raise InputError(f"docno {docno}: it is not among the {len(hits):,} best of {chosen}")

    @showing_its_arguments
    def run(
        self,
        topics: Table,
        variant: str | None = None,
        depth: int = MAX_DEPTH,
        text: bool = False,
    ) -> pd.DataFrame:
        """Rank for topics as `Collection.topics` returns them, with qid and query alone, or texts.

        Texts are a list, with the qids "1", "2", …, or a dict by qid.

        A row's title and question are searched while its query is still their text; a query that
        was rewritten is searched as it is. Returns the `depth` best documents of each: qid, docno,
        score, rank (from 1, best first), of Task 2 also post_id and visual_id, of Task 3 answer;
        with `text` title (of the question) and text, all of it. Scores are those of a run file, of
        which none are equal. Raises InputError for missing columns, an id that comes twice and a
        variant that the configuration lacks.
        """
        task, chosen, depth = self._opened.task, self.chosen(variant), _count("depth", depth)
        rows = texts_as_rows(topics, "qid", "query")
        topics = table(rows, "topics", "qid", "query")
        if topics["qid"].duplicated().any():
            twice = topics["qid"][topics["qid"].duplicated()].iloc[0]
            raise InputError(f"topics: qid {twice} comes twice; drop_duplicates('qid') first")
        records = [_topic(row, task) for row in topics.to_dict("records")]
        ranked = list(self._opened.rank(records, chosen, depth, self._threads))
        return self._ranked(records, ranked, chosen, depth, text)

    @showing_its_arguments
    def score(self, candidates: Table, variant: str | None = None) -> pd.DataFrame:
        """Score documents that somebody else found: rows of topics with a docno each.

        Returns the rows with score and rank (from 1), best first, as `run` ranks them where its
        first stage returns these documents and no others; a document without a term of the query
        begins at 0. Answers (Task 1) and documents of `docs` only. Raises InputError as `run` does.
        """
        task, chosen = self._opened.task, self.chosen(variant)
        rows = table(candidates, "candidates", "qid", "query", "docno")
        rows = rows.drop(columns=["score", "rank"], errors="ignore")
        first = rows.drop_duplicates("qid")
        records = [_topic(row, task) for row in first.to_dict("records")]
        groups = rows.groupby("qid", sort=False)["docno"]
        documents = [list(dict.fromkeys(groups.get_group(qid))) for qid in first["qid"]]
        ranked = list(self._opened.score(records, chosen, documents))
        scored = self._ranked(records, ranked, chosen)
        return scored.merge(rows, on=["qid", "docno"])[[*rows, "score", "rank"]]

    def features(self, candidates: Table, variant: str | None = None) -> pd.DataFrame:
        """Return what each field and kind of evidence gives to documents, for learning to rank.

        A row for each of `candidates`, as `score` takes them, and a column for each part, as
        `explain` names them; 0 where a document gets nothing.
        """
        task, chosen = self._opened.task, self.chosen(variant)
        rows = table(candidates, "candidates", "qid", "query", "docno")
        features = []
        for _, of_topic in rows.groupby("qid", sort=False):
            hits = [self._opened.task.find(str(docno), self._opened) for docno in of_topic["docno"]]
            topic = _topic(of_topic.iloc[0].to_dict(), task)
            parts = self._opened.explain(topic, chosen, [hit or Hit("", 0) for hit in hits])
            scores = [{part.name: part.score for part in of_hit} for of_hit in parts]
            features.append(pd.DataFrame(scores, index=of_topic.index))
        frame = pd.concat(features) if features else pd.DataFrame(index=rows.index)
        return frame.reindex(rows.index)[sorted(map(str, frame))].fillna(0.0)

    def _ranked(
        self,
        topics: list[Topic],
        ranked: list[list[Hit]],
        variant: str,
        depth: int = MAX_DEPTH,
        text: bool = False,
    ) -> pd.DataFrame:
        task = self._opened.task
        frame = run_frame(zip((t.topic_id for t in topics), ranked, strict=True), task.lab)
        if text:
            shown = [self._texts(hit) for hits in ranked for hit in hits]
            frame = frame.join(pd.DataFrame(shown, frame.index, ["title", "text"]))
        manifest = self._opened.manifest_of(variant, depth, "arqmath_bm25.Index.run")
        frame.attrs.update(task=task.lab, name=manifest["tag"], manifest=manifest)
        return frame

    def _texts(self, hit: Hit) -> dict[str, str]:
        found = self._opened.task.found(hit, self.collection)
        return {"title": found.plain_title, "text": found.full_text}


def _count(name: str, number: object) -> int:
    """Return `number` as int; InputError unless it is from 1 to 1,000."""
    if isinstance(number, int | np.integer) and 1 <= number <= MAX_DEPTH:
        return int(number)
    raise InputError(f"{name} {number!r}: expected a whole number from 1 to {MAX_DEPTH:,}")


def _query(query: object) -> str:
    if not isinstance(query, str):
        raise InputError(f"query {repr(query)[:60]}: expected a text with $…$ around its formulas")
    return query


def _text(topic: Topic) -> str:
    """Return a topic as one text with `$…$` around its formulas; of Task 2 the formula alone."""
    if topic.formulas:
        return f"${topic.latex}$"
    return f"{read_title(topic.title).text}\n{read_body(topic.question).text}".strip()


def _topic(row: Mapping[Hashable, Any], task: Task[Any]) -> Topic:
    """Return the topic of a row: its title and question while `query` is their text, else `query`.

    So a query that somebody has rewritten is searched as it is, whatever stands beside it.
    """
    qid, query = str(row["qid"]), _query(row["query"])
    excluded = tuple(map(str, ids)) if isinstance(ids := row.get("excluded"), (tuple, list)) else ()
    if isinstance(row.get("title"), str) and isinstance(row.get("question"), str):
        formula, tags = row.get("formula"), row.get("tags")
        tags = tuple(tags) if isinstance(tags, (tuple, list)) else ()
        formulas = (formula,) if formula else ()
        question = row["title"], row["question"]
        topic = Topic(qid, *question, tags, row.get("formula_id", ""), formulas, excluded)
        if _text(topic) == query:
            return topic
    return task.topic(query)._replace(topic_id=qid, excluded=excluded)
