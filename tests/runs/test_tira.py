"""A run as TIRA takes it: run.txt and ir-metadata.yml."""

from pathlib import Path

import pytest
import yaml
from program import arqmath, refused

ROWS = [
    f"A.{topic}\t{10 * topic + number}\t{number + 1}\t{9 - number}\tx\n"
    for topic in (1, 2, 3)
    for number in (0, 1)
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "Team-task1-x-auto-both-P.tsv"
    path.write_text("".join(ROWS))
    return path


def with_manifest(run: Path) -> Path:
    manifest = '{"tag": "x", "implementation": {"executable": {"cmd": "a"}}, "settings": {"k": 1}}'
    run.with_name(f"{run.name}.manifest.json").write_text(manifest)
    return run


def test_a_run_goes_to_tira_with_its_metadata(run: Path, tmp_path: Path) -> None:
    arqmath("convert", with_manifest(run), "--tira", tmp_path / "tira")
    assert sorted(path.name for path in (tmp_path / "tira").iterdir()) == [
        "ir-metadata.yml",
        "run.txt",
    ]
    lines = (tmp_path / "tira" / "run.txt").read_text().splitlines()
    assert lines[0].split() == ["A.1", "Q0", "10", "1", "9", "x"]
    metadata = yaml.safe_load((tmp_path / "tira" / "ir-metadata.yml").read_text())
    assert metadata == {"tag": "x", "implementation": {"executable": {"cmd": "a"}}}

    check = pytest.importorskip("tira.check_format")
    for form in ("run.txt", "ir_metadata"):
        status, message = check.check_format(tmp_path / "tira", form)
        assert status == check._fmt.OK, message


def test_a_run_that_nobody_described_is_refused(run: Path, tmp_path: Path) -> None:
    message = refused("convert", run, "--tira", tmp_path / "tira")
    assert "no manifest beside it says how it was made" in message


def test_both_files_appear_or_none(run: Path, tmp_path: Path) -> None:
    with_manifest(run)
    directory = tmp_path / "tira"
    (directory / "ir-metadata.yml").mkdir(parents=True)
    assert "ir-metadata.yml: " in refused("convert", run, "--tira", directory)
    assert [path.name for path in directory.iterdir()] == ["ir-metadata.yml"]


def test_one_form_of_output_is_chosen(run: Path, tmp_path: Path) -> None:
    assert "either --output FILE or --tira DIR" in refused("convert", run)
    both = ("-o", tmp_path / "a.tsv", "--tira", tmp_path / "tira")
    assert "either --output FILE or --tira DIR" in refused("convert", run, *both)
