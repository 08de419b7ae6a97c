"""The program, called as a user calls it.

* `arqmath("eval", run, "--data", data)` calls it in this process and returns click's `Result`, with
  `stdout`, `stderr` and `output` (both). It asserts the exit status, 0 or `status`; a fault of the
  input is raised, for `pytest.raises(InputError, match=...)`.
* `printed(...)` returns the output on one line, as long lines are wrapped.
* `json_of(...)` adds `--json -` and returns what stands on standard output alone.
* `refused(...)` returns, on one line, what is printed by a call that has to end in such a fault,
  and its message.
* `ended(..., cwd=tmp_path)` calls `main` in this process, which turns faults into messages and an
  exit status, and returns what a process would.
* `process(..., cwd=tmp_path)` calls it in a process of its own, for tests of signals, permissions,
  the environment or a fresh JVM. It takes a second more; it has the options of `subprocess.run`.
  `process_of(commands, ...)` calls several commands, one after the other, in one process.

The commands of EXPERIMENTS are those of `python -m experiments`. A test that is
not about Lucene names `--engine flat`: a JVM takes seconds, and tests/engines/ holds every engine
to the same bytes.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, Final

import pytest
from typer.testing import CliRunner

from arqmath_bm25.cli import app, main, options_of
from arqmath_bm25.cli.shared.options import out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import console

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from typer.testing import Result

    Ended = subprocess.CompletedProcess[str]

EXPERIMENTS: Final = ("topics", "tune", "perturb", "remix", "reproduce")

# Without the lines that it writes every ten seconds, as a busy machine is slow.
_QUIETLY: Final = (
    "from arqmath_bm25.core import progress; progress._PAUSE = 3600;"
    "from arqmath_bm25.cli import main; main()"
)
_ONE_BY_ONE: Final = """
import sys
from arqmath_bm25.cli import main
for command in sys.argv[1:]:
    sys.argv = ["arqmath-bm25", *command.split()]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""


def _called(*arguments: object) -> Result:
    program = app
    if arguments[0] in EXPERIMENTS:
        from experiments.__main__ import app as program
    try:
        return CliRunner().invoke(program, [*map(str, arguments)])
    finally:
        console.quiet = out.quiet = False  # `--quiet` is for one call


def arqmath(*arguments: object, status: int = 0) -> Result:
    done = _called(*arguments)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done


def printed(*arguments: object) -> str:
    return " ".join(arqmath(*arguments).output.split())


def json_of(*arguments: object, status: int = 0) -> Any:
    return json.loads(arqmath(*arguments, "--json", "-", status=status).stdout)


def refused(*arguments: object) -> str:
    done = _called(*arguments)
    assert isinstance(done.exception, InputError), done.output
    return " ".join(f"{done.output} {message_of(done.exception)}".split())


def message_of(error: BaseException | None) -> str:
    """Return the message of an error as the program prints it."""
    if isinstance(error, InputError):
        return error.advising(options_of(error.settings))
    return str(error)


def ended(*arguments: object, cwd: Path) -> Ended:
    stdout, stderr = io.StringIO(), io.StringIO()
    words = list(map(str, arguments))
    status: Any = None
    with (
        chdir(cwd),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "argv", ["arqmath-bm25", *words])
        try:
            main()
        except SystemExit as end:
            status = end.code
        finally:
            console.quiet = out.quiet = False
    return subprocess.CompletedProcess(words, status or 0, stdout.getvalue(), stderr.getvalue())


def process(*arguments: object, cwd: Path, **options: Any) -> Ended:
    command = [sys.executable, "-c", _QUIETLY, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)


def process_of(
    commands: Sequence[str], cwd: Path, before: Sequence[str] = (), **options: Any
) -> Ended:
    command = [*before, sys.executable, "-c", _ONE_BY_ONE, *commands]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)
