"""The commands `remix` and `transfer`: does a ranking hold in a larger collection?

`remix` writes a larger collection (`remix.py`), which `tune`, `perturb` and task1_subset.py take as
DATA to judge Task 1; `benchmarks/transfer.py` compares Task 1 with peers. `transfer` scores
formulas, premises and own documents, which are the answers, asked by the topics of Task 1. An
invented premise has as many sentences as a real one, from the premises nearest to it by tf-idf;
`noise` of them from any premise. Premises that a statement of the dev set cites give nothing.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer
from rich.table import Table

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.formulas import DELETED, FormulaRow, read_formulas
from arqmath_bm25.collection.own_documents import CORPUS
from arqmath_bm25.collection.premises import (
    Premise,
    read_premises,
    read_statements,
)
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.progress import progress
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.score import score, score_premises
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import of_config, with_needed
from arqmath_bm25.tasks.open_index import Index
from arqmath_bm25.tasks.premises.tfidf import Tfidf
from experiments import nlps_table
from experiments.remix import write_remix
from experiments.results.runner import with_relevant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arqmath_bm25.core.labs import LabTask, Year
    from arqmath_bm25.evaluation.qrels import Qrels

    Cells = dict[str, str]  # variant → its scores

YEARS: Final[tuple[Year, ...]] = ("2020", "2021")
LINKS: Final = 2.5  # of a thread, as in the whole collection
JUDGE: Final = 30_000  # answers of a remix in which settings of Task 1 are compared
_NEAR: Final = 20  # premises that an invented one takes sentences from
_SENTENCE: Final = re.compile(r"(?<=[.:])\s+|\n+")


def judged(collection: Collection, task: LabTask) -> tuple[Qrels, set[str]]:
    """Return the judgments of the documents of a collection, and its posts of grade 1 or higher.

    Topics without a relevant answer or formula are left out.
    """
    years, posts = judgments_held(collection, task)
    qrels: Qrels = {}
    for year in years.values():
        qrels |= year
    qrels = with_relevant(qrels)
    relevant = {doc for grades in qrels.values() for doc, grade in grades.items() if grade >= 1}
    return qrels, set().union(*(posts[doc] for doc in relevant))


def judgments_held(
    collection: Collection, task: LabTask, whole: Collection | None = None
) -> tuple[dict[Year, Qrels], dict[str, set[str]]]:
    """Return the judgments of what a collection holds by year, and the posts of each document.

    Formulas get their visual ids of v3, while the judgments of 2021 have visual ids of v2, and
    those of 2020 instances: a collection that is cut out of a `whole` one may hold another of them.
    """
    names: dict[str, str] = {}  # judged id → that of the result
    older: dict[str, str] = {}
    posts = defaultdict[str, set[str]](set)
    if task == "task2":
        for row in _formulas(collection):
            posts[row.visual_id].add(row.post_id)
            names[row.visual_id] = older[row.old_visual_id] = row.visual_id
    else:
        for thread in collection.origin_site.scan().threads():
            for answer in thread.answers:
                posts[answer.post_id].add(answer.post_id)
                names[answer.post_id] = answer.post_id
    years: dict[Year, Qrels] = {}
    for year in YEARS:
        years[year] = {}
        file = collection.layout.qrels(task, year)
        judgments = Evaluator(whole or collection).judgments(task, file)
        name = older if judgments.ids == "visual_v2" else names
        for topic, grades in judgments.qrels.items():
            held: dict[str, int] = {}
            for doc, grade in grades.items():
                if doc in name:
                    held[name[doc]] = max(grade, held.get(name[doc], 0))
            if held:
                years[year][topic] = held
    return years, posts


def _formulas(collection: Collection) -> Iterator[FormulaRow]:
    """Yield the formulas that a run may return."""
    for row in read_formulas(collection.layout.formulas()):
        if row.type != "comment" and row.issue not in DELETED:
            yield row


def ranked(task: str, collection: Collection, topics: Collection, qrels: Qrels) -> Cells:
    """Index a collection; score every variant by topics of another one."""
    flat = Engine("flat")
    wanted = of_config(task, collection).index_task
    for content in with_needed([wanted], collection):  # Task 2 needs the index of Task 1 too
        ensure(content, Processes(options.THREADS), [flat])
    index = Index.open(collection, task, engine=flat)
    lab: LabTask = "task2" if task == "task2" else "task1"
    asked = [
        topic
        for _, path in topics.layout.topic_files(lab, YEARS)
        for topic in index.task.read(collection, lab, path).topics
        if topic.topic_id in qrels
    ]
    cells = {}
    for variant in index.variants:
        rankings = {
            topic.topic_id: {hit.visual_id or hit.doc_id: hit.score for hit in hits}
            for topic, hits in zip(
                asked, index.rank(asked, variant, MAX_DEPTH, options.THREADS), strict=True
            )
        }
        means = score(rankings, qrels).averages()
        cells[variant] = " / ".join(f"{means[key]:.3f}" for key in ("ndcg", "map", "ndcg_prime"))
    return cells


def write_answers(collection: Collection, data: Path) -> None:
    """Write the answers of a collection as own documents, under the titles of their questions."""
    data.mkdir()
    with (data / CORPUS).open("w", encoding="utf-8") as file:
        for thread in collection.origin_site.scan().threads():
            title = thread.question.title if thread.question else None
            for answer in thread.answers:
                row = {"id": answer.post_id, "title": title or "", "text": answer.body}
                file.write(json.dumps(row) + "\n")


def invented_premises(
    premises: Sequence[Premise], cited: set[str], number: int, chance: random.Random, noise: float
) -> Iterator[Premise]:
    """Yield `number` premises made of the sentences of premises that are not `cited`."""
    sources = [premise for premise in premises if premise.premise_id not in cited]
    texts = {p.premise_id: list(filter(None, _SENTENCE.split(p.text))) for p in sources}
    forms = [chance.choice(sources) for _ in range(number)]
    statements = [Statement(form.premise_id, form.text, ()) for form in forms]
    first = 1 + max(int(premise.premise_id) for premise in premises)
    for place, near in enumerate(Tfidf(sources).rank(statements, _NEAR)):
        sentences = [
            chance.choice(
                texts[
                    chance.choice(sources).premise_id
                    if chance.random() < noise
                    else chance.choice(near)[0]
                ]
            )
            for _ in texts[forms[place].premise_id]
        ]
        yield Premise(str(first + place), "\n".join(sentences))


class _Sizes:
    """A collection at every size: its name, and the scores of each variant."""

    def __init__(self, place: options.Place, seed: int, noise: float) -> None:
        self.collection, self.seed, self.noise = place.collection, seed, noise

    def premises(self, size: int, work: Path) -> tuple[str, Cells]:
        """Score premise selection among `size` premises."""
        files, settings = self.collection.premises, configured("nlps").settings
        premises, training = read_premises(files.knowledge_base), read_statements(files.train)
        dev = [statement for statement in read_statements(files.statements("dev"))
               if statement.references]  # fmt: skip
        gold = nlps_table.gold_of(dev)
        chance = random.Random(self.seed)  # noqa: S311
        cited = {premise for cited in gold.values() for premise in cited}
        more = max(0, size - len(premises))
        premises += invented_premises(premises, cited, more, chance, self.noise)
        made = nlps_table.Collection(work / "nlps", premises, training, settings)
        cells = {}
        for variant in settings.variants:
            means = score_premises(made.predict(settings, variant, dev), gold).to_json()
            cells[variant] = f"{means['map_500']:.3f} / {means['recall_500']:.3f}"
        return f"{len(premises):,} premises", cells

    def posts(self, task: str, size: int, work: Path) -> tuple[str, Cells]:
        """Score formulas or own documents in a collection of `size` answers."""
        collection = self.collection
        qrels, relevant = judged(collection, "task2" if task == "task2" else "task1")
        if size:
            chance = (self.seed, self.noise, LINKS)
            write_remix(
                collection, work / "posts", size, relevant, *chance, formulas=task == "task2"
            )
        made = Collection(work / "posts" if size else collection.layout.data, work / "indexes")
        name = f"{made.origin_site.scan().answer_count:,} answers"
        if task == "docs":
            write_answers(made, work / "docs")
            made = Collection(work / "docs", work / "indexes")
        else:
            visual = {row.visual_id for row in _formulas(made)}
            name += f", {len(visual):,} formulas"
        return name, ranked(task, made, collection, qrels)


@command
def remix(
    place: options.Place,
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write the collection.")
    ],
    answers: Annotated[int, typer.Option(help="Number of answers.")] = JUDGE,
    seed: Annotated[int, typer.Option(help="Seed of the random draw.")] = 1,
    noise: Annotated[float, typer.Option(help="Share of what is drawn from anywhere.")] = 0.4,
) -> None:
    """Write a larger collection for Task 1: the posts of DATA among invented threads.

    It has the topics and judgments of DATA, so that other commands take it as their DATA. Choose
    settings by it: in a small subset nearly every relevant answer is found with any settings.

    Example: python -m experiments remix --data data/arqmath-lite -o remix-30000
    """
    if out.exists():
        raise InputError(f"{out}: exists already; choose another directory")

    _, relevant = judged(place.collection, "task1")
    write_remix(place.collection, out, answers, relevant, seed, noise, LINKS)
    options.results.print(f"{out}: {answers:,} answers")


@command
def transfer(
    place: options.Place,
    task: Annotated[
        Literal["task2", "nlps", "docs"],
        typer.Argument(metavar="TASK", help="task2, nlps or docs (the answers of Task 1)."),
    ],
    sizes: Annotated[
        str, typer.Option(metavar="N,N", help="Sizes in answers, for nlps in premises.")
    ] = "12000,30000",
    seed: Annotated[int, typer.Option(help="Seed of the random draw.")] = 1,
    noise: Annotated[float, typer.Option(help="Share of what is drawn from anywhere.")] = 0.4,
) -> None:
    """Score all variants in DATA, and in larger collections that contain it.

    The judged posts and premises stay; invented ones, which are not relevant, are added. Scores are
    nDCG / MAP / nDCG' over the topics of 2020 and 2021, for nlps MAP@500 / recall@500 over the dev
    set; unjudged documents are not relevant.

    Example: python -m experiments transfer task2 --data data/arqmath-lite --sizes 12000,30000
    """
    wanted = [0, *map(int, sizes.split(","))]
    made, table = _Sizes(place, seed, noise), Table("")
    rows: dict[str, list[str]] = {}
    with progress("Ranking", len(wanted), "sizes") as advance:
        for size in wanted:
            with tempfile.TemporaryDirectory() as temporary:
                work = Path(temporary)
                name, cells = (
                    made.premises(size, work) if task == "nlps" else made.posts(task, size, work)
                )
            table.add_column(name, justify="right")
            for variant, cell in cells.items():
                rows.setdefault(variant, []).append(cell)
            advance(1)
    for variant, cells_of in rows.items():
        table.add_row(variant, *cells_of)
    options.results.print(table)
