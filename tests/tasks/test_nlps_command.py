"""`index`, `run` and `search` for premise selection, as the program calls them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from arqmath_bm25.cli import tasks
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import NLPS_SAMPLE
from arqmath_bm25.core.writing import manifest_path
from arqmath_bm25.evaluation.score import read_gold, score_premises
from arqmath_bm25.runs.run import Run
from arqmath_bm25.tasks import configured, task_class

if TYPE_CHECKING:
    from pathlib import Path

VARIANTS = ["tfidf", "ridge"]


def index(work: Path, data: Path | None, **options: Any) -> None:
    tasks.index("nlps", data=data, indexes=work / "indexes", threads=1, **options)


def run(work: Path, data: Path | None, **options: Any) -> None:
    given = {"indexes": work / "indexes", "runs": work / "runs", "threads": 2, **options}
    tasks.run("nlps", data=data, **given)


def has_data(data: Path | None) -> bool:
    return task_class("nlps").has_data(CollectionFiles(data))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the index and the runs of the bundled sample."""
    work = tmp_path_factory.mktemp("sample")
    index(work, None)
    run(work, None)
    return work


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same for a collection with as many premises as the shared task demands, and one more."""
    work = tmp_path_factory.mktemp("official")
    data = work / "ps" / "nlps"
    data.mkdir(parents=True)
    premises = {10**37 + n: f"Lemma {n} on groups of order ${n}$" for n in range(501)}
    ids = list(premises)
    asked = {3 * 10**38 + n: {"text": f"Groups of order ${n}$", "premises": []} for n in range(3)}
    train = {ids[7]: {"text": premises[ids[7]], "premises": [ids[1], ids[2]]}}
    for name, value in {
        "knowledge_base": premises,
        "train_set": train,
        "test_set": asked,
    }.items():
        (data / f"{name}.json").write_text(json.dumps(value))
    index(work, work / "ps")
    run(work, work / "ps", variant=["tfidf", "ridge"])
    return work, work / "ps"


def test_the_bundled_sample_is_there() -> None:
    assert has_data(None)


def test_only_data_with_a_knowledge_base_is_data(tmp_path: Path) -> None:
    assert not has_data(tmp_path)
    (tmp_path / "knowledge_base.json").write_text("{}")
    assert has_data(tmp_path)


def test_every_variant_ranks_every_premise_of_a_small_knowledge_base(
    sample: Path,
) -> None:
    statements = json.loads((NLPS_SAMPLE / "dev_set.json").read_text())
    premises = json.loads((NLPS_SAMPLE / "knowledge_base.json").read_text())
    for variant in VARIANTS:
        path = sample / "runs" / "nlps-sample" / "dev" / f"{variant}.txt"
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        assert list(dict.fromkeys(statement for statement, _ in rows)) == list(statements)
        for statement in statements:
            ranked = [premise for asked, premise in rows if asked == statement]
            assert sorted(ranked) == sorted(premises)  # each once, and the ids digit by digit
        manifest = json.loads(manifest_path(path).read_text())
        assert manifest["variant"] == variant
        assert manifest["topics"]["name"] == "dev_set.json"


def test_runs_of_the_sample_find_premises(sample: Path) -> None:
    gold = read_gold(NLPS_SAMPLE / "dev_set.json")
    found = {}
    for variant in VARIANTS:
        path = sample / "runs" / "nlps-sample" / "dev" / f"{variant}.txt"
        rankings = Run.read(path, "nlps").rankings().topics
        found[variant] = score_premises(rankings, gold).to_json()["AP(rel=1)@500"]
    assert found["tfidf"] + 0.2 < found["ridge"]


def test_runs_do_not_depend_on_time_or_threads(sample: Path, tmp_path: Path) -> None:
    run(sample, None, runs=tmp_path, threads=1)
    for path in sorted((sample / "runs").rglob("*.txt")):
        assert (tmp_path / path.relative_to(sample / "runs")).read_bytes() == path.read_bytes()


def test_a_test_set_gets_500_premises_of_every_statement(official: tuple[Path, Path]) -> None:
    work, _ = official
    runs = work / "runs" / "ps" / "test"
    for variant in ("tfidf", "ridge"):
        lines = (runs / f"{variant}.txt").read_text().splitlines()
        assert len(lines) == 3 * 500
        assert len(set(lines)) == len(lines)
    assert sorted(path.name for path in runs.iterdir()) == [
        "ridge.txt", "ridge.txt.manifest.json", "tfidf.txt", "tfidf.txt.manifest.json",
    ]  # fmt: skip


def test_a_file_of_statements_can_be_ranked(official: tuple[Path, Path], tmp_path: Path) -> None:
    work, data = official
    statements = tmp_path / "mine.json"
    statements.write_text('{"5": {"text": "Lemma 80", "premises": []}}')
    run(work, data, topics=[str(statements)], variant=["tfidf"])
    first, *_ = (work / "runs" / "ps" / "mine" / "tfidf.txt").read_text().splitlines()
    assert first == f"5\t{10**37 + 80}"


def test_an_index_is_built_once_and_not_replaced_unasked(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index(sample, None)
    assert re.search(r"nlps-sample/nlps/tables-\w{16}: up to date\n$", capsys.readouterr().out)
    config = tmp_path / "nlps.yaml"
    settings = configured("nlps").settings.model_dump(mode="json")
    settings["analysis"]["text"]["stop_words"] = False
    config.write_text(json.dumps(settings))
    with pytest.raises(InputError, match="other analysis settings"):
        run(sample, None, config=config)
    settings = configured("nlps").settings.model_dump(mode="json")
    settings["ridge"]["penalty"] = 1
    config.write_text(json.dumps(settings))
    with pytest.raises(InputError, match="other analysis settings"):
        run(sample, None, config=config)


def test_search_shows_the_texts_of_premises(
    sample: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    indexes = sample / "indexes"
    query = "Every subgroup of $Z(G)$ is a normal subgroup of $G$"
    for variant in VARIANTS:
        tasks.search("nlps", query, indexes=indexes, variant=variant, depth=3)
        told = capsys.readouterr().out
        assert "  1  " in told
        assert "  4  " not in told
        assert "normal if $g N g^{-1} = N$" in told
    tasks.search("nlps", "zyzzyva", indexes=indexes, variant="tfidf", depth=3)
    assert capsys.readouterr().out == "No premise holds a term of this statement.\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variant": ["both"]}, "variant 'both': the configuration has tfidf, ridge"),
        (
            {"topics": ["2021"]},
            "2021: no such file; expected dev, test or a file of",
        ),
        ({"topics": ["absent.json"]}, r"absent\.json: no such file"),
    ],
)
def test_a_wrong_wish_is_refused(sample: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(sample, None, **changes)


def test_a_broken_set_leaves_the_runs_as_they_were(sample: Path, tmp_path: Path) -> None:
    broken = tmp_path / "dev_set.json"
    broken.write_text('{"5": {"text": "one", "premises": []}, "6": {"premises": []}}')
    with pytest.raises(InputError, match="statement 6 text: Field required"):
        run(sample, None, topics=[str(broken)])
    assert not (sample / "runs" / "nlps-sample" / "dev_set").exists()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("primary", "best", "primary: 'best' is not among the variants"),
        (
            "variants",
            {"a": {"method": "neural"}},
            "variants.a: .*'tfidf', 'ridge'",
        ),
        ("ridge", {"kernel": {"words": 0}}, "ridge.kernel: at least one weight must be above 0"),
    ],
)
def test_faults_of_a_configuration_are_named(
    tmp_path: Path, key: str, value: Any, message: str
) -> None:
    config = tmp_path / "nlps.yaml"
    config.write_text(
        json.dumps({"primary": "a", "variants": {"a": {"method": "tfidf"}}} | {key: value})
    )
    with pytest.raises(InputError, match=message):
        configured("nlps", config)
