"""Kill a command at its first change of a file, at its second, and so on; print what each left.

    python killing.py PLACE '[["fuse", "a.tsv", "b.tsv", "-o", "c.tsv"], "c.tsv"]'

PLACE/old holds the files that the command finds. Python announces that it opens, renames, removes
or makes a file (its audit events) before the system does so; a hook counts these and kills the
process at the n-th. A limit on the size of files kills it within a write. Each try is a fork of
this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arqmath_bm25.cli import main as program
from arqmath_bm25.core.writing import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGES: Final = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link"}
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
SIZES: Final = (0, 1, 100, 1000, 5000, 20_000, 100_000)  # bytes that a file may have


def ends(place: Path, arguments: list[str], prepare: Callable[[], object] = int) -> bool:
    """Run the command in a directory; return False if it was killed."""
    child = os.fork()
    if not child:
        status: object = 1
        try:
            os.chdir(place)
            os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
            sys.argv = ["arqmath-bm25", "--quiet", *arguments]
            prepare()
            program()
        except SystemExit as end:
            status = end.code or 0
        finally:
            os._exit(status if isinstance(status, int) else 1)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if ended not in (0, -signal.SIGKILL, -signal.SIGXFSZ):
        raise SystemExit(f"{arguments} in {place}: exit status {ended}")
    return ended == 0


def kill_at(number: int) -> None:
    """Kill this process before its change of that number, counted from 0."""
    left = number

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in CHANGES or (event == "open" and to_write(*arguments)):
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(count)


def to_write(path: object, _: object, flags: object) -> bool:
    """Tell whether a file is opened to be written."""
    return isinstance(flags, int) and bool(flags & WRITING) and not str(path).startswith("/dev/")


def kill_beyond(size: int) -> None:
    """Kill this process when it writes more than so many bytes to a file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def digest(path: Path) -> str:
    """Return that of a file; of the manifest of an index without the seconds that it took."""
    data = path.read_bytes()
    if path.name == "manifest.json":
        manifest = json.loads(data)
        del manifest["seconds"], manifest["sha256"]
        data = json.dumps(manifest).encode()
    return hashlib.sha256(data).hexdigest()


def tree(place: Path) -> dict[str, str]:
    """Return the digest of every file below a directory."""
    paths = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {path.relative_to(place).as_posix(): digest(path) for path in paths}


def seen(path: Path) -> object:
    """Return what readers see: a directory, or a file and the manifest that belongs to it."""
    if path.is_dir():
        return tree(path)
    return (path.read_bytes(), read_manifest(path)) if path.exists() else None


def main(place: Path, arguments: list[str], output: str) -> dict[str, int]:
    """Return how many kills left the old output, and how many the new one."""
    old, new, work = (place / name for name in ("old", "new", "work"))
    shutil.copytree(old, new)
    assert ends(new, arguments)
    expected, before, after = tree(new), seen(old / output), seen(new / output)
    assert before != after
    counts = {"old": 0, "new": 0}
    number, deaths = 0, [partial(kill_beyond, size) for size in SIZES]
    while True:
        shutil.copytree(old, work)
        at_a_call = not ends(work, arguments, partial(kill_at, number))
        if not at_a_call:
            shutil.rmtree(work)
            if not deaths:
                return counts
            shutil.copytree(old, work)
            ends(work, arguments, deaths.pop())
        now = seen(work / output)
        assert now in (before, after), f"neither old nor new after a kill at change {number}"
        counts["old" if now == before else "new"] += 1
        assert ends(work, arguments)
        wrong = dict(tree(work).items() ^ expected.items())
        assert not wrong, f"the next call, after a kill at change {number}, left {sorted(wrong)}"
        shutil.rmtree(work)
        number += at_a_call


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), *json.loads(sys.argv[2]))))
