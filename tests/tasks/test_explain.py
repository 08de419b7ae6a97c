"""What gave a hit its score: the parts add up to it, whatever the task and the variant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from program import arqmath

import arqmath_bm25 as arq
from arqmath_bm25.core.records import Hit, Part, Topic
from arqmath_bm25.core.writing import manifest_path
from arqmath_bm25.evaluation.comparing import moves
from arqmath_bm25.evaluation.evaluator import Evaluator
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.tasks.open_index import OpenIndex

CONFIG = Path(__file__).parents[2] / "configs" / "task1.yaml"
QUERY = r"Why does $\sum \frac{1}{n}$ diverge?"


@pytest.fixture(scope="module")
def sample(sample_indexes: Path) -> arq.Collection:
    return arq.sample(sample_indexes)


def explained(
    index: OpenIndex, folder: str, variant: str, topics: int = 4, depth: int = 120
) -> list[tuple[Topic, list[Hit], list[list[Part]]]]:
    """Explain hits of the first topics of a year, and check that all add up to their scores."""
    ((_, path),) = index.task.topic_files(index.collection, [folder])
    read = index.task.read(index.collection, path)[:topics]
    found = []
    for topic, hits in zip(read, index.rank(read, variant, depth), strict=True):
        hits = [hit for hit in hits[::10] if hit.score > 0]
        parts = index.ranker.explain(topic, variant, hits)
        totals = [sum(part.score for part in of_hit) for of_hit in parts]
        assert totals == pytest.approx([hit.score for hit in hits], rel=2e-7)
        for part in (part for of_hit in parts for part in of_hit if part.terms):
            assert sum(score for _, score in part.terms) == pytest.approx(part.score)
            assert sorted((score for _, score in part.terms), reverse=True) == [
                score for _, score in part.terms
            ]
        found.append((topic, hits, parts))
    assert any(hits for _, hits, _ in found)
    return found


@pytest.mark.parametrize(
    ("task", "folder", "variants"),
    [
        ("task1", "2021", ["text", "math", "both"]),
        ("task2", "2020", ["math", "both"]),
        ("task3", "2022", ["both"]),
        ("nlps", "dev", ["ridge"]),
    ],
)
def test_parts_add_up_to_the_score(
    task: str, folder: str, variants: list[str], sample: arq.Collection
) -> None:
    index = OpenIndex.open(sample, task)
    for variant in variants:
        explained(index, folder, variant)


@pytest.mark.slow
def test_parts_add_up_to_the_score_on_real_data(lite: Path, lite_indexes: Path) -> None:
    collection = arq.Collection(lite, lite_indexes)
    for task in ("task1", "task2"):
        index = OpenIndex.open(collection, task)
        for variant in index.task.variants:
            for year in ("2020", "2021"):
                explained(index, year, variant, topics=5)


def test_a_field_gives_what_it_scores_alone(sample: arq.Collection, tmp_path: Path) -> None:
    config = tmp_path / "task1.yaml"
    settings = yaml.safe_load(CONFIG.read_text())
    settings["variants"]["math"] = {"contents": 1}
    settings["query"] = {}  # which words are left out depends on the fields
    config.write_text(yaml.safe_dump(settings))
    index = OpenIndex.open(sample, "task1", config)
    ((topic, hits, parts), *_) = explained(index, "2021", "text")
    alone = {hit.doc_id: hit.score for hit in next(index.rank([topic], "math", 1000))}
    for hit, of_hit in zip(hits, parts, strict=True):
        score = next((part.score for part in of_hit if part.name == "contents"), 0)
        assert np.float32(score) == alone.get(hit.doc_id, 0)


def test_the_second_stage_is_explained_as_the_configuration_names_it(
    sample: arq.Collection, tmp_path: Path
) -> None:
    settings = yaml.safe_load(CONFIG.read_text())
    settings["rerank"]["both"] = {"thread": 1, "depth": 100}
    config = tmp_path / "task1.yaml"
    config.write_text(yaml.safe_dump(settings))
    index = OpenIndex.open(sample, "task1", config)
    ((_, hits, parts), *_) = explained(index, "2021", "both")
    assert len(hits) == 12
    for place, of_hit in enumerate(parts):
        names = [part.name for part in of_hit]
        assert (names[-1] == "thread") == (place < 10)


def test_the_rest_of_the_terms_counts_together() -> None:
    part = Part("contents", 6.0, (("a", 3.0), ("b", 2.0), ("c", 0.75), ("d", 0.25)))
    assert part.best_terms(2) == [("a", 3.0), ("b", 2.0), ("2 more", 1.0)]
    assert part.best_terms(4) == list(part.terms)


def test_a_notebook_gets_a_frame(sample: arq.Collection) -> None:
    index = sample.index("task1")
    best = index.search(QUERY, k=2)
    for docno, score, rank in best[["docno", "score", "rank"]].itertuples(index=False):
        found = index.explain(QUERY, docno)
        assert list(found) == ["part", "term", "score"]
        assert found["score"].sum() == pytest.approx(score)
        assert found.attrs == {"score": score, "rank": rank}
    formulas, topics = sample.index("task2"), sample.topics("task2", 2020)
    run = formulas.run(topics.head(1), depth=3)
    for docno in (run["docno"][2], run["visual_id"][2]):
        assert formulas.explain(topics.iloc[0], docno).attrs["rank"] == 3
    with pytest.raises(arq.InputError, match="the index has no document 'none'"):
        index.explain(QUERY, "none")
    premises, text = sample.index("nlps"), "Every prime $p > 2$ is odd."
    with pytest.raises(arq.InputError, match="tfidf: only variants of the method ridge"):
        premises.explain(text, premises.search(text, 1, "tfidf")["docno"][0], "tfidf")


def test_the_command_shows_the_parts_of_each_score(sample: arq.Collection) -> None:
    def search(*options: str) -> str:
        where = ("--depth", 2, "--indexes", sample.indexes)
        return arqmath("search", "task1", QUERY, *where, *options).output

    assert "thread" not in search()
    hits = sample.index("task1").search(QUERY, k=2)
    lines = [line.split() for line in search("--explain").splitlines()]
    starts = [at for at, line in enumerate(lines) if line[1:2] == ["answer"]]
    for begin, end, score in zip(starts, [starts[1], len(lines)], hits["score"], strict=True):
        parts = {line[1]: float(line[0]) for line in lines[begin + 1 : end] if _is_part(line)}
        assert {"question_text", "thread"} <= set(parts)
        assert sum(parts.values()) == pytest.approx(score, abs=0.02)


def test_what_moved_between_two_runs_is_explained(sample: arq.Collection, tmp_path: Path) -> None:
    def done(*arguments: object) -> str:
        return arqmath(*arguments, "--indexes", sample.indexes).output

    done("run", "task1", "--topics", 2021, "--runs", tmp_path)
    runs = {name: next(tmp_path.rglob(f"*-{name}-?.tsv")) for name in ("text", "both")}
    evaluator = Evaluator(sample)
    scored = [evaluator.score(run) for run in runs.values()]
    rankings = [evaluator.score(run, "task1").ranked.topics["A.201"] for run in runs.values()]
    ids = [sorted(ranking, key=lambda d: (-ranking[d], d)) for ranking in rankings]
    moved, unexplained = moves(sample, scored, "A.201", 5, [sample.indexes])
    assert unexplained == []
    grades = read_qrels(scored[0].judgments.file)["A.201"]
    assert [one.grade for one in moved] == [grades.get(one.doc_id) for one in moved]
    assert any(one.grade is not None for one in moved)
    assert [one.doc_id for one in moved] == sorted(
        {doc for doc in ids[0][:5] + ids[1][:5] if ids[0].index(doc) != ids[1].index(doc)},
        key=ids[1].index,
    )
    for one in moved:
        assert one.ranks == [found.index(one.doc_id) + 1 for found in ids]
        for parts, ranking in zip(one.parts, rankings, strict=True):
            share = ranking[one.doc_id] / max(ranking.values())
            assert sum(parts.values()) == pytest.approx(share, rel=1e-6)
        assert ("thread", 0, one.parts[1]["thread"]) in one.causes()
        changes = [abs(after - before) for _, before, after in one.causes()]
        assert changes == sorted(changes, reverse=True)
    output = done("compare", *runs.values(), "--why", "A.201")
    assert "A.201: what moved, and why" in output
    assert "thread 0.0% → " in output
    manifest_path(runs["text"]).unlink()
    foreign, unexplained = moves(sample, scored, "A.201", 5, [sample.indexes])
    assert [one[:3] for one in foreign] == [one[:3] for one in moved]
    assert [one.parts for one in foreign] == [[{}, one.parts[1]] for one in moved]
    assert "no manifest beside it" in unexplained[0]
    output = done("compare", *runs.values(), "--why", "A.201")
    assert "scores are not explained: " in output
    # Each run by an index of its own.
    places = [sample.indexes, tmp_path / "none"]
    assert "no index" in moves(sample, scored, "A.201", 5, places)[1][1]


def _is_part(line: list[str]) -> bool:
    return len(line) > 1 and line[0][-4:-3] == "." and line[0].replace(".", "").isdecimal()
