"""One's own documents in Python, by what a user of other libraries would write first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import ir_measures
import pandas as pd
import pytest
from ir_measures import AP, P, nDCG

import arqmath_bm25 as arq

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS = [
    {"id": "thm/1", "title": "Pythagoras", "text": r"In a right triangle \(a^2+b^2=c^2\)."},
    {"id": "2", "title": None, "text": "A triangle, and no formula."},
    {"id": "η3", "title": "Euler", "text": r"The identity $e^{i\pi}+1=0$."},
]
RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"b": 1.5, "d": 0.5}}
OTHER = {"q1": {"c": 3.0, "b": 2.0, "a": 1.0}, "q2": {"d": 1.5, "b": 0.5}}
QRELS = {"q1": {"a": 1, "b": 0, "c": 1}, "q2": {"d": 2, "e": 1}}
# By hand. q1: relevant at 1 and 3 of two; q2: relevant at 2, of two.
MEAN_AP = ((1 + 2 / 3) / 2 + (1 / 2) / 2) / 2
MEAN_P1 = 0.5


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> arq.Index:
    place = tmp_path_factory.mktemp("own")
    return arq.Collection.of(DOCUMENTS, "mine", place).index("docs", engine="flat")


def triples(nested: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(qid, doc, value) for qid, docs in nested.items() for doc, value in docs.items()]


def polars() -> Any:
    return pytest.importorskip("polars", reason="polars is not installed")


def test_a_list_of_dicts_is_a_collection_that_lasts(tmp_path: Path) -> None:
    collection = arq.Collection.of(DOCUMENTS, "mine", tmp_path)
    index = collection.index("docs", engine="flat")
    assert index.search("$x^2+y^2=z^2$")["docno"][0] == "thm/1"
    assert index.document("η3")["title"] == "Euler"
    again = arq.Collection(collection.path, tmp_path)  # another day
    assert again == collection
    assert again.index("docs") == arq.Collection.of(DOCUMENTS, "mine", tmp_path).index("docs")
    changed = arq.Collection.of(DOCUMENTS[:2], "mine", tmp_path)
    assert len(changed.index("docs", engine="flat")) == 2


def test_an_open_index_keeps_its_documents_when_others_are_stored(tmp_path: Path) -> None:
    first = arq.Collection.of(["prime numbers"], indexes=tmp_path).index("docs", engine="flat")
    second = arq.Collection.of(["prime ideals"], indexes=tmp_path).index("docs", engine="flat")
    for index, text in ((first, "prime numbers"), (second, "prime ideals")):
        assert index.search("prime")["text"].tolist() == [text]
    again = arq.Collection.of(["prime numbers"], indexes=tmp_path)
    assert again == first.collection
    of_other_columns = [{"id": "1", "text": "prime numbers", "vector": object()}]
    assert arq.Collection.of(of_other_columns, indexes=tmp_path) == first.collection


@pytest.mark.parametrize(
    "names", [("docno", "text"), ("_id", "text"), ("doc_id", "text"), ("id", "contents")]
)  # PyTerrier, BEIR, ir_datasets, Pyserini
def test_rows_of_other_libraries_are_documents(names: tuple[str, str], tmp_path: Path) -> None:
    rows = ({names[0]: row["id"], names[1]: row["text"]} for row in DOCUMENTS)  # read once
    index = arq.Collection.of(rows, "mine", tmp_path).index("docs", engine="flat")
    assert index.search("identity")["docno"].tolist() == ["η3"]


def test_a_pandas_frame_of_documents_may_lack_titles(tmp_path: Path) -> None:
    frame = pd.DataFrame(DOCUMENTS).assign(id=[1, 2, 3], tags=[["a"], [], ["b"]])
    assert frame["title"].isna().any()
    index = arq.Collection.of(frame, "mine", tmp_path).index("docs", engine="flat")
    assert index.search("identity")["docno"].tolist() == ["3"]


class Doc(NamedTuple):  # as ir_datasets has them
    doc_id: str
    text: str


class Query(NamedTuple):
    query_id: str
    text: str


def test_iterators_of_ir_datasets_go_from_documents_to_scores(tmp_path: Path) -> None:
    def documents() -> Iterator[Doc]:
        yield from (Doc(str(row["id"]), str(row["text"])) for row in DOCUMENTS)

    index = arq.Collection.of(documents(), "mine", tmp_path).index("docs", engine="flat")
    run = index.run(iter([Query("7", "identity"), Query("8", "right triangle")]))
    assert run["docno"].tolist() == ["η3", "thm/1", "2"]
    qrels = [ir_measures.Qrel("7", "η3", 1), ir_measures.Qrel("8", "2", 1)]
    assert arq.evaluate(run, iter(qrels), measures=[AP])["AP"] == (1 + 1 / 2) / 2


def test_several_queries_in_one_search(index: arq.Index) -> None:
    hits = index.search(["triangle", "identity", "zebra"], k=2)
    assert list(hits) == ["qid", "docno", "score", "rank", "title", "text"]
    assert hits[["qid", "docno", "rank"]].to_numpy().tolist() == [
        ["1", "2", 1], ["1", "thm/1", 2], ["2", "η3", 1]
    ]  # fmt: skip  # "2" has two words, "thm/1" three with its title
    alone = index.search("identity", k=2)
    assert list(alone) == ["docno", "score", "rank", "title", "text"]
    assert alone["score"].tolist() == hits[hits["qid"] == "2"]["score"].tolist()
    assert index.search(pd.Series(["identity"]))["docno"].tolist() == ["η3"]


def test_what_is_in_an_index(index: arq.Index) -> None:
    assert len(index) == 3
    assert [docno in index for docno in ("2", "η3", 2, "3")] == [True, True, True, False]
    counts = index.document_frequency(*index.analyze("triangle formula zebra")["words"])
    assert counts["contents"].to_dict() == {"triangl": 2, "formula": 1, "zebra": 0}
    assert counts.loc["triangl", "title_text"] == 0
    assert index.document_frequency("pythagora")["title_text"].tolist() == [1]


def test_nested_dicts_are_scored_compared_fused_and_written(tmp_path: Path) -> None:
    """As pytrec_eval, ranx and ir_measures have them."""
    scores = arq.evaluate(RUN, QRELS)
    assert scores["AP"] == pytest.approx(MEAN_AP)
    assert (scores.relevant, scores.topics, scores.counts["topics_in_run"]) == (1, ("q1", "q2"), 2)
    assert list(scores)[:3] == ["nDCG@10", "AP(rel=1)", "P(rel=1)@10"]
    assert scores["AP"] == scores["map"] == scores["AP(rel=1)"] == scores[AP]
    assert "AP(rel=1)" in repr(scores)
    assert "topics: 2, relevant: grade 1 or more" in repr(scores)
    assert "ndcg_prime" not in scores  # which is the labs' measure
    theirs = ir_measures.calc_aggregate([nDCG @ 10, AP, P @ 1], QRELS, RUN)
    ours = arq.evaluate(RUN, QRELS, measures=[nDCG @ 10, AP, P @ 1])
    assert list(ours) == ["nDCG@10", "AP(rel=1)", "P(rel=1)@1"]
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, abs=1e-4)
    per_topic = arq.evaluate(RUN, QRELS, per_topic=True, measures=["ndcg_cut_10", "P_1"])
    assert per_topic["P_1"].to_dict() == {"q1": 1.0, "q2": 0.0}
    tested = arq.compare({"one": RUN, "two": OTHER}, QRELS, AP)
    assert tested["difference"][0] == pytest.approx((1 / 2 - 1 / 4) / 2)  # q2 has d first
    fused = arq.fuse([RUN, OTHER])  # a and c of q1 are 1st and 3rd, b is 2nd twice
    assert set(fused["docno"][fused["qid"] == "q1"]) == {"a", "b", "c"}
    arq.write_run(RUN, tmp_path / "run.trec", name="mine")
    lines = (tmp_path / "run.trec").read_text().splitlines()
    assert lines[0].split("\t") == ["q1", "Q0", "a", "1", "3", "mine"]
    assert arq.read_run(tmp_path / "run.trec").attrs["task"] == "docs"


@pytest.mark.parametrize("measures", ["ap", ["ap"], ("ap",)])
def test_one_measure_may_be_a_string(measures) -> None:
    expected = {"AP(rel=1)": pytest.approx(MEAN_AP)}
    assert dict(arq.evaluate(RUN, QRELS, measures=measures)) == expected
    assert dict(arq.evaluate(RUN, QRELS, measures=AP)) == expected
    at_2 = arq.evaluate(RUN, QRELS, measures=["P@2", "ndcg'", "P(rel=1)@2"], relevant=2)
    assert list(at_2) == ["P(rel=2)@2", "nDCG(judged_only=True)", "P(rel=1)@2"]
    assert (at_2["P_2"], at_2["P(rel=1)@2"]) == (1 / 4, 1 / 2)
    assert at_2["ndcg_prime"] == at_2["nDCG(judged_only=True)"]


def test_one_run_in_the_place_of_several_is_refused_with_the_right_call() -> None:
    frame = pd.DataFrame(triples(RUN), columns=["qid", "docno", "score"])
    calls = {
        r"compare\(\[run, other\], qrels\)": lambda: arq.compare(RUN, OTHER, QRELS),
        r"runs: got a pandas DataFrame; expected several": lambda: arq.compare(frame, QRELS),
        r"method: got a dict; .*fuse\(\[run, other\]\)": lambda: arq.fuse(RUN, OTHER),
        r"method: got a pandas DataFrame": lambda: arq.fuse(frame, frame),
    }
    for message, call in calls.items():
        with pytest.raises(arq.InputError, match=message):
            call()


@pytest.mark.parametrize("qid", ["query_id", "q_id"])  # ir_measures, ranx
def test_frames_with_columns_of_ir_measures_and_ranx(qid: str) -> None:
    run = pd.DataFrame(triples(RUN), columns=[qid, "doc_id", "score"])
    qrels = pd.DataFrame(triples(QRELS), columns=[qid, "doc_id", "relevance"])
    assert arq.evaluate(run, qrels)["AP"] == pytest.approx(MEAN_AP)
    assert arq.evaluate(run, qrels, measures=["P@1"])["P@1"] == MEAN_P1


def test_records_of_ir_measures() -> None:
    run = [ir_measures.ScoredDoc(*row) for row in triples(RUN)]
    qrels = [ir_measures.Qrel(*row) for row in triples(QRELS)]
    assert arq.evaluate(run, qrels)["AP"] == pytest.approx(MEAN_AP)


def test_judgments_of_trec_and_of_beir_are_read(tmp_path: Path) -> None:
    trec, beir = tmp_path / "qrels.txt", tmp_path / "test.tsv"
    trec.write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in triples(QRELS)))
    rows = [f"{q}\t{d}\t{grade}\n" for q, d, grade in triples(QRELS)]
    beir.write_text("".join(["query-id\tcorpus-id\tscore\n", *rows]))
    for path in (trec, beir):
        qrels = arq.read_qrels(path)
        assert list(qrels) == ["qid", "docno", "label"]
        assert list(qrels.itertuples(index=False, name=None)) == triples(QRELS)
        assert arq.evaluate(RUN, qrels)["AP"] == pytest.approx(MEAN_AP)


def test_polars_is_taken_wherever_pandas_is(tmp_path: Path) -> None:
    pl = polars()
    collection = arq.Collection.of(pl.DataFrame(DOCUMENTS), "mine", tmp_path)
    index = collection.index("docs", engine="flat")
    run = index.run(pl.DataFrame({"qid": [1], "query": ["identity"]}))
    assert run[["qid", "docno"]].to_numpy().tolist() == [["1", "η3"]]
    ranked = pl.DataFrame(triples(RUN), schema=["query_id", "doc_id", "score"], orient="row")
    qrels = pl.DataFrame(triples(QRELS), schema=["qid", "docno", "label"], orient="row")
    assert arq.evaluate(ranked, qrels)["AP"] == pytest.approx(MEAN_AP)
    with pytest.raises(arq.InputError, match="topics: got a polars Series with a str"):
        index.run(pl.Series(["identity"]))


def test_queries_of_a_file_exclude_documents(index: arq.Index, tmp_path: Path) -> None:
    queries = [
        {"qid": "a", "query": "triangle"}, {"_id": "b", "text": "triangle", "excluded_ids": ["2"]},
    ]  # fmt: skip
    file = tmp_path / "queries.jsonl"
    file.write_text("".join(f"{json.dumps(query)}\n" for query in queries))
    run = index.run(index.collection.topics("docs", file))
    assert run[["qid", "docno"]].to_numpy().tolist() == [["a", "2"], ["a", "thm/1"], ["b", "thm/1"]]


def test_messages_name_what_was_given(index: arq.Index, tmp_path: Path) -> None:
    run = pd.DataFrame(triples(RUN), columns=["qid", "docno", "score"])
    faults: dict[str, Any] = {
        "topics: got a str; expected a frame": lambda: index.run("triangle"),
        "topics: got a list with a str; expected": lambda: index.run(["triangle", None]),
        "topics: got a dict; expected": lambda: index.run({"q1": 1}),  # type: ignore[dict-item]
        "documents: got a str; expected": lambda: arq.Collection.of("a.jsonl", "x", tmp_path),
        "run: got a NoneType": lambda: arq.evaluate(None, QRELS),  # type: ignore[call-overload]
        "qrels: got a numpy ndarray with a numpy ndarray": lambda: arq.evaluate(
            run, run.to_numpy()
        ),
        "qrels: no column label; it has qid, docno, score": lambda: arq.evaluate(run, run),
        "documents: line 2: text: Field required": lambda: arq.Collection.of(
            [{"id": "a", "text": "x"}, {"id": "b"}], "x", tmp_path
        ),
        "line 2: id 'a' is that of line 1 too": lambda: arq.Collection.of(
            [{"id": "a", "text": "x"}] * 2, "x", tmp_path
        ),
        "documents: there are no rows": lambda: arq.Collection.of([], "x", tmp_path),
        r"name '\.\./x': expected letters": lambda: arq.Collection.of(DOCUMENTS, "../x", tmp_path),
    }
    for message, fault in faults.items():
        with pytest.raises(arq.InputError, match=message):
            fault()
    assert not list(tmp_path.rglob("*.jsonl"))  # nothing half-written


def test_texts_alone_are_documents_and_topics(tmp_path: Path) -> None:
    texts = ["the sine of $x$", "groups of prime order"]
    listed = arq.Collection.of(texts, "listed", indexes=tmp_path).index("docs", engine="flat")
    run = listed.run(["prime order", "sine"])
    assert list(zip(run["qid"], run["docno"], strict=True)) == [("1", "2"), ("2", "1")]
    by_id = {"a": texts[0], "b": texts[1]}
    named = arq.Collection.of(by_id, "named", indexes=tmp_path).index("docs", engine="flat")
    run = named.run({"q": "prime order"})
    assert list(zip(run["qid"], run["docno"], strict=True)) == [("q", "b")]


def test_a_corpus_and_queries_as_beir_loads_them(tmp_path: Path) -> None:
    """Its GenericDataLoader gives dicts of dicts: corpus, queries, qrels."""
    corpus = {
        "d1": {"title": "Area", "text": "half of base times height"},
        "d2": {"title": "", "text": "the circle $x^2+y^2=1$"},
    }
    index = arq.Collection.of(corpus, "beir", tmp_path).index("docs", engine="flat")
    run = index.run({"q1": "area", "q2": "circle"})
    assert list(zip(run["qid"], run["docno"], strict=True)) == [("q1", "d1"), ("q2", "d2")]
    assert arq.evaluate(run, {"q1": {"d1": 1}, "q2": {"d2": 1}}, measures="AP")["AP"] == 1.0
    with pytest.raises(arq.InputError, match="documents"):
        arq.Collection.of({"d1": {"title": "no text"}}, "none", tmp_path)
