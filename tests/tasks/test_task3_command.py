"""Task 3 from the dump to runs, on the sample and on real data."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from run_rows import read_run
from shared_indexes import linked

from arqmath_bm25.analysis.answer_text import unpaired_dollars
from arqmath_bm25.cli import tasks
from arqmath_bm25.cli.eval import evaluate
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.topics import read_topics
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.writing import manifest_path
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.runs.run import Run
from arqmath_bm25.tasks import task_class
from configs import edited

NAME = "bm25arq-task3-bm25-auto-both-extract-P.tsv"


def index(place: Path, **options: Any) -> None:
    tasks.index("task3", indexes=place / "indexes", threads=2, **options)


def run(place: Path, task: str = "task3", **options: Any) -> None:
    tasks.run(task, indexes=place / "indexes", runs=place / "runs", threads=2, **options)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, sample_indexes: Path) -> Path:
    """A directory with the sample's index and Task 3 runs."""
    path = tmp_path_factory.mktemp("work")
    linked(sample_indexes, path / "indexes")
    run(path)
    return path


def assert_valid(path: Path, topics: list[str]) -> None:
    assert Run.read(path, "task3", strict=True).faults([topics]).by_rule() == []
    rows = list(read_run(path, "task3"))
    assert [row.topic_id for row in rows] == topics
    for row in rows:
        assert 0 < len(row.answer) <= 1200
        assert unpaired_dollars(row.answer) == []
        assert len(re.findall(r"(?<!\\)\$", row.answer)) % 2 == 0
        assert (row.rank, row.tag) == (1, path.stem)


def test_the_runs_of_2022_are_valid_and_say_where_answers_come_from(workplace: Path) -> None:
    runs = workplace / "runs" / "arqmath-sample"
    assert [path.name for path in runs.iterdir()] == ["2022"]
    topics = [topic.topic_id for topic in read_topics(Layout(SAMPLE).topics("task1", "2022"))]
    for name in (NAME, NAME.replace("both-extract-P", "math-extract-A")):
        assert_valid(runs / "2022" / name, topics)
    manifest = json.loads(manifest_path(runs / "2022" / NAME).read_text())
    own = {"question_operators": {"k1": 2, "b": 1}}
    assert manifest["settings"]["ranking"]["bm25"] == {"k1": 1.2, "b": 0.75, "fields": own}


def test_answers_are_those_that_task_1_ranks_first(workplace: Path) -> None:
    run(workplace, "task1", topics=["2022"], variant=["both"], depth=1)
    runs = workplace / "runs" / "arqmath-sample" / "2022"
    ranked = read_run(runs / "bm25arq-task1-bm25-auto-both-P.tsv")
    first = {row.topic_id: (f"post {row.doc_id}", row.score) for row in ranked}
    rows = list(read_run(runs / NAME, "task3"))
    assert {row.topic_id: (row.sources, row.score) for row in rows} == first


def test_answers_that_are_not_judged_are_scored_by_their_posts(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = workplace / "runs" / "arqmath-sample" / "2022"
    sources = {row.topic_id: row.sources for row in read_run(runs / NAME, "task3")}
    qrels = read_qrels(Layout(SAMPLE).qrels("task1", "2022"))
    grades = [
        judged[post] for topic, judged in qrels.items() if (post := sources[topic][5:]) in judged
    ]
    capsys.readouterr()
    evaluate(run_folder=workplace / "runs", task="task3", json_file=Path("-"))
    scored = {one["run"]: one for one in json.loads(capsys.readouterr().out)}
    assert len(scored) == 3
    found = scored[NAME.removesuffix(".tsv")]
    assert found["AR"] == pytest.approx(sum(grades) / len(grades))
    assert found["P@1"] == pytest.approx(sum(grade >= 2 for grade in grades) / len(grades))
    assert (found["topics_judged"], found["topics"]) == (len(grades), len(qrels))
    evaluate(runs=[runs / NAME])
    assert "estimates" in capsys.readouterr().out
    other = workplace / "other" / "arqmath-sample" / "2022" / NAME
    other.parent.mkdir(parents=True)
    other.write_text((runs / NAME).read_text().replace("post ", "page "))
    evaluate(run_folder=workplace / "other")
    assert "it needs qrels and an answer map" in capsys.readouterr().err
    with pytest.raises(InputError, match="judged under ids of their own"):
        evaluate(runs=[other])


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(workplace: Path, tmp_path: Path) -> None:
    before = (workplace / "runs/arqmath-sample/2022" / NAME).read_bytes()
    index(tmp_path)
    run(tmp_path, variant=["both"])
    assert (tmp_path / "runs/arqmath-sample/2022" / NAME).read_bytes() == before


def test_topics_of_other_years_can_be_answered(workplace: Path) -> None:
    run(workplace, topics=["2020"], variant=["text"])
    path = workplace / "runs/arqmath-sample/2020" / NAME.replace("both-extract-P", "text-extract-A")
    assert len(list(read_run(path, "task3"))) == 8
    shutil.rmtree(path.parent)


def test_search_shows_the_answer(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    indexes = workplace / "indexes"
    tasks.search("task3", r"sum of $\sum \frac{1}{n^2}$", indexes=indexes)
    first, *text = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d+\.\d\d  post \d+  \d+ characters", first)
    assert "$" in " ".join(text)
    tasks.search("task3", "qqqqqq", indexes=indexes)
    assert capsys.readouterr().out == "No answer holds a term of this query.\n"


def test_topics_that_data_lacks_are_named(workplace: Path, tmp_path: Path) -> None:
    data = tmp_path / "arqmath-sample"
    shutil.copytree(SAMPLE / "Collection", data / "Collection")
    assert task_class("task3").has_data(CollectionFiles())
    assert not task_class("task3").has_data(CollectionFiles(data))
    with pytest.raises(InputError, match=r'missing file "Topics/.*Topics_Task1_2022_V0\.1\.xml"'):
        run(workplace, data=data)
    with pytest.raises(InputError, match="there is no index"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ranking: task1.yaml", "ranking: absent.yaml"), "absent.yaml: cannot read"),
        (("ranking: task1.yaml", "ranking: 1"), "ranking: Input should be"),
        (("primary: both", "primary: none"), "run.primary: 'none' is not among the variants"),
    ],
)
def test_faults_of_the_configuration(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    config = tmp_path / "task3.yaml"
    config.write_text(edited("task3", change))
    shutil.copy(default_config("task1"), tmp_path)
    with pytest.raises(InputError) as error:
        index(tmp_path, config=config)
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_the_primary_variant_must_be_ranked(tmp_path: Path) -> None:
    config = tmp_path / "task3.yaml"
    shutil.copy(default_config("task3"), config)
    (tmp_path / "task1.yaml").write_text(
        "run: {team: t, id: x, primary: text}\nvariants: {text: {contents: 1}}\n"
    )
    with pytest.raises(InputError, match=r"run\.primary: 'both' is not among the variants"):
        index(tmp_path, config=config)


@pytest.mark.slow
def test_the_real_topics_of_2022_get_a_valid_answer_each(
    lite: Path, lite_indexes: Path, tmp_path: Path
) -> None:
    linked(lite_indexes, tmp_path / "indexes")
    topics = [f"A.{number}" for number in range(301, 401)]
    run(tmp_path, data=lite)
    for name in ("both-extract-P", "text-extract-A", "math-extract-A"):
        path = tmp_path / "runs/arqmath-lite/2022" / NAME.replace("both-extract-P", name)
        assert_valid(path, topics)
