"""A user's program that names everything public: `make lint` checks its types, a test runs it."""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import arqmath_bm25 as arq


def main(work: Path) -> float:
    collection: arq.Collection = arq.sample(work)
    terms: list[str] = arq.terms("Why $x^2$?", kinds=("words", "math"))
    kinds: dict[str, list[str]] = arq.analyze("<p>$x$</p>", html=True)
    tokens: list[str] = arq.tokenize("x^2")
    alike: float = arq.formula_similarity("x^2", "y^2")
    matrix: np.ndarray = arq.formula_similarities(["x^2"], ["y^2", "x+1"])
    print(alike, matrix.shape)
    years: tuple[str, ...] = collection.years("task1") + collection.judged_years("task1")
    topics, qrels = collection.topics("task1", 2021), collection.qrels("task1", "2021")
    with collection.index("task1", engine="flat") as index:
        opened: arq.Index = index
        place: Path = opened.path
        variants: list[str] = [*opened.variants, opened.primary, opened.chosen(None)]
        documents, settings = len(opened), opened.settings["bm25"]
        run: pd.DataFrame = opened.run(topics, variant="both", depth=100, text=True)
        few: pd.DataFrame = opened.run([{"qid": "1", "query": "prime"}], depth=1)
        best: pd.DataFrame = opened.search("prime", k=3)
        text: str = opened.document(str(best["docno"].iloc[0]))["text"]
        why: pd.DataFrame = opened.explain("prime", str(best["docno"].iloc[0]))
        given = topics.merge(run[["qid", "docno"]], on="qid")
        scored, features = opened.score(given, "text"), opened.features(given.head(3))
        more: dict[str, list[str]] = opened.analyze("prime $x$")
        again: arq.Index = pickle.loads(pickle.dumps(opened))  # noqa: S301
        assert again == opened
        assert again.collection == collection
    arq.write_run(run, work / "run.tsv", name="mine", form="trec")
    read: pd.DataFrame = arq.read_run(work / "run.tsv")
    try:
        opened.search("prime", k=0)
    except arq.InputError as error:
        print(error, arq.__version__, documents, settings, place.name, len(text), len(years))
    print(len(few), len(why), len(scored), len(features), len(terms + tokens + variants))
    print(sorted(more), sorted(kinds))
    (work / "qrels.txt").write_text("q 0 a 1\n")
    own: arq.Collection = arq.Collection.of([{"id": "a", "text": "prime"}], "own", work)
    with own.index("docs", engine="flat") as mine:
        several: pd.DataFrame = mine.search(["prime", "number"])
        held: pd.DataFrame = mine.document_frequency("prime")
        assert "a" in mine, (several, held)
    print(arq.evaluate({"q": {"a": 1.5}}, arq.read_qrels(work / "qrels.txt"))["AP"])
    per_topic = arq.evaluate(read, qrels, per_topic=True).sort_values("map_prime")
    print(per_topic.index[0])
    warnings.simplefilter("ignore", arq.ScoreWarning)
    tested: pd.DataFrame = arq.compare({"both": read, "text": opened.run(topics, "text")}, qrels)
    fused: pd.DataFrame = arq.fuse([run, opened.run(topics, "text")], weights=[1, 0.5])
    print(len(tested), len(fused))
    return float(arq.evaluate(read, qrels)["ndcg_prime"])


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
