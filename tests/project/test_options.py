"""Options are named in `cli/` alone: errors know settings, which the program phrases as options."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from program import refused

import arqmath_bm25 as arq
from arqmath_bm25.cli import COMMANDS, load, options_of
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(arq.__file__).parent


def options() -> set[str]:
    """Return the long options of all commands."""
    found = set()
    for name in COMMANDS:
        for param in load(name).params:
            found.update(flag for flag in param.opts if flag.startswith("--"))
    return found


def texts() -> Iterator[tuple[Path, str]]:
    """Yield the texts of the package outside of `cli/`: of modules their strings, of files all."""
    for path in sorted(PACKAGE.rglob("*")):
        if "cli" in path.parts or "sample" in path.parts:
            continue
        if path.suffix in (".html", ".js", ".toml", ".yaml"):
            yield path, path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path, node.value


def test_no_text_outside_of_the_program_names_an_option() -> None:
    known = options()
    assert {"--data", "--qrels", "--engine", "--quick"} <= known
    named = []
    for path, text in texts():
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
            if option in known:
                named.append((path.name, option))
    assert named == []


def test_an_error_knows_settings_and_the_program_phrases_them() -> None:
    error = InputError("r.tsv: no judgments", qrels="FILE", answer_map="FILE")
    assert str(error) == "r.tsv: no judgments; give qrels=FILE and answer_map=FILE"
    options = options_of(error.settings)
    assert error.advising(options) == "r.tsv: no judgments; give --qrels FILE and --answer-map FILE"
    assert options_of({"overwrite": True}) == ["--overwrite"]
    copied = pickle.loads(pickle.dumps(error))  # noqa: S301  # as from a worker
    assert str(copied) == str(error)


def test_one_error_is_read_as_an_argument_and_as_an_option(tmp_path: Path) -> None:
    run = tmp_path / "run.tsv"
    run.write_text("x.9\t1\t1\t1.0\tr\n")
    with pytest.raises(InputError, match="tells the task; give task=TASK"):
        arq.read_run(run)
    assert "tells the task; give --task TASK" in refused("eval", run)
