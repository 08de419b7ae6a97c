"""The rules for the runs of each task, one class a task; `eligible` has what they may return.

| task | columns of a row (guidelines of the labs; of `docs` those of TREC) |
|---|---|
| task1 | topic, post, rank, score, run id |
| task2 | topic, formula, post, rank, score, run id |
| task3 | topic, rank, score, run id, sources, answer |
| nlps | statement, premise |
| docs | topic, Q0, document, rank, score, run id |
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arqmath_bm25.analysis.answer_text import unpaired_dollars
from arqmath_bm25.collection.layout import QUICKLY_READ
from arqmath_bm25.core import labs
from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.writing import read_manifest
from arqmath_bm25.runs.eligible import Eligible, eligible_answers, eligible_formulas
from arqmath_bm25.runs.formula_ids import FormulaIds, id_numbers
from arqmath_bm25.runs.rows import RUN, Findings, RunRow, read_columns
from arqmath_bm25.runs.run_rules import PERHAPS_QRELS, RunRules, Use, first_rows, number

if TYPE_CHECKING:
    from arqmath_bm25.collection.collection import CollectionFiles
    from arqmath_bm25.runs.run_rules import Holds, PlainIds, Ranked

WITHOUT_POST = "TREC's columns; the lab expects the post as well"

# In runs of Task 3, this begins a source that is a post.
POST = "post "
_POST_ID = re.compile(r"[0-9]+")
_RANKED = "\t{rank}\t{score:.9g}\t{tag}\n"

# Topics that `experiments` makes.
_OF_EXPERIMENT = re.compile(r"D\.[1-9][0-9]*")


class LabRules(RunRules):
    """Rules that ARQMath's three tasks share: names of runs and of topics."""

    # The letter with which its topics begin.
    letter = "A"

    # The part of its file names between modality and priority.
    name_part = ""

    def check_name(self, path: Path, findings: Findings) -> None:
        """Report faults in the name of a run file."""
        stem = path.name.removesuffix(".gz").rpartition(".")[0]
        name = labs.parse_run_name(stem)
        departures = []
        if labs.official_stem(path) != stem:
            departures.append(": a prime file: cut to what was judged")

        if name is None or path.suffix != self.ending:
            form = (
                f"[team]-{self.task}-[id]-[manual|auto]-[text|math|both]{self.name_part}-[P|A].tsv"
            )
            departures.append(f"; expected {form}")
        elif name.task != self.task:
            departures.append(f" says {name.task}; checked as {self.task}")

        if name is not None and path.suffix == self.ending and "." in stem:
            departures.append(": the lab's scripts cut it at the first dot")
        for departure in departures:
            findings.warn("file name", None, f"{path.name}{departure}")

    def check_topics(
        self, topics: Mapping[str, Sequence[RunRow]], official: Sequence[Sequence[str]],
        findings: Findings,
    ) -> None:  # fmt: skip
        """Report topic ids of another task, unknown topics and missing topics."""
        known = set().union(*official)
        form = re.compile(rf"{self.letter}\.[1-9][0-9]*")
        for topic, rows in topics.items():
            line = rows[0].line
            where = f"here and in {len(rows) - 1:,} more rows"
            has_form = form.fullmatch(topic) or _OF_EXPERIMENT.fullmatch(topic)
            if not has_form:
                expected = f"expected one like {self.letter}.1 in {self.task}"
                findings.error("topic", line, f"topic is {shown(topic)} {where}; {expected}")
            elif official and topic not in known:
                message = f"{topic}, {where}, is none of the {len(known)} topics"
                findings.error("unknown topic", line, message)

        for year in official:
            missing = [topic for topic in year if topic not in topics]
            if 0 < len(missing) < len(year):
                some = ", ".join(missing[:5])
                if len(missing) > 5:
                    some += ", …"

                message = f"{len(missing)} of {len(year)} topics have no rows: {some}"
                findings.warn("missing topic", None, message)


# Primed measures (nDCG′, MAP′, P′@k) are those of the *prime run*: the run without the documents
# that have no judgment for the topic. The tables of ARQMath-1 have plain P@10, those since
# ARQMath-2 the primed one.
_LAB_MEASURES = {
    "ndcg_prime": "nDCG(judged_only=True)",
    "map_prime": "AP(judged_only=True)",
    "p10_prime": "P(judged_only=True)@10",
    "p5_prime": "P(judged_only=True)@5",
    "bpref": "Bpref",
    "ndcg": "nDCG",
    "map": "AP",
    "p10": "P@10",
    "judged_at_10": "Judged@10",
}
_LAB_TABLE_MEASURES = (
    "ndcg_prime",
    "map_prime",
    "p10_prime",
    "bpref",
    "judged_at_10",
)

# Uses that need many documents for a topic.
_UNRANKED: Mapping[Use, str] = {
    "fuse": "a run of {task}; there is nothing to fuse",
    "pool": "a run of {task}; there is nothing to pool",
    "moves": "moves are listed of rankings of documents only",
    "TREC form": "a run of {task} has no TREC form, only the lab's",
}


class AnswerRules(LabRules):
    """Task 1: answers, up to 1,000 a topic; of a repeated answer the first row counts."""

    task = "task1"
    columns = ("topic", "post", "rank", "score", "run id")
    row_format = "{topic}\t{hit.doc_id}" + _RANKED
    # A number is a formula of Task 2; any other word stands where TREC's Q0 is.
    trec_mark = re.compile(r"[Qq]0|[01]|\D.*")
    ids: ClassVar = {"post": "doc_id"}
    measures = _LAB_MEASURES
    table_measures = _LAB_TABLE_MEASURES

    def eligible(
        self, collection: CollectionFiles, open_ids: Callable[[], FormulaIds]
    ) -> Eligible | None:
        """Return the check that documents are answers of the collection."""
        return eligible_answers(collection.posts)

    def holds(self, collection: CollectionFiles) -> Holds | None:
        """Return a function that finds out which posts a collection has; None if unknown."""
        if not collection.has_posts:
            return None
        if collection.origin_site.posts.stat().st_size > QUICKLY_READ:
            return None
        return lambda ids: collection.posts.find(id_numbers(ids).astype(np.int64)) >= 0

    def row(self, line: int, columns: Sequence[str], findings: Findings) -> RunRow | None:
        """Return the row of the lab's columns, or of TREC's."""
        if self.is_trec(columns):
            findings.warn("TREC form", line, "TREC's six columns; expected the lab's five")
            columns = [columns[0], *columns[2:]]
        return super().row(line, columns, findings)


class FormulaRules(LabRules):
    """Task 2: formula instances, ranked as the official script (de_duplicate_2022.py) does.

    Instances with equal scores keep the order of the rows; of a repeated formula the last score
    counts, at the first position.
    """

    task = "task2"
    columns = ("topic", "formula", "post", "rank", "score", "run id")
    row_format = "{topic}\t{hit.doc_id}\t{hit.post_id}" + _RANKED
    # A digit may be a formula; whether it is one is decided from all rows (`Run`).
    trec_mark = re.compile("Q0")
    lab_task = "task2"
    topic_task = "task2"
    topic_columns = (*LabRules.topic_columns, "formula_id", "latex")
    hit_columns = ("post_id", "visual_id")
    letter = "B"
    ids: ClassVar = {"formula": "doc_id", "post": "post_id"}
    measures = _LAB_MEASURES
    table_measures = _LAB_TABLE_MEASURES

    def eligible(
        self, collection: CollectionFiles, open_ids: Callable[[], FormulaIds]
    ) -> Eligible | None:
        """Return the check that documents are formulas of posts."""
        return eligible_formulas(open_ids())

    def thread_of(self, collection: CollectionFiles) -> Callable[[str], str]:
        """Return a function from a post to its question."""
        return lambda post_id: collection.post(post_id).parent_id or post_id

    def documents_of(self, columns: Sequence[Sequence[str]]) -> PlainIds | None:
        """Return the formulas and their posts."""
        if len(columns) < 2 or any(map(self.trec_mark.fullmatch, columns[0])):
            return None
        formulas, posts = columns
        return formulas, posts

    def row(self, line: int, columns: Sequence[str], findings: Findings) -> RunRow | None:
        """Return the row of the lab's columns, or of TREC's, which lack the post."""
        if self.is_trec(columns):
            findings.error("TREC form", line, WITHOUT_POST)
            columns = [columns[0], columns[2], "", *columns[3:]]
        return super().row(line, columns, findings)

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return all rows that count, best first."""
        last = dict[str, RunRow]()
        for row in rows:
            first = last.get(row.doc_id)
            if first is None:
                last[row.doc_id] = row
            else:
                last[row.doc_id] = first._replace(score=row.score)

        return sorted(last.values(), key=lambda row: -row.score)


class TextRules(LabRules):
    """Task 3: one answer a topic, by best score, then lowest rank, then largest id."""

    task = "task3"
    columns = ("topic", "rank", "score", "run id", "sources", "answer")
    quoted = True
    hit_columns = ("answer",)
    name_part = "-[extract|generate]"
    unsupported: ClassVar = {
        **_UNRANKED,
        "report scores": (
            "answers of Task 3 are judged under ids of their own, which pages do not know; leave "
            "out the qrels, and score them with `arqmath-bm25 eval` and an answer map"
        ),
    }

    def row_task(self, path: Path) -> labs.RunTask:
        """Return task1 for its runs, whose answers are the first of each topic; else task3."""
        with suppress(InputError):
            if detect_task(path) == AnswerRules.task:
                return AnswerRules.task
        return self.task

    def judged_apart(self, rows: Iterable[RunRow]) -> bool:
        """Return whether an answer does not name the post that it is taken from."""
        return any(not row.sources.startswith(POST) for row in rows)

    def row(self, line: int, columns: Sequence[str], findings: Findings) -> RunRow | None:
        """Return the row of these columns; further TABs belong to the answer."""
        if len(columns) > len(self.columns):
            findings.error("TAB in answer", line, "a TAB in an answer that is not in quotes")
            answer = "\t".join(columns[5:])
            columns = [*columns[:5], answer]
        return super().row(line, columns, findings)

    def record(self, line: int, columns: Sequence[str], ranked: Ranked) -> RunRow:
        """Return the row of an answer and the source that it names."""
        topic = columns[0].strip()
        sources, answer = columns[4:]
        doc = sources.removeprefix(POST)
        return RunRow(line, topic, doc, *ranked, "", sources, answer)

    def line(self, topic: str, hit: Hit, rank: int, score: float, tag: str) -> str:
        """Return an answer as a row of a run, in quotes where it needs them."""
        source = hit.doc_id
        if _POST_ID.fullmatch(source):
            source = f"{POST}{source}"

        row = io.StringIO()
        table = csv.writer(row, delimiter="\t", lineterminator="\n")
        table.writerow((topic, 1, f"{score:.9g}", tag, source, hit.text))
        return row.getvalue()

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return the rows, best first."""
        return sorted(rows, key=lambda row: (row.score, -row.rank, row.doc_id), reverse=True)

    def check(self, topic: str, rows: Sequence[RunRow], findings: Findings) -> None:
        """Report every fault in the rows of one topic."""
        for row in rows:
            if row is not rows[0]:
                message = f"topic {topic} has an answer in row {rows[0].line}"
                findings.error("duplicate", row.line, message)

            if row.rank != 1:
                findings.warn("rank order", row.line, f"rank is {row.rank}; expected 1")

            if len(row.answer) > labs.MAX_ANSWER:
                message = f"{len(row.answer):,} characters; at most {labs.MAX_ANSWER:,} are taken"
                findings.error("answer length", row.line, message)

            unpaired = unpaired_dollars(row.answer)
            if unpaired:
                where = f"the $ at character {unpaired[0] + 1} of the answer has no partner"
                findings.warn("dollars", row.line, f"{where}; a dollar sign is written \\$")


class PremiseRules(RunRules):
    """NLPS: premises of a statement in the order of the rows; the first 500 distinct ones count."""

    task = "nlps"
    columns = ("statement", "premise")
    row_format = "{topic}\t{hit.doc_id}\n"
    ending = ".txt"
    topic_task = "nlps"
    topic_columns = ()
    grades: ClassVar = {1: "premise"}
    relevant = 1
    unsupported: ClassVar = {
        **_UNRANKED,
        "validate": "a run of {task}, for which ARQMath has no rules",
        "report": "premises have no pages; a report shows Tasks 1, 2 and 3",
    }
    measures: ClassVar = {
        "map_500": f"AP@{labs.PREMISES}",
        "recall_500": f"R@{labs.PREMISES}",
    }

    def judged_years(self, collection: CollectionFiles) -> tuple[str, ...]:
        """Return the sets of statements whose premises are known: the test set masks them."""
        return tuple(split for split in collection.premises.splits() if split == labs.SPLITS[0])

    def judgments_named(self, collection: CollectionFiles, name: str) -> Path:
        """Return the file with the statements of a set; any other name is a path."""
        if name in labs.SPLITS:
            return collection.premises.statements(name)
        return Path(name)

    def judgments_for(
        self,
        collection: CollectionFiles,
        run: Path,
        topics: Mapping[str, Any],
        year: labs.Year | None,
    ) -> Path:
        """Return the file with the statements of the set in whose folder a run lies."""
        folder = run.resolve().parent.name
        if folder in collection.premises.splits():
            return collection.premises.statements(folder)
        raise InputError(
            f"{run}: no set of statements beside it has its premises; expected a dev_set.json",
            qrels="FILE",
        )

    def read(self, path: Path, findings: Findings | None = None) -> Iterator[RunRow]:
        """Yield the rows; the first of a statement has rank 1 and score 1, the next 2 and 1/2."""
        ranks = Counter[str]()
        for row in super().read(path, findings):
            ranks[row.topic_id] += 1
            rank = ranks[row.topic_id]
            yield row._replace(rank=rank, score=1 / rank)

    def ranked_columns(self, line: int, columns: Sequence[str], findings: Findings) -> Ranked:
        """Return no rank yet: the order of the rows gives it."""
        return 0, 0.0, ""

    def order(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Return all rows that count, best first."""
        by_score = sorted(rows, key=lambda row: -row.score)
        return list(first_rows(by_score).values())


class DocumentRules(RunRules):
    """Own documents: TREC's columns, any ids; all documents count, judged or not."""

    task = "docs"
    columns = ("topic", "Q0", "document", "rank", "score", "run id")
    document = 2
    row_format = "{topic}\tQ0\t{hit.doc_id}" + _RANKED
    ending = ".trec"
    relevant = 1
    measures: ClassVar = {
        "nDCG@10": "nDCG@10",
        "AP": "AP",
        "P@10": "P@10",
        "RR": "RR",
        "R@100": "R@100",
        "R@1000": "R@1000",
        "judged_at_10": "Judged@10",
    }
    table_measures = tuple(measures)

    def holds(self, collection: CollectionFiles) -> Holds | None:
        """Return a function that finds out which documents a collection has; None if unknown."""
        corpus = collection.corpus
        if corpus is None or corpus.stat().st_size > QUICKLY_READ:
            return None

        known = {document.doc_id for document in collection.own_documents()}
        return lambda ids: np.array([name in known for name in ids], np.bool_)

    def row(self, line: int, columns: Sequence[str], findings: Findings) -> RunRow | None:
        """Return the row of TREC's columns, or of Task 1's."""
        if len(columns) == len(AnswerRules.columns):
            columns = [columns[0], "Q0", *columns[1:]]
        return super().row(line, columns, findings)


RULES: Mapping[labs.RunTask, RunRules] = {
    AnswerRules.task: AnswerRules(),
    FormulaRules.task: FormulaRules(),
    TextRules.task: TextRules(),
    PremiseRules.task: PremiseRules(),
    DocumentRules.task: DocumentRules(),
}


def detect_task(path: Path) -> labs.RunTask:
    """Return the task of a run, by its official name, its manifest, or its first row.

    A file without rows is a run of own documents. Raises InputError if the task stays unknown.
    """
    name = labs.parse_run_name(labs.official_stem(path))
    if name:
        return name.task

    named = read_manifest(path).get("task")
    for task in RULES:
        if task == named:
            return task

    _, columns = next(read_columns(path, RUN), (0, []))
    if not columns:
        return "docs"

    letter = columns[0].strip('"')[:2]
    if len(columns) == 2 and letter not in ("A.", "B."):
        return "nlps"

    is_number = [not math.isnan(number(column)) for column in columns]
    if len(columns) >= 6 and all(is_number[1:3]) and not all(is_number[3:5]):
        return "task3"
    if letter == "A.":
        return "task1"
    if letter == "B.":
        return "task2"
    is_ranked = not any(is_number[1:2]) and all(is_number[3:5])
    if len(columns) == 6 and (columns[1] in ("Q0", "q0", "0") or is_ranked):
        return "docs"

    expected = "the 6 columns of a run (topic, Q0, document, rank, score, run id)"
    message = f"{path}: row 1: expected {expected}, found {len(columns)}"
    if len(columns) in (3, 4):
        raise InputError(message + PERHAPS_QRELS)
    if len(columns) not in (5, 6):
        raise InputError(f"{message}; for a run of a lab say its task", task="TASK")
    raise InputError(
        f"{path}: row 1: neither the file name nor the first column (expected a topic such as "
        "A.1 or B.1) tells the task",
        task="TASK",
    )


def check_teams(runs: Iterable[tuple[Path, labs.RunTask, Findings]]) -> None:
    """Report a team's sixth run of a task, and its second primary one."""
    counts: Counter[tuple[str, labs.RunTask]] = Counter()
    primaries = dict[tuple[str, labs.RunTask], Path]()
    for path, task, findings in runs:
        name = labs.parse_run_name(path.stem)
        if name is None:
            continue

        key = name.team, task
        counts[key] += 1
        if counts[key] > labs.MAX_RUNS:
            run = f"run {counts[key]} of {name.team} for {task}"
            message = f"{run}; at most {labs.MAX_RUNS} are taken"
            findings.error("runs of a team", None, message)

        if name.primary:
            other = primaries.setdefault(key, path)
            if other != path:
                message = f"{other.name} is {name.team}'s primary run as well"
                findings.error("primary run", None, message)
