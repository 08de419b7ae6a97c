"""Does a ranking hold in a larger collection? The given one remixed to any size, and scored there.

    python benchmarks/transfer.py DATA --answers 30000,100000 [--seed 1] [--links 2.5] [--noise .4]
                                  [--config FILE] [--json FILE]

Around the posts of DATA stand invented threads (experiments/remix.py). Every collection is indexed
by this program, for its flat engine, and by the peers of `make .venv-bench/.ready`, if these are
there. Scores are means over the judged topics of 2020 and 2021; what is unjudged is not relevant.

Calibration: of the relevant answers of 2020 in the subset `arqmath-lite`, MathDowsers' official run
over 1.4 million answers has .720 in its first 1,000, a plain Anserini run .462. So a collection of
N answers is as hard as the real one if like systems have as many in their first N / 1,400.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Final

import Stemmer
from comparison.children import run_module
from comparison.peers import TERRIER, VENV
from peers_subset import write_texts
from rich.console import Console
from rich.table import Table

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.labs import MAX_DEPTH, RELEVANT, known_year
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.engines.lucene.jvm import java_home
from arqmath_bm25.evaluation.measures import Measure, measure, read_measure
from arqmath_bm25.runs.run import Run
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.answers.answer_retrieval import AnswerRetrieval
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.tasks.open_index import Index
from experiments.remix import write_remix
from experiments.transfer import YEARS, judged
from experiments.tuning.coordinate_search import changed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from arqmath_bm25.evaluation.qrels import Qrels

    Rankings = Mapping[str, dict[str, float]]  # topic → answer → score

THREADS: Final = 2
REAL: Final = 1_400_000  # answers of the whole collection
MEASURES: Final = [
    Measure("nDCG", read_measure("nDCG")), Measure("MAP", read_measure("MAP")),
    Measure("R@100", read_measure("R@100")), Measure("R@1000", read_measure("R@1000")),
]  # fmt: skip


def ours(
    data: Path, work: Path, config: Path | None, qrels: Qrels
) -> Iterator[tuple[str, Rankings]]:
    """Index a collection; yield the rankings of all variants and of the plain baselines."""
    for name in (config, default_config("task1_tokens"), default_config("task1_bag")):
        task = configured("task1", name)
        assert isinstance(task, AnswerRetrieval)
        collection = Collection(data, work / f"{data.name}-{task.settings.run.id}")
        ensure(IndexContent.of(task, collection), Processes(THREADS), [Engine("flat")])
        runs = [(task.settings.run.id, task.primary, task)]
        if name == config:
            first = AnswerRetrieval(changed(task.settings, rerank={}))
            runs = [(variant, variant, task) for variant in task.variants]
            runs.append((f"{task.primary}, first stage", task.primary, first))
        for label, variant, ranking in runs:
            yield label, ranked(Index.of(ranking, collection, Engine("flat")), variant, qrels)


def ranked(index: Index, variant: str, qrels: Qrels) -> Rankings:
    """Return the ranking of every judged topic."""
    rankings = {}
    for folder, path in index.task.topic_files(index.collection, YEARS):
        topics = index.task.read(index.collection, folder, path).topics
        topics = [topic for topic in topics if topic.topic_id in qrels]
        found = index.rank(topics, variant, MAX_DEPTH, THREADS)
        for topic, hits in zip(topics, found, strict=True):
            rankings[topic.topic_id] = {hit.doc_id: hit.score for hit in hits}
    return rankings


def peers(data: Path, work: Path) -> Iterator[tuple[str, Rankings]]:
    """Yield the rankings of bm25s and Terrier, each a program with its own analysis."""
    python = VENV / "bin" / "python"
    if not python.is_file():
        return
    place = work / f"{data.name}-peers"
    place.mkdir()
    collection = Collection(data, work / f"{data.name}-bm25")
    write_texts(collection, list(YEARS), place)
    environment = {
        "JAVA_HOME": str(java_home()), "PATH": f"{java_home()}/bin:/usr/bin:/bin",
        "PYTERRIER_HOME": str(VENV / "terrier"), **TERRIER,
    }  # fmt: skip
    for program, further in (("bm25s", [Path(Stemmer.__file__).parent]), ("terrier", [])):
        files = [place / "documents", place / "queries.tsv", place, *further]
        run_module("comparison.rankers", program, *files, python=python, environment=environment)
        for path in sorted(place.glob(f"{program}*.trec")):
            yield path.stem, Run.read(path, "task1").rankings().topics


def share_found(rankings: Rankings, qrels: Qrels, depth: int) -> float:
    """Return the share of the relevant answers of 2020 among the first `depth` of their topics."""
    found = wanted = 0
    for topic in year_topics(qrels):
        relevant = {doc for doc, grade in qrels[topic].items() if grade >= RELEVANT}
        scores = rankings.get(topic, {})
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:depth]
        found += len(relevant.intersection(best))
        wanted += len(relevant)
    return found / wanted


def year_topics(qrels: Qrels) -> list[str]:
    """Return the topics of the first year."""
    return [topic for topic in qrels if known_year([topic]) == YEARS[0]]


def main() -> None:
    """Make the collections, rank and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--answers", default="30000", help="sizes, with commas between")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--links", type=float, default=2.5, help="links of each thread")
    parser.add_argument("--noise", type=float, default=0.4, help="share of foreign words")
    parser.add_argument("--config", type=Path, help="of Task 1; else the default one")
    parser.add_argument("--json", type=Path, help="where the scores of every topic go")
    options = parser.parse_args()
    collection = Collection(options.data)
    qrels, relevant = judged(collection, "task1")
    table = Table("nDCG / MAP / R@100 / R@1000")
    cells: dict[str, list[str]] = {}
    values: dict[str, dict[str, object]] = {}
    notes = []
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        for size in (0, *map(int, options.answers.split(","))):
            data = options.data
            if size:
                data = work / f"answers-{size}"
                chance = (options.seed, options.noise, options.links)
                write_remix(collection, data, size, relevant, *chance)
            table.add_column(f"{size:,} answers" if size else "as given", justify="right")
            found = {}
            for name, rankings in (*ours(data, work, options.config, qrels), *peers(data, work)):
                measured = measure(rankings, qrels, MEASURES, RELEVANT)
                means = [fmean(m[one.key] for m in measured.values()) for one in MEASURES]
                cells.setdefault(name, []).append(" / ".join(f"{mean:.3f}" for mean in means))
                values.setdefault(name, {})[str(size)] = measured
                found[name] = share_found(rankings, qrels, round(size / REAL * 1000))
            if size:
                notes.append(
                    f"{size:,}: of the relevant answers of 2020 the first {size / REAL * 1000:.0f} "
                    f"of `tokens` have {found['tokens']:.3f} (MathDowsers, whole collection: .720),"
                    f" of `bag` {found['bag']:.3f} (Anserini: .462)"
                )
    for name, row in cells.items():
        table.add_row(name, *row)
    Console(width=40 + 32 * len(table.columns)).print(table, *notes, sep="\n")
    if options.json:
        options.json.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
