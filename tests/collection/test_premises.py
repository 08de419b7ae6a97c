"""The files of premise selection: real ones, the sample, and everything that can be wrong."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.collection.premises import (
    PremiseFiles,
    read_premises,
    read_statements,
)
from arqmath_bm25.collection.references import Statement
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import NLPS_SAMPLE
from tools.sample.build_premises import build

if TYPE_CHECKING:
    from pathlib import Path

LONG = "286859856359145234593098062286407323555"  # 39 digits; a float makes it …234601…
OTHER = "286859856359145234593098062286407323556"


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def statements(*premises: object) -> dict[str, dict[str, object]]:
    return {LONG: {"text": "$x = x$", "premises": list(premises)}}


def test_real_files_are_read_whole(shared: Path) -> None:
    files = PremiseFiles.at(shared / "data")  # has them in nlps/
    assert files.name == "data"
    assert files.splits() == ("dev", "test")
    assert len(read_premises(files.knowledge_base)) == 5540
    training = read_statements(files.train)
    assert len(training) == 5540
    assert len(read_statements(files.statements("dev"))) == 1430
    test = read_statements(files.statements("test"))
    assert len(test) == 2712
    assert not any(statement.references for statement in test)
    # 4,390 of the 5,357 premises of train and dev are cited in the training set.
    assert len({premise for statement in training for premise in statement.references}) == 4390
    assert {len(statement.statement_id) for statement in training} >= {38, 39}


def test_ids_of_39_digits_are_kept_digit_by_digit(tmp_path: Path) -> None:
    (statement,) = read_statements(
        written(tmp_path / "set.json", f'{{"{LONG}": {{"text": "t", "premises": [{OTHER}]}}}}')
    )
    assert statement == Statement(LONG, "t", (OTHER,))
    assert str(int(float(OTHER))) != OTHER  # what a float would have made of it


@given(st.lists(st.integers(min_value=0, max_value=10**40), unique=True))
def test_ids_are_what_the_file_says(
    tmp_path_factory: pytest.TempPathFactory, ids: list[int]
) -> None:
    path = written(tmp_path_factory.mktemp("ids") / "set.json", statements(*ids))
    (statement,) = read_statements(path)
    assert statement.references == tuple(map(str, ids))


def test_a_premise_named_twice_counts_once(tmp_path: Path) -> None:
    # 457 statements of the official training set do this.
    path = written(tmp_path / "set.json", statements(7, 8, 7))
    assert read_statements(path)[0].references == ("7", "8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"abc": "text"},
            "premise abc: expected an integer, in digits alone, or a UUID",
        ),
        ({"1.5": "text"}, r"premise 1\.5: expected an integer"),
        ({"-5": "text"}, "premise -5: expected an integer"),
        ({LONG: ""}, rf"premise {LONG}: .* found ''"),
        ({LONG: None}, "valid string, found null"),
        ({LONG: {"text": "t"}}, "valid string, found {"),
        ({}, "the knowledge base is empty"),
        ([], r"premise: Input should be a valid dictionary, found \[\]"),
        (f'{{"{LONG}": "a", "{LONG}": "b"}}', f"{LONG} comes twice"),
        ('{"1": "a",', "not JSON: .*line 1 column"),
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"1": "half a \\ud835 character"}', r"premise 1: .* found .*ud835"),
    ],
)
def test_a_bad_knowledge_base_gets_one_clear_message(
    tmp_path: Path, content: Any, message: str
) -> None:
    path = written(tmp_path / "knowledge_base.json", content)
    with pytest.raises(InputError, match=message) as error:
        read_premises(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({LONG: {"premises": []}}, f"statement {LONG} text: Field required"),
        ({LONG: {"text": " ", "premises": []}}, f"statement {LONG} text: .*, found ' '"),
        ({LONG: {"text": "t"}}, f"statement {LONG} premises: Field required"),
        ({LONG: "t"}, f"statement {LONG}: .* found 't'"),
        (statements("P7"), "premises 0: expected an integer.* found 'P7'"),
        (statements(-7), "premises 0: expected an integer.* found '-7'"),
        (
            statements(2.9e38),
            r"expected an integer, in digits alone, .* found '2\.9e\+38'",
        ),
        (statements(None), "premises 0: .* found null"),
        (
            {"S1": {"text": "t", "premises": []}},
            "statement S1: expected an integer",
        ),
        ({}, "there are no statements"),
        (
            f'{{"{LONG}": {{"text": "a", "premises": []}}, "{LONG}": {{}}}}',
            f"{LONG} comes twice as a key; remove one of the two",
        ),
    ],
)
def test_a_bad_set_of_statements_gets_one_clear_message(
    tmp_path: Path, content: Any, message: str
) -> None:
    path = written(tmp_path / "dev_set.json", content)
    with pytest.raises(InputError, match=message) as error:
        read_statements(path)
    assert str(error.value).startswith(str(path))


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "knowledge_base.json"
    path.write_bytes('{"1": "Möbius"}'.encode("latin-1"))
    with pytest.raises(InputError, match="row 1: not UTF-8 text"):
        read_premises(path)


def test_a_zip_archive_is_called_one(tmp_path: Path) -> None:
    archive = tmp_path / "nlps.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("knowledge_base.json", "{}")
    with pytest.raises(InputError, match=r"nlps\.zip: this is a zip archive; unpack it"):
        read_premises(archive)
    with pytest.raises(InputError, match=r"DATA=.*nlps\.zip: an archive; unpack it"):
        PremiseFiles.at(archive)
    (tmp_path / "knowledge_base.json.zip").write_bytes(archive.read_bytes())
    with pytest.raises(InputError, match=r"unzip knowledge_base\.json\.zip first"):
        _ = PremiseFiles.at(tmp_path).knowledge_base


def test_what_is_missing_is_named_with_its_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file or directory.*published at"):
        PremiseFiles.at(tmp_path / "absent")
    files = PremiseFiles.at(tmp_path)
    assert not files.has_premises()
    assert files.splits() == ()
    with pytest.raises(InputError, match=r"missing file .dev_set\.json.; it is published at"):
        files.statements("dev")
    with pytest.raises(InputError, match="no such premise file"):
        read_premises(tmp_path / "absent.json")


def test_the_sample_is_what_its_source_gives(tmp_path: Path) -> None:
    build(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["dev_set.json", "knowledge_base.json", "test_set.json", "train_set.json"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (NLPS_SAMPLE / name).read_bytes(), name


def test_the_sample_cites_only_what_it_holds() -> None:
    files = PremiseFiles.at(NLPS_SAMPLE)
    premises = {premise.premise_id for premise in read_premises(files.knowledge_base)}
    assert len(premises) > 150
    assert {len(premise_id) for premise_id in premises} == {38, 39}
    dev = read_statements(files.statements("dev"))
    for statement in (*read_statements(files.train), *dev):
        assert statement.statement_id in premises
        assert premises.issuperset(statement.references)
        assert statement.references
        assert statement.statement_id not in statement.references
    assert not any(statement.references for statement in read_statements(files.statements("test")))


def test_a_source_that_cites_what_is_not_there_is_refused(tmp_path: Path) -> None:
    theorem = {"name": "a", "set": "dev", "cites": ["b"], "text": "t"}
    source = written(tmp_path / "s.yaml", {"definitions": {}, "theorems": [theorem]})
    with pytest.raises(InputError, match="a cites unknown b"):
        build(tmp_path / "out", source)
    source = written(tmp_path / "s.yaml", {"definitions": {"a": "t"}, "theorems": [theorem]})
    with pytest.raises(InputError, match="'a' is defined twice"):
        build(tmp_path / "out", source)


def test_uuids_of_the_original_collection_are_ids(tmp_path: Path) -> None:
    theorem, lemma = "9f1d3c52-0a6e-4b7e-8a3c-2f6b1e0d4c11", "00000000-0000-0000-0000-00000000000A"
    path = tmp_path / "train_set.json"
    path.write_text(json.dumps({theorem: {"text": "A theorem", "premises": [lemma]}}))
    assert read_statements(path) == [Statement(theorem, "A theorem", (lemma,))]
    path.write_text(json.dumps({theorem[:-1]: {"text": "A theorem", "premises": []}}))
    with pytest.raises(InputError, match=r"expected an integer.* or a UUID"):
        read_statements(path)
