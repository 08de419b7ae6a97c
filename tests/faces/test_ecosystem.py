"""PyTerrier and ir_datasets beside this; both are found in .venv-bench, or installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from shared_indexes import linked

import arqmath_bm25 as arq

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Directories to look for the peers in, behind all others."""
    found = [str(path) for path in ROOT.glob(".venv-bench/lib/python*/site-packages")]
    monkeypatch.setattr(sys, "path", [*sys.path, *found])
    if not (find_spec("pyterrier") and find_spec("ir_datasets")):
        pytest.skip("python-terrier is not installed: make .venv-bench/.ready")
    return found


def test_ir_datasets_has_documents_queries_judgments_and_a_store(peers: list[str]) -> None:
    import ir_datasets

    from arqmath_bm25.irdatasets import register_ir_datasets

    collection = arq.sample()
    names = register_ir_datasets(collection)
    base = f"arqmath-bm25/{collection.name}/task1"
    assert names == register_ir_datasets(collection)  # a cell of a notebook may run twice
    assert names[:4] == [base, *(f"{base}/{year}" for year in (2020, 2021, 2022))]
    dataset = ir_datasets.load(f"{base}/2021")
    answers = {answer.doc_id: answer for answer in dataset.docs_iter()}
    assert len(answers) == dataset.docs_count()
    some = list(answers)[:3]
    assert dataset.docs_store().get_many([*some, "0", "x"]) == {doc: answers[doc] for doc in some}
    topics, qrels = collection.topics("task1", 2021), collection.qrels("task1", 2021)
    assert [query.query_id for query in dataset.queries_iter()] == topics["qid"].tolist()
    assert {(one.query_id, one.doc_id, one.relevance) for one in dataset.qrels_iter()} == set(
        qrels[["qid", "docno", "label"]].itertuples(index=False, name=None)
    )


def test_documents_of_ones_own_are_known_and_read_anew_when_they_change(
    peers: list[str], tmp_path: Path
) -> None:
    import ir_datasets

    from arqmath_bm25.irdatasets import Documents, register_ir_datasets

    corpus = tmp_path / "mine.jsonl"
    corpus.write_text('{"id": "a", "title": "T", "text": "one $x$"}\n{"id": "b", "text": "two"}\n')
    collection = arq.Collection(corpus, tmp_path / "indexes")
    (name,) = register_ir_datasets(collection)
    dataset = ir_datasets.load(name)
    assert [document.doc_id for document in dataset.docs_iter()] == ["a", "b"]
    assert dataset.docs_store().get("a").default_text() == "T\none $x$"
    corpus.write_text('{"id": "c", "text": "three"}\n')
    assert [document.doc_id for document in Documents(collection, "docs").docs_iter()] == ["c"]


def upstream(name: str) -> ModuleType:
    """Return a module to submit to ir_datasets; it registers its collections."""
    spec = spec_from_file_location(f"upstream_{name}", ROOT / "tools/upstream" / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_module_for_ir_datasets_reads_the_labs_files_as_this_does(
    peers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ir_datasets
    import yaml

    collection = arq.sample()
    (tmp_path / "arqmath").mkdir()
    (tmp_path / "arqmath/published").symlink_to(collection.path.absolute())
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    module = upstream("arqmath")

    described = yaml.safe_load((ROOT / "tools/upstream/arqmath.yaml").read_text(encoding="utf-8"))
    assert set(described) == {"_", *module.subsets}
    markup = '<p>Let <span class="math-container" id="3">a&lt;b</span></p>'
    assert module.plain_text(markup) == "Let $a<b$"
    arq.register_ir_datasets(collection)
    tasks: list[tuple[str, Literal["task1", "task2"]]] = [
        ("answers", "task1"),
        ("formulas", "task2"),
    ]
    for name, task in tasks:
        dataset = ir_datasets.load(f"arqmath/{name}")
        same = ir_datasets.load(f"arqmath-bm25/{collection.name}/{task}")
        some = {document.doc_id: document for document in same.docs_iter()}
        found = {document.doc_id: document for document in dataset.docs_iter()}
        assert found.keys() == some.keys()
        if task == "task2":
            assert {doc: tuple(found[doc]) for doc in found} == {
                doc: tuple(some[doc]) for doc in some
            }
        first = next(iter(found))
        assert dataset.docs_store().get(first) == found[first]
        assert dataset.docs_count() == len(found)

        for year in collection.years(task):
            judged = ir_datasets.load(f"arqmath/{name}/{year}")
            topics = collection.topics(task, year)
            assert [query.query_id for query in judged.queries_iter()] == topics["qid"].tolist()
            grades: dict[tuple[str, str], int] = {}
            for one in judged.qrels_iter():
                doc = one.doc_id
                if (name, year) == ("formulas", "2020"):  # judged by the ids of formulas
                    doc = found[doc].visual_id
                grades[one.query_id, doc] = max(one.relevance, grades.get((one.query_id, doc), 0))
            labels = collection.qrels(task, year).set_index(["qid", "docno"])["label"]
            assert grades == labels.to_dict()


def test_the_module_for_ir_datasets_reads_folders_in_the_form_of_beir(
    peers: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ir_datasets

    folder = tmp_path / "beir-folder" / "algebra"
    (folder / "qrels").mkdir(parents=True)
    rows = ({"_id": "a", "title": "Rings", "text": "one $x$"}, {"_id": "b", "text": "two"})
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = (
        {"_id": "1", "text": "$x$?", "excluded_ids": ["b"]},
        {"_id": "2", "text": "of another split"},
    )
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t2\n")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    upstream("beir_folder")

    dataset = ir_datasets.load("beir-folder/algebra/test")
    assert [tuple(one) for one in dataset.docs_iter()] == [
        ("a", "one $x$", "Rings"),
        ("b", "two", ""),
    ]
    assert dataset.docs_store().get("a").default_text() == "Rings one $x$"
    assert [tuple(query) for query in dataset.queries_iter()] == [("1", "$x$?", ("b",))]
    assert dataset.qrels_dict() == {"1": {"a": 2}}


@pytest.mark.slow
def test_ir_datasets_own_test_passes(peers: list[str], tmp_path: Path) -> None:
    if not any(Path(place, "test", "integration", "base.py").exists() for place in peers):
        pytest.skip("ir_datasets comes without its tests")
    script = tmp_path / "check.py"
    script.write_text(CHECK)
    command = [sys.executable, script, tmp_path, *peers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Ran 16 tests" in done.stderr


CHECK = """
import sys, unittest
work, *peers = sys.argv[1:]
sys.path += peers
import ir_datasets
import arqmath_bm25 as arq
from importlib.util import module_from_spec, spec_from_file_location

# not imported by its name, which is that of a package of Python's own
spec = spec_from_file_location("base", f"{peers[0]}/test/integration/base.py")
base = module_from_spec(spec)
spec.loader.exec_module(base)
DatasetIntegrationTest = base.DatasetIntegrationTest
del base.DatasetIntegrationTest

collection = arq.sample(work)
register = arq.register_ir_datasets(collection)

def some(rows):
    return {place: rows[place] for place in (0, len(rows) // 2, len(rows) - 1)}

class Check:
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dataset = ir_datasets.load(f"arqmath-bm25/{collection.name}/{cls.name}")

    def test_docs(self):
        documents = list(self.dataset.docs_iter())
        self._test_docs(self.dataset, count=self.dataset.docs_count(), items=some(documents))
        ids = {document.doc_id for document in documents}
        assert len(ids) == len(documents) and self.dataset.docs_store().get_many(["x"]) == {}

    def test_slices(self):
        documents = list(self.dataset.docs_iter())
        found = self.dataset.docs_iter()
        quarter = list(found[: 1 / 4])
        assert quarter == documents[: len(quarter)] and len(quarter) == len(documents) // 4
        assert list(self.dataset.docs_iter()[3:9:2]) == documents[3:9:2]
        assert list(self.dataset.docs_iter()[-2:]) == documents[-2:]

    def test_queries(self):
        queries = some(list(self.dataset.queries_iter()))
        self._test_queries(self.dataset, count=self.dataset.queries_count(), items=queries)

    def test_qrels(self):
        qrels = some(list(self.dataset.qrels_iter()))
        self._test_qrels(self.dataset, count=self.dataset.qrels_count(), items=qrels)

class Answers(Check, DatasetIntegrationTest):
    name = "task1/2021"

class Formulas(Check, DatasetIntegrationTest):
    name = "task2/2020"

class Posts(Check, DatasetIntegrationTest):
    name = "task3/2022"

class Premises(Check, DatasetIntegrationTest):
    name = "nlps/dev"

unittest.main(argv=["check"])
"""


PIPELINES = """
import contextlib, json, pickle, sys, urllib.error
sys.path += sys.argv[2:]
import pandas as pd
import arqmath_bm25 as arq
from arqmath_bm25.pyterrier import Retriever
import pyterrier as pt
from ir_measures import nDCG

collection = arq.sample(sys.argv[1])
index = collection.index("task1", engine="flat")
topics, qrels = collection.topics("task1", 2021), collection.qrels("task1", 2021)
both, text, math = (Retriever(index, name) for name in ("both", "text", "math"))
ranked = both(topics)

# a rewritten query is searched, though titles stand beside it
zebra = pt.apply.query(lambda row: "zebra $x^2$") >> both
assert zebra(topics)["docno"].tolist() == zebra(topics[["qid", "query"]])["docno"].tolist()
assert zebra(topics)["docno"].tolist() != ranked["docno"].tolist()

# candidates of others are scored: the same where they are the retriever's own
same = ["qid", "docno", "score", "rank"]
pd.testing.assert_frame_equal((both % 100 >> both)(topics)[same], (both % 100)(topics)[same])
again = (text % 20 >> math)(topics)
assert set(map(tuple, again[["qid", "docno"]].values)) == set(
    map(tuple, (text % 20)(topics)[["qid", "docno"]].values))
assert (again.groupby("qid")["rank"].min() == 0).all()
of = math(topics).set_index(["qid", "docno"])["score"]
scored = again.set_index(["qid", "docno"])["score"]
both_have = scored.index.intersection(of.index)
assert len(both_have) > 50 and abs(scored[both_have] - of[both_have]).max() < 1e-4
features = (text % 20 >> (math ** both))(topics)["features"]
assert len(features) == len(again) and all(len(row) == 2 for row in features)

# a cut fetches no more than it shows; the rest is as PyTerrier's own retrievers are
assert (both % 10).compile() == Retriever(index, "both", depth=10)
first = ranked[ranked["rank"] < 10][same].reset_index(drop=True)
pd.testing.assert_frame_equal((both % 10)(topics)[same], first)
assert pickle.loads(pickle.dumps(both)) == both == Retriever(index) != text
assert hash(both) == hash(Retriever(index, "both"))
assert len(repr(both)) < 60 and "/" not in repr(both), repr(both)
numbered = topics[["query"]].assign(qid=range(len(topics)), score=1.0)
assert list(both(numbered)["qid"].unique()) == [str(n) for n in range(len(topics))]
assert "score" in both(numbered) and "score_x" not in both(numbered)
assert len(both(topics.head(0))) == 0
assert both([{"qid": "1", "query": "prime"}])
try:
    Retriever(index, "x")
except arq.InputError as error:
    assert "variant 'x'" in str(error)
else:
    raise AssertionError
inputs = pt.inspect.transformer_inputs(both)
assert inputs == [["qid", "query", "docno"], ["qid", "query"]], inputs
for columns in inputs:
    outputs = pt.inspect.transformer_outputs(both, columns)
    assert set(outputs) == {"qid", "query", "docno", "score", "rank"}, outputs
assert {a.name for a in pt.inspect.transformer_attributes(both)} == {"index", "variant", "depth"}
with contextlib.suppress(urllib.error.URLError):  # it links to PyTerrier's pages, which it fetches
    assert len(pt.schematic.transformer_schematic(both)["label"]) <= 20
grid = pt.GridScan(text, {text: {"variant": ["math", "both"]}}, topics, qrels, [nDCG @ 10])
assert len(grid) == 2 and grid["nDCG@10"].nunique() == 2, grid
print(json.dumps({"jvm": "jnius" in sys.modules, "terrier": pt.java.started()}))
"""


@pytest.mark.slow
def test_a_retriever_behaves_as_those_of_pyterrier(peers: list[str], tmp_path: Path) -> None:
    arq.sample(tmp_path).index("task1", engine="flat")
    command = [sys.executable, "-c", PIPELINES, str(tmp_path), *peers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"jvm": False, "terrier": False}


ARTIFACTS = """
import json, sys
sys.path += sys.argv[2:]
import pyterrier as pt
from arqmath_bm25 import api as arq

mine = arq.Collection.of(["prime numbers", "a triangle"], "mine", "here").index("docs")
notes = arq.Collection("notes", "here").index("docs", engine="flat")
sample = arq.sample("here").index("task2", engine="flat")
for index, query in ((mine, "prime"), (notes, "limit"), (sample, "$x^2$")):
    found = pt.Artifact.load(str(index.path)).retriever().search(query)
    assert found["docno"].tolist() == index.run({"1": query})["docno"].tolist(), query
    assert len(found), query

import shutil
shutil.copytree("here", "there")
shutil.rmtree("here")
moved = "there/" + str(mine.path).partition("/here/")[2]
assert pt.Artifact.load(moved).retriever().search("prime")["docno"].tolist() == ["1"]
other = pt.Artifact.load("there/arqmath-sample/task2/" + sample.path.name, data=arq.sample().path)
assert len(other.index) == len(sample)
"""


def test_a_store_is_an_artifact_of_pyterrier(peers: list[str], tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("# Limits\n\nA limit of $a_n$.\n")
    command = [sys.executable, "-c", ARTIFACTS, str(tmp_path), *peers]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


EXPERIMENT = """
import json, re, sys
sys.path += sys.argv[4:]
import pyterrier as pt
import ir_measures
from arqmath_bm25 import api as arq
from arqmath_bm25.pyterrier import Retriever

data, indexes, order = sys.argv[1:4]
collection = arq.Collection(data)
if order == "terrier first":
    pt.java.init()
index = collection.index("task1", indexes=indexes)
topics, qrels = collection.topics("task1", 2021), collection.qrels("task1", 2021)
ours = Retriever(index, variant="both")
figures = arq.evaluate(index.run(topics, variant="both"), qrels)
words = re.compile("[^A-Za-z0-9]+")
answers = [
    {"docno": post.post_id, "text": words.sub(" ", post.body)}
    for thread in collection.posts.threads() for post in thread.answers
]
indexer = pt.terrier.IterDictIndexer(indexes + "/terrier", overwrite=True)
terrier = pt.IndexFactory.of(indexer.index(answers))
plain = pt.apply.generic(
    lambda frame: frame[["qid"]].assign(query=frame["query"].str.replace(words, " ", regex=True))
)
dph = pt.terrier.Retriever(terrier, wmodel="DPH")
expanded = plain >> dph >> pt.rewrite.Bo1QueryExpansion(terrier) >> dph
names = {
    "ndcg_prime": "nDCG(judged_only=True)@1000",
    "map_prime": "AP(rel=2,judged_only=True)@1000",
    "p10_prime": "P(rel=2,judged_only=True)@10",
}
table = pt.Experiment(
    [ours, expanded], topics, qrels, [ir_measures.parse_measure(name) for name in names.values()],
    names=["ours", "DPH + Bo1"],
)
print(json.dumps({
    "expected": [figures[key] for key in names],
    "found": table.set_index("name")[list(names.values())].T.to_dict("list"),
    "columns": sorted((ours % 3)(topics.head(2)).columns),
}))
"""


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory, lite_indexes: Path) -> Path:
    return linked(lite_indexes, tmp_path_factory.mktemp("lite") / "indexes")


@pytest.mark.slow
@pytest.mark.parametrize("order", ["terrier first", "ours first"])
def test_an_experiment_of_pyterrier_prints_our_figures_beside_those_of_terrier(
    order: str, peers: list[str], lite: Path, indexes: Path
) -> None:
    command = [sys.executable, "-c", EXPERIMENT, str(lite), str(indexes), order, *peers]
    done = subprocess.run(command, capture_output=True, text=True)
    if "ConnectionError" in done.stderr:
        pytest.skip("Terrier's jars could not be fetched")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert told["found"]["ours"] == pytest.approx(told["expected"], abs=5e-5)
    assert 0 < told["found"]["DPH + Bo1"][0] < told["found"]["ours"][0]
    wanted = {"qid", "query", "title", "question", "tags", "docno", "score", "rank"}
    assert set(told["columns"]) == wanted


RUN = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 1.0}}
QRELS = {"q1": {"a": 0, "b": 1}, "q2": {"c": 1, "d": 1}}
AP = (1 / 2 + 1 / 2) / 2  # by hand


# The classes of Numba's warnings are not known to the process that collects the results.
@pytest.mark.filterwarnings("ignore")
def test_runs_and_judgments_of_ranx_are_scored(peers: list[str]) -> None:
    import ranx

    run, qrels = ranx.Run(RUN), ranx.Qrels(QRELS)
    assert ranx.evaluate(qrels, run, "map") == pytest.approx(AP)
    assert arq.evaluate(run, qrels, measures="AP")["AP"] == pytest.approx(AP)
    assert len(arq.fuse([run, run])) == 3
    # ranx asks for columns of objects, which those of pandas 3 are not.
    frame = arq.fuse([RUN, RUN]).astype({"qid": object, "docno": object})
    assert ranx.Run.from_df(frame, q_id_col="qid", doc_id_col="docno").to_dict().keys() == {
        "q1",
        "q2",
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_runs_and_judgments_of_trectools_are_scored(peers: list[str], tmp_path: Path) -> None:
    import trectools

    run_file, qrels_file = tmp_path / "run", tmp_path / "qrels"
    run_file.write_text("q1 Q0 a 1 3 x\nq1 Q0 b 2 2 x\nq2 Q0 c 1 1 x\n")
    qrels_file.write_text("q1 0 a 0\nq1 0 b 1\nq2 0 c 1\nq2 0 d 1\n")
    run, qrels = trectools.TrecRun(str(run_file)), trectools.TrecQrel(str(qrels_file))
    assert trectools.TrecEval(run, qrels).get_map() == pytest.approx(AP)
    assert arq.evaluate(run, qrels, measures="AP")["AP"] == pytest.approx(AP)
    assert arq.evaluate(run.run_data, qrels.qrels_data, measures="AP")["AP"] == pytest.approx(AP)


def test_tables_of_pyarrow_are_runs_topics_and_documents(peers: list[str], tmp_path: Path) -> None:
    import pyarrow

    rows = [
        {"query_id": topic, "doc_id": doc, "score": score}
        for topic, docs in RUN.items()
        for doc, score in docs.items()
    ]
    assert arq.evaluate(pyarrow.Table.from_pylist(rows), QRELS, measures="AP")[
        "AP"
    ] == pytest.approx(AP)
    documents = pyarrow.table({"id": ["1", "2"], "text": ["a triangle", "circles"]})
    index = arq.Collection.of(documents, "arrow", tmp_path).index("docs", engine="flat")
    topics = pyarrow.table({"qid": ["q"], "query": ["triangle"]})
    assert index.run(topics)["docno"].tolist() == ["1"]
