"""A report as a static site: an overview, a page for each topic and run, readable from disk.

No page accesses the network, and none runs a script other than the file next to it
(`pages/page_files.py`). The page of a topic has every document once: relevant documents first,
whether a run found them or not, and in full as long as there is room.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from arqmath_bm25.analysis.excerpts import beginning, excerpt, length_of
from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.collection.posts import QUESTION, Post
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.records import Topic
from arqmath_bm25.evaluation.comparing import Comparison, compare, may_contradict
from arqmath_bm25.evaluation.qrels import ComparabilityWarning
from arqmath_bm25.evaluation.score import group_by_warning
from arqmath_bm25.pages.page_files import page_names, site
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.pages.report.gather import (
    DEPTHS,
    FEW_TOPICS,
    RECALL_LEVELS,
    ReportData,
    ReportedRun,
)
from arqmath_bm25.runs.formula_ids import id_numbers
from arqmath_bm25.runs.rows import RunRow

# Why a topic has no relevant document among the first ten.
_MISSING = "nothing relevant in the collection"
_NOT_RETURNED = "not retrieved"
_LOW = "ranked low"


# Parts of a configuration that have settings for each variant, in the words of readers.
_VARIANT_PARTS = {
    "variants": "weight of",
    "rerank": "reranker",
    "fusions": "fusion of",
}
_AT_10 = ("p10_prime", "p10", "P@10")


def write_report(
    data: ReportData,
    directory: Path,
    progress: Callable[[int], None],
    threads: Path | None,
) -> None:
    """Write the report to `directory`, which appears only when it is complete.

    Posts link to their pages in `threads`, where these exist. `progress` gets the number of topics
    that each step wrote. Raises InputError if `directory` holds something else than a report.
    """
    names = page_names(data.questions)
    failures = {run.name: _failures(data, run) for run in data.runs}
    # From pages of topics to pages of threads, by the ids of posts.
    links = {}
    for page in threads.glob("*.html") if threads else ():
        links[page.stem] = quote(os.path.relpath(page, directory / "topics"))
    with site(directory, "report", "report.js", data.collection.origin) as pages:
        pages.templates.globals.update(
            vars(data),
            failures=failures,
            lacking=set(chain.from_iterable(of_run[_MISSING] for of_run in failures.values())),
            settings={run.name: _settings(run) for run in data.runs},
            pages=names,
            threads=links,
        )

        titles = {}
        words = {}  # of the whole titles
        for topic, question in data.questions.items():
            values = topic_page(data, question)
            titles[topic] = values["short_title"]
            words[topic] = values["title"].striptags()
            pages.write(f"topics/{names[topic]}", "topic.html", **values)
            progress(1)
        for number, run in enumerate(data.runs, 1):
            pages.write(f"runs/{number}.html", "run.html", run=run)

        pages.write(
            "index.html",
            "report.html",
            titles=titles,
            words_of_titles=words,
            notes=_notes(data),
            curves=_curves(data),
            first_rows=FEW_TOPICS,
            depths=list(enumerate(DEPTHS)),
            endings={run.name[-2:] for run in data.runs},
            **_comparisons(data),
        )


def _failures(data: ReportData, run: ReportedRun) -> dict[str, list[str]]:
    """Return the topics without a relevant document among the first ten, by reason."""
    failures: dict[str, list[str]] = {_MISSING: [], _NOT_RETURNED: [], _LOW: []}
    precision = next((key for key in data.measures if key in _AT_10), "")
    for topic, values in run.values.items():
        if values[precision] > 0:
            continue

        relevant = data.relevant_docs[topic]
        if data.formula_ids is None:
            is_there = any(map(data.post, relevant))
        else:
            is_there = bool(data.formula_ids.is_visual(id_numbers(relevant)).any())

        reason = _MISSING
        if is_there:
            reason = _NOT_RETURNED
        if not relevant.isdisjoint(run.topics.get(topic, {})):
            reason = _LOW
        failures[reason].append(topic)

    return failures


def _settings(run: ReportedRun) -> dict[str, str]:
    """Return the settings of a run's variant, as text."""
    variant = run.manifest.get("variant")
    settings = run.manifest.get("settings")
    flat = {}
    if variant:
        flat["variant"] = str(variant)

    if isinstance(settings, dict):
        for name, value in settings.items():
            flat.update(_flatten(str(name), value, variant))
    return flat


def _flatten(name: str, value: object, variant: object) -> dict[str, str]:
    """Return the settings in a part of a configuration, as text, by their names."""
    if isinstance(value, dict):
        last_word = name.split(" ")[-1]
        part = _VARIANT_PARTS.get(last_word)
        if part is not None:
            name = part
            value = value.get(variant) or {}

    if isinstance(value, dict):
        flat = {}
        for key, inner in value.items():
            flat.update(_flatten(f"{name} {key}", inner, variant))
        return flat

    if isinstance(value, list):
        return {name: ", ".join(map(str, value))}

    # Reports are published, and must not show the folders of the author.
    if isinstance(value, str) and Path(value).is_absolute():
        return {name: Path(value).name}
    return {name: str(value)}


def _notes(data: ReportData) -> list[str]:
    """Return the warnings of the runs, and how many posts are missing."""
    warnings = [(name, score.warnings) for name, score in data.scores.items()]
    notes = []
    for warning, names in group_by_warning(warnings).items():
        runs = ", ".join(names)
        notes.append(f"{runs}: {warning}")

    if data.missing:
        notes.append(f"{data.missing:,} of the posts that are shown are not in the collection")
    return notes


def _comparisons(data: ReportData) -> dict[str, Any]:
    """Compare runs on the same judged topics with the baseline, by the first measure."""
    first = next(iter(data.measures), "")
    values = {name: score.values_of(first) for name, score in data.scores.items()}

    # Runs can be compared on the same topics only.
    groups = dict[tuple[str, ...], list[str]]()
    for name, topic_values in values.items():
        topics = tuple(topic_values)
        groups.setdefault(topics, []).append(name)

    comparisons = []
    verdicts = []
    for topics, names in groups.items():
        if len(names) < 2 or len(topics) < 2:
            continue

        baseline = data.baseline.name
        if baseline not in names:
            baseline = min(names, key=lambda name: data.averages[name][first])

        group = {name: values[name] for name in (baseline, *names)}
        group_comparisons = compare(group)
        comparisons += group_comparisons
        verdicts.append(_verdict(data, names, group_comparisons))

    differences = {}
    for pair in comparisons:
        before = values[pair.baseline]
        of_run = values[pair.run]
        differences[pair.run] = {topic: of_run[topic] - before[topic] for topic in of_run}

    warnings = chain.from_iterable(score.warnings for score in data.scores.values())
    doubtful = any(isinstance(note, ComparabilityWarning) for note in warnings)
    if doubtful:
        verdicts = []

    return {
        "doubtful": doubtful,
        "verdicts": verdicts,
        "comparisons": comparisons,
        "differences": differences,
    }


def _verdict(
    data: ReportData, names: Sequence[str], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return the best of some runs, and by how much the first of them leads over each other."""
    averages = data.averages
    first = next(iter(data.measures))
    highest = max(averages[name][first] for name in names)
    best = [name for name in names if averages[name][first] == highest]

    leads = []
    for pair in comparisons:
        if len(best) > 1 or best[0] not in (pair.run, pair.baseline):
            continue

        other, wins, losses = pair.baseline, pair.wins, pair.losses
        if best[0] == pair.baseline:
            other, wins, losses = pair.run, pair.losses, pair.wins
        against = []
        for key in may_contradict(list(data.measures)):
            if averages[best[0]][key] < averages[other][key]:
                against.append(data.measures[key])

        leads.append(
            {
                "other": other,
                "difference": abs(pair.difference),
                "wins": wins,
                "losses": losses,
                "p_value": pair.randomization_holm,
                "against": against,
            }
        )
    return {"best": best, "value": highest, "leads": leads}


def _curves(data: ReportData) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return the points of two charts by run: precision by recall, and the share of judged hits."""
    recall = {}
    judged = {}
    precision = "iprec"
    if data.primed:
        precision = "iprec_prime"
    for run, values in data.averages.items():
        recall[run] = [(level, values[f"{precision}_{level}"]) for level in RECALL_LEVELS]
        judged[run] = [(float(x), values[f"judged_{depth}"]) for x, depth in enumerate(DEPTHS)]
    return {"recall": recall, "judged": judged}


# Lengths in characters: of an excerpt, and of the heading of a document without a title.
_EXCERPT = 160
_HEADING = 60

# The bodies of a page's posts may have so many characters together.
_ROOM = 10_000


# Answers have questions in common, and topics have hits.
_read_body = lru_cache(maxsize=1 << 11)(read_body)


class ReportDocument:
    """A document that a run returned, or that is relevant, with its rank in each run."""

    def __init__(
        self,
        data: ReportData,
        doc_id: str,
        post_and_formula: tuple[str, str],
        grade: int | None,
        ranks: list[int | None],
        writer: PostWriter,
    ) -> None:
        """`post_and_formula` are the post to show and the formula in it; both may be empty."""
        self.doc_id = doc_id
        self.grade = grade or 0
        self.word = "Unjudged"
        if grade is not None:
            self.word = data.words[max(grade, 0)]

        # The ranks in each run; None where the run does not return the document.
        self.ranks = ranks

        post_id, self.formula_id = post_and_formula
        formula = Formula(data.latex.get(self.formula_id, ""), None)
        self.formula = writer.formula(formula, display=True)

        # None if the collection does not have the post.
        self.post = None
        if post_id:
            self.post = data.post(post_id)

        self.title = Markup()
        self.body = Markup()

        # Whether the body is all of the post.
        self.whole = False

        # The address of the post; empty if it has none.
        self.link = ""

        # How many words and formulas of the question the post has.
        self.shares = (0, 0)

        post = self.post
        if post is not None:
            question: Post | None = post
            if post.post_type != QUESTION:
                question = data.post(post.parent_id or "")
            heading = "(no question)"
            if question is not None and question.title:
                heading = question.title

            # The title of a document without a title is its id.
            if heading == post_id:
                heading = beginning(post.body, _HEADING).text or post_id

            self.title = writer.title(heading, self.formula_id)
            self.link = data.collection.link(post)

            contents = [read_title(heading), _read_body(post.body)]
            if question is not None and question.body != post.body:
                contents.append(_read_body(question.body))
            self.shares = writer.shares(contents)
        elif post_id:
            self.title = Markup("Post {} is not in the collection").format(post_id)

    def order(self, relevant: int) -> tuple[int, int, str]:
        """Return the key that sorts relevant documents first, by grade, then by the best rank."""
        ranks = filter(None, self.ranks)
        best = min(ranks, default=MAX_DEPTH + 1)
        if self.grade < relevant:
            return 0, best, self.doc_id
        return -self.grade, best, self.doc_id


def topic_page(data: ReportData, topic: Topic) -> dict[str, Any]:
    """Return the values for the template `topic.html`."""
    delimiters = data.delimiters
    title = read_title(topic.title, delimiters)
    body = read_body(topic.question, delimiters)
    plain = PostWriter((), delimiters, data.macros)
    formula = Markup()
    if topic.latex:
        # A topic of Task 2 is one formula.
        asked = Formula(topic.latex, None)
        formula = plain.formula(asked, display=True)
        writer = PostWriter([Content((asked,))])
    else:
        words = " ".join(topic.tags).replace("-", " ")
        tags = Content((words,))
        writer = PostWriter([title, body, tags], delimiters, data.macros)

    # A question without a title is its own title: a table of a thousand of them has to open fast.
    whole_title = plain.title(topic.title, topic.formula_id)
    short_title = whole_title
    if length_of(title.pieces) > _EXCERPT:
        short_title = plain.content(excerpt(title, _EXCERPT))

    documents, absent = _documents(data, topic.topic_id, writer)
    labels = dict.fromkeys(data.words.values())
    return {
        "topic": topic,
        "title": whole_title,
        "short_title": short_title,
        "plain_title": title.marked(""),
        "body": plain.body(topic.question, topic.formula_id),
        "formula": formula,
        # How many words and formulas the topic has.
        "asks": writer.asks,
        "documents": {document.doc_id: document for document in documents},
        "judged": topic.topic_id in data.qrels,
        "labels": [*labels, "Unjudged"],
        # The number of relevant documents of which nothing is known.
        "absent": absent,
        "answer": lambda row: writer.content(read_title(row.answer)),
    }


def _documents(
    data: ReportData, topic: str, writer: PostWriter
) -> tuple[list[ReportDocument], int]:
    """Return the documents to show, and how many relevant documents have no text.

    Relevant documents come first, by grade, then by rank. Only as many posts are written in full
    as there is room for, so pages stay small however long posts are.
    """
    grades = data.qrels.get(topic, {})
    rankings = [run.topics.get(topic, {}) for run in data.runs]
    posts, absent = _posts_to_show(data, rankings, grades)
    ranks = [{doc: rank for rank, doc in enumerate(ranking, 1)} for ranking in rankings]

    documents = []
    for doc, post_and_formula in posts.items():
        of_doc = [of_run.get(doc) for of_run in ranks]
        grade = grades.get(doc)
        documents.append(ReportDocument(data, doc, post_and_formula, grade, of_doc, writer))
    documents.sort(key=lambda document: document.order(data.relevant))

    room = _ROOM
    begin = _EXCERPT
    if len(data.questions) > FEW_TOPICS:
        room //= 10
        begin //= 2
    for document in documents:
        if document.post is not None:
            body = document.post.body
            document.whole = len(body) <= room
            if document.whole:
                document.body = writer.body(body, document.formula_id)
                room -= len(body)
            else:
                document.body = writer.content(beginning(body, begin))
    return documents, absent


def _posts_to_show(
    data: ReportData, rankings: Sequence[Mapping[str, RunRow]], grades: Mapping[str, int]
) -> tuple[dict[str, tuple[str, str]], int]:
    """Return post and formula of the first hits and of relevant documents, and how many lack."""
    posts = {}
    rows: dict[str, RunRow] = {}
    for ranking in rankings:
        for doc, row in ranking.items():
            rows.setdefault(doc, row)

        first = list(ranking.items())[: data.depth]
        for doc, row in reversed(first):
            if not row.answer:
                posts[doc] = row.post_and_formula

    absent = 0
    for doc, grade in grades.items():
        if grade < data.relevant:
            continue

        if doc in rows:
            posts.setdefault(doc, rows[doc].post_and_formula)
        elif data.formula_ids is None and data.post(doc) is not None:
            posts[doc] = (doc, "")
        else:
            # The visual id of a formula that no run found leads to no post.
            absent += 1

    return posts, absent
