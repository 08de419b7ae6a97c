"""The program without its start: a server imports its modules once and forks for each call.

    with served(tmp_path) as program:
        subprocess.run(f"{program} index task1 && {program} run task1", shell=True, cwd=…)

Each call is a process of its own, with the directory, the streams and the exit status of a program
that is started there. It saves most of a second, for which Python compiles and imports.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import socket
import subprocess
import sys
import traceback
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
ON_FIRST_USE: Final = ("ir_measures", "pandas", "pytrec_eval", "scipy.stats")
CALLER: Final = """
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
call = json.dumps([os.getcwd(), sys.argv[2:]])
socket.send_fds(server, [call.encode()], [0, 1, 2])
sys.exit(int(server.recv(9)))
"""


@contextmanager
def served(place: Path) -> Iterator[str]:
    """Start a server, and yield the words of the shell that stand for the program."""
    path = place / "program"
    caller = place / "caller.py"
    caller.write_text(CALLER, encoding="utf-8")
    server = subprocess.Popen(
        [sys.executable, __file__, path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    try:
        yield shlex.join(map(str, (sys.executable, "-IS", caller, path)))
    finally:
        server.communicate()


def serve(path: str) -> None:
    """Fork for each call, until the standard input ends."""
    from arqmath_bm25.cli import COMMANDS, load

    for command in COMMANDS:
        load(command)
    for module in ON_FIRST_USE:
        import_module(module)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        print("ready", flush=True)
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            caller, _ = server.accept()
            if os.fork() == 0:
                server.close()
                answer(caller)
            caller.close()
    with suppress(ChildProcessError):  # whose CPU time counts when they are waited for
        while True:
            os.wait()


def answer(caller: socket.socket) -> None:
    """Run the program for a caller, tell it the exit status and end this process."""
    from arqmath_bm25.cli import main

    call, streams, _, _ = socket.recv_fds(caller, 1 << 20, 3)
    directory, sys.argv[1:] = json.loads(call)
    os.chdir(directory)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout = os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1)
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    caller.send(str(status).encode())
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
