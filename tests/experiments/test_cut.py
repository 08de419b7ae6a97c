"""The subset of the documented results, cut out of larger collections."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.published import official
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.qrels import read_qrels
from experiments import cut
from experiments.__main__ import app
from experiments.judged import judged
from experiments.remix import write_remix

if TYPE_CHECKING:
    from pathlib import Path

POSTS = "Collection/Posts.V1.3.xml"


def experiment(*arguments: object) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


@pytest.fixture
def sample_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the ids be those of the bundled sample."""
    path = tmp_path / "lite_ids.txt"
    ids = re.findall(r'<row Id="(\d+)"', (SAMPLE / POSTS).read_text(encoding="utf-8"))
    path.write_text("\n".join(ids))
    monkeypatch.setattr(cut, "IDS", path)
    return path


def test_a_remix_gives_back_what_it_was_made_of(sample_ids: Path, tmp_path: Path) -> None:
    _, relevant = judged(CollectionFiles(SAMPLE), "task1")
    larger, out = tmp_path / "larger", tmp_path / "out"
    write_remix(CollectionFiles(SAMPLE), larger, 400, relevant, 1, 0.4, 2.5, formulas=True)
    assert (larger / POSTS).stat().st_size > (SAMPLE / POSTS).stat().st_size

    experiment("cut", "--data", larger, "-o", out)
    for file in (POSTS, *map(str, formula_files())):
        assert (out / file).read_bytes() == (SAMPLE / file).read_bytes(), file
    for folder in ("Topics", "Evaluation"):
        for path in (SAMPLE / folder).rglob("*.*"):
            copied = out / path.relative_to(SAMPLE)
            assert path.is_dir() or copied.read_bytes() == path.read_bytes()


def formula_files() -> list[Path]:
    return [path.relative_to(SAMPLE) for path in SAMPLE.glob("Formulas/*_representation_*/*.tsv")]


def test_rows_of_other_posts_are_left_out(sample_ids: Path, tmp_path: Path) -> None:
    question = sample_ids.read_text().split()[0]
    sample_ids.write_text(question)
    out = tmp_path / "out"
    experiment("cut", "--data", SAMPLE, "-o", out)
    assert re.findall(r'<row Id="(\d+)"', (out / POSTS).read_text()) == [question]
    assert (out / POSTS).read_text().endswith("</posts>\n")
    for path in (out / "Formulas").rglob("*.tsv"):
        header, *rows = path.read_text().splitlines()
        assert header.startswith("id\t")
        assert {row.split("\t")[1] for row in rows} <= {question}
    assert (out / "qrels_lite" / "2021_t1.tsv").read_text() == ""


def test_a_formula_has_the_judgment_of_another_that_looks_like_it(
    sample_ids: Path, tmp_path: Path
) -> None:
    """The labs judged instances in 2020, and the one in the cut may not be that of the judgment."""
    whole = tmp_path / "whole"
    shutil.copytree(SAMPLE, whole)
    folder = whole / "Formulas/latex_representation_v3"
    header, *rows = (folder / "1.tsv").read_text().splitlines()
    rows += (folder / "2.tsv").read_text().splitlines()[1:]
    places = header.split("\t")
    visual, post = places.index("visual_id"), places.index("post_id")
    judgments = (whole / official("qrels", "task2")["2020"]).read_text()
    topic, _, instance = judgments.split()[:3]
    (of_instance,) = [row.split("\t") for row in rows if row.startswith(f"{instance}\t")]

    # Its twin stands in the only post that is cut out.
    other = next(row.split("\t") for row in rows if row.split("\t")[post] != of_instance[post])
    twin = [*other]
    twin[0], twin[visual] = "999999", of_instance[visual]
    (folder / "2.tsv").write_text("\n".join([header, "\t".join(twin)]) + "\n")
    (folder / "1.tsv").write_text("\n".join([header, *rows]) + "\n")
    sample_ids.write_text(other[post])
    out = tmp_path / "out"
    experiment("cut", "--data", whole, "--indexes", tmp_path / "i", "-o", out)
    held = (out / "qrels_lite/2020_t2v3.tsv").read_text().splitlines()
    assert any(row.startswith(f"{topic}\t0\t{of_instance[visual]}\t") for row in held)


def test_a_formula_of_several_lines_is_copied_whole(tmp_path: Path) -> None:
    rows = 'id\tpost_id\n1\t7\t"a\nb"\n2\t8\t"c\nd"\n3\t7\te\n'
    (tmp_path / "1.tsv").write_text(rows)
    assert cut.cut_formulas(tmp_path / "1.tsv", tmp_path / "cut.tsv", {b"7"}) == 2
    assert (tmp_path / "cut.tsv").read_text() == 'id\tpost_id\n1\t7\t"a\nb"\n3\t7\te\n'


def test_without_data_it_says_what_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"6,16\d of the 6,164 posts .*; give the .*--data"):
        experiment("cut", "-o", out)
    with pytest.raises(InputError, match="no such file or directory"):
        experiment("cut", "--data", tmp_path / "none", "-o", out)
    (tmp_path / "Posts.xml").write_text("<posts>\n</posts>\n")
    with pytest.raises(InputError, match=r'missing file "Topics/.*Topics_V2.0.xml"'):
        experiment("cut", "--data", tmp_path, "-o", out)
    assert not out.exists()
    out.mkdir()
    with pytest.raises(InputError, match="exists already"):
        experiment("cut", "-o", out)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_remixes_of_the_subset_give_its_posts(lite: Path, tmp_path: Path, seed: int) -> None:
    larger, out = tmp_path / "larger", tmp_path / "out"
    experiment("remix", "--data", lite, "-o", larger, "--answers", 6000, "--seed", seed)
    experiment("cut", "--data", larger, "-o", out)
    assert (out / POSTS).read_bytes() == (lite / POSTS).read_bytes()
    for year in ("2020", "2021"):
        file = f"qrels_lite/{year}_t1.tsv"
        assert read_qrels(out / file) == read_qrels(lite / file)
