"""What people type first: it works, or the message says what does."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import shlex
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from program import arqmath
from typer.testing import CliRunner

import arqmath_bm25 as arq
from arqmath_bm25.cli import COMMANDS, app, load
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.measures import named_measures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
        (["frobnicate"], "there are serve, search, index"),
        (["search", "why does it diverge"], "QUERY is missing: search takes TASK QUERY;"),
        (["eval", "--mesure", "AP"], "--measure"),
        (["help"], "did you mean --help?"),
        (["evaluate", "x"], "did you mean eval?"),
        (["version"], "did you mean --version?"),
        (["eval", "r.tsv", "-m", "map"], "(Possible options: --measure)"),
        (["eval", "r.tsv", "--json"], "--json FILE"),
        (["compare", "a", "b", "--metric", "map"], "(Possible options: --measure)"),
        (["convert", "r.tsv", "--to", "trec"], "(Possible options: --format)"),
        (["run", "task1", "--year", "2021"], "(Possible options: --topics)"),
        (["run", "task1", "2021"], "years are chosen by --topics 2021"),
        (["search", "task1", "-n", "3", "x"], "(Possible options: --depth)"),
        (["search", "task1", "two", "words"], "put quotes around a query of several words"),
        (["index", "docs", __file__], "own documents are given by --data"),
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


def test_a_file_in_the_place_of_the_task_is_answered_with_docs() -> None:
    with pytest.raises(InputError, match="documents of your own are the task docs"):
        arqmath("index", __file__)


def test_a_year_by_another_name_is_answered_with_the_years() -> None:
    with pytest.raises(InputError, match="topics ARQMath-2: expected 2020, 2021, 2022"):
        arqmath("validate", "--data", SAMPLE, "--topics", "ARQMath-2", "--task", "task1", __file__)


def test_measures_may_be_listed_with_commas() -> None:
    keys = [
        measure.key for measure in named_measures("ndcg@10, map", "P(rel=2,judged_only=True)@5")
    ]
    assert keys == ["nDCG@10", "map", "P(rel=2,judged_only=True)@5"]


RUN = pd.DataFrame({"qid": ["1"], "docno": ["a"], "score": [1.0]})
QRELS = pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]})


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: arq.index("x"), r"no attribute 'index'; there is Collection\(DATA\)\.index"),
        (lambda: arq.save_run(RUN, "x"), r"there is write_run\(run, path\)"),
        (lambda: arq.evalute(RUN, QRELS), "did you mean evaluate"),
        (
            lambda: arq.Collection().search("x"),
            r"\.index\(TASK\)\.search",
        ),
        (lambda: arq.Collection().topics("2021"), "'year'; it takes task, year"),
        (lambda: arq.Collection("notes", path="x"), "Collection: got an unexpected keyword"),
        (lambda: arq.evaluate(RUN, QRELS, "map"), "it takes run, qrels, per_topic=, measures="),
        (
            lambda: arq.evaluate(RUN, QRELS, metrics="map"),
            "'metrics'; it takes run, qrels",
        ),
        (lambda: arq.evaluate("r.tsv", QRELS), r"read_run\(path\) reads a file"),
        (lambda: arq.evaluate(RUN, "q.tsv"), r"read_qrels\(path\) reads a file"),
        (lambda: arq.evaluate([RUN], QRELS), "several runs are for compare"),
        (lambda: arq.evaluate({"a": RUN}, QRELS), "several runs are for compare"),
        (lambda: arq.write_run("x.tsv", RUN), "run: got a str; expected a frame"),
    ],
)
def test_a_guessed_call_is_answered_with_what_works(call: Callable[[], Any], advice: str) -> None:
    with pytest.raises((AttributeError, TypeError, InputError), match=advice):
        call()


def test_what_python_asks_of_objects_is_still_answered(tmp_path: Path) -> None:
    collection = arq.Collection(None, tmp_path)
    assert not hasattr(collection, "_repr_png_")
    assert copy.deepcopy(collection) == pickle.loads(pickle.dumps(collection)) == collection  # noqa: S301
    assert inspect.signature(arq.evaluate).parameters["measures"].kind.name == "KEYWORD_ONLY"


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
