"""A report as a static site: an overview, a page for each topic and run, readable from disk.

No page asks the network or runs a script that is not the file beside it (`pages/writing.py`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np

from arqmath_bm25.core.labs import RELEVANT
from arqmath_bm25.evaluation.qrels import Doubt
from arqmath_bm25.pages.report import charts
from arqmath_bm25.pages.report.gather import RECALL_LEVELS
from arqmath_bm25.pages.report.returned import judged_rates
from arqmath_bm25.pages.report.topic import topic_page
from arqmath_bm25.pages.writing import site, templates
from arqmath_bm25.runs.formula_ids import id_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from markupsafe import Markup

    from arqmath_bm25.evaluation.comparing import Comparison
    from arqmath_bm25.evaluation.score import RunScore
    from arqmath_bm25.pages.report.gather import Gathered, Run

_SHOWN: Final = {
    "ndcg_prime": "nDCG′", "map_prime": "MAP′", "p10_prime": "P′@10", "bpref": "bpref",
    "judged_at_10": "judged@10",
}  # fmt: skip
_DEPTHS: Final = (1, 5, 10, 20, 50, 100, 200, 500, 1000)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.-]+")
_TASKS: Final = {
    "task1": "Task 1: answers",
    "task2": "Task 2: formulas",
    "task3": "Task 3: open-domain answers",
}


@dataclass(frozen=True)
class Lead:
    """How far the best run is ahead of another one."""

    other: str
    difference: float
    wins: int  # topics
    losses: int
    p_value: float
    against: list[str]  # measures by which the other run is better


@dataclass(frozen=True)
class Verdict:
    """Which of the runs with the same judged topics is the best."""

    best: list[str]  # several if they are equal
    value: float
    leads: list[Lead]


@dataclass(frozen=True)
class Difference:
    """A run against the first one, topic by topic."""

    run: str
    baseline: str
    chart: Markup


def write_report(
    gathered: Gathered,
    directory: Path,
    progress: Callable[[int], None] = lambda _: None,
    threads: Path | None = None,
) -> None:
    """Write the report to `directory`, which appears only when it is complete.

    Posts lead to their pages in `threads`, as far as these are there. `progress` is told the topics
    that each step did. Raises InputError if `directory` holds something else than a report.
    """
    with site(directory, "report", "report.js") as place:
        for folder in ("topics", "runs"):
            (place / folder).mkdir()
        links = {
            page.stem: quote(os.path.relpath(page, directory / "topics"))
            for page in (threads.glob("*.html") if threads else ())
        }
        _write_pages(gathered, place, progress, links)


def _write_pages(
    gathered: Gathered, place: Path, progress: Callable[[int], None], threads: Mapping[str, str]
) -> None:
    environment = templates("report", "report.js")
    environment.globals["origin"] = gathered.collection.origin
    names = page_names(gathered.questions)
    topics = list(gathered.questions)
    shared = {
        "runs": gathered.runs,
        "measures": _SHOWN if gathered.qrels else {},
        "task": _TASKS[gathered.task],
        "collection": gathered.collection.name,
        "depth": gathered.depth,
        "pages": names,
        "threads": threads,
    }
    page = environment.get_template("topic.html")
    titles = {}
    for at, (topic, question) in enumerate(gathered.questions.items()):
        shown = topic_page(gathered, question)
        titles[topic] = shown.title
        text = page.render(
            shared, topic=shown, values=_values(gathered, topic),
            previous=topics[at - 1] if at else None,
            following=topics[at + 1] if at + 1 < len(topics) else None,
        )  # fmt: skip
        (place / "topics" / names[topic]).write_text(text, encoding="utf-8")
        progress(1)
    averages, comparisons = _averages(gathered), _comparisons(gathered)
    run_page = environment.get_template("run.html")
    settings = list(map(_settings, gathered.runs))
    failures = {run.name: _failures(gathered, run) for run in gathered.runs}
    for number, run in enumerate(gathered.runs, 1):
        text = run_page.render(
            shared, run=run, average=averages.get(run.name), settings=settings[number - 1],
            baseline=gathered.runs[0], baseline_settings=settings[0], failures=failures[run.name],
        )  # fmt: skip
        (place / "runs" / f"{number}.html").write_text(text, encoding="utf-8")
    doubtful = any(isinstance(w, Doubt) for _, score in _scored(gathered) for w in score.warnings)
    verdicts = [] if doubtful else _verdicts(gathered, comparisons)
    overview = environment.get_template("report.html").render(
        shared, topics=_topic_rows(gathered, titles), averages=averages, failures=failures,
        qrels=gathered.qrels_files, notes=_notes(gathered), comparisons=comparisons,
        doubtful=doubtful, verdicts=verdicts,
        differences=_differences(gathered, names), curves=_curves(gathered),
    )  # fmt: skip
    (place / "index.html").write_text(overview, encoding="utf-8")


def _failures(gathered: Gathered, run: Run) -> dict[str, list[str]]:
    """Return the topics without a relevant one among the first ten judged documents, by reason."""
    missing: list[str] = []
    not_returned: list[str] = []
    low: list[str] = []
    for topic, values in run.score.values.items() if run.score else ():
        if values["p10_prime"] == 0:
            relevant = {doc for doc, grade in gathered.qrels[topic].items() if grade >= RELEVANT}
            if any(hit.doc_id in relevant for hit in run.topics.get(topic, ())):
                low.append(topic)
            else:
                (not_returned if _holds_any(gathered, relevant) else missing).append(topic)
    return {
        "nothing relevant is in the collection": missing,
        "nothing relevant was retrieved": not_returned,
        "what is relevant is ranked low": low,
    }


def _holds_any(gathered: Gathered, docs: set[str]) -> bool:
    if gathered.task == "task2":
        numbers = np.fromiter(map(id_number, docs), np.int32)
        return bool(gathered.ids().is_visual(numbers).any())
    return any(gathered.collection.posts.read(doc) is not None for doc in docs)


def _settings(run: Run) -> dict[str, str]:
    """Return the settings that a run was made with; of several variants those of its own."""
    manifest = run.manifest or {}
    variant, settings = manifest.get("variant"), manifest.get("settings")
    found = {"variant": str(variant)} if variant else {}
    left: list[tuple[str, Any]] = [("", settings if isinstance(settings, dict) else {})]
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            if name.endswith(("variants", "stages", "fusions")):
                value = {key: one for key, one in value.items() if key == variant}
            left += [(f"{name} {key}".strip(), one) for key, one in reversed(value.items())]
        elif isinstance(value, str) and Path(value).is_absolute():
            found[name] = Path(value).name  # where files are is nobody's business
        else:
            found[name] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return found


def page_names(topics: Mapping[str, object]) -> dict[str, str]:
    """Name a file for each topic: its id, without what could lead out of the folder."""
    names: dict[str, str] = {}
    for number, topic in enumerate(topics, 1):
        name = f"{_UNSAFE.sub('_', topic).strip('.')[:60] or '_'}.html"
        names[topic] = name if name not in names.values() else f"{number}-{name}"
    return names


def _values(gathered: Gathered, topic: str) -> dict[str, dict[str, float] | None]:
    """Return run → measures of one topic; None where they are not known."""
    return {
        run.name: None if run.score is None else run.score.values.get(topic)
        for run in gathered.runs
    }


def _topic_rows(gathered: Gathered, titles: Mapping[str, Markup]) -> list[dict[str, Any]]:
    return [
        {
            "id": topic,
            "title": titles[topic],
            "tags": question.tags,
            "values": _values(gathered, topic),
        }
        for topic, question in gathered.questions.items()
    ]


def _averages(gathered: Gathered) -> dict[str, dict[str, float]]:
    return {run.name: score.averages() for run, score in _scored(gathered)}


def _verdicts(gathered: Gathered, comparisons: Sequence[Comparison]) -> list[Verdict]:
    averages, found = _averages(gathered), []
    for group in _comparable(gathered):
        means = {run.name: averages[run.name]["ndcg_prime"] for run, _ in group}
        best = [name for name, mean in means.items() if mean == max(means.values())]
        leads = []
        for one in comparisons:
            if len(best) == 1 and best[0] in (one.run, one.baseline):
                other = one.baseline if best[0] == one.run else one.run
                wins, losses = one.wins, one.losses
                if best[0] == one.baseline:
                    wins, losses = losses, wins
                against = [
                    name for key, name in list(_SHOWN.items())[1:-1]  # judged@10 is no quality
                    if averages[best[0]][key] < averages[other][key]
                ]  # fmt: skip
                p_value = one.randomization_holm
                leads.append(Lead(other, abs(one.difference), wins, losses, p_value, against))
        found.append(Verdict(best, max(means.values()), leads))
    return found


def _notes(gathered: Gathered) -> list[str]:
    warned: dict[str, list[str]] = {}
    for run, score in _scored(gathered):
        for warning in score.warnings:
            warned.setdefault(warning, []).append(run.name)
    notes = [f"{', '.join(names)}: {warning}" for warning, names in warned.items()]
    missing = {
        hit.post_id
        for run in gathered.runs
        for hits in run.topics.values()
        for hit in hits[: gathered.depth]
        if hit.post_id and gathered.collection.posts.read(hit.post_id) is None
    }
    if missing:
        notes.append(f"{len(missing):,} of the posts that are shown are not in the collection")
    return notes


def _scored(gathered: Gathered) -> list[tuple[Run, RunScore]]:
    return [(run, run.score) for run in gathered.runs if run.score is not None]


def _by_topic(score: RunScore) -> dict[str, float]:
    return {topic: values["ndcg_prime"] for topic, values in score.values.items()}


def _comparable(gathered: Gathered) -> list[list[tuple[Run, RunScore]]]:
    """Return the runs that can be compared with each other: those with the same judged topics."""
    groups: dict[tuple[str, ...], list[tuple[Run, RunScore]]] = {}
    for run, score in _scored(gathered):
        groups.setdefault(tuple(score.values), []).append((run, score))
    return [group for topics, group in groups.items() if len(group) > 1 and len(topics) > 1]


def _comparisons(gathered: Gathered) -> list[Comparison]:
    if not (groups := _comparable(gathered)):
        return []
    from arqmath_bm25.evaluation.comparing import compare  # scipy takes a second to load

    by_topic = [{run.name: _by_topic(score) for run, score in group} for group in groups]
    return [one for group in by_topic for one in compare(group)]


def _differences(gathered: Gathered, names: Mapping[str, str]) -> list[Difference]:
    found = []
    for (first, first_score), *others in _comparable(gathered):
        baseline = _by_topic(first_score)
        for run, score in others:
            bars = [
                charts.Bar(topic, value - baseline[topic], f"topics/{names[topic]}")
                for topic, value in _by_topic(score).items()
                if topic in names
            ]
            title = f"nDCG′ of {run.name} minus that of {first.name}, topic by topic"
            found.append(Difference(run.name, first.name, charts.differences(bars, title)))
    return found


def _curves(gathered: Gathered) -> dict[str, Markup]:
    if not (runs := _scored(gathered)):
        return {}
    precision, judged = {}, {}
    for run, score in runs:
        averages = score.averages()
        precision[run.name] = [
            (float(level), averages[f"iprec_at_recall_{level}_prime"]) for level in RECALL_LEVELS
        ]
        rates = judged_rates(run.topics, gathered.qrels, _DEPTHS)
        judged[run.name] = list(enumerate(rates))
    return {
        "Precision and recall": charts.curves(
            precision, "Interpolated precision at eleven levels of recall, judged documents only",
            "recall", [(float(level), f"{float(level):g}") for level in RECALL_LEVELS[::2]],
        ),
        "How much is judged": charts.curves(
            judged, "Share of the first documents that are judged",
            "first documents of a ranking", [(at, f"{k}") for at, k in enumerate(_DEPTHS)],
        ),
    }  # fmt: skip
