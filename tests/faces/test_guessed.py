"""What newcomers typed before they had read anything: it serves, or the message says what does.

The two tables hold a call or a command line, a TAB, and how it is answered: `served`, the advice as
a regular expression, or `nothing` of use. Of each table at most three are answered by nothing.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pytest
from ir_measures import nDCG
from program import arqmath, message_of
from typer.testing import CliRunner

import arqmath_bm25 as arq
from arqmath_bm25.cli import app
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import console

if TYPE_CHECKING:
    from collections.abc import Iterator


def table_of(name: str) -> list[list[str]]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


CALLS: Final = table_of("guessed_calls.tsv")
LINES: Final = table_of("guessed_lines.tsv")
MOST_UNANSWERED: Final = 3
FILES: Final = {
    "notes/week1.md": "# Series\n\nThe sum $\\sum q^k$ converges.\n",
    "notes/week2.tex": "\\section{Limits}\nLet $a_n \\le b_n$.\n",
    "mine.jsonl": '{"id": "1", "text": "triangle $a^2$"}\n{"id": "2", "text": "primes"}\n',
    "queries.jsonl": '{"id": "q1", "text": "triangle"}\n{"id": "q2", "text": "primes"}\n',
    "test.tsv": "q1 0 1 1\nq2 0 2 1\n",
    "test.jsonl": '{"query-id": "q1", "corpus-id": "1", "score": 1}\n',
    "q.tsv": "q1 0 1 1\n",
    "r.trec": "q1 Q0 1 1 2.0 me\nq2 Q0 2 1 1.0 me\n",
    "s.trec": "q1 Q0 2 1 2.0 other\nq2 Q0 2 1 1.0 other\n",
    "five.tsv": "q1 Q0 1 1 2.0\n",
    "three.tsv": "q1\t1\t1\n",
    "s.tsv": "q1\tQ0\t2\t1\t2.0\tother\n",
    "titel.csv": "id,titel,text\n1,Unicorn,apple\n",
    "topics.csv": "qid,query\nq1,primes\n",
    "unknown.yaml": "bm25: {k2: 1}\n",
    "part.yaml": "bm25: {k1: 0.9}\n",
    "paper.pdf": "%PDF-1.4\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of a newcomer, with an index of `mine.jsonl`."""
    folder = tmp_path_factory.mktemp("newcomer")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        CliRunner().invoke(app, ["index", "docs", "--data", "mine.jsonl"])
        yield folder


@pytest.fixture(scope="module")
def names(place: Path) -> dict[str, Any]:
    """What the calls name."""
    documents = [{"id": "1", "text": "A triangle with $a^2$"}, {"id": "2", "text": "Primes"}]
    collection = arq.Collection.of(documents, "own", place / "i")
    rows = [("q1", "1", 2.0), ("q1", "2", 1.0), ("q2", "2", 1.0)]
    return {
        "arq": arq, "pd": pd, "nDCG": nDCG, "documents": documents, "collection": collection,
        "index": collection.index("docs"),
        "run": {"q1": {"1": 2.0, "2": 1.0}, "q2": {"2": 1.0}},
        "other": {"q1": {"2": 2.0, "1": 1.0}, "q2": {"2": 1.0}},
        "qrels": {"q1": {"1": 1}, "q2": {"2": 1}},
        "frame": pd.DataFrame(rows, columns=["qid", "docno", "score"]),
        "judged": pd.DataFrame({"qid": ["q1", "q2"], "docno": ["1", "2"], "label": [1, 1]}),
        "topics": pd.DataFrame({"qid": ["1"], "query": ["triangle"]}),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::arqmath_bm25.ScoreWarning")
@pytest.mark.parametrize(("call", "answer"), CALLS)
def test_a_call_as_people_guess_it(names: dict[str, Any], call: str, answer: str) -> None:
    if answer == "served":
        eval(call, names)  # noqa: S307
        return
    if answer == "nothing":
        with pytest.raises((InputError, KeyError)):
            eval(call, names)  # noqa: S307
        return
    with pytest.raises((InputError, TypeError, AttributeError), match=answer):
        eval(call, names)  # noqa: S307


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("line", "answer"), LINES)
def test_a_command_line_as_people_guess_it(line: str, answer: str) -> None:
    try:
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app, shlex.split(line))
    finally:
        console.quiet = False
    message = " ".join(
        re.sub("[│╭╮╰╯─]", " ", f"{done.output} {message_of(done.exception)}").split()
    )
    if answer == "served":
        assert done.exit_code == 0, message
        return
    assert done.exit_code in (1, 2)
    if answer != "nothing":
        assert re.search(answer, message), message


@pytest.mark.usefixtures("place")
def test_a_mistyped_column_is_named(caplog: pytest.LogCaptureFixture) -> None:
    arqmath("search", "docs", "apple", "--data", "titel.csv")
    assert "titel.csv: not read: titel; the names are id, title, text, tags" in caplog.messages


@pytest.mark.parametrize("table", [CALLS, LINES])
def test_few_are_answered_by_nothing_of_use(table: list[list[str]]) -> None:
    unanswered = [guess for guess, answer in table if answer == "nothing"]
    assert len(unanswered) <= MOST_UNANSWERED
