"""What takes long says so: in a terminal a bar, in a log a line at times."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import unicodedata
from types import ModuleType, SimpleNamespace

import pytest
from rich.table import Table
from rich.text import Text
from waiting import wait_until

from arqmath_bm25.core import progress
from arqmath_bm25.core.errors import InputError, some
from arqmath_bm25.core.progress import PlainConsole, counted


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    written = io.StringIO()
    monkeypatch.setattr(progress, "console", PlainConsole(file=written))
    return written


def wait_for(log: io.StringIO, text: str) -> None:
    wait_until(lambda: text in log.getvalue(), every=0.01)


def test_a_note_has_one_colour_in_a_terminal() -> None:
    note = "3 of 5 rows of 'a.tsv' are true"
    code = (
        f"from arqmath_bm25.core.progress import console, tell; console.quiet = 0; tell({note!r})"
    )
    try:
        shown, terminal = os.openpty()
    except OSError as error:
        pytest.skip(f"there is no terminal: {error}")
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    subprocess.run([sys.executable, "-c", code], stderr=terminal, env=environment, check=True)
    os.close(terminal)
    written = os.read(shown, 1000).decode()
    os.close(shown)
    assert written == f"\x1b[33mnote: {note}\x1b[0m\r\n"


def test_a_log_tells_how_far_it_is(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PAUSE", 0.01)
    monkeypatch.setattr(progress, "_LONGEST_PAUSE", 0.01)
    with progress.progress("Writing [pages]", 2_000, "topics") as advance:
        wait_for(log, "Writing [pages]: 0 % of 2,000 topics, 0 s so far\n")
        advance(500)
        wait_for(log, "Writing [pages]: 25 % of 2,000 topics, ")
    with progress.status("Reading runs") as say:
        wait_for(log, "Reading runs, 0 s so far\n")
        say("Scoring")
        wait_for(log, "Scoring, ")


def test_lines_of_a_log_get_rarer(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    times = iter([0.0, 10.0, 20.0, 40.0, 80.0])

    class Done:
        """Waits without waiting; the work ends before the fifth line."""

        def wait(self, pause: float) -> bool:
            pauses.append(pause)
            return len(pauses) == 5

        def set(self) -> None:
            pass

    monkeypatch.setattr(progress, "_PAUSE", 10)
    monkeypatch.setattr(progress, "Event", Done)
    monkeypatch.setattr(progress, "monotonic", lambda: next(times))
    with progress.status("Indexing"):
        pass
    assert pauses == [10, 10, 20, 40, 80]
    assert log.getvalue().splitlines() == [f"Indexing, {s} s so far" for s in (10, 20, 40, 80)]


def test_what_is_quick_says_nothing(log: io.StringIO) -> None:
    with progress.progress("Writing pages", 1, "topics") as advance, progress.status("Scoring"):
        advance(1)
    assert log.getvalue() == ""


@pytest.mark.parametrize("text", ["\x1b]0;owned\x07", "\x1b[2J", "a\rb", "\x9b31m", "\u202egnp"])
def test_no_name_steers_the_terminal(text: str) -> None:
    for printed in (text, Text(text), Table(text)):
        file = io.StringIO()
        PlainConsole(file=file, force_terminal=True, width=40).print(printed)
        written = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())  # colours of our own
        steering = [c for c in written if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]
        assert steering == []


def test_a_name_is_printed_as_it_is() -> None:
    name = "runs [old]/a [/b] :x: 2021.tsv"
    file = io.StringIO()
    console = PlainConsole(file=file, width=80)
    console.print(name)
    table = Table(name, title=name)
    table.add_row(name)
    console.print(table)
    assert file.getvalue().count(name) == 4


@pytest.mark.parametrize(
    ("number", "things", "expected"),
    [
        (1, "queries", "1 query"),
        (1, "answers indexed", "1 answer indexed"),
        (1, "wiki", "1 wiki"),
        (2, "queries", "2 queries"),
        (0, "rows", "0 rows"),
        (1234, "hits", "1,234 hits"),
    ],
)
def test_one_thing_is_written_in_the_singular(number: int, things: str, expected: str) -> None:
    assert counted(number, things) == expected


def test_a_notebook_has_a_bar_after_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    handle = SimpleNamespace(update=drawn.append)
    display = ModuleType("IPython.display")
    vars(display).update(HTML=str, display=lambda first, display_id: handle)
    ipython = ModuleType("IPython")
    vars(ipython).update(get_ipython=lambda: SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)

    with progress.progress("Quick", 10, "posts"):
        pass
    assert not drawn

    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    monkeypatch.setattr(progress, "_NOTEBOOK_PAUSE", 0.001)
    with progress.progress("Reading <posts>", 2_000, "posts") as advance:
        advance(500)
        wanted = 'value="25"></progress> Reading &lt;posts&gt;: 25 % of 2,000 posts'
        wait_until(lambda: wanted in "".join(drawn), every=0.001)
    assert drawn[-1] == ""


def test_some_names_stand_for_all() -> None:
    assert some(["A.1", "A.2"]) == "A.1, A.2"
    assert some([f"A.{n}" for n in range(1, 78)]) == "A.1, A.2, A.3, A.4, A.5, … (77 in all)"


def test_a_notebook_prints_two_lines_of_wrong_input() -> None:
    lines = InputError("unknown task 'x'; there are task1")._render_traceback_()
    assert lines == ["InputError", "unknown task 'x'; there are task1"]
