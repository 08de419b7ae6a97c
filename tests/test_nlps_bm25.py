"""Premises by BM25: the scores are BM25's, and every premise has a rank."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError, NoIndexError
from arqmath_bm25.core.manifest import Manifest
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.workers.local import HERE
from arqmath_bm25.tasks.index import Index, build, directory, why_stale
from arqmath_bm25.tasks.premises.premise_selection import PremiseSelection
from arqmath_bm25.tasks.premises.rankers.settings import NlpsSettings

if TYPE_CHECKING:
    from pathlib import Path

A, B, C, D = (f"28685985635914523459309806228640732355{n}" for n in range(4))
PREMISES = {
    A: "Lagrange: the order of a subgroup",
    B: "Lagrange interpolation for $x^2$",
    C: "Homology $y + 1$",
    D: "Cohomology",
}
TRAIN = {"77": {"text": "Sylow subgroups", "premises": [A, D]}}
SETTINGS = NlpsSettings.model_validate(
    {
        "bm25": {"k1": 1.2, "b": 0.75},
        "primary": "both",
        "variants": {
            "text": {"method": "bm25", "fields": {"contents": 1}},
            "math": {"method": "bm25", "fields": {"contents_math": 1}},
            "both": {"method": "bm25", "fields": {"contents": 1, "contents_math": 2}},
        },
    }
)


TASK = PremiseSelection(SETTINGS)


def collection(path: Path, train: dict[str, object] = TRAIN) -> Collection:
    """Write a knowledge base and a training set."""
    path.mkdir(exist_ok=True)
    (path / "knowledge_base.json").write_text(json.dumps(PREMISES))
    (path / "train_set.json").write_text(json.dumps(train))
    return Collection(path, path / "indexes")


def built(found: Collection) -> Index:
    return Index(TASK, found, directory(TASK, found), build(TASK, found, HERE))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return built(collection(tmp_path_factory.mktemp("nlps")))


def ranked(
    index: Index, variant: str, text: str, statement_id: str = "5", depth: int = 9
) -> list[tuple[str, float]]:
    (hits,) = index.rank([Topic(statement_id, text)], variant, depth, 1)
    return [(hit.doc_id, pytest.approx(hit.score)) for hit in hits]


def test_scores_are_bm25(index: Index) -> None:
    # Words: A lagrang order subgroup, B lagrang interpol, C homolog, D cohomolog; 7 in 4 texts.
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))

    def score(length: int) -> float:
        return idf / (1 + 1.2 * (1 - 0.75 + 0.75 * length / (7 / 4)))

    expected = [(B, score(2)), (A, score(3)), (D, 0), (C, 0)]  # ties by descending id
    assert ranked(index, "text", "On Lagrange") == expected


def test_formulas_count_where_the_variant_weighs_them(index: Index) -> None:
    assert ranked(index, "math", "Lagrange $x^2$")[0][0] == B
    assert ranked(index, "math", "Lagrange")[0] == (D, 0)
    (best, math_score), *_ = ranked(index, "math", "$y + 1$")
    assert best == C
    assert ranked(index, "both", "$y + 1$")[0] == (C, 2 * math_score.expected)


def test_a_statement_is_no_premise_of_its_own(index: Index) -> None:
    ids = [premise for premise, _ in ranked(index, "text", "On Lagrange", statement_id=B)]
    assert ids == [A, D, C, B]  # last, but there: the shared task counts premises


def test_the_list_is_cut_at_the_depth(index: Index) -> None:
    assert [p for p, _ in ranked(index, "text", "Lagrange", depth=2)] == [B, A]
    assert [p for p, _ in ranked(index, "text", "Lagrange", depth=1, statement_id=B)] == [A]


def test_the_training_set_has_no_part_in_it(index: Index, tmp_path: Path) -> None:
    train = {"78": {"text": "Lagrange, Lagrange", "premises": [C, "404"]}}
    other = built(collection(tmp_path, train))
    assert ranked(other, "text", "On Lagrange") == ranked(index, "text", "On Lagrange")


def test_the_manifest_tells_what_was_indexed(index: Index) -> None:
    manifest = Manifest.read(index.directory)
    assert manifest is not None
    assert manifest.counts == {"premises": 4, "statements": 1, "cited": 2}
    assert why_stale(TASK, index.collection, manifest) is None
    other = SETTINGS.model_copy(update={"analysis": {"latex": {"ngrams": [1, 1]}}})
    other = NlpsSettings.model_validate(other.model_dump(warnings=False))
    reason = why_stale(PremiseSelection(other), index.collection, manifest)
    assert reason == "this index was built with other analysis settings"


def test_an_index_of_other_files_is_not_used(index: Index, tmp_path: Path) -> None:
    with pytest.raises(NoIndexError, match="there is no index"):
        Index.open(Collection(index.collection.layout.data, tmp_path), "nlps")
    other = collection(tmp_path / index.collection.name, {"9": {"text": "x", "premises": [A]}})
    other.indexes = index.collection.indexes
    with pytest.raises(NoIndexError, match=r"train_set\.json has other content"):
        Index.open(other, "nlps")


def test_a_training_set_without_premises_is_no_training_set(tmp_path: Path) -> None:
    masked = {"77": {"text": "Sylow subgroups", "premises": []}}
    with pytest.raises(InputError, match="no statement names premises; is this a test set"):
        built(collection(tmp_path, masked))
    assert not list((tmp_path / "indexes").rglob("manifest.json"))
