"""A report as a static site: an overview, a page for each topic and run, readable from disk.

No page asks the network or runs a script that is not the file beside it (`pages/page_files.py`). On
the page of a topic every document is written once: what is relevant first, whether a run found it
or not, and whole as long as there is room.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from arqmath_bm25.analysis.excerpts import beginning
from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.core.configuration import with_current_keys
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.records import Topic
from arqmath_bm25.evaluation.comparing import compare, may_contradict
from arqmath_bm25.evaluation.qrels import ComparabilityWarning
from arqmath_bm25.evaluation.score import group_by_warning
from arqmath_bm25.pages.page_files import site
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.pages.report.gather import DEPTHS, FEW_TOPICS, RECALL_LEVELS
from arqmath_bm25.runs.formula_ids import id_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from arqmath_bm25.evaluation.comparing import Comparison
    from arqmath_bm25.evaluation.score import RunScore
    from arqmath_bm25.pages.report.gather import ReportData, ReportedRun

    _Averages = Mapping[str, Mapping[str, float]]  # run -> measure -> value


_LACKING: Final = "nothing relevant in the collection"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.-]+")


# Parts of a configuration that have settings of each variant, in the words of readers.
_OF_VARIANTS: Final = {"variants": "weight of", "rerank": "re-ranker", "fusions": "fusion of"}
_AT_10: Final = ("p10_prime", "p10", "P@10")


def write_report(
    data: ReportData,
    directory: Path,
    progress: Callable[[int], None] = lambda _: None,
    threads: Path | None = None,
) -> None:
    """Write the report to `directory`, which appears only when it is complete.

    Posts link to their pages in `threads`, where these exist. `progress` gets the number of topics
    that each step did. Raises InputError if `directory` holds something else than a report.
    """
    names = page_names(data.questions)
    scores = {run.name: run.score for run in data.runs if run.score}
    averages = {name: score.averages() for name, score in scores.items()}
    failures = {run.name: _failures(data, run) for run in data.runs}
    lacking: set[str] = set()
    for reasons in failures.values():
        lacking.update(reasons[_LACKING])

    with site(directory, "report", "report.js", data.collection.origin) as pages:
        pages.templates.globals.update(
            vars(data),
            averages=averages,
            values={run.name: run.values for run in data.runs},
            failures=failures,
            lacking=lacking,
            settings={run.name: _settings(run) for run in data.runs},
            pages=names,
            threads=_thread_links(directory, threads),
        )
        titles = {}
        for topic, question in data.questions.items():
            values = topic_page(data, question)
            titles[topic] = values["title"]
            pages.write(f"topics/{names[topic]}", "topic.html", **values)
            progress(1)

        for number, run in enumerate(data.runs, 1):
            pages.write(f"runs/{number}.html", "run.html", run=run, baseline=data.baseline)
        pages.write(
            "index.html",
            "report.html",
            titles=titles,
            notes=_notes(data, scores),
            curves=_curves(averages),
            first_rows=FEW_TOPICS,
            depths=list(enumerate(DEPTHS)),
            **_compared(data, scores, averages),
        )


def _thread_links(directory: Path, threads: Path | None) -> dict[str, str]:
    """Return the links from pages of topics to pages of threads, by the ids of posts."""
    links: dict[str, str] = {}
    if threads is not None:
        for page in threads.glob("*.html"):
            links[page.stem] = quote(os.path.relpath(page, directory / "topics"))
    return links


def _failures(data: ReportData, run: ReportedRun) -> dict[str, list[str]]:
    """Return the topics without a relevant one among the first ten judged documents, by reason."""
    missing: list[str] = []
    not_returned: list[str] = []
    low: list[str] = []
    precision = next((key for key in data.measures if key in _AT_10), "")
    for topic, of_topic in run.values.items():
        if of_topic[precision] > 0:
            continue

        relevant = data.relevant_to(topic)
        if relevant & run.topics.get(topic, {}).keys():
            low.append(topic)
        elif _holds_any(data, relevant):
            not_returned.append(topic)
        else:
            missing.append(topic)

    return {_LACKING: missing, "not retrieved": not_returned, "ranked low": low}


def _holds_any(data: ReportData, docs: set[str]) -> bool:
    if data.formula_ids is not None:
        numbers = np.fromiter(map(id_number, docs), np.int32)
        return bool(data.formula_ids.is_visual(numbers).any())
    return any(data.post(doc) is not None for doc in docs)


def _settings(run: ReportedRun) -> dict[str, str]:
    """Return the settings of a run's variant, as text."""
    variant = run.manifest.get("variant")
    settings = run.manifest.get("settings")
    if isinstance(settings, dict):
        settings, _ = with_current_keys(settings)
    flat: dict[str, str] = {}
    if variant:
        flat["variant"] = str(variant)
    if isinstance(settings, dict):
        for name, value in settings.items():
            flat |= _flattened(str(name), value, variant)
    return flat


def _flattened(name: str, value: object, variant: object) -> dict[str, str]:
    """Return the settings of a part of a configuration, as text, by their names."""
    if isinstance(value, dict):
        part = _OF_VARIANTS.get(name.split(" ")[-1])
        if part is not None:
            name, value = part, value.get(variant) or {}

    if isinstance(value, dict):
        flat: dict[str, str] = {}
        for key, inner in value.items():
            flat |= _flattened(f"{name} {key}", inner, variant)
        return flat

    if isinstance(value, list):
        return {name: ", ".join(map(str, value))}
    if isinstance(value, str) and Path(value).is_absolute():
        return {name: Path(value).name}  # where files are is nobody's business
    return {name: str(value)}


def page_names(topics: Iterable[str]) -> dict[str, str]:
    """Name a file for each topic: its id, without what could lead out of the folder."""
    names: dict[str, str] = {}
    for number, topic in enumerate(topics, 1):
        name = f"{_UNSAFE.sub('_', topic).strip('.')[:60] or '_'}.html"
        if name in names.values():
            name = f"{number}-{name}"
        names[topic] = name
    return names


def _notes(data: ReportData, scores: Mapping[str, RunScore]) -> list[str]:
    warned = group_by_warning((name, score.warnings) for name, score in scores.items())
    notes = [f"{', '.join(names)}: {warning}" for warning, names in warned.items()]
    if data.missing:
        notes.append(f"{data.missing:,} of the posts that are shown are not in the collection")
    return notes


def _compared(
    data: ReportData, scores: Mapping[str, RunScore], averages: _Averages
) -> dict[str, Any]:
    """Compare runs on the same judged topics with the baseline, by the first measure."""
    first = next(iter(data.measures), "")
    values: dict[str, dict[str, float]] = {}
    for name, score in scores.items():
        values[name] = {topic: of_topic[first] for topic, of_topic in score.values.items()}

    groups: dict[tuple[str, ...], list[str]] = {}
    for name, of_run in values.items():
        groups.setdefault(tuple(of_run), []).append(name)

    comparisons: list[Comparison] = []
    verdicts = []
    for topics, names in groups.items():
        if len(names) > 1 and len(topics) > 1:
            baseline = min(names, key=lambda name: averages[name][first])
            if data.baseline.name in names:
                baseline = data.baseline.name
            order = [baseline, *(name for name in names if name != baseline)]
            of_group = compare({name: values[name] for name in order})
            of_runs = {name: averages[name] for name in names}
            comparisons += of_group
            verdicts.append(_verdict(data.measures, of_runs, of_group))

    differences = {}
    for pair in comparisons:
        run, baseline_values = values[pair.run], values[pair.baseline]
        differences[pair.run] = {topic: run[topic] - baseline_values[topic] for topic in run}

    warnings = [note for score in scores.values() for note in score.warnings]
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
    measures: Mapping[str, str], averages: _Averages, comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return the best runs, and the lead of the first over each other one."""
    first = next(iter(measures))
    value = max(of_run[first] for of_run in averages.values())
    best = [name for name, of_run in averages.items() if of_run[first] == value]
    leads = []
    if len(best) == 1:
        for pair in comparisons:
            if best[0] in (pair.run, pair.baseline):
                leads.append(_lead(best[0], pair, measures, averages))

    return {"best": best, "value": value, "leads": leads}


def _lead(
    best: str, pair: Comparison, measures: Mapping[str, str], averages: _Averages
) -> dict[str, Any]:
    """Return by how much the best run of a pair leads, and which measures say the opposite."""
    other, wins, losses = pair.baseline, pair.wins, pair.losses
    if best == pair.baseline:
        other, wins, losses = pair.run, pair.losses, pair.wins
    against = []
    for key in may_contradict(list(measures)):
        if averages[best][key] < averages[other][key]:
            against.append(measures[key])

    return {
        "other": other,
        "difference": abs(pair.difference),
        "wins": wins,
        "losses": losses,
        "p_value": pair.randomization_holm,
        "against": against,
    }


def _curves(averages: _Averages) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return the points of two charts by run: precision by recall, and how much is judged."""
    recall = [(level, f"iprec_{level}") for level in RECALL_LEVELS]
    judged = [(float(x), f"judged_{depth}") for x, depth in enumerate(DEPTHS)]
    return {"recall": _points(recall, averages), "judged": _points(judged, averages)}


def _points(
    keys: Sequence[tuple[float, str]], averages: _Averages
) -> dict[str, list[tuple[float, float]]]:
    points = {}
    for run, values in averages.items():
        points[run] = [(x, values[key]) for x, key in keys]
    return points


_EXCERPT: Final = 160  # characters
_HEADING: Final = 60  # of a document without a title
_ROOM: Final = 10_000  # characters of the bodies of a page's posts, as DATA has them


class ShownDocument:
    """A document that was retrieved or should have been, with its rank in each run."""

    def __init__(
        self, data: ReportData, doc_id: str, place: tuple[str, str], grade: int | None,
        ranks: list[int | None], writer: PostWriter,
    ) -> None:  # fmt: skip
        """`place` is the post to show, and the formula in that; both may be empty."""
        self.doc_id = doc_id
        self.grade = grade or 0
        self.word = "Unjudged"
        if grade is not None:
            self.word = data.words[max(grade, 0)]
        self.ranks = ranks  # of each run
        post_id, self.formula_id = place
        latex = data.latex.get(self.formula_id)
        self.formula = Markup()
        if latex:
            self.formula = writer.formula(Formula(latex, None), display=True)
        self.post = None  # if DATA does not have it
        if post_id:
            self.post = data.post(post_id)
        self.title = self.body = Markup()
        self.whole = False  # whether the body is all of the post
        self.link = ""  # empty where there is none
        self.shares = 0, 0  # of the words, and of the formulas, that the question has
        if self.post is not None:
            question = data.collection.question_of(self.post)
            heading = (question and question.title) or "(no question)"
            if heading == post_id:  # a document without a title
                heading = beginning(self.post.body, _HEADING).text or post_id
            self.title = writer.title(heading, self.formula_id)
            self.link = data.collection.link(self.post)
            bodies = dict.fromkeys(post.body for post in (self.post, question) if post)
            self.shares = writer.shares([read_title(heading), *map(read_body, bodies)])
        elif post_id:
            self.title = Markup("Post {} is not in the collection").format(post_id)

    def order(self, relevant: int) -> tuple[int, int, str]:
        """Sort relevant documents first, by grade, then by the best rank in any run."""
        best = min((rank for rank in self.ranks if rank), default=MAX_DEPTH + 1)
        if self.grade < relevant:
            return 0, best, self.doc_id
        return -self.grade, best, self.doc_id


def _plain(title: Content) -> str:
    """Return a title as plain text, its formulas as LaTeX."""
    texts = []
    for piece in title.pieces:
        if isinstance(piece, Formula):
            piece = piece.latex
        texts.append(piece)
    return "".join(texts)


def topic_page(data: ReportData, topic: Topic) -> dict[str, Any]:
    """Return the values for the template `topic.html`."""
    delimiters = data.delimiters
    title, body = read_title(topic.title, delimiters), read_body(topic.question, delimiters)
    plain = PostWriter((), delimiters, data.macros)
    asked = Markup()
    if topic.latex:  # Task 2 asks for one formula
        asked = plain.formula(Formula(topic.latex, None), display=True)
        writer = PostWriter([Content((Formula(topic.latex, None),))])
    else:
        tags = Content((" ".join(topic.tags).replace("-", " "),))
        writer = PostWriter([title, body, tags], delimiters, data.macros)

    documents, absent = _documents(data, topic.topic_id, writer)
    return {
        "topic": topic,
        "title": plain.title(topic.title, topic.formula_id),
        "plain_title": _plain(title),
        "body": plain.body(topic.question, topic.formula_id),
        "formula": asked,  # Task 2: what is searched
        "asks": writer.asks,  # how many words and formulas it has
        "documents": {document.doc_id: document for document in documents},
        "judged": topic.topic_id in data.qrels,
        "labels": [*dict.fromkeys(data.words.values()), "Unjudged"],
        "absent": absent,  # relevant ones that no run returns and DATA does not tell
        "answer": lambda hit: writer.content(read_title(hit.answer)),
    }


def _documents(data: ReportData, topic: str, writer: PostWriter) -> tuple[list[ShownDocument], int]:
    """Return the hits that are shown and the relevant documents, and how many are unknown.

    Relevant ones come first, by grade, then by rank. As many posts are
    whole as there is room: pages stay small however long posts are.
    """
    grades = data.qrels.get(topic, {})
    rankings = [run.topics.get(topic, {}) for run in data.runs]
    ranks = []
    shown: dict[str, tuple[str, str]] = {}  # document -> its post, and the formula in that
    for ranking in rankings:
        ranks.append({doc: rank for rank, doc in enumerate(ranking, 1)})
        first = list(ranking.items())[: data.depth]
        for doc, row in reversed(first):
            if not row.answer:
                shown[doc] = row.shown

    absent = 0
    for doc, grade in grades.items():
        if grade < data.relevant:
            continue

        rows = [ranking[doc] for ranking in rankings if doc in ranking]
        if rows:
            shown.setdefault(doc, rows[0].shown)
        elif data.formula_ids is None and data.post(doc) is not None:
            shown[doc] = doc, ""
        else:  # of a formula that no run found, nothing is known
            absent += 1

    documents = []
    for doc, place in shown.items():
        of_runs = [of_run.get(doc) for of_run in ranks]
        documents.append(ShownDocument(data, doc, place, grades.get(doc), of_runs, writer))

    documents.sort(key=lambda document: document.order(data.relevant))
    _write_bodies(documents, len(data.questions) <= FEW_TOPICS, writer)
    return documents, absent


def _write_bodies(documents: Iterable[ShownDocument], few: bool, writer: PostWriter) -> None:
    """Write the bodies of documents: whole as long as there is room, else their beginnings."""
    room, begin = _ROOM, _EXCERPT
    if not few:
        room, begin = _ROOM // 10, _EXCERPT // 2
    for document in documents:
        if document.post is None:
            continue

        body = document.post.body
        document.body = writer.content(beginning(body, begin))
        if len(body) <= room:
            document.body = writer.body(body, document.formula_id)
            document.whole = True
            room -= len(body)
