"""Configurations: the default one, and one message for every fault."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from pydantic import ValidationError

from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.tasks import configured

if TYPE_CHECKING:
    from pathlib import Path


def test_the_default_has_the_three_variants_and_official_names() -> None:
    task = configured("task1")
    assert [task.tag(variant) for variant in task.variants] == [
        "bm25arq-task1-bm25-auto-text-A",
        "bm25arq-task1-bm25-auto-math-A",
        "bm25arq-task1-bm25-auto-both-P",
    ]
    assert task.settings.weights("both")["body_operators"] == 0.4


@pytest.mark.parametrize(
    ("task", "fields", "names"),
    [
        ("task1", "answer_operators: 1, question_text: 1", "answer_operators is body_operators"),
        ("docs", "answer_math: 1, contents: 1", "answer_math is body_math"),
        (
            "docs",
            "answer_operators: 1, question_text: 1",
            "answer_operators is body_operators, question_text is body_text",
        ),
    ],
)
def test_a_former_name_of_a_field_is_refused_with_the_new_one(
    tmp_path: Path, task: str, fields: str, names: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"variants: {{text: {{{fields}}}, both: {{{fields}}}}}", encoding="utf-8")
    with pytest.raises(InputError) as error:
        configured(task, path)
    assert str(error.value) == f"{path}: fields have other names since version 0.6: {names}"


def test_settings_do_not_change_after_they_were_read() -> None:
    settings = configured("task1").settings
    with pytest.raises(ValidationError, match="frozen"):
        settings.bm25.k1 = 2.0
    assert settings.bm25.k1 == configured("task1").settings.bm25.k1


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"query": {"saturation": 3}}, "query.saturation"),
        ({"query": {"most": {"text": 10}}}, "query.most"),
        ({"query": {"common": 0.5}}, "query.common"),
        ({"stages": {"both": {"thread": 0.7}}}, "stages"),
        ({"rerank": {"both": {"formulas": 0.05}}}, "rerank.both.formulas"),
    ],
)
def test_a_key_of_version_0_4_is_named_as_such(
    settings: dict[str, object], key: str, tmp_path: Path
) -> None:
    path = tmp_path / "task1.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    message = rf"{key}: .* \(this key is of version 0\.4; version 0\.5 reads it"
    with pytest.raises(InputError, match=message):
        configured("task1", path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bm25": {"k1": -1, "b": 0.5}}, "bm25.k1: Input should be greater than 0"),
        ({"bm25": {"k1": 1, "b": "x"}}, "bm25.b: Input should be a valid number"),
        ({"bmm25": {}}, "bmm25: unknown; there are run, collection, bm25"),
        ({"bm25": {"k": 1}}, "bm25.k: unknown; there are k1, b, fields"),
        ({"bm25": {"fields": {"tags": {"k1": 1}}}}, "bm25.fields.tags.b: Field required"),
        ({"bm25": {"fields": {"tags": {"k1": 0, "b": 2}}}}, "bm25.fields.tags.k1: Input should be"),
        (
            {"bm25": {"fields": {"body_math": {"k1": 2, "b": 1}}}},
            "bm25.fields.body_math: no variant weighs it; there are body_operators, contents, "
            "question_operators, question_text, tags, title_operators, title_text",
        ),
        ({"run": {"team": "a-b", "id": "x", "primary": "both"}}, "run.team: String should match"),
        ({"variants": {"text": {"contents": 1}}}, "run.primary: 'both' is not among the variants"),
        ({"variants": {"both": {"body": 1}}}, "variants.both.body"),
        ({"variants": {"both": {"tags": 0}}}, "variants.both: at least one weight must be above 0"),
        ({"analysis": {"latex": {"ngrams": [3, 1]}}}, "ngrams: the first number must not exceed"),
        ({"analysis": {"latex": {"ngrams": [1, 9]}}}, "analysis.latex.ngrams.1"),
        (
            {"analysis": {}, "rerank": {}},
            "variants.both.body_operators: needs analysis.latex.operators",
        ),
        ({"rerank": {"tags": {"thread": 1}}}, "rerank.tags"),
        ({"rerank": {"both": {"thread": -1}}}, "rerank.both.thread"),
        ({"query": {"k3": float("nan")}}, "query.k3"),
        ({"fusions": {}}, "fusions: unknown; there are"),
    ],
)
def test_faults_name_file_and_key(tmp_path: Path, change: dict[str, object], message: str) -> None:
    settings = yaml.safe_load(default_config("task1").read_text(encoding="utf-8"))
    path = tmp_path / "task1.yaml"
    path.write_text(yaml.safe_dump(settings | change), encoding="utf-8")
    with pytest.raises(InputError) as error:
        configured("task1", path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("k1: 1.2\n  k1: 99", "row 3: k1 stands twice"),
        ("k1: 1:30", "bm25.k1: Input should be a valid number"),
        ("k1: 010", "bm25.k1: Input should be a valid number"),
        ("k1: 0x10", "bm25.k1: Input should be a valid number"),
        ("k1: 1_000", "bm25.k1: Input should be a valid number"),
        ("k1: yes", "bm25.k1: Input should be a valid number"),
        ("k1: true", "bm25.k1: Input should be a valid number"),
    ],
)
def test_a_setting_says_what_it_seems_to_say(tmp_path: Path, line: str, message: str) -> None:
    rest = default_config("task1").read_text(encoding="utf-8")
    settings = yaml.safe_load(rest)
    del settings["bm25"]
    path = tmp_path / "task1.yaml"
    path.write_text(f"bm25:\n  {line}\n  b: 0.5\n{yaml.safe_dump(settings)}", encoding="utf-8")
    with pytest.raises(InputError) as error:
        configured("task1", path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("task", ["task1", "task2", "docs"])
def test_every_task_that_ranks_by_bm25_has_parameters_by_field(tmp_path: Path, task: str) -> None:
    path = tmp_path / "partial.yaml"
    path.write_text("bm25: {fields: {contents: {k1: 2, b: 1}}}", encoding="utf-8")
    assert configured(task, path).settings.bm25.parameters.by_field["contents"] == (2.0, 1.0)
    path.write_text("bm25: {fields: {body: {k1: 2, b: 1}}}", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"bm25\.fields\.body: no variant weighs it; there are .*con"
    ):
        configured(task, path)


def test_an_empty_part_replaces_that_of_the_default(tmp_path: Path) -> None:
    path = tmp_path / "partial.yaml"
    path.write_text("bm25: {fields: {}}\nquery: {max_terms: {}}\nrerank: {}", encoding="utf-8")
    settings = configured("task1", path).settings
    default = configured("task1").settings
    assert settings.bm25.parameters.by_field == settings.query.max_terms == settings.rerank == {}
    assert (settings.bm25.k1, settings.query.k3) == (default.bm25.k1, default.query.k3)


def test_tf_idf_has_no_parameters_by_field(tmp_path: Path) -> None:
    settings = yaml.safe_load(default_config("task1_tfidf").read_text(encoding="utf-8"))
    settings["bm25"]["fields"] = {"contents": {"k1": 2, "b": 1}}
    path = tmp_path / "tfidf.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(InputError, match=r"bm25\.fields: not with the model tf_idf"):
        configured("task1", path)


@pytest.mark.parametrize("weight", ["true", "yes", "1:30"])
def test_a_weight_is_a_number(tmp_path: Path, weight: str) -> None:
    text = default_config("task1").read_text(encoding="utf-8")
    changed = re.sub(r"(contents: )[0-9.]+", rf"\g<1>{weight}", text, count=1)
    assert changed != text
    path = tmp_path / "task1.yaml"
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match="valid number"):
        configured("task1", path)


@pytest.mark.parametrize("text", ["a: [", "- 1", "", "\x00"])
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"c\.yaml"):
        configured("task1", path)
    with pytest.raises(InputError, match="cannot read the configuration"):
        configured("task1", tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a: &a [*a]", 1), ("&top\nrun: {}", 1), ("run: {}\nx: &run {}\ny: *run", 2),
        ("run: {}\nother: {}\nx: *run", 3),
        ("\n".join(f"k{n}: &k{n} [{'*k, ' * 10 if n else 0}]" for n in range(9)), 1),
    ],
)  # fmt: skip
def test_anchors_are_refused_at_once(tmp_path: Path, text: str, row: int) -> None:
    path = tmp_path / "task1.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"row {row}: anchors and aliases .* are not read"):
        configured("task1", path)


def configured_by(path: Path, task: str, text: str) -> Any:
    path.write_text(text, encoding="utf-8")
    return configured(task, path).settings.model_dump()


def test_a_configuration_may_hold_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for task in ("task1", "task2", "docs"):
        expected = configured(task).settings.model_dump()
        expected["bm25"]["k1"] = 0.9
        assert configured_by(path, task, "bm25: {k1: 0.9}") == expected

    expected = configured("task1").settings.model_dump()
    expected["variants"]["both"]["tags"] = 0
    expected["run"]["team"] = "mine"
    assert (
        configured_by(path, "task1", "variants: {both: {tags: 0}}\nrun: {team: mine}") == expected
    )

    expected = configured("task3").settings.model_dump()
    expected["ranking"]["bm25"]["b"] = 0.5
    assert configured_by(path, "task3", "ranking: {bm25: {b: 0.5}}") == expected
    expected = configured("nlps").settings.model_dump()
    expected["ridge"]["penalty"] = 2.0
    assert configured_by(path, "nlps", "ridge: {penalty: 2.0}") == expected


def test_a_complete_configuration_gets_nothing_from_the_default(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = "run: {team: a, id: b, primary: text}\nvariants: {text: {contents: 1}}\n"
    settings = configured_by(path, "task1", text)
    assert list(settings["variants"]) == ["text"]
    assert settings["rerank"] == {}
    assert settings["query"]["k3"] == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bm25: {k: 1}", "bm25.k: unknown; there are k1, b, fields"),
        ("bm25: 5", "bm25: "),
        ("ngrams: 3", "ngrams: unknown; there are run, collection"),
        ("[1]", "Input should be an object"),
        ("analysis: {latex: {ngram: [1, 2]}}", "analysis.latex.ngram: unknown; there are "),
    ],
)
def test_what_differs_must_be_known(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        configured_by(tmp_path / "mine.yaml", "task1", text)
    assert message in str(error.value)


@pytest.mark.parametrize("keys", ["rerank: {both: {thread: 1}}", "model: linked", "bag: true"])
def test_documents_of_ones_own_have_no_keys_of_threads(keys: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(keys)
    with pytest.raises(InputError, match=rf"{keys.partition(':')[0]}: unknown; there are .*cited"):
        configured("docs", path)
