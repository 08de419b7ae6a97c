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

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.collection.collection import INDEXES
from arqmath_bm25.collection.collection import Collection as Files
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.labs import MAX_DEPTH, SPLITS, YEARS, LabTask
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import chosen_engine
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.nlps import read_gold
from arqmath_bm25.frames import evaluate as evaluate
from arqmath_bm25.frames import need, run_frame
from arqmath_bm25.frames import read_run as read_run
from arqmath_bm25.frames import write_run as write_run
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import Index as Opened
from arqmath_bm25.tasks.index import add_engine, ensure

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from arqmath_bm25.engines.engine import EngineName
    from arqmath_bm25.tasks.task import Task

TaskName = Literal["task1", "task2", "task3", "nlps"]


class Collection(Files):
    """A collection: its indexes, topics and judgments."""

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
        and to rank. `engine` is lucene, flat, whose postings are added where they are missing,
        opensearch, with the URLs of its `hosts` and commas between, or auto, which takes what is
        there; none changes the ranking. Raises InputError if the index is of other files or
        settings, unless `overwrite`, if it cannot be built, and for an engine that cannot be had.
        """
        files = self
        if indexes is not None:
            files = Collection(self.layout.data if self.on_site else None, indexes)
        settings = Path(config) if config is not None else None
        threads, by = threads or os.cpu_count() or 1, chosen_engine(engine, hosts)
        try:
            opened = Opened.open(files, task, settings, by)
        except NoIndexError as error:
            if error.stale and not overwrite:
                raise InputError(
                    f"{error}; overwrite=True replaces it, another indexes= keeps both"
                ) from None
            for _ in ensure([task], files, Processes(threads), settings, overwrite, engine=by):
                pass
            opened = Opened.open(files, task, settings, by)
        if by.name == "flat":
            owner = opened.task.index_task
            for one in (owner, *owner.needed(files)):
                add_engine(one, files, by)
        return Index(opened, threads)

    def years(self, task: TaskName) -> tuple[str, ...]:
        """Return the years whose topics are there; of NLPS the sets of statements."""
        return self.premises.splits() if task == "nlps" else self.layout.years(task)

    def judged_years(self, task: TaskName) -> tuple[str, ...]:
        """Return the years, or sets, whose judgments are there."""
        if task == "nlps":  # the premises of the test set are masked
            return tuple(split for split in self.premises.splits() if split in SPLITS[:1])
        return self.layout.judged_years(_judged_as(task))

    def topics(self, task: TaskName, year: int | str | Path) -> pd.DataFrame:
        """Return the topics of a year, of a set of statements (NLPS: dev, test) or of a file.

        Columns: qid and query, text with `$…$` around its formulas; of ARQMath title and question
        (HTML) and tags (a tuple), of Task 2 formula_id and formula (LaTeX) as well, which query is.
        Raises InputError if there are none.
        """
        found = configured(task)
        ((folder, path),) = found.topic_files(self, [str(year)])
        topics = found.read(self, folder, path).topics
        frame = pd.DataFrame(
            {"qid": [t.topic_id for t in topics], "query": list(map(_text, topics))}
        )
        if task != "nlps":
            for name in ("title", "question", "tags"):
                frame[name] = [getattr(topic, name) for topic in topics]
        if task == "task2":
            frame["formula_id"] = [topic.formula_id for topic in topics]
            frame["formula"] = [topic.latex for topic in topics]
        return frame

    def qrels(self, task: TaskName, year: int | str | Path) -> pd.DataFrame:
        """Return the official judgments of a year, or of a file: qid, docno, label; of NLPS `dev`.

        Of Task 2 docno is a visual id; Task 3 has the posts of Task 1. `evaluate` needs the `attrs`
        of the frame, which selections keep. Raises InputError if there are none.
        """
        file, notes = Path(year if isinstance(year, Path) else str(year)), list[str]()
        known: dict[str, Any] = {"task": task}
        if task == "nlps":
            file = next((self.premises.statements(s) for s in SPLITS if s == str(year)), file)
            judged = {qid: dict.fromkeys(docs, 1) for qid, docs in read_gold(file).items()}
        else:
            named = (self.layout.qrels(_judged_as(task), y) for y in YEARS if y == str(year))
            file = next(named, file)
            read = Evaluator(self).judgments(_judged_as(task), file)
            judged, notes = read.qrels, list(read.notes)
        if task == "task2":
            known.update(formulas=str(self.layout.formulas()), tables=str(self.directory))
            known.update(ids=read.ids)
        rows = [(qid, doc, label) for qid, docs in judged.items() for doc, label in docs.items()]
        frame = pd.DataFrame(rows, columns=["qid", "docno", "label"])
        frame.attrs.update(known, file=str(file), notes=notes)
        return frame


def sample(indexes: str | Path = INDEXES) -> Collection:
    """Return the bundled sample, of 90 questions and an NLPS part, with synthetic judgments."""
    return Collection(indexes=indexes)


class Index:
    """An index that is open. Thread-safe; the first ranking starts the JVM."""

    def __init__(self, opened: Opened, threads: int) -> None:
        self._opened = opened
        self._threads = threads

    def __repr__(self) -> str:
        return f"<Index {self._opened.task.name} of {self._opened.directory}>"

    @property
    def variants(self) -> list[str]:
        """Names of what can be run; `primary` is the one for those who do not choose."""
        return self._opened.task.variants

    @property
    def primary(self) -> str:
        """The variant of calls that name none."""
        return self._opened.task.primary

    def search(self, query: str, k: int = 10, variant: str | None = None) -> pd.DataFrame:
        """Return the `k` best documents for a text with `$…$` around its formulas.

        Columns: docno, score, rank (from 1), title (of the question) and text, shortened. Raises
        InputError for a variant that the configuration lacks.
        """
        task, collection = self._opened.task, self._opened.collection
        hits = self._opened.search(query, self._variant(variant), k)
        frame = run_frame([("", hits)], task.lab).drop(columns="qid")
        shown = [task.shown(hit, collection) for hit in hits]
        titles = [(one.question and one.question.title) or "" for one in shown]
        return frame.assign(
            title=[read_title(title).text for title in titles], text=[one.text for one in shown]
        )

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
        task, chosen = self._opened.task, self._variant(variant)
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

    def run(
        self, topics: pd.DataFrame, variant: str | None = None, depth: int = MAX_DEPTH
    ) -> pd.DataFrame:
        """Rank for topics as `Collection.topics` returns them, or with qid and query alone.

        Returns the `depth` best documents of each: qid, docno, score, rank (from 1, best first), of
        Task 2 also post_id and visual_id, of Task 3 answer. Scores are those of a run file, of
        which none are equal. Raises InputError for missing columns, an id that comes twice and a
        variant that the configuration lacks.
        """
        task, chosen = self._opened.task, self._variant(variant)
        need(topics, "topics", "qid", "query")
        if topics["qid"].duplicated().any():
            twice = topics["qid"][topics["qid"].duplicated()].iloc[0]
            raise InputError(f"topics: qid {twice} comes twice; drop_duplicates('qid') first")
        records = [_topic(row, task) for row in topics.to_dict("records")]
        ranked = self._opened.rank(records, chosen, depth, self._threads)
        frame = run_frame(zip((r.topic_id for r in records), ranked, strict=True), task.lab)
        frame.attrs.update(task=task.lab, name=task.run_name(chosen))
        return frame

    def _variant(self, name: str | None) -> str:
        if name is not None and name not in self.variants:
            raise InputError(f"variant {name!r}: the configuration has {', '.join(self.variants)}")
        return name or self.primary


def tokenize(latex: str) -> list[str]:
    """Return the terms of one formula, in LaTeX without dollars, in an index of Task 1."""
    return _analyzer()(Content((Formula(latex, None),))).math.split()


def analyze(text: str) -> dict[str, list[str]]:
    """Return the terms of a text with `$…$` around its formulas: its `words` and its `math`."""
    terms = _analyzer()(read_title(text))
    return {"words": terms.words.split(), "math": terms.math.split()}


@cache
def _analyzer() -> Analyzer:
    return Analyzer(configured("task1").settings.analysis)


def _judged_as(task: str) -> LabTask:
    """Return the task whose judgments serve: answers to Task 3 are posts, as those of Task 1."""
    return "task2" if task == "task2" else "task1"


def _text(topic: Topic) -> str:
    """Return a topic as one text with `$…$` around its formulas; of Task 2 the formula alone."""
    if topic.formulas:
        return f"${topic.latex}$"
    return f"{read_title(topic.title).text}\n{read_body(topic.question).text}".strip()


def _topic(row: dict[Hashable, Any], task: Task[Any]) -> Topic:
    qid = str(row["qid"])
    if "title" not in row:
        return task.topic(row["query"])._replace(topic_id=qid)
    formula, formula_id = row.get("formula"), row.get("formula_id", "")
    return Topic(
        qid, row["title"], row.get("question", ""), tuple(row.get("tags", ())),
        formula_id, (formula,) if formula else (),
    )  # fmt: skip
