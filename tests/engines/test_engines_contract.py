"""Every engine ranks as Lucene does: the same ids in the same order, the same 32-bit scores."""

from __future__ import annotations

import json
import math
import random
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arqmath_bm25.analysis.terms import Bag, FormulaTree, Lines, Paths
from arqmath_bm25.analysis.trees import Tree
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.tested import write_checksums
from arqmath_bm25.engines import flat
from arqmath_bm25.engines.engine import Bm25, Document, flat_directory
from arqmath_bm25.engines.flat_build import FlatPart, write_flat
from arqmath_bm25.engines.lucene.indexing import index_documents
from arqmath_bm25.engines.lucene.search import LuceneSearcher
from arqmath_bm25.engines.opensearch.cluster_index import (
    ClusterIndex,
    is_loaded,
    load_documents,
)
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher
from arqmath_bm25.engines.opensearch.connection import connect
from experiments.tuning.trials import field_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arqmath_bm25.engines.engine import Query, Searcher

    Documents = list[dict[str, str]]
    Open = Callable[[Path, Bm25], Searcher]  # of an index of Lucene

OWN = ("contents", "body_math", "tags")
SHARED = ("question_text", "title")  # by documents that follow each other
FIELDS = (*OWN, *SHARED)
WORDS = [f"w{n}" for n in range(200)] + ["é", "𝐑", "<", "&", "a~b", "\\frac", "w", "\x7f", "-"]


def indexed(place: Path, documents: Documents, threads: int = 1) -> Path:
    """Index documents by Lucene; the JSON lines stay beside the index."""
    parts = place / "documents"
    parts.mkdir(parents=True)
    for number in range(3):
        cut = slice(number * len(documents) // 3, (number + 1) * len(documents) // 3)
        lines = [json.dumps(document) + "\n" for document in documents[cut]]
        (parts / f"{number}.jsonl").write_text("".join(lines))
    index_documents(parts, place / "lucene", FIELDS[1:], len(documents), threads)
    return place / "lucene"


def write_postings(index: Path) -> None:
    """Write the flat postings of the documents that `indexed` gave to Lucene, in as many parts."""
    count = 0
    shutil.rmtree(flat_directory(index), ignore_errors=True)
    with TemporaryDirectory() as place:
        for file in sorted(index.with_name("documents").iterdir()):
            part, shared = FlatPart(), dict[str, Bag]()
            for line in file.read_text().splitlines():
                bags = {field: Bag(text.split()) for field, text in json.loads(line).items()}
                (doc_id,) = bags.pop("id").words
                common = {field: bags.pop(field) for field in SHARED if field in bags}
                shared = shared if shared == common else common
                part.add(Document(doc_id, bags, shared))
                count += 1
            part.save(Path(place, f"{file.stem}.flat"))
        write_flat(Path(place), flat_directory(index), count)


def generated(count: int, seed: int) -> Documents:
    """Make documents with frequent and rare words, long and short texts, and many ties."""
    chance = random.Random(seed)
    weights = [1 / n for n in range(1, len(WORDS) + 1)]

    def text() -> str:
        length = chance.choice((1, 2, 5, 30, 30, 300))
        return " ".join(chance.choices(WORDS, weights, k=length) + chance.choices(WORDS, k=1))

    def some(fields: tuple[str, ...]) -> dict[str, str]:
        return {field: text() for field in fields if chance.random() < 0.7}

    documents: Documents = []
    for n in chance.sample(range(10 * count), count):
        if not documents or chance.random() < 0.4:
            shared = some(SHARED)
        documents.append({"id": str(n), "contents": text()} | some(OWN[1:]) | shared)
    return documents


def queries(count: int, seed: int) -> Iterator[Query]:
    """Make weighted queries of 1 to 150 terms, some of which occur nowhere."""
    chance = random.Random(seed)
    for _ in range(count):
        yield {
            field: {
                word: chance.choice((0.3, 1.0, 7.25, chance.random()))
                for word in chance.sample([*WORDS, "absent", "w0 w1"], chance.choice((0, 1, 3, 50)))
            }
            for field in chance.sample([*FIELDS, "no_such_field"], chance.randint(1, 4))
        }


@pytest.fixture(
    params=[
        "flat",
        pytest.param("opensearch: 1 shard", marks=pytest.mark.slow),
        pytest.param("opensearch: 4 shards", marks=pytest.mark.slow),
    ]
)
def opened(request: pytest.FixtureRequest) -> Open:
    def by_flat(index: Path, bm25: Bm25) -> Searcher:
        write_postings(index)
        return flat.FlatSearcher(index, bm25)

    if request.param == "flat":
        return by_flat
    hosts = request.getfixturevalue("opensearch").hosts
    _, shards, _ = request.param.split()

    def by_opensearch(index: Path, bm25: Bm25) -> Searcher:
        client = connect(hosts)
        parts = sorted(index.with_name("documents").glob("*.jsonl"))
        count = sum(len(part.read_text().splitlines()) for part in parts)
        content = f"{index} {shards}"
        there = ClusterIndex("", content, count, FIELDS[1:], bm25)
        there = there._replace(name=f"arqmath-contract-{there.made_of[:12]}")
        if not is_loaded(client, there):
            load_documents(hosts, there, parts, int(shards))
        return OpenSearchSearcher(client, there)

    return by_opensearch


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return indexed(tmp_path_factory.mktemp("collection"), generated(2000, seed=5), threads=2)


@pytest.mark.parametrize(
    "parameters",
    [
        Bm25(),
        Bm25(0.0, 0.5),
        Bm25(0.9, 0.0),
        Bm25(25.0, 1.0),
        Bm25(by_field={"question_text": (2.0, 1.0), "contents": (0.9, 0.0)}),
    ],
)
def test_random_queries(collection: Path, opened: Open, parameters: Bm25) -> None:
    reference, searcher = LuceneSearcher(collection, parameters), opened(collection, parameters)
    assert searcher.count == reference.count == 2000
    many = 8 if isinstance(searcher, OpenSearchSearcher) else 25  # a query costs it 50 times more
    for k in (1, 10, 1000, 5000):
        asked = list(queries(many, seed=k))
        expected = [reference.search(query, k) for query in asked]
        assert max(map(len, expected)) >= min(k, 1000)
        searcher.threads = 4
        assert list(searcher.search_many(asked, k)) == expected
        assert searcher.search(asked[0], k) == expected[0]
    searcher.close()


def test_a_field_has_its_own_k1_and_b(tmp_path: Path, opened: Open) -> None:
    lengths = (1, 2, 3, 9)
    documents = [
        {"id": str(n), "contents": "a " + "b " * (n - 1), "tags": "a " + "b " * (n - 1)}
        for n in lengths
    ]
    index = indexed(tmp_path, documents)
    searcher = opened(index, Bm25(by_field={"tags": (2.0, 1.0)}))
    average = sum(lengths) / len(lengths)
    idf = math.log(1 + 0.5 / 4.5)
    for field, k1, b in (("contents", 1.2, 0.75), ("tags", 2.0, 1.0)):
        hits = searcher.search({field: {"a": 1.0}}, 4)
        expected = [idf / (1 + k1 * (1 - b + b * n / average)) for n in lengths]
        assert [hit.doc_id for hit in hits] == ["1", "2", "3", "9"]
        assert [hit.score for hit in hits] == pytest.approx(expected)
    searcher.close()


def test_terms_give_what_lucene_explains_and_add_up_to_the_score(
    collection: Path, opened: Open
) -> None:
    parameters = Bm25(0.9, 0.4, {"question_text": (2.0, 1.0)})
    reference, searcher = LuceneSearcher(collection, parameters), opened(collection, parameters)
    for query in queries(15, seed=4):
        hits = searcher.search(query, 3)
        ids = [hit.doc_id for hit in hits]
        explained = searcher.explain(query, ids)
        assert explained == reference.explain(query, ids)
        for hit, fields in zip(hits, explained, strict=False):
            assert all(terms.keys() <= query[name].keys() for name, terms in fields.items())
            total = sum(score for terms in fields.values() for score in terms.values())
            assert np.float32(total) == hit.score
    ((best, score, *_),) = searcher.search({"contents": {"w0": 1.0}}, 1)
    assert searcher.explain({"contents": {"w0": 1.0}}, [best]) == [{"contents": {"w0": score}}]
    searcher.close()


def test_unknown_ids_are_named_all_at_once(collection: Path, opened: Open) -> None:
    searcher = opened(collection, Bm25())
    (known, *_) = searcher.search({"contents": {"w0": 1.0}}, 1)
    for engine in (LuceneSearcher(collection, Bm25()), searcher):
        for query in ({"contents": {"w0": 1.0}}, {}):
            for ask in (engine.score, engine.explain):
                with pytest.raises(InputError, match=r"has no document 'none', '-1'$"):
                    ask(query, ["none", known.doc_id, "-1", "none"])
        engine.check_ids([known.doc_id])
    searcher.close()


def test_a_tie_is_cut_by_descending_id_however_long_it_is(tmp_path: Path, opened: Open) -> None:
    tied = [{"id": f"x{n}", "contents": "a z"} for n in range(700)]
    index = indexed(tmp_path, [*tied[300:], {"id": "best", "contents": "a"}, *tied[:300]])
    searcher = opened(index, Bm25())
    in_order = ["best", *sorted((document["id"] for document in tied), reverse=True)]
    for k in (1, 2, 10, 500, 700, 701, 5000):
        hits = searcher.search({"contents": {"a": 1.0}}, k)
        assert [hit.doc_id for hit in hits] == in_order[:k]
    searcher.close()


def test_weights_too_small_and_too_large_for_32_bits(tmp_path: Path, opened: Open) -> None:
    documents = [{"id": str(n), "contents": "a b" if n % 2 else "a"} for n in range(9)]
    index = indexed(tmp_path, [*documents, {"id": "c", "contents": "c"}])
    reference, searcher = LuceneSearcher(index, Bm25()), opened(index, Bm25())
    for tiny in (0.0, -1.0, 1e-50, 1e-45, 1e-40, 1e-30):
        for weights in ({"b": tiny}, {"a": tiny, "b": 1.0}, {"a": 1e30, "b": tiny}):
            query = {"contents": weights}
            assert searcher.search(query, 7) == reference.search(query, 7)
    searcher.close()


def test_nothing_asked_and_nothing_there(tmp_path: Path, opened: Open) -> None:
    searcher = opened(indexed(tmp_path, []), Bm25())
    assert searcher.count == 0
    assert searcher.search({"contents": {"a": 1.0}}, 10) == []
    searcher.threads = 2
    assert list(searcher.search_many([{}, {"contents": {}}], 10)) == [[], []]
    searcher.close()


def test_frequencies_and_lengths_of_all_sizes(tmp_path: Path, opened: Open) -> None:
    lengths = [*range(1, 60), *(2**n + d for n in range(6, 17) for d in (-1, 0, 1))]
    documents = [{"id": str(n), "contents": "a " * n + "b"} for n in lengths]
    index = indexed(tmp_path, documents)
    reference, searcher = LuceneSearcher(index, Bm25()), opened(index, Bm25())
    query = {"contents": {"a": 0.7, "b": 0.1}}
    assert searcher.search(query, 1000) == reference.search(query, 1000)
    searcher.close()


def test_postings_without_an_end_are_refused(collection: Path, tmp_path: Path) -> None:
    index = indexed(tmp_path, generated(20, seed=1))
    write_postings(index)
    codes = flat_directory(index) / "contents.codes"
    codes.write_bytes(codes.read_bytes()[:-2])
    with pytest.raises(InputError, match="incomplete"):
        flat.FlatSearcher(index, Bm25())


def test_flat_postings_are_the_same_in_one_range_of_terms_and_in_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = indexed(tmp_path, generated(50, seed=2))
    write_postings(index)
    files = {file.name: file.read_bytes() for file in flat_directory(index).iterdir()}
    monkeypatch.setattr("arqmath_bm25.engines.flat_build._TOGETHER", 10)
    write_postings(index)
    assert files == {file.name: file.read_bytes() for file in flat_directory(index).iterdir()}


@pytest.mark.parametrize(
    ("name", "changed"), [("coo_matvec", None), ("_TOGETHER", 3)], ids=["no coo_matvec", "pieces"]
)
def test_another_way_to_add_up_gives_the_same_scores(
    collection: Path, monkeypatch: pytest.MonkeyPatch, name: str, changed: int | None
) -> None:
    """Without scipy's inner function, and of lists that are scored in pieces."""
    write_postings(collection)
    searcher = flat.FlatSearcher(collection, Bm25())
    expected = [searcher.search(query, 100) for query in queries(20, seed=3)]
    monkeypatch.setattr(flat, name, changed)
    assert [searcher.search(query, 100) for query in queries(20, seed=3)] == expected


@pytest.mark.parametrize("column", ["docs", "codes"])
@pytest.mark.parametrize("chosen", [max, min], ids=["scored by code", "one by one"])
def test_postings_of_what_is_not_there_are_refused_each_time(
    tmp_path: Path, column: str, chosen: Callable[..., str]
) -> None:
    """Whichever way a list is scored: scipy would write wherever a number says."""
    index = indexed(tmp_path, generated(500, seed=5))
    write_postings(index)
    pairs, file = (flat_directory(index) / f"contents.{ending}" for ending in ("pairs", column))
    searcher = flat.FlatSearcher(index, Bm25())
    counts = searcher.document_counts({"contents": WORDS})["contents"]
    word = chosen(counts, key=counts.__getitem__)
    assert (counts[word] > pairs.stat().st_size // 8) == (chosen is max)
    query = {"contents": {word: 1.0}}
    assert len(searcher.search(query, 500)) == counts[word]
    file.write_bytes(b"\xff" * file.stat().st_size)
    write_checksums(file)  # somebody made it so
    searcher = flat.FlatSearcher(index, Bm25())
    for _ in range(2):
        with pytest.raises(IndexError):
            searcher.search(query, 100)


@pytest.mark.parametrize("kind", ["<i4", "<i8"])
def test_more_than_fits_into_a_few_bytes(
    collection: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for module in ("flat", "flat_build"):
        monkeypatch.setattr(f"arqmath_bm25.engines.{module}.smallest_kind", lambda largest: kind)
    write_postings(collection)
    searcher = flat.FlatSearcher(collection, Bm25())
    reference = LuceneSearcher(collection, Bm25())
    for query in queries(10, seed=6):
        assert searcher.search(query, 100) == reference.search(query, 100)


def test_field_scores_add_up_to_the_ranking(collection: Path) -> None:
    write_postings(collection)
    searcher = flat.FlatSearcher(collection, Bm25())
    assert not len(field_scores(searcher, {}, 30).ids)
    for query in queries(20, seed=4):
        found = field_scores(searcher, query, 30)
        doc_ids = [doc_id.decode() for doc_id in found.ids.tolist()]
        assert found.fields == list(query)
        assert found.scores.shape == (len(doc_ids), len(found.fields))
        total = dict(zip(doc_ids, found.scores.sum(axis=1), strict=True))
        for doc_id, score, *_ in searcher.search(query, 30):
            assert total[doc_id] == pytest.approx(score, rel=1e-6)
        for field, scores in zip(found.fields, found.scores.T, strict=True):
            of_field = dict(zip(doc_ids, scores, strict=True))
            for doc_id, score, *_ in searcher.search({field: query[field]}, 30):
                assert of_field[doc_id] == np.float32(score)


def test_terms_are_counted_alike_and_as_they_stand_in_the_documents(
    tmp_path: Path, opened: Open
) -> None:
    documents = [
        {"id": "1", "contents": "a b a", "tags": "b", "title": "a b"},
        {"id": "2", "contents": "b", "title": "a b"},
        {"id": "3", "contents": "c c c a", "tags": "b b", "title": "b"},
        {"id": "4", "contents": "c"},
    ]
    index = indexed(tmp_path, documents)
    for searcher in (LuceneSearcher(index, Bm25()), opened(index, Bm25())):
        counts = searcher.document_counts(
            {
                "contents": ["c", "b", "d", "a"],
                "tags": ["b", "a"],
                "title": ["b", "a"],
                "no_such_field": ["a"],
            }
        )
        assert list(counts.pop("contents").items()) == [("c", 2), ("b", 2), ("a", 2)]
        assert counts == {"tags": {"b": 2}, "title": {"a": 2, "b": 3}, "no_such_field": {}}
        assert searcher.document_counts({"tags": []}) == {"tags": {}}
        assert searcher.document_counts({}) == {}


def test_fields_of_one_formula_keep_paths_and_ngrams_apart(tmp_path: Path) -> None:
    tree, line = Tree(["", "+", "x"], [0, 0, 1], ["~", "~", "~"]), Tree(["x", "+", "y"])
    formulas = {"paths": FormulaTree("x+y", tree, Paths(2, 3))}
    formulas["ngrams"] = FormulaTree("x+y", line, Lines(2, 3))
    part = FlatPart()
    part.add(Document("1", {field: Bag((), [each]) for field, each in formulas.items()}))
    (tmp_path / "documents").mkdir()
    part.save(tmp_path / "documents" / "0.flat")
    write_flat(tmp_path / "documents", tmp_path / "lucene.flat", 1)
    searcher = flat.FlatSearcher(tmp_path / "lucene", Bm25())
    for field, terms in (("paths", ["~+", "+~x", "~+~x"]), ("ngrams", ["x~+", "+~y", "x~+~y"])):
        assert searcher.document_counts({field: terms}) == {field: dict.fromkeys(terms, 1)}
        (explained,) = searcher.explain({field: dict.fromkeys(terms, 1.0)}, ["1"])
        assert explained[field].keys() == set(terms), field
