"""Break random places of the package, one at a time, and list what the quick tests do not notice.

    python tools/random_mutants.py [--number 60] [--seed N] [NAME ...] [--list] [--only N ...]

An operator, a number or a truth value becomes another one, or a statement goes. NAME restricts the
files; of several names each gets the same share. The tests of the module's room that import it are
tried first, then the others of the room (without those on Spark), each in order of the time that
they take. First all have to pass with nothing broken. A test that hangs for two minutes notices the
mutant. A survivor may be of no consequence, or be caught by a test of another module or a slow one:
read it. The same seed breaks the same places as long as the package does not change: `--list` only
names them, and `--only` tries those of some numbers in that list.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.etree import ElementTree

from mutants import PARTS, ROOT, write

if TYPE_CHECKING:
    from collections.abc import Iterator

HANGS: Final = 120  # seconds for one test
SECONDS: Final = 1200  # for all tests; a mutant that takes longer is not counted as caught
NO_TESTS: Final = 5  # a status of pytest
PYTEST: Final = (
    *(sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", "--hypothesis-seed=0"),
    *("-o", f"faulthandler_timeout={HANGS}", "-o", "faulthandler_exit_on_timeout=true"),
    *("-m", "not slow"),
)
OPERATORS: Final = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "in": "not in",
    "not in": "in", "is": "is not", "is not": "is", "+": "-", "-": "+", "*": "+", "/": "*",
    "//": "*", "and": "or", "or": "and",
}  # fmt: skip
# Tests of the command line and of what stands at the top lie in other rooms.
ROOMS: Final = {"cli": ("evaluation", "runs", "tasks"), "": ("faces",)}


class Mutant(NamedTuple):
    """A part of a file, from one place to another in its bytes, and what is put in its place."""

    file: Path  # below arqmath_bm25/
    begin: int
    end: int
    broken: str


def mutants(file: Path, source: bytes) -> Iterator[Mutant]:
    """Yield all mutants of a module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def begin(node: ast.expr | ast.stmt) -> int:
        return starts[node.lineno - 1] + node.col_offset

    def end(node: ast.expr | ast.stmt) -> int:
        return starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    def text(begin: int, end: int) -> str:
        return source[begin:end].decode()

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left, _, [right]) | ast.BinOp(left, _, right):
                places = end(left), begin(right)
            case ast.BoolOp(_, [left, right, *_]):
                places = end(left), begin(right)
            # In an f-string Python 3.11 gives other places, where the text is another one.
            case ast.Constant(bool(value)) if text(begin(node), end(node)) == str(value):
                yield Mutant(file, begin(node), end(node), str(not value))
                continue
            case ast.Constant(int(value)) if text(begin(node), end(node)) == str(value):
                yield Mutant(file, begin(node), end(node), str(value + 1))
                continue
            case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Raise():
                yield Mutant(file, begin(node), end(node), "pass")
                continue
            case _:
                continue
        if broken := OPERATORS.get(" ".join(text(*places).split())):
            yield Mutant(file, *places, f" {broken} ")


def tests_of(tree: Path, module: Path) -> tuple[list[Path], list[Path]]:
    """Return the tests of a module's room that import it, and the other tests of the room.

    Where none of the room imports it, those of other rooms that do come first.
    """
    name = ".".join(("arqmath_bm25", *module.with_suffix("").parts)).removesuffix(".__init__")
    room, *folders, _ = ("", *module.parts) if len(module.parts) == 1 else module.parts
    importing: dict[bool, list[Path]] = {True: [], False: []}
    others = []
    for test in sorted(tree.glob("tests/*/test_*.py")):
        if test.stem.startswith("test_spark"):
            continue
        in_room = test.parent.name in ROOMS.get(room, (room,))
        if re.search(rf"\b{name}\b(?!\.)", test.read_text("utf-8")):
            importing[in_room].append(test)
        elif in_room:
            others.append(test)

    # Of several engines, tests have the name of theirs.
    own = [test for test in others if folders and test.stem.startswith(f"test_{folders[0]}")]
    return importing[True] or importing[False], own or others


def run_tests(tree: Path, files: list[Path], *options: str) -> subprocess.CompletedProcess[bytes]:
    """Run the quick tests of some files in a copy of the tree, without real data."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "ARQMATH_SHARED": str(tree / "none")}
    command = [*PYTEST, *options, *map(str, files)]
    return subprocess.run(
        command, cwd=tree, capture_output=True, check=False, timeout=SECONDS, env=environment
    )


def seconds_of(tree: Path) -> Counter[Path]:
    """Return how long each file of tests took, from the report of pytest in the form of JUnit."""
    seconds: Counter[Path] = Counter()
    report = ElementTree.parse(tree / "times.xml")  # noqa: S314
    for case in report.iter("testcase"):
        file = tree.joinpath(*case.attrib["classname"].split(".")[:3])
        seconds[file.with_suffix(".py")] += float(case.attrib["time"])
    return seconds


def verdict(tree: Path, mutant: Mutant, files: list[Path]) -> str:
    """Break the tree, run the tests, and mend it again."""
    path = tree / "arqmath_bm25" / mutant.file
    source = path.read_bytes()
    write(path, (source[: mutant.begin] + mutant.broken.encode() + source[mutant.end :]).decode())
    try:
        status = run_tests(tree, files).returncode
    except subprocess.TimeoutExpired:
        return "TOO SLOW"
    finally:
        write(path, source.decode())
    if status in (0, NO_TESTS):
        return "SURVIVED"
    return "caught"


def drawn(package: Path, names: list[str], number: int, seed: int) -> list[Mutant]:
    """Draw mutants from the files of each name, in equal shares."""
    modules = [path.relative_to(package) for path in sorted(package.rglob("*.py"))]
    chance = random.Random(seed)
    chosen: list[Mutant] = []
    for left, name in zip(range(len(names), 0, -1), names, strict=True):
        places: list[Mutant] = []
        for module in modules:
            if name in module.as_posix():
                places.extend(mutants(module, (package / module).read_bytes()))
        share = (number - len(chosen)) // left
        chosen.extend(chance.sample(places, share))
        print(f"--seed {seed}: {share} of {len(places)} mutants of {name or 'all'}", flush=True)
    return chosen


def described(package: Path, mutant: Mutant) -> str:
    """Return the place of a mutant, and what becomes of it."""
    source = (package / mutant.file).read_bytes()
    line = source.count(b"\n", 0, mutant.begin) + 1
    broken = " ".join(source[mutant.begin : mutant.end].decode().split())
    return f"{mutant.file}:{line} {broken:.50} → {mutant.broken.strip()}"


def main() -> int:
    """Try mutants that are drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", type=int, nargs="+")
    given = parser.parse_args()

    package = ROOT / "arqmath_bm25"
    chosen = drawn(package, given.names, given.number, given.seed)
    if given.list:
        for number, mutant in enumerate(chosen, 1):
            print(f"{number:3} {described(package, mutant)}")
        return 0

    only = given.only or range(1, len(chosen) + 1)
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, tree / part)

        tests = {}
        for number in only:
            module = chosen[number - 1].file
            tests[module] = tests_of(tree, module)
        all_tests = {test for files in tests.values() for test in itertools.chain(*files)}
        unbroken = run_tests(tree, sorted(all_tests), "--junitxml=times.xml")
        if unbroken.returncode:
            print(f"The tests fail with nothing broken:\n{unbroken.stdout.decode()}")
            return 1

        seconds = seconds_of(tree)
        verdicts: Counter[str] = Counter()
        for number in only:
            mutant = chosen[number - 1]
            files: list[Path] = []
            for group in tests[mutant.file]:
                files.extend(sorted(group, key=seconds.__getitem__))
            found = verdict(tree, mutant, files)
            verdicts[found] += 1
            print(f"{number:3} {found:9}{described(package, mutant)}", flush=True)
    print(f"{verdicts['caught']} of {verdicts.total()} mutants caught")
    return 0


if __name__ == "__main__":
    sys.exit(main())
