"""Task 1 from the dump to runs, by the command line program, on the sample and on real data."""

from __future__ import annotations

import itertools
import json
from contextlib import chdir
from typing import TYPE_CHECKING

import pytest
from all_fields import all_fields
from program import arqmath, ended
from run_rows import read_run
from shared_indexes import store

from arqmath_bm25.analysis.settings import AnalysisSettings
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.building import DOCUMENTS
from arqmath_bm25.core.labs import YEARS
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.tasks.answers.answer_retrieval import AnswerRetrieval
from arqmath_bm25.tasks.document_parts import PartForms
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.settings import Task1Settings
from configs import edited

if TYPE_CHECKING:
    from pathlib import Path

POSTS = SAMPLE / "Collection" / "Posts.V1.3.xml"
NAME = "bm25arq-task1-bm25-auto-both-P.tsv"


def done(*arguments: object, cwd: Path, note: str = "") -> str:
    with chdir(cwd):
        result = arqmath(*arguments)
    assert note in " ".join(result.stderr.split())
    assert bool(result.stderr) == bool(note)  # no bar, no noise where there is no terminal
    return result.stdout


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sample's index and runs."""
    path = tmp_path_factory.mktemp("work")
    assert "221 answers indexed, 0 lost" in done("index", "task1", "--engine", "flat", cwd=path)
    done("run", "task1", cwd=path)
    return path


def test_documents_have_all_fields_and_do_not_depend_on_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = AnswerRetrieval(all_fields(AnalysisSettings()))
    written = {}
    for processes in (1, 2):
        directory = tmp_path / str(processes)
        monkeypatch.setattr("arqmath_bm25.tasks.answers.answer_documents._PER_PART", 100)
        (directory / DOCUMENTS).mkdir(parents=True)
        workers = Processes(processes)
        counts = task.write_documents(CollectionFiles(SAMPLE), directory, workers, PartForms())
        assert counts["documents"] == 221
        written[processes] = [path.read_text() for path in sorted(directory.glob("*/*.jsonl"))]
    assert written[1] == written[2]
    assert len(written[1]) > 1
    documents = [json.loads(line) for part in written[1] for line in part.splitlines()]
    assert all({"id", *Task1Settings.all_fields} == set(document) for document in documents)
    assert all(document["contents"] for document in documents)


def test_only_fields_that_a_variant_weighs_are_indexed(workplace: Path) -> None:
    index = OpenIndex.open(CollectionFiles(SAMPLE, workplace / "indexes"), "task1")
    weights = map(index.task.settings.weights, ("text", "math", "both"))
    weighed = {field for of_variant in weights for field in of_variant}
    assert len(weighed) == 7
    searcher = index.searcher()
    for field in Task1Settings.all_fields:
        terms = ["x", "sum", "~+", "~x", "calculu", "geometri"]
        assert bool(searcher.document_counts({field: terms})[field]) == (field in weighed), field


def test_runs_are_in_the_labs_form(workplace: Path) -> None:
    for year, first in zip(YEARS, ("A.1", "A.201", "A.301"), strict=True):
        runs = workplace / "runs" / "arqmath-sample" / year
        assert sorted(path.name for path in runs.glob("*.tsv")) == [
            "bm25arq-task1-bm25-auto-both-P.tsv",
            "bm25arq-task1-bm25-auto-math-A.tsv",
            "bm25arq-task1-bm25-auto-text-A.tsv",
        ]
        rows = list(read_run(runs / NAME))
        topics = list(dict.fromkeys(row.topic_id for row in rows))
        assert topics[0] == first
        assert len(topics) == 8
        answers = {a.post_id for t in PostTable.scan(POSTS).threads() for a in t.answers}
        for topic in topics:
            of_topic = [row for row in rows if row.topic_id == topic]
            assert [row.rank for row in of_topic] == list(range(1, len(of_topic) + 1))
            assert all(a.score > b.score for a, b in itertools.pairwise(of_topic))
            assert {row.doc_id for row in of_topic} <= answers
            assert {row.tag for row in of_topic} == {NAME.removesuffix(".tsv")}


def test_a_run_says_what_it_was_made_of(workplace: Path) -> None:
    path = workplace / "runs" / "arqmath-sample" / "2020" / NAME
    manifest = json.loads(path.with_name(f"{path.name}.manifest.json").read_text())
    assert manifest["variant"] == "both"
    own = {"question_operators": {"k1": 2, "b": 1}}
    assert manifest["settings"]["bm25"] == {"k1": 1.2, "b": 0.75, "fields": own}
    assert manifest["topics"]["name"] == "Topics_V2.0.xml"


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(workplace: Path, tmp_path: Path) -> None:
    done("index", "task1", "--jobs", 1, "--engine", "flat", cwd=tmp_path)
    done("run", "task1", "--jobs", 4, cwd=tmp_path)
    runs = sorted((workplace / "runs").rglob("*.tsv"))
    assert len(runs) == 9
    for path in runs:
        assert (tmp_path / path.relative_to(workplace)).read_bytes() == path.read_bytes()


def test_nothing_is_done_twice(workplace: Path) -> None:
    manifest = store(workplace / "indexes", "task1") / "manifest.json"
    before = manifest.stat().st_ino
    assert "up to date" in done("index", "task1", "--overwrite", cwd=workplace)
    assert manifest.stat().st_ino == before


def test_depth_variant_format_and_topic_file(workplace: Path, tmp_path: Path) -> None:
    topics = SAMPLE / "Topics/Task1&3 Topics/ARQMath-2/Topics/Topics_Task1_2021_V1.1.xml"
    output = done(
        *("run", "task1", "--topics", topics, "--variant", "math", "--depth", 3),
        *("--format", "trec", "--runs", tmp_path / "runs"),
        cwd=workplace,
    )
    assert "8 topics, 24 rows" in output
    path = (
        tmp_path / "runs/arqmath-sample/Topics_Task1_2021_V1.1/bm25arq-task1-bm25-auto-math-A.trec"
    )
    assert path.read_text().splitlines()[0].split("\t")[:2] == ["A.201", "Q0"]


def test_search_shows_readable_hits(workplace: Path) -> None:
    output = done("search", "task1", r"sum of $\sum \frac{1}{n^2}$", "--depth", 2, cwd=workplace)
    assert output.startswith("  1  ")
    assert "\n  2  " in output
    assert "answer 1" in output
    assert "No answer" in done("search", "task1", "qqqqqq", cwd=workplace)


def test_help_is_enough(workplace: Path) -> None:
    for command in ("index", "run", "search"):
        output = done(command, "--help", cwd=workplace)
        assert "Example: arqmath-bm25" in " ".join(output.split())
    assert "arqmath-bm25 0." in done("--version", cwd=workplace)


def failed(*arguments: object, cwd: Path) -> str:
    """Return the one message of a command that must fail, which leaves nothing behind."""
    before = sorted(cwd.rglob("*"))
    result = ended(*arguments, cwd=cwd)
    assert result.returncode == 1, result.stdout + result.stderr
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1
    left = [path for path in sorted(cwd.rglob("*")) if path.is_file() and path not in before]
    assert left == []
    return result.stderr


def collection(root: Path, posts: str) -> Path:
    (root / "Collection").mkdir(parents=True)
    (root / "Collection" / "Posts.V1.3.xml").write_text(posts, encoding="utf-8")
    return root


def test_bad_input_is_one_message(workplace: Path, tmp_path: Path) -> None:
    posts = POSTS.read_text(encoding="utf-8")
    cut = collection(tmp_path / "cut", posts[: len(posts) // 2])
    other = collection(tmp_path / "other", '<?xml version="1.0" ?>\n<comments></comments>')
    (tmp_path / "empty").mkdir()
    (tmp_path / "topics.xml").write_text("<Topics></Topics>")
    assert "no such file or directory" in failed("index", "task1", "--data", "absent", cwd=tmp_path)
    assert "missing file" in failed("index", "task1", "--data", "empty", cwd=tmp_path)
    assert "unknown task 'task9'" in failed("index", "task9", cwd=tmp_path)
    message = failed("index", "task1", "--data", cut, cwd=tmp_path)
    assert "Posts.V1.3.xml: the file is cut off at byte" in message
    message = failed("index", "task1", "--data", other, cwd=tmp_path)
    assert "not a posts file: expected the root element <posts>, found <comments>" in message
    assert "there is no index" in failed("run", "task1", cwd=tmp_path)
    topics = tmp_path / "topics.xml"
    message = failed("run", "task1", "--topics", topics, cwd=workplace)
    assert "topics.xml: the file has no topics" in message
    assert "topics 2019" in failed("run", "task1", "--topics", "2019", cwd=workplace)
    assert "absent.yaml" in failed("index", "task1", "--config", "absent.yaml", cwd=tmp_path)


def test_an_index_of_other_settings_or_data_is_refused(workplace: Path, tmp_path: Path) -> None:
    config = tmp_path / "other.yaml"
    config.write_text(edited("task1", ("ngrams: [1, 3]", "ngrams: [1, 2]")), encoding="utf-8")
    message = failed("run", "task1", "--config", config, cwd=workplace)
    assert "built with other analysis settings" in message
    posts = POSTS.read_text(encoding="utf-8")
    same_name = collection(tmp_path / "arqmath-sample", posts.replace("the", "THE"))
    message = failed("search", "task1", "x", "--data", same_name, cwd=workplace)
    assert "built from other data" in message


def test_a_defective_row_is_counted_not_fatal(tmp_path: Path) -> None:
    posts = POSTS.read_text(encoding="utf-8").replace('PostTypeId="2"', 'PostTypeId="2" < ', 1)
    data = collection(tmp_path / "c", posts)
    output = done("index", "task1", "--data", data, "--engine", "flat", cwd=tmp_path)
    assert "311 posts read, 90 questions, 220 answers; 220 answers indexed, 0 lost" in output
    assert "1 broken rows" in output


@pytest.mark.slow
def test_the_real_subset_loses_nothing(lite: Path, shared: Path, tmp_path: Path) -> None:
    expected = "6,164 posts read, 2,769 questions, 3,395 answers; 3,395 answers indexed, 0 lost"
    index = ("index", "task1", "--engine", "flat", "--data")
    assert expected in done(*index, lite, cwd=tmp_path)
    assert expected in done(*index, shared / "data" / "mse-raw", cwd=tmp_path)
