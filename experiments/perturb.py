"""The command `perturb`: what a ranking loses when people ask the same questions in other ways."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.core.labs import MAX_DEPTH, RELEVANT, known_year
from arqmath_bm25.core.progress import progress
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.evaluation.comparing import compare
from arqmath_bm25.evaluation.measures import measure, named_measures
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arqmath_bm25.core.records import Topic
    from experiments.tuning.trials import Judged

_FORMULA: Final = re.compile(r'(<span class="math-container"[^>]*>)(.*?)(</span>)', re.DOTALL)
# What no renaming may touch: the names of commands and environments, and text in formulas.
_NO_VARIABLE: Final = re.compile(
    r"(\\(?:begin|end|text\w*|mathrm|operatorname\*?|mbox|label|tag)\s*\{[^}]*\}|\\[A-Za-z]+)"
    r"|([A-Za-z])"
)
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_BEFORE: Final = (
    "<p>Hello everyone, I hope that you are all well. I am a student and new to this site, so "
    "please forgive me if I do something wrong. I have been thinking about the following problem "
    "for several days, and I really would appreciate any help that you can give me. I searched for "
    "a while but could not find anything that answers my question.</p> "
)
_AFTER: Final = (
    " <p>I am grateful for any hints or suggestions. I have tried a lot of different approaches, "
    "but I always get stuck at some point and do not know how to continue from there. If somebody "
    "could explain it to me in simple words, step by step, or give me a reference to a good book "
    "where I can read about this, that would be wonderful. Thank you very much in advance for your "
    "time and your patience, and have a nice day! Best regards from a beginner who wants to "
    "understand this properly.</p>"
)


def _formulas(topic: Topic, change: Callable[[re.Match[str]], str]) -> Topic:
    return topic._replace(
        title=_FORMULA.sub(change, topic.title), question=_FORMULA.sub(change, topic.question)
    )


def renamed(topic: Topic) -> Topic:
    """Give each letter in the formulas of a topic another name, drawn for the topic."""
    letters = list(_LETTERS)
    random.Random(topic.topic_id).shuffle(letters)  # noqa: S311
    new = "".join(letters)
    table = str.maketrans(_LETTERS + _LETTERS.upper(), new + new.upper())

    def rename(formula: re.Match[str]) -> str:
        latex = _NO_VARIABLE.sub(lambda m: m[1] or m[2].translate(table), formula[2])
        return f"{formula[1]}{latex}{formula[3]}"

    return _formulas(topic, rename)


def misspelled(topic: Topic) -> Topic:
    """Swap two letters in three of ten longer words of the prose."""
    chance = random.Random(topic.topic_id)  # noqa: S311

    def swap(word: re.Match[str]) -> str:
        text, place = word[0], chance.randrange(1, len(word[0]) - 2)
        if chance.random() >= 0.3:
            return text
        return f"{text[:place]}{text[place + 1]}{text[place]}{text[place + 2 :]}"

    def prose(text: str) -> str:
        pieces = re.split(
            r'(<span class="math-container".*?</span>|<[^>]*>)', text, flags=re.DOTALL
        )
        return "".join(
            piece if piece.startswith("<") else re.sub(r"[A-Za-z]{4,}", swap, piece)
            for piece in pieces
        )

    return topic._replace(title=prose(topic.title), question=prose(topic.question))


def _formulas_alone(text: str) -> str:
    return " ".join(match[0] for match in _FORMULA.finditer(text))


def _beginning(topic: Topic) -> Topic:
    text = f"{read_title(topic.title).text} {read_body(topic.question).text}"[:200]
    return topic._replace(title=text, question="", tags=())


WAYS: Final[dict[str, Callable[[Topic], Topic]]] = {
    "as given": lambda topic: topic,
    "variables renamed": renamed,
    "150 words of courtesy": lambda t: t._replace(question=f"{_BEFORE}{t.question}{_AFTER}"),
    "body twice": lambda t: t._replace(question=f"{t.question} {t.question}"),
    "typos in 30 % of the words": misspelled,
    "dollars lost": lambda topic: _formulas(topic, lambda formula: formula[2].strip("$")),
    "no tags": lambda topic: topic._replace(tags=()),
    "no title": lambda topic: topic._replace(title=""),
    "title alone": lambda topic: topic._replace(question="", tags=()),
    "formulas alone": lambda t: t._replace(
        title=_formulas_alone(t.title), question=_formulas_alone(t.question), tags=()
    ),
    "first 200 characters": _beginning,
}


def ndcg(
    index: OpenIndex, variant: str, topics: Sequence[Topic], judged: Judged, threads: int
) -> dict[str, float]:
    """Return the nDCG of every topic, over whole rankings."""
    index.threads = threads
    ranked = index.rank(topics, variant, MAX_DEPTH)
    rankings = {
        topic.topic_id: {hit.doc_id: hit.score for hit in hits}
        for topic, hits in zip(topics, ranked, strict=True)
    }
    measured = measure(rankings, judged.qrels, named_measures("ndcg"), RELEVANT)
    return {topic: measured.get(topic, {}).get("ndcg", 0.0) for topic in judged.qrels}


@command
def perturb(
    place: options.Place,
    on: Annotated[
        list[str] | None, typer.Option(metavar="YEAR", help="Years of topics; repeatable.")
    ] = None,
    config: Path | None = None,
    variant: str | None = None,
    threads: int = options.THREADS,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="The table as JSON.")
    ] = None,
) -> None:
    """Change the wording of the topics, and compare the scores with the scores of the originals.

    Variables get other names, polite phrases surround the question, dollars are lost, and so
    on. Scores are nDCG over whole rankings, unjudged answers as not relevant, on topics with an
    answer of grade 2 or 3. It needs flat postings: index task1 --engine flat.

    Example: python -m experiments perturb --data data/arqmath-lite --on 2020 --on 2021
    """
    from experiments.tuning.trials import Judged  # scipy takes a second to load

    with place.naming_the_build(config):
        index = OpenIndex.open(place.collection, "task1", config, Engine("flat"))
        chosen = index.task.chosen(variant)
        judged = Judged.read(index, on or ["2020", "2021"])
    year_of = {topic: known_year([topic]) or "" for topic in judged.qrels}
    years = sorted(set(year_of.values()))
    table = Table("nDCG", *years, "all", "difference", "better/worse", "p")
    rows, first = {}, dict[str, float]()
    with progress("Ranking", len(WAYS), "ways") as advance:
        for name, change in WAYS.items():
            topics = [index.task.marked(change(topic)) for topic in judged.topics]
            values = ndcg(index, chosen, topics, judged, threads)
            first = first or values
            (against,) = compare({"as given": first, "asked so": values})
            cells = [
                f"{fmean(value for topic, value in values.items() if year_of[topic] == year):.3f}"
                for year in years
            ]
            cells.append(f"{against.mean:.3f}")
            if values is not first:
                wins = f"{against.wins}/{against.losses}"
                p = f"{against.randomization_p:.3f}"
                cells += [f"{against.difference:+.3f}", wins, p]
            rows[name] = values
            table.add_row(name, *cells)
            advance(1)
    options.results.print(table)
    if json_file:
        options.write({json_file: json.dumps(rows, indent=1) + "\n"})
