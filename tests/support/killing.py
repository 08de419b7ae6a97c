"""Kill a command at changes of files that it makes; print what each kill left.

    python killing.py PLACE '[["fuse", "a.tsv", "b.tsv", "-o", "c.tsv"], "c.tsv"]'

PLACE/old holds the files that the command finds. Python announces that it opens, renames, removes
or makes a file (its audit events) before the system does so; a hook counts these and kills the
process at the n-th. A limit on the size of files kills it within a write. Each try is a fork of
this process. Some places are drawn by the seed of the tests (chances.py), or all are tried.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import resource
import shutil
import signal
import sys
from functools import partial
from importlib import import_module
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chances import drawn

from arqmath_bm25.cli import load
from arqmath_bm25.cli import main as program
from arqmath_bm25.core.writing import is_as_written, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGES: Final = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link"}
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
SIZES: Final = (1, 100, 1000, 5000, 20_000, 100_000)  # bytes that a file may have


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


def before_changes(act: Callable[[], object]) -> None:
    """Call `act` before each change of a file that this process makes."""

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in CHANGES or (event == "open" and to_write(*arguments)):
            act()

    sys.addaudithook(audit)


def kill_at(number: int) -> None:
    """Kill this process before its change of that number, counted from 0."""
    left = itertools.count(number, -1)
    before_changes(lambda: next(left) or os.kill(os.getpid(), signal.SIGKILL))


def count_changes(place: Path, arguments: list[str]) -> int:
    """Run the command in a directory; return how many changes of files it makes."""
    counter = mmap(-1, 8)  # shared with the fork

    def count() -> None:
        counter[:] = (int.from_bytes(counter[:], "big") + 1).to_bytes(8, "big")

    assert ends(place, arguments, lambda: before_changes(count))
    return int.from_bytes(counter[:], "big")


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
    """Return what readers see: a directory, or a file and its manifest, None if of another file."""
    if path.is_dir():
        return {name: found for name, found in tree(path).items() if "/." not in f"/{name}"}
    if not path.exists():
        return None
    manifest = None
    if is_as_written(path):
        manifest = read_manifest(path)
    return path.read_bytes(), manifest


def main(place: Path, arguments: list[str], output: str) -> dict[str, int]:
    """Return how many kills left the old output, and how many the new one."""
    sys.dont_write_bytecode = True  # a module that is compiled is no output
    old, new, work = (place / name for name in ("old", "new", "work"))
    load(arguments[0])  # so that the forks need not import it
    if arguments[0] == "report":
        import_module("scipy.stats")  # half of the time of a report
    shutil.copytree(old, new)
    number = count_changes(new, arguments)
    expected, before, after = tree(new), seen(old / output), seen(new / output)
    assert before != after
    allowed = [before, after]
    if isinstance(after, tuple):  # the manifest gets its name after the file
        allowed.append((after[0], None))
    counts = {"old": 0, "new": 0}
    kills = [partial(kill_at, place) for place in drawn(range(number), 8, output)]
    kills += [partial(kill_beyond, size) for size in (0, *drawn(SIZES, 2, output))]
    for kill in kills:
        shutil.copytree(old, work)
        ends(work, arguments, kill)
        now = seen(work / output)
        assert now in allowed, f"neither old nor new after {kill}"
        counts["old" if now == before else "new"] += 1
        assert ends(work, arguments)
        wrong = dict(tree(work).items() ^ expected.items())
        assert not wrong, f"the next call, after {kill}, left {sorted(wrong)}"
        shutil.rmtree(work)
    return counts


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), *json.loads(sys.argv[2]))))
