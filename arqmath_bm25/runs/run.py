"""A run: its rows by topic, and the rankings that count under its task's rules.

`Run.read` takes every form that is known of its task. Runs of Task 2 hold formulas, each with its
post; some have these two columns exchanged, or TREC's form, or visual ids in the place of formulas.
The whole run decides which form it has, with the formula index if there is one.
"""

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from arqmath_bm25.core.labs import MAX_DEPTH, RunTask
from arqmath_bm25.core.writing import read_manifest
from arqmath_bm25.runs.eligible import Eligible
from arqmath_bm25.runs.formula_ids import COMMENT, DELETED, FormulaIds, id_numbers
from arqmath_bm25.runs.rows import Findings, RunRow
from arqmath_bm25.runs.run_rules import in_order
from arqmath_bm25.runs.task_rules import RULES, WITHOUT_POST, LabRules, detect_task

Ranking = dict[str, float]  # document -> score
RowForm = Literal["lab", "trec", "exchanged", "visual"]

NO_ROWS = "the run has no rows: no topic has a hit"

# These stand in column 2 of TREC's form; in a Task 2 run they may be formulas.
_MARKS = frozenset({"0", "1"})

# Sentences about rows that do not count, by the keys of `Rankings.counts`.
_NOTES = {
    "unknown": "instances skipped, since the formula index has no visual id for them",
    "comments": "instances in comments, which must not be returned",
    "deleted": "instances with issue d, which must not be returned",
    "repeated": "rows that repeat a document of their topic",
    "cut": "documents left out below the best {depth:,} of their topic",
}


class Rankings(NamedTuple):
    """The rankings of a run that count."""

    topics: dict[str, Ranking]  # topic -> document -> score, best first
    rows: dict[str, dict[str, RunRow]]  # topic -> document -> the row that gave its score
    counts: Counter[str]  # rows that do not count, or must not be returned; keys of _NOTES
    notes: list[str]  # the counts in sentences


UNRANKED = Rankings({}, {}, Counter(), [])


class Run:
    """The rows of one run, by topic in file order."""

    def __init__(
        self,
        path: Path,
        task: RunTask,
        rows: Iterable[RunRow],
        ids: Callable[[], FormulaIds] | None = None,
    ) -> None:
        """`path` names the run in messages; `ids` opens the formula index of its collection.

        Formulas and posts of Task 2 are put into their columns.
        """
        self.path = path
        self.task = task  # the task whose rules the run follows
        self.rules = RULES[task]
        rows = list(rows)
        self.tags = Counter(row.tag for row in rows)
        self.topics: dict[str, list[RunRow]] = {}
        for topic, of_topic in groupby(rows, attrgetter("topic_id")):
            self.topics.setdefault(topic, []).extend(of_topic)

        self.columns = task  # the task whose columns the file has
        self.form: RowForm = "lab"
        self.departures = Findings()  # departures of the rows from the lab's form
        self.manifest: dict[str, Any] = {}  # says how the file was made
        self._open_ids = ids
        if self.rules.has_posts and self.topics:
            self.form = self._form_of_rows()
        if self.form != "lab":
            for topic, read in self.topics.items():
                self.topics[topic] = list(map(self._with_formula_first, read))

    @classmethod
    def read(
        cls,
        path: Path,
        task: RunTask | None = None,
        ids: Callable[[], FormulaIds] | None = None,
        strict: bool = False,
    ) -> Self:
        """Read a run; without `task`, its name or its first row decides the task.

        A Task 1 run can be read as one of Task 3, whose answers are the first of each topic. With
        `strict` it has to be in its task's form, and rows that cannot be understood are left out;
        departures are for `faults`. Raises InputError as `RunRules.read` does.
        """
        columns = task or detect_task(path)
        departures = Findings()
        rows: Iterable[RunRow] | None = None
        if not strict:
            columns = RULES[columns].row_task(path)
            departures = Findings(refused=path)
            rows = RULES[columns].read_plain(path)
        if rows is None:
            rows = RULES[columns].read(path, departures)

        run = cls(path, task or columns, rows, ids)
        run.columns = columns
        run.departures = departures
        run.manifest = read_manifest(path)
        return run

    def faults(
        self, labs: Sequence[Sequence[str]] = (), eligible: Eligible | None = None
    ) -> Findings:
        """Return every breach of the labs' rules, of a run that was read strictly.

        The lab refuses or drops errors. It tolerates warnings, though the author may have meant
        something else: trec_eval ignores ranks and orders by score. `labs` holds the topics
        of each lab: other topics are unknown, and a topic is missing if the run has others of its
        lab. Without `eligible`, documents are not looked up.
        """
        findings = copy.deepcopy(self.departures)
        if not self.topics and not findings.count("error"):
            findings.error("empty", None, NO_ROWS)
        if self.form == "exchanged":
            message = "column 2 holds the posts, column 3 the formulas; swap them"
            findings.error("swapped columns", None, message)

        elif self.form == "trec" and not findings.count(rule="TREC form"):
            findings.error("TREC form", None, WITHOUT_POST)

        if isinstance(self.rules, LabRules):
            self.rules.check_name(self.path, findings)

        for topic, rows in self.topics.items():
            self.rules.check(topic, rows, findings)

        if eligible is not None:
            for row in self.rows:
                fault = eligible(row.doc_id, row.post_id)
                if fault:
                    findings.error(fault.rule, row.line, fault.message)

        if "" in self.tags:
            findings.error("run id", None, "there are rows without a run id")
        if len(self.tags) > 1:
            some = ", ".join(map(repr, list(self.tags)[:3]))
            message = f"{len(self.tags)} run ids ({some}, …); expected one"
            findings.warn("run id", None, message)

        if isinstance(self.rules, LabRules) and self.topics:
            self.rules.check_topics(self.topics, labs, findings)
        return findings

    @property
    def rows(self) -> list[RunRow]:
        """All rows, topic by topic."""
        return list(chain.from_iterable(self.topics.values()))

    @property
    def tag(self) -> str:
        """The tag in its rows (the labs call it "run id"), or nothing."""
        return next(filter(None, self.tags), "")

    @cached_property
    def ids(self) -> FormulaIds | None:
        """The formula index, if the run is of Task 2 and there is one."""
        if self._open_ids is None or not self.rules.has_posts:
            return None
        return self._open_ids()

    @property
    def judged_apart(self) -> bool:
        """Whether the judgments name its documents by ids that the run does not have."""
        return RULES[self.columns].judged_apart(self.rows)

    def rankings(self, depth: int | None = MAX_DEPTH) -> Rankings:
        """Return the rankings that count, `depth` documents of a topic (None: all).

        Documents of Task 2 are visual ids if there is a formula index, else formulas: the official
        scripts walk down the instances by score and keep the first of each visual id.
        """
        topics = {}
        rows = {}
        counts = Counter[str]()
        for topic, of_topic in self.topics.items():
            ordered = self.rules.order(of_topic)
            documents = self._distinct(ordered, counts)
            kept = dict(islice(documents.items(), depth))

            counts["repeated"] += len(of_topic) - len(ordered)
            counts["cut"] += len(documents) - len(kept)

            rows[topic] = kept
            topics[topic] = {doc: row.score for doc, row in kept.items()}

        notes = []
        for key, text in _NOTES.items():
            if counts[key]:
                notes.append(f"{text.format(depth=depth)}: {counts[key]:,}")

        if self.form == "exchanged":
            notes.append("columns 2 and 3 (formula, post) are exchanged")
        if self.form == "visual":
            notes.append("the run holds visual ids, as the judgments do, and no formula ids")
        return Rankings(topics, rows, counts, notes)

    def ranked_by(
        self,
        kind: str | None,
        qrels: Mapping[str, Mapping[str, int]],
        depth: int | None = MAX_DEPTH,
    ) -> Rankings:
        """Return the rankings that count, by the ids that the judgments hold.

        Formulas are ranked by visual ids, with `kind` visual_v2 by the visual ids of v2; a run that
        already holds visual ids is not changed.
        """
        if not self.rules.has_posts:
            return self.rankings(depth)

        ranked = copy.copy(self)
        if kind == "visual_v2" and self.ids is not None:
            ranked.ids = self.ids.of_v2()
        rankings = ranked.rankings(depth)

        as_formulas = 0
        by_raw_ids = 0
        for topic, grades in qrels.items():
            judged = grades.keys()
            ranking = rankings.topics.get(topic, {})
            raw_ids = {row.doc_id for row in self.topics.get(topic, [])}
            as_formulas += len(judged & ranking.keys())
            by_raw_ids += len(judged & raw_ids)

        if by_raw_ids <= as_formulas:
            return rankings

        ranked.form = "visual"
        return ranked.rankings(depth)

    def document(self, row: RunRow) -> str:
        """Return the id of a row's document in judgments: of a formula, its visual id."""
        if self.ids is None or self.form == "visual":
            return row.doc_id
        (index_row,) = self.ids.find(id_numbers([row.doc_id]))
        return str(self.ids.visual[index_row])

    def leave_out(self, eligible: Eligible) -> Counter[str]:
        """Leave out documents that may not be returned; return the broken rules with their rows."""
        faults = Counter[str]()
        kept = dict[str, list[RunRow]]()
        for row in self.rows:
            fault = eligible(row.doc_id, row.post_id)
            if fault:
                faults[fault.rule] += 1
            else:
                kept.setdefault(row.topic_id, []).append(row)

        self.topics = kept
        return faults

    def __len__(self) -> int:
        return sum(map(len, self.topics.values()))

    def _distinct(self, rows: Sequence[RunRow], counts: Counter[str]) -> dict[str, RunRow]:
        """Return the row of each document; of Task 2 by visual id, in trec_eval's order."""
        by_document = {row.doc_id: row for row in rows}
        ids = self.ids
        first = {}
        if self.form == "visual":
            # Each gets an instance and its post, where the formula index has one.
            instances = ids.instances(by_document) if ids is not None else {}
            for visual, row in by_document.items():
                formula, post = instances.get(visual, ("", ""))
                first[visual] = row._replace(doc_id=formula, post_id=post)
            return in_order(first)
        if ids is None:
            return by_document

        formulas = id_numbers(row.doc_id for row in rows)
        index_rows = ids.find(formulas).tolist()
        for index_row, row in zip(index_rows, rows, strict=True):
            if index_row < 0:
                counts["unknown"] += 1
                continue

            flags = ids.flags[index_row]
            counts["comments"] += bool(flags & COMMENT)
            counts["deleted"] += bool(flags & DELETED)

            visual = str(ids.visual[index_row])
            if visual not in first:
                post = str(ids.post[index_row])
                first[visual] = row._replace(post_id=post)

        return in_order(first)

    def _with_formula_first(self, row: RunRow) -> RunRow:
        """Return a row of exchanged columns, or of TREC's, with the formula as its document."""
        if not row.post_id:
            return row
        if self.form == "exchanged":
            return row._replace(doc_id=row.post_id, post_id=row.doc_id)
        return row._replace(doc_id=row.post_id, post_id="")

    def _form_of_rows(self) -> RowForm:
        """Return the form of the rows: `formula, post`, `post, formula` or TREC's `1, formula`."""
        pairs = [(row.doc_id, row.post_id) for row in self.rows if row.post_id]
        if not pairs:
            return "trec"

        as_lab = as_exchanged = 0
        if self.ids is not None:
            as_lab = self.ids.count_pairs(pairs)
            as_exchanged = self.ids.count_pairs([(post, formula) for formula, post in pairs])

        if as_lab == as_exchanged == 0:
            formulas, posts = map(set, zip(*pairs, strict=True))
            if len(formulas) == 1 and formulas <= _MARKS:
                return "trec"

            # A formula is in one post, while a post holds many formulas.
            each_has_its_post = len(posts) == len(set(pairs))
            if each_has_its_post and len(formulas) < len(posts):
                return "exchanged"
        if as_exchanged > as_lab:
            return "exchanged"
        return "lab"
