"""Every engine writes the same run files: all tasks, years and variants."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen
from xml.etree import ElementTree
from xml.etree.ElementTree import SubElement

import pytest
from chances import drawn, exhaustive
from program import arqmath, printed, process, refused
from serving import running
from shared_indexes import linked, store

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.engines.engine import Bm25, Engine, flat_directory
from arqmath_bm25.engines.flat import META, FlatSearcher
from arqmath_bm25.engines.lucene.search import LuceneSearcher
from arqmath_bm25.engines.opensearch import cluster_index
from arqmath_bm25.engines.opensearch.cluster_index import stored_indexes
from arqmath_bm25.engines.opensearch.connection import connect
from arqmath_bm25.pages.web.search_pages import SearchPages
from arqmath_bm25.tasks.open_index import OpenIndex
from configs import edited

if TYPE_CHECKING:
    from opensearch_nodes import Nodes

    from arqmath_bm25.collection.posts import Post


def run_files(place: Path, engine: str, *options: object) -> dict[str, bytes]:
    """Return the bytes of all runs of all tasks, by the names of the files."""
    runs = place / f"runs of {engine} {len([*place.iterdir()])}"
    arqmath("run", "all", "--indexes", place / "indexes", "--runs", runs, "--engine", engine,
            *options)  # fmt: skip
    found = [path for path in runs.rglob("*") if path.suffix in (".tsv", ".txt")]
    return {str(path.relative_to(runs)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, sample_indexes: Path) -> Path:
    """Return a folder with indexes of all tasks by flat postings and by Lucene."""
    place = tmp_path_factory.mktemp("sample")
    linked(sample_indexes, place / "indexes")
    arqmath("index", "all", "--indexes", place / "indexes", "--engine", "lucene")
    return place


@pytest.fixture(scope="module")
def by_lucene(sample: Path) -> dict[str, bytes]:
    """Return the bytes of all runs of the sample by Lucene."""
    runs = run_files(sample, "lucene")
    assert len(runs) > 20
    return runs


@pytest.mark.slow
def test_the_sample_by_flat_postings(sample: Path, by_lucene: dict[str, bytes]) -> None:
    assert run_files(sample, "flat") == by_lucene
    assert run_files(sample, "auto") == by_lucene


@pytest.mark.slow
def test_flat_postings_need_no_java(sample: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from arqmath_bm25.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "finally: print('jnius' in sys.modules)"
    )
    options = ("--indexes", sample / "indexes", "--runs", tmp_path)
    command = [sys.executable, "-c", code, "run", "all", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("False\n"), done.stdout


def test_flat_postings_are_added_to_an_index_that_is_there(tmp_path: Path) -> None:
    options = ("task1", "--indexes", tmp_path)
    arqmath("index", *options, "--engine", "lucene")
    assert "was not built for the engine flat" in refused(
        "search", *options, "x", "--engine", "flat"
    )
    assert isinstance(
        OpenIndex.open(CollectionFiles(indexes=tmp_path), "task1").searcher(), LuceneSearcher
    )
    added = process("index", *options, "--engine", "flat", cwd=tmp_path)  # a fresh JVM
    assert "221 answers indexed" in added.stdout
    assert "up to date" in printed("index", *options, "--engine", "flat")
    index = OpenIndex.open(CollectionFiles(indexes=tmp_path), "task1", engine=Engine("lucene"))
    assert not [*index.manifest.damages(index.directory)]
    assert index.search("series", "both", 5)
    assert isinstance(
        OpenIndex.open(CollectionFiles(indexes=tmp_path), "task1").searcher(), FlatSearcher
    )


def test_two_engines_are_built_for_in_one_pass(tmp_path: Path, sample_indexes: Path) -> None:
    both = ("index", "task1", "--indexes", tmp_path, "--engine", "lucene", "--engine", "flat")
    assert printed(*both).count("311 posts read") == 2  # said of each, read once
    assert (store(tmp_path, "task1", "lucene") / "lucene").is_dir()
    there = store(tmp_path, "task1", "flat")
    alone = store(sample_indexes, "task1", "flat", "arqmath-sample")
    assert there.name == alone.name
    for file in (alone / "lucene.flat").iterdir():
        assert (there / "lucene.flat" / file.name).read_bytes() == file.read_bytes()
    assert "up to date" in printed(*both)
    assert "engine 'x': expected one of auto, " in refused("index", "task1", "--engine", "x")


def test_hosts_and_their_engine_belong_together() -> None:
    for options in (["--engine", "opensearch"], ["--hosts", "http://127.0.0.1:1"]):
        assert "opensearch and hosts belong together" in refused("run", "task1", *options)


@pytest.mark.slow
def test_the_sample_by_opensearch(
    sample: Path, by_lucene: dict[str, bytes], opensearch: Nodes
) -> None:
    cluster = ("--hosts", ",".join(opensearch.hosts))
    arqmath("index", "all", "--indexes", sample / "indexes", "--engine", "opensearch",
            "--shards", 4, *cluster)  # fmt: skip
    assert run_files(sample, "opensearch", *cluster) == by_lucene


def edited_posts(data: Path, copy: Path, share: float, seed: int) -> Path:
    """Copy a collection: a share of the posts each is edited, removed, and new."""
    shutil.copytree(data, copy)
    posts = next(copy.rglob("Posts*.xml"))
    posts.chmod(0o644)
    chance = random.Random(seed)
    lines = []
    for line in posts.read_text(encoding="utf-8").splitlines(keepends=True):
        drawn_number = chance.random() / share
        is_answer = 'PostTypeId="2"' in line
        if drawn_number < 1:
            line = line.replace(' Body="', ' Body="edited series ', 1)
        elif is_answer and drawn_number < 2:
            continue
        elif is_answer and drawn_number < 3:
            lines.append(re.sub(r' Id="(\d+)"', r' Id="9\g<1>9"', line, count=1))
        lines.append(line)
    posts.write_text("".join(lines), encoding="utf-8")
    return copy


def runs_of(data: Path, place: Path, engine: str, name: str) -> dict[str, bytes]:
    """Index task1 of a collection in `place`, and return its runs of all years and variants."""
    where = ("--data", data, "--indexes", place / "indexes", "--engine", engine)
    arqmath("index", "task1", *where)
    arqmath("run", "task1", *where, "--runs", place / name)
    return {
        str(path.relative_to(place / name)): path.read_bytes()
        for path in (place / name).rglob("*.tsv")
    }


@pytest.mark.slow
def test_an_index_in_a_cluster_that_is_changed_again_and_again(
    opensearch: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run files are those of flat postings, and there is one index."""
    monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", opensearch.hosts[0])
    client = connect(opensearch.hosts)
    others = {index.name for index in stored_indexes(client)}
    data = SAMPLE
    for step in range(20 if exhaustive() else 3):
        runs = runs_of(data, tmp_path / "cluster", "opensearch", f"runs {step}")
        assert runs == runs_of(data, tmp_path / "flat", "flat", f"runs {step}")
        assert len({index.name for index in stored_indexes(client)} - others) == 1
        data = edited_posts(data, tmp_path / str(step) / SAMPLE.name, 0.05, step)
    client.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", drawn(range(14), 2, "a change that is killed"))
def test_a_change_that_is_killed_goes_on(
    opensearch: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("ARQMATH_OPENSEARCH_HOSTS", opensearch.hosts[0])
    client = connect(opensearch.hosts)
    others = {index.name for index in stored_indexes(client)}
    runs_of(SAMPLE, tmp_path, "opensearch", "before")
    data = edited_posts(SAMPLE, tmp_path / "changed" / SAMPLE.name, 0.05, seed)

    chance = random.Random(seed)
    for _ in range(2):
        where = ("--data", data, "--indexes", tmp_path / "indexes", "--engine", "opensearch")
        command = [sys.executable, "-m", "arqmath_bm25", "index", "task1", *map(str, where)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(1.5, 5))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    expected = runs_of(data, tmp_path / "flat", "flat", "runs")
    assert runs_of(data, tmp_path, "opensearch", "after") == expected
    here = {index.name for index in stored_indexes(client)} - others
    assert len([name for name in here if "rights" not in name]) == 1
    client.close()


@pytest.mark.slow
def test_a_cluster_needs_no_other_engine_here(
    sample: Path, opensearch: Nodes, tmp_path: Path
) -> None:
    cluster = ("--engine", "opensearch", "--hosts", ",".join(opensearch.hosts))
    arqmath("index", "task1", "--indexes", tmp_path / "indexes", *cluster)
    index = store(tmp_path / "indexes", "task1", "opensearch")
    assert not [*index.glob("lucene*"), *index.glob("documents")]
    for name, where, options in (
        ("here", sample / "indexes", ("--engine", "lucene")),
        ("there", tmp_path / "indexes", cluster),
    ):
        arqmath("run", "task1", "--indexes", where, "--runs", tmp_path / name, *options)
    here, there = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.tsv")}
        for name in ("here", "there")
    )
    assert here == there


def without_postings(indexes: Path, copy: Path) -> Path:
    """Copy what a machine needs that searches in a cluster, as docs/BENCHMARKS.md says."""
    ignored = shutil.ignore_patterns("lucene*", "documents")
    return Path(shutil.copytree(indexes, copy, ignore=ignored))


@pytest.mark.slow
def test_a_machine_that_only_searches_needs_no_postings(
    sample: Path,
    by_lucene: dict[str, bytes],
    opensearch: Nodes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = ("--engine", "opensearch", "--hosts", ",".join(opensearch.hosts))
    arqmath("index", "all", "--indexes", sample / "indexes", *cluster)
    thin = without_postings(sample / "indexes", tmp_path / "indexes")
    before = {path: path.stat().st_mtime_ns for path in thin.rglob("*")}
    assert run_files(tmp_path, *cluster[1:]) == by_lucene
    searched = [
        arqmath("search", "all", "$x^2$ series", "--indexes", indexes, *options).output
        for indexes, options in ((thin, cluster), (sample / "indexes", ()))
    ]
    assert searched[0] == searched[1]
    engine = Engine("opensearch", tuple(opensearch.hosts))
    collection = CollectionFiles(indexes=thin)
    indexes = {name: OpenIndex.open(collection, name, engine=engine) for name in ("task1", "task2")}
    with (
        running(SearchPages(indexes, threads=2)) as address,
        urlopen(f"{address}/api/search?q=series&task=task1") as answer,  # noqa: S310
    ):
        assert json.load(answer)
    monkeypatch.setattr(cluster_index, "_creation", None)  # none is loaded again
    assert "up to date" in arqmath("index", "all", "--indexes", thin, *cluster).output
    assert {path: path.stat().st_mtime_ns for path in thin.rglob("*")} == before


def test_an_engine_asks_for_no_files_of_another(sample: Path, tmp_path: Path) -> None:
    for engine, other in (("lucene", "flat"), ("flat", "lucene")):
        copy = Path(shutil.copytree(sample / "indexes", tmp_path / engine))
        for path in copy.glob(f"*/*/{other}-*"):
            shutil.rmtree(path)
        opened = OpenIndex.open(CollectionFiles(indexes=copy), "task1", engine=Engine(engine))
        assert opened.search("series", "both", 5)


def test_postings_that_no_build_of_the_index_wrote_are_not_searched(
    sample: Path, tmp_path: Path
) -> None:
    arqmath("index", "task1", "--indexes", tmp_path, "--engine", "lucene")
    flat = store(sample / "indexes", "task1", "flat", "arqmath-sample")
    shutil.copytree(flat / "lucene.flat", store(tmp_path, "task1") / "lucene.flat")
    message = refused("search", "task1", "series", "--indexes", tmp_path)
    assert "lucene.flat is not of this index; remove it" in message


@pytest.mark.slow
def test_two_checkouts_and_other_settings_are_in_one_cluster(
    opensearch: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = ("--engine", "opensearch", "--hosts", ",".join(opensearch.hosts))
    names = ("a", "b", "with other analysis", "with other scores")
    config = {name: tmp_path / f"{name}.yaml" for name in names[2:]}
    config[names[2]].write_text(edited("task1", ("stop_words: true", "stop_words: false")))
    config[names[3]].write_text(edited("task1", ("k1: 1.2", "k1: 1.7")))
    expected = {}
    for name in names:
        options = ("--config", config[name]) if name in config else ()
        options = (*options, "--indexes", tmp_path / name)
        arqmath("index", "task1", *options)
        arqmath("run", "task1", *options, "--runs", tmp_path / "lucene" / name)
        expected[name] = {
            path.name: path.read_bytes() for path in (tmp_path / "lucene" / name).rglob("*.tsv")
        }
        said = arqmath("index", "task1", *options, *cluster).output
        assert "221 answers indexed" in said
        assert not list((tmp_path / name).glob("*/*/*/documents"))
    listed = arqmath("cluster", "--hosts", opensearch.hosts[0]).output
    assert listed.count(": arqmath-sample, 221 documents") >= 4
    monkeypatch.setattr(cluster_index, "_creation", None)  # none is loaded again
    for name in names:
        options = ("--config", config[name]) if name in config else ()
        options = (*options, "--indexes", tmp_path / name, *cluster)
        assert "up to date" in arqmath("index", "task1", *options).output
        arqmath("run", "task1", *options, "--runs", tmp_path / "cluster" / name)
        runs = (tmp_path / "cluster" / name).rglob("*.tsv")
        assert {path.name: path.read_bytes() for path in runs} == expected[name]
    assert len({tuple(sorted(runs.items())) for runs in expected.values()}) == 3


def same_runs(place: Path, data: Path, task: str, *options: object) -> dict[str, bytes]:
    """Build both indexes of a task; return the run files, which are those of both engines."""
    where = ("--data", data, "--indexes", place / "indexes")
    runs = dict[str, dict[str, bytes]]()
    said = arqmath("index", task, *where, "--engine", "flat", "--engine", "lucene").output
    assert not re.search("warning", said, re.IGNORECASE), said
    for engine in ("flat", "lucene"):
        arqmath("run", task, *where, "--runs", place / engine, "--engine", engine, *options)
        runs[engine] = {
            str(path.relative_to(place / engine)): path.read_bytes()
            for path in (place / engine).rglob("*")
            if path.suffix in (".tsv", ".txt", ".trec")
        }
    # Names alone are compared by pytest: its account of two different files takes hours.
    assert set(runs["flat"]) == set(runs["lucene"])
    differing = [name for name, run in runs["flat"].items() if run != runs["lucene"][name]]
    assert differing == []
    return runs["flat"]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("year", drawn((2020, 2021, 2022), 1, "year"))
def test_real_collections(lite: Path, lite_indexes: Path, tmp_path: Path, year: int) -> None:
    linked(lite_indexes, tmp_path / "indexes")
    assert len(same_runs(tmp_path, lite, "all", "--topics", year)) == 8


@pytest.mark.slow
def test_a_generated_collection(tmp_path: Path) -> None:
    generate = Path(__file__).parents[2] / "benchmarks" / "generate.py"
    data = tmp_path / "generated"
    subprocess.run([sys.executable, generate, data, "--gigabytes", "0.001"], check=True)
    for path in (data / "Topics").rglob("*.xml"):
        topics = ElementTree.parse(path)
        for topic in topics.getroot()[20:]:
            topics.getroot().remove(topic)
        topics.write(path, "utf-8")
    assert len(same_runs(tmp_path, data, "all")) == 8


def some_questions(site: Path) -> list[Post]:
    """Return the questions of some threads of a real dump."""
    threads = PostTable.scan(site / "Posts.xml").threads()
    return [thread.question for thread in islice(threads, 0, None, 24) if thread.question]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["genai.stackexchange.com", "quantumcomputing.stackexchange.com"])
def test_real_dumps_of_other_sites(shared: Path, tmp_path: Path, name: str) -> None:
    sites = shared / "data" / "se-sites"
    topics = ElementTree.Element("Topics")
    for question in some_questions(sites / name):
        topic = SubElement(topics, "Topic", number=f"A.{len(topics)}")
        SubElement(topic, "Title").text = question.title
        SubElement(topic, "Question").text = question.body
        SubElement(topic, "Tags").text = ",".join(question.tags)
    ElementTree.ElementTree(topics).write(tmp_path / "topics.xml", "utf-8")
    runs = same_runs(tmp_path, sites / name, "task1", "--topics", tmp_path / "topics.xml")
    assert len(runs) == 3  # genai has hardly a formula, so its run by formulas alone is short
    text = [run.count(b"\n") for file, run in runs.items() if "-math-" not in file]
    assert min(text) > 100 * len(topics)


@pytest.mark.slow
def test_documents_made_of_a_real_dump(shared: Path, tmp_path: Path) -> None:
    site = shared / "data" / "se-sites" / "quantumcomputing.stackexchange.com"
    mine = tmp_path / "mine"
    mine.mkdir()
    questions, answers = [], []
    for thread in PostTable.scan(site / "Posts.xml").threads():
        answers += [{"_id": f"p/{post.post_id}", "text": post.body} for post in thread.answers]
    for post in some_questions(site):
        questions.append({"_id": post.post_id, "title": post.title, "text": post.body})
    for name, rows in (("corpus", answers), ("queries", questions)):
        (mine / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    runs = same_runs(tmp_path, mine, "docs")
    assert len(runs) == 3
    assert all(run.count(b"\n") > 100 * len(questions) for run in runs.values())


def test_a_field_that_no_document_has(tmp_path: Path) -> None:
    """Its average length is that of nothing."""
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": 1, "text": "word"}\n{"id": 2, "text": "word and word"}\n')
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "q", "text": "word $x^2$"}\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = same_runs(tmp_path, file, "docs", "--topics", queries)
    assert {run.count(b"\n") for run in runs.values()} == {2}


def test_postings_of_the_first_form_are_refused(tmp_path: Path) -> None:
    flat = flat_directory(tmp_path / "lucene")
    flat.mkdir()
    (flat / META).write_text('{"form": 1, "fields": [{"name": "contents", "terms": 7}]}')
    with pytest.raises(InputError, match="of another version; build the index again"):
        FlatSearcher(tmp_path / "lucene", Bm25())
