"""Premises by BM25: the scores are BM25's, and every premise has a rank."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.collection.premises import Statement
from arqmath_bm25.config import NlpsSettings
from arqmath_bm25.errors import InputError
from arqmath_bm25.lucene.index import read_manifest
from arqmath_bm25.retrieval.nlps import Nlps, build_index, why_stale

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


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """An index, its knowledge base and its training set."""
    path = tmp_path_factory.mktemp("nlps")
    knowledge_base, train, index = path / "kb.json", path / "train.json", path / "index"
    knowledge_base.write_text(json.dumps(PREMISES))
    train.write_text(json.dumps(TRAIN))
    build_index(knowledge_base, train, index, SETTINGS, 1)
    return index, knowledge_base, train


def ranked(
    files: tuple[Path, Path, Path], variant: str, text: str, statement_id: str = "5", depth: int = 9
) -> list[tuple[str, float]]:
    index, knowledge_base, train = files
    ranker = Nlps(index, SETTINGS, knowledge_base, train).ranker(variant)
    (ranking,) = ranker.rank([Statement(statement_id, text, ())], depth, 1)
    return [(premise, pytest.approx(score)) for premise, score in ranking]


def test_scores_are_bm25(files: tuple[Path, Path, Path]) -> None:
    # Words: A lagrang order subgroup, B lagrang interpol, C homolog, D cohomolog; 7 in 4 texts.
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))

    def score(length: int) -> float:
        return idf / (1 + 1.2 * (1 - 0.75 + 0.75 * length / (7 / 4)))

    expected = [(B, score(2)), (A, score(3)), (D, 0), (C, 0)]  # ties by descending id
    assert ranked(files, "text", "On Lagrange") == expected


def test_formulas_count_where_the_variant_weighs_them(files: tuple[Path, Path, Path]) -> None:
    assert ranked(files, "math", "Lagrange $x^2$")[0][0] == B
    assert ranked(files, "math", "Lagrange")[0] == (D, 0)
    (best, math_score), *_ = ranked(files, "math", "$y + 1$")
    assert best == C
    assert ranked(files, "both", "$y + 1$")[0] == (C, 2 * math_score.expected)


def test_a_statement_is_no_premise_of_its_own(files: tuple[Path, Path, Path]) -> None:
    ids = [premise for premise, _ in ranked(files, "text", "On Lagrange", statement_id=B)]
    assert ids == [A, D, C, B]  # last, but there: the shared task counts premises


def test_the_list_is_cut_at_the_depth(files: tuple[Path, Path, Path]) -> None:
    assert [p for p, _ in ranked(files, "text", "Lagrange", depth=2)] == [B, A]
    assert [p for p, _ in ranked(files, "text", "Lagrange", depth=1, statement_id=B)] == [A]


def test_the_training_set_has_no_part_in_it(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, knowledge_base, _ = files
    train = tmp_path / "train.json"
    train.write_text(json.dumps({"78": {"text": "Lagrange, Lagrange", "premises": [C, "404"]}}))
    build_index(knowledge_base, train, tmp_path / "index", SETTINGS, 1)
    other = (tmp_path / "index", knowledge_base, train)
    assert ranked(other, "text", "On Lagrange") == ranked(files, "text", "On Lagrange")


def test_the_manifest_tells_what_was_indexed(files: tuple[Path, Path, Path]) -> None:
    index, knowledge_base, train = files
    manifest = read_manifest(index)
    assert manifest is not None
    assert manifest.counts == {"premises": 4, "statements": 1, "profiles": 2}
    assert why_stale(manifest, knowledge_base, train, SETTINGS) is None
    other = SETTINGS.model_copy(update={"analysis": {"latex": {"ngrams": [1, 1]}}})
    other = NlpsSettings.model_validate(other.model_dump(warnings=False))
    assert "other analysis" in str(why_stale(manifest, knowledge_base, train, other))
    assert "other data" in str(why_stale(manifest, train, knowledge_base, SETTINGS))


def test_an_index_of_other_files_is_not_used(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    index, knowledge_base, train = files
    with pytest.raises(InputError, match="there is no index; `make index TASK=nlps`"):
        Nlps(tmp_path / "absent", SETTINGS, knowledge_base, train)
    with pytest.raises(InputError, match="built from other data"):
        Nlps(index, SETTINGS, train, knowledge_base)


def test_a_training_set_without_premises_is_no_training_set(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    masked = tmp_path / "test_set.json"
    masked.write_text(json.dumps({"77": {"text": "Sylow subgroups", "premises": []}}))
    with pytest.raises(InputError, match="no statement names premises; is this a test set"):
        build_index(files[1], masked, tmp_path / "index", SETTINGS, 1)
    assert not (tmp_path / "index").exists()
