"""Break random places of the package, one at a time, and list what the quick tests do not notice.

    python tools/random_mutants.py [--number 60] [--seed N] [NAME ...]

An operator, a number or a truth value becomes another one, or a statement goes. NAME restricts the
files. The tests that import the module decide, or those of its room (without those on Spark); a
mutant that takes them more than two minutes of CPU time is caught. A survivor may be of no
consequence, or be caught by a test of another module or a slow one: read it. The same seed breaks
the same places as long as the package does not change.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mutants import PARTS, ROOT, write

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS: Final = 120
PYTEST: Final = (
    sys.executable, *"-m pytest -xq -p no:cacheprovider --hypothesis-seed=0 -m".split(), "not slow",
)  # fmt: skip
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


def tests_of(tree: Path, module: Path) -> list[Path]:
    """Return the tests that import a module, shortest first, or those of its room if none does."""
    name = ".".join(("arqmath_bm25", *module.with_suffix("").parts)).removesuffix(".__init__")
    files = sorted(tree.glob("tests/*/test_*.py"), key=lambda test: test.stat().st_size)
    files = [test for test in files if not test.stem.startswith("test_spark")]
    room = module.parts[0] if len(module.parts) > 1 else ""
    rooms = ROOMS.get(room, (room,))
    return [test for test in files if re.search(rf"\b{name}\b(?!\.)", test.read_text())] or [
        test for test in files if test.parent.name in rooms
    ]


def survives(tree: Path, mutant: Mutant) -> bool:
    """Break the tree, run the tests of the module, and mend it again."""
    path = tree / "arqmath_bm25" / mutant.file
    source = path.read_bytes()
    files = tests_of(tree, mutant.file)
    write(path, (source[: mutant.begin] + mutant.broken.encode() + source[mutant.end :]).decode())
    try:
        done = subprocess.run(
            [*PYTEST, *map(str, files)],
            cwd=tree, capture_output=True, check=False, timeout=1200,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
            env={**os.environ, "PYTHONPATH": str(tree), "ARQMATH_SHARED": str(tree / "none")},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    finally:
        write(path, source.decode())
    return done.returncode == 0


def main() -> int:
    """Try mutants that are drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[""])
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    package = ROOT / "arqmath_bm25"
    modules = [path.relative_to(package) for path in sorted(package.rglob("*.py"))]
    modules = [path for path in modules if any(name in str(path) for name in given.names)]
    places = [one for path in modules for one in mutants(path, (package / path).read_bytes())]
    print(f"--seed {given.seed}: {given.number} of {len(places)} mutants", flush=True)
    chosen = random.Random(given.seed).sample(places, given.number)
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory)
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, tree / part)
        left = 0
        for one in chosen:
            source = (package / one.file).read_bytes()
            line = source.count(b"\n", 0, one.begin) + 1
            broken = source[one.begin : one.end].decode()
            lives = survives(tree, one)
            left += lives
            print("SURVIVED" if lives else "caught  ", f"{one.file}:{line}",
                  f"{broken:.50} → {one.broken.strip()}", flush=True)  # fmt: skip
    print(f"{given.number - left} of {given.number} mutants caught")
    return 0


if __name__ == "__main__":
    sys.exit(main())
