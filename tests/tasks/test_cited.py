"""The variant `cited`: what similar documents refer to, and nothing that a query knows itself."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from program import arqmath
from serving import Client, running
from thesis import write_thesis
from threadpoolctl import threadpool_info

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.building import delete
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.records import Hit, Topic
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.core.writing import contents
from arqmath_bm25.engines.engine import chosen_engine
from arqmath_bm25.pages.web.search_pages import SearchPages
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.cited import cited_documents, ridge
from arqmath_bm25.tasks.document_retrieval import DocumentRetrieval
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import IndexContent, of_config
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FLAT = chosen_engine("flat", None)
ROWS: list[dict[str, Any]] = [
    {"id": "holder", "text": "An inequality of conjugate exponents for products."},
    {"id": "zorn", "text": "Every chain has an upper bound, so there is a maximal element."},
    {"id": "norm", "text": "Convergent series in normed spaces.", "references": ["holder"]},
    {"id": "space", "text": "Bounded series in normed spaces.", "references": ["holder", "lost"]},
    {
        "id": "ideal",
        "text": "Proper ideals of rings lie in maximal ones.",
        "references": ["zorn"],
    },
    {"id": "prime", "text": "Prime ideals of rings are proper.", "references": ["zorn"]},
]


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def indexed(
    place: Path,
    rows: Sequence[dict[str, Any]] = ROWS,
    train: Path | None = None,
    config: Path | None = None,
) -> OpenIndex:
    written(place / "corpus.jsonl", rows)
    collection = CollectionFiles(place, place / "indexes", train=train)
    task = of_config("docs", collection, config).index_task
    ensure(IndexContent.of(task, collection), HERE, [FLAT])
    return OpenIndex.open(collection, "docs", config, FLAT)


def earlier(place: Path) -> Path:
    """Return a configuration that learns from the documents before the query."""
    settings = configured("docs").settings.model_dump(mode="json")
    settings["cited"]["cited"]["earlier"] = True
    place.mkdir(exist_ok=True)
    path = place / "docs.yaml"
    path.write_text(json.dumps(settings))
    return path


def ranked(index: OpenIndex, topic: Topic, variant: str = "cited") -> dict[str, float]:
    (hits,) = index.rank([topic], variant, 1000)
    return {hit.doc_id: hit.score for hit in hits}


def learnt(index: OpenIndex) -> Path:
    """Return the store of what an index has learnt."""
    return index.directory.with_name(index.directory.name.replace("flat-", "cited-"))


QUERY = Topic("q", "A series in normed spaces")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> OpenIndex:
    return indexed(tmp_path_factory.mktemp("cited"))


def test_what_similar_documents_refer_to_is_found_without_a_common_word(index: OpenIndex) -> None:
    assert "holder" not in ranked(index, QUERY, "both")
    found = ranked(index, QUERY)
    assert found["holder"] > found["zorn"]
    assert found["holder"] > found["ideal"]


def test_the_scores_of_the_fields_are_kept(index: OpenIndex) -> None:
    by_fields, found = ranked(index, QUERY, "both"), ranked(index, QUERY)
    assert all(found[doc_id] >= score for doc_id, score in by_fields.items())


def test_the_parts_of_an_explanation_add_up_to_the_score(index: OpenIndex) -> None:
    (hits,) = index.rank([QUERY], "cited", 10)
    for hit, parts in zip(hits, index.ranker.explain(QUERY, "cited", hits), strict=True):
        assert sum(part.score for part in parts) == pytest.approx(hit.score, rel=1e-5)
    names = {part.name for part in index.ranker.explain(QUERY, "cited", hits)[0]}
    assert {"ridge", "profile", "citations"} <= names


def test_given_documents_are_scored_as_they_are_ranked(index: OpenIndex) -> None:
    found = ranked(index, QUERY)
    (hits,) = index.ranker.score([QUERY], "cited", [["holder", "norm", "space"]])
    assert {hit.doc_id: hit.score for hit in hits} == {
        doc_id: pytest.approx(found[doc_id]) for doc_id in ("holder", "norm", "space")
    }


@pytest.mark.parametrize(
    "query",
    [
        Topic("norm", "A series in normed spaces"),  # its id
        Topic("q", "Convergent  series in normed spaces."),  # its text
        Topic("q", "A series in normed spaces", excluded=("norm",)),
    ],
)
@pytest.mark.parametrize("most", [0, 100])
def test_a_query_never_learns_from_its_own_references(
    query: Topic, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the document that it is refers to, the ranking is the same."""
    monkeypatch.setattr(ridge, "MOST_WHOLE", most)
    found = []
    for name, references in (("a", ["zorn"]), ("b", ["holder"])):
        rows = [{**row, "references": references} if row["id"] == "norm" else row for row in ROWS]
        index = indexed(tmp_path / name, rows)
        parts = index.ranker.explain(query, "cited", [Hit("holder", 0), Hit("zorn", 0)])
        found.append([part for of_hit in parts for part in of_hit if part.name == "ridge"])
    assert found[0] == found[1]


def test_in_order_of_writing_later_documents_are_not_learnt_from(tmp_path: Path) -> None:
    index = indexed(tmp_path / "a", config=earlier(tmp_path))
    early = Topic("space", "Bounded series in normed spaces.")
    assert ranked(index, early)["holder"] > 0  # norm is before it
    first = Topic("norm", "Convergent series in normed spaces.")
    (parts,) = index.ranker.explain(first, "cited", [Hit("holder", 0)])
    assert {part.name: part.score for part in parts}["ridge"] == 0


def test_a_training_file_replaces_the_references_of_documents(tmp_path: Path) -> None:
    rows = [{"id": "t", "text": "Series in normed spaces", "references": ["zorn"]}]
    train = written(tmp_path / "train.jsonl", rows)
    index = indexed(tmp_path / "a", train=train)
    found = ranked(index, QUERY)
    assert found["zorn"] > found.get("holder", 0)

    written(train, [{**rows[0], "references": ["holder"]}])
    changed = CollectionFiles(tmp_path / "a", tmp_path / "a" / "indexes", train=train)
    with pytest.raises(
        NoIndexError,
        match=r"delimiters or train: train: train\.jsonl",
    ):
        OpenIndex.open(changed, "docs")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "t", "text": "x", "references": ["404"]}], "no row refers to a document"),
        ([{"id": "t", "text": "x"}], "no row refers to a document"),
    ],
)
def test_a_training_file_that_teaches_nothing_is_refused(
    rows: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    train = written(tmp_path / "train.jsonl", rows)
    with pytest.raises(InputError, match=message):
        indexed(tmp_path / "a", train=train)


def test_order_and_training_file_exclude_each_other(tmp_path: Path) -> None:
    train = written(tmp_path / "train.jsonl", [{"id": "t", "text": "x", "references": ["zorn"]}])
    with pytest.raises(InputError, match=r"cited\.cited\.earlier goes by the order of the doc"):
        indexed(tmp_path / "a", train=train, config=earlier(tmp_path))


def test_documents_without_references_have_the_other_variants(tmp_path: Path) -> None:
    index = indexed(tmp_path, [{"id": "a", "text": "A series of $x^2$."}])
    assert DocumentRetrieval.runnable(index.task, index) == (
        ["text", "math", "both"],
        "",
    )
    with pytest.raises(InputError, match="no document of this index has references"):
        list(index.rank([QUERY], "cited", 10))


def test_many_statements_are_learnt_by_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = ranked(indexed(tmp_path / "a"), QUERY)
    monkeypatch.setattr(ridge, "MOST_WHOLE", 3)
    near = indexed(tmp_path / "b")
    found = ranked(near, QUERY)
    said = " ".join(capsys.readouterr().err.split())
    assert "by one regression over all of them" in said
    assert "by a regression over the 512 most similar to each query" in said
    assert not (learnt(near) / "references" / "inverse.npy").exists()
    assert found["holder"] == pytest.approx(whole["holder"], rel=0.05)
    assert found["holder"] > found["zorn"]


def test_queries_that_are_ranked_one_by_one_have_the_same_scores(
    index: OpenIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many documents, fewer queries are ranked at a time."""
    topics = [QUERY, Topic("r", "Proper ideals"), Topic("s", "Zorn")]
    together = list(index.rank(topics, "cited", 10))
    monkeypatch.setattr(ridge, "_SCORES", 1)
    assert list(index.rank(topics, "cited", 10)) == together


def test_sums_depend_on_no_number_of_threads(
    index: OpenIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries of linear algebra take one thread, however many there are."""
    found: list[int] = []
    whole_influence = ridge.whole_influence

    def watched(*arguments: Any) -> Any:
        pools = threadpool_info()
        found.extend(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
        return whole_influence(*arguments)

    monkeypatch.setattr(ridge, "whole_influence", watched)
    ranked(index, QUERY)
    assert set(found) == {1}


def test_it_is_learnt_once_and_changes_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = indexed(tmp_path)
    before = contents(index.directory)
    assert not learnt(index).exists()
    ranked(index, QUERY, "both")
    assert not learnt(index).exists()
    found = ranked(index, QUERY)
    assert contents(index.directory) == before

    kept = contents(learnt(index))
    monkeypatch.setattr(cited_documents.CitedRanker, "_statements", None)
    again = OpenIndex.open(index.collection, "docs", None, FLAT)
    assert ranked(again, QUERY) == found
    monkeypatch.undo()

    (learnt(index) / "references/ids.arrays").write_bytes(b"x")  # a damaged one is learnt anew
    assert ranked(OpenIndex.open(index.collection, "docs", None, FLAT), QUERY) == found
    assert contents(learnt(index)).keys() == kept.keys()
    arqmath("index", "docs", "--data", tmp_path, "--indexes", tmp_path / "indexes")
    written(tmp_path / "corpus.jsonl", ROWS[:3])
    arqmath("index", "docs", "--data", tmp_path, "--indexes", tmp_path / "indexes", "--prune")
    assert not learnt(index).exists()


def test_without_the_right_to_write_it_is_learnt_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index = indexed(tmp_path)
    expected = ranked(index, QUERY)
    delete(learnt(index))

    def refused(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("arqmath_bm25.core.building._prepare", refused)
    assert ranked(OpenIndex.open(index.collection, "docs", None, FLAT), QUERY) == expected
    said = " ".join(capsys.readouterr().err.split())
    assert "what was learnt is not kept, and this process ranks in memory" in said
    assert not learnt(index).exists()


def test_its_cost_is_told_where_it_is_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked(indexed(tmp_path / "a"), QUERY)
    assert "this once takes" not in capsys.readouterr().err
    monkeypatch.setattr(cited_documents, "_MANY", 4)
    ranked(indexed(tmp_path / "b"), QUERY)
    assert "this once takes about 0 s and 0 MB" in " ".join(capsys.readouterr().err.split())


def test_documents_that_have_changed_are_not_learnt_from(tmp_path: Path) -> None:
    index = indexed(tmp_path)
    written(tmp_path / "corpus.jsonl", ROWS[1:])
    with pytest.raises(InputError, match="not what this index was built from"):
        ranked(index, QUERY)


def test_a_server_ranks_by_the_fields_until_it_is_learnt(tmp_path: Path) -> None:
    index = indexed(tmp_path)
    assert "cited" in index.variants
    variant, note = index.task.served("cited", index)
    assert (variant, "cited is learnt by the first run" in note) == ("both", True)
    site = SearchPages({"docs": index}, threads=1)
    with running(site) as address:
        page = Client(address).get("/", q="normed series", task="docs", variant="cited")
        assert "ranked by both" in page.text
        assert not learnt(index).exists()
    ranked(index, QUERY)
    assert index.task.served("cited", index) == ("cited", "")


@pytest.mark.slow
def test_a_thesis_finds_what_its_proofs_refer_to_by_two_commands(tmp_path: Path) -> None:
    thesis = write_thesis(tmp_path / "thesis")
    where = ("--data", thesis, "--indexes", tmp_path / "i")
    arqmath("index", "docs", *where)
    arqmath("run", "docs", *where, "--runs", tmp_path / "r")

    scores = {}
    for variant in ("both", "cited"):
        run = tmp_path / "r" / "thesis" / "queries" / f"{variant}.trec"
        arqmath("eval", run, *where, "--json", tmp_path / "scores.json")
        scored = json.loads((tmp_path / "scores.json").read_text())
        scores[variant] = scored[0]["nDCG@10"]
    assert scores["cited"] > scores["both"] + 0.2
