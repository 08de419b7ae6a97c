"""The search for settings by hand-made values, and its trials against real rankings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from program import arqmath, refused

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.configuration import load
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.evaluation.score import score
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.settings import NlpsSettings, Task1Settings
from experiments.duplicate_topics import HALVES, TOPICS, write_duplicates
from experiments.tuning.coordinate_search import changed, climb, knobs, tune
from experiments.tuning.trials import DEPTH, AnswerTrials, FormulaTrials, Judged, Trials

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEFAULT: Task1Settings = configured("task1").settings


class Known(Trials):
    """Trials whose values are given; topics a1, a2 … and b1, b2 … are the two parts."""

    def __init__(self, value: Callable[[str, Any], float]) -> None:
        index: Any = SimpleNamespace(task=SimpleNamespace(settings=DEFAULT))
        super().__init__(index, "both", 1)
        self.value = value

    def folds(self, number: int) -> list[list[str]]:
        topics = ["a1", "a2", "b1", "b2"]
        return [topics] if number == 1 else [topics[:2], topics[2:]]

    def _measure(self, settings: Any) -> dict[str, float]:
        return {topic: self.value(topic, settings) for topic in ("a1", "a2", "b1", "b2")}


def test_what_changes_together_and_to_which_values() -> None:
    found = knobs(DEFAULT, "both", Trials.places)
    assert len(found) == 5 + 5 + 1  # bm25 and query; fields, paths together; second stage
    assert {"bm25__k1": 1.5} in found[0]
    assert {"query__k3": 8.0} in found[4]
    paths = {f"variants__both__{part}_operators": 0.8 for part in ("body", "question", "title")}
    assert [paths] == [one for knob in found for one in knob if one == paths]
    places = {key.split("__")[0] for knob in found for one in knob for key in one}
    assert places == {"bm25", "query", "variants", "rerank"}
    of_formulas = knobs(configured("task2").settings, "both", Trials.places)
    assert [len(knob[0]) for knob in of_formulas] == [1] * 6  # k1, b, three fields, context


def test_parameters_of_a_field_are_searched_alone() -> None:
    own = {"k1": 1.2, "b": 0.75, "fields": {"tags": {"k1": 2.0, "b": 1.0}}}
    found = knobs(changed(DEFAULT, bm25=own), "both", Trials.places)
    assert {"bm25__fields__tags__k1": 1.5} in found[2]
    assert {"bm25__fields__tags__b": 0.5} in found[3]


def test_the_search_climbs_one_number_at_a_time() -> None:
    def value(topic: str, settings: Any) -> float:
        tags, b = settings.variants["both"]["tags"], settings.bm25.b
        return 1 - abs(tags - 2) / 10 - (abs(b - 0.5) / 10 if tags > 1 else 0)

    # b matters once tags have grown, so it takes two rounds; k1 and all else change nothing.
    assert climb(Known(value), ["a1"]) == {"bm25__b": 0.5, "variants__both__tags": 2.0}


def test_what_gains_less_than_a_thousandth_is_not_taken() -> None:
    def value(topic: str, settings: Any) -> float:
        return 0.0009 * (settings.bm25.k1 == 0.9) + 0.0011 * (settings.bm25.b == 0.5)

    assert climb(Known(value), ["a1"]) == {"bm25__b": 0.5}


def test_a_part_is_scored_with_what_the_others_choose() -> None:
    def value(topic: str, settings: Any) -> float:
        of_a, of_b = {0: 0.5, 0.5: 0.1, 1: 0.3, 2: 0.2}, {0: 0.2, 0.5: 0.1, 1: 0.3, 2: 0.5}
        return (of_a if topic < "b" else of_b)[settings.rerank["both"].thread]

    found = tune(Known(value), 2)
    assert [(fold.topics, fold.default, fold.tuned) for fold in found.folds] == [
        (2, pytest.approx(0.3), pytest.approx(0.2)),
        (2, pytest.approx(0.3), pytest.approx(0.2)),
    ]
    assert [fold.changes for fold in found.folds] == [
        {"rerank__both__thread": 2.0}, {"rerank__both__thread": 0.0},
    ]  # fmt: skip
    assert found.comparison.difference == pytest.approx(-0.1)
    assert found.changes == {"rerank__both__thread": 0.0}  # .35 against .3, as is 2: the first
    assert found.settings == changed(DEFAULT, rerank__both__thread=0)


def test_one_part_is_scored_with_what_it_chose_itself() -> None:
    found = tune(Known(lambda _, settings: settings.bm25.k1), 1)
    assert [fold.tuned for fold in found.folds] == [2.0]
    assert found.changes == {"bm25__k1": 2.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "kind", "sets", "changes"),
    [
        ("task1", AnswerTrials, ["2020", "duplicates"], {}),
        ("task1", AnswerTrials, ["2021"], {"variants__both__tags": 2.0, "rerank__both__thread": 0}),
        ("task1", AnswerTrials, ["2020"], {"bm25__k1": 0.6, "bm25__b": 0.3, "rerank": {}}),
        ("task2", FormulaTrials, ["2021"], {}),
        ("task2", FormulaTrials, ["2020"], {"variants__both__context": 0.5, "bm25__b": 0.3}),
    ],
)
def test_a_trial_scores_what_a_run_with_these_settings_ranks(
    sample_indexes: Path,
    task: str,
    kind: type[AnswerTrials],
    sets: list[str],
    changes: dict[str, Any],
) -> None:
    index = OpenIndex.open(CollectionFiles(indexes=sample_indexes), task, engine=Engine("flat"))
    judged = Judged.read(index, sets)
    settings = changed(index.task.settings, **changes)
    values = kind(index, "both", 1, judged).values(settings)
    task_of = type(index.task)(settings)
    index = OpenIndex(task_of, index.collection, index.directory, index.manifest, index.engine)
    ranked = index.rank(judged.topics, "both", DEPTH)
    rankings = {
        topic.topic_id: {hit.visual_id or hit.doc_id: hit.score for hit in hits}
        for topic, hits in zip(judged.topics, ranked, strict=True)
    }
    expected = score(rankings, judged.qrels).values
    assert len(values) > 2
    assert values == {topic: pytest.approx(found["ndcg"]) for topic, found in expected.items()}


@pytest.mark.slow
def test_topics_of_a_file_have_their_judgments_beside_them(
    sample_indexes: Path, tmp_path: Path
) -> None:
    index = OpenIndex.open(CollectionFiles(indexes=sample_indexes), "task1", engine=Engine("flat"))
    write_duplicates(index.collection, tmp_path, TOPICS, 0)
    files = [str(tmp_path / f"topics_{half}.xml") for half in HALVES]
    of_files, made = Judged.read(index, files), Judged.read(index, ["duplicates"])
    assert of_files.qrels == made.qrels
    assert sorted(of_files.topics) == sorted(made.topics)


@pytest.mark.slow
def test_the_command_writes_a_configuration(sample_indexes: Path, tmp_path: Path) -> None:
    tuned, places = tmp_path / "tuned.yaml", ("--indexes", sample_indexes, "--variant", "text")
    done = arqmath("tune", "task1", *places, "--on", "2020", "--folds", "2", "-o", tuned)
    assert "too high" not in done.output
    assert load(Task1Settings, tuned).analysis == DEFAULT.analysis
    arqmath("run", "task1", *places, "--config", tuned, "--runs", tmp_path)
    alone = arqmath("tune", "task1", *places, "--on", "2020", "--folds", "1", "-o", tuned)
    assert "of the topics that chose it, and too high" in alone.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["task1"], "tune on which topics?"),
        (["task1", "--on", "2020", "--on", "2020"], "is in another set too"),
        (["task1", "--on", "none.xml"], "none.xml: no such"),
        (["task2", "--on", "duplicates"], "of task1"),
        (["task3", "--on", "2020"], "expected task1, task2 or nlps"),
        (["task1", "--on", "2020", "--variant", "rrf"], "the configuration has"),
    ],
)
def test_what_cannot_be_tuned_is_said(
    sample_indexes: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    said = refused("tune", *arguments, "--indexes", sample_indexes, "-o", tmp_path / "tuned.yaml")
    assert message in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_premises_are_tuned_on_the_training_set(tmp_path: Path) -> None:
    places, tuned = ("--indexes", tmp_path / "indexes"), tmp_path / "tuned.yaml"
    arqmath("index", "nlps", *places)
    arqmath("tune", "nlps", *places, "--variant", "tfidf", "-o", tuned)
    assert load(NlpsSettings, tuned).ridge.penalty == 0.5
    said = refused("tune", "nlps", *places, "--on", "2020", "-o", tuned)
    assert "on its training set alone" in said
