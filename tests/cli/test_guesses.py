"""What people type first: it works, or the message says what does."""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatch

import pytest
from program import arqmath
from typer.testing import CliRunner

from arqmath_bm25.cli import COMMANDS, app, load
from arqmath_bm25.core.errors import InputError

# The run files of the README.
WRITTEN = [
    f"runs/arqmath-sample/2021/bm25arq-{task}-bm25-auto-{name}.tsv"
    for task in ("task1", "task2")
    for name in ("both-P", "math-A", "text-A")
]


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        (["serach", "task1", "x"], "did you mean search?"),
        (["Index", "docs"], "did you mean index?"),
        (["frobnicate"], "there are fetch, inspect, index"),
        (["search", "why does it diverge"], "QUERY is missing: search takes TASK QUERY."),
        (["eval", "--mesure", "AP"], "--measure"),
    ],
)
def test_wrong_usage_is_answered_with_what_works(line: list[str], advice: str) -> None:
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 2
    words = " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())
    assert advice in words


def test_a_mistyped_task_is_answered_with_the_task() -> None:
    with pytest.raises(InputError, match=r"unknown task 'taks1'; did you mean task1\?"):
        arqmath("search", "taks1", "x")


@pytest.mark.parametrize("flag", ["--depth", "-k", "--top"])
def test_search_takes_the_number_of_hits_by_any_of_its_names(flag: str) -> None:
    flags = {option for param in load("search").params for option in param.opts}
    assert flag in flags


@pytest.mark.parametrize("name", COMMANDS)
def test_patterns_of_examples_match_runs_of_one_task(name: str) -> None:
    for example in re.findall(r"Example: arqmath-bm25 (.*)", load(name).help or ""):
        for word in shlex.split(example):
            if not word.startswith("runs/"):
                continue
            matched = [path for path in WRITTEN if fnmatch(path, word)]
            assert matched, word
            if name in ("report", "pool", "compare", "fuse"):
                assert len({path.split("-")[2] for path in matched}) == 1, word
