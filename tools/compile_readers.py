"""Compile the modules that read formulas into the environment of this Python: `make setup` does.

    python -m tools.compile_readers

What is compiled, and how, pyproject.toml says, for the compiled wheel as well. Without a C
compiler, or if it fails, a note says so, and the sources are used. The result is imported by
arqmath_bm25/analysis/__init__.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

from arqmath_bm25.analysis import compiled_directory

ROOT: Final = Path(__file__).parents[1]


def main() -> None:
    """Compile, unless it is done, or say why not."""
    directory = compiled_directory()
    if directory.is_dir():
        return

    if shutil.which("cc") is None:
        print("Builds would take four fifths of the time with a C compiler (cc), then: make setup")
        return

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]
    modules = [name.removeprefix("/") for name in hook["include"]]

    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        shutil.copytree(ROOT / "arqmath_bm25", work / "arqmath_bm25")
        done = subprocess.run(
            [sys.executable, "-m", "mypyc", *hook["mypy-args"], *modules],
            cwd=work,
            env={**os.environ, "MYPYC_OPT_LEVEL": "2", "MYPYC_DEBUG_LEVEL": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            reason = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            print(f"The readers of formulas could not be compiled, which is no harm: {reason}")
            return
        if compiled_directory() == directory:  # and no source has changed meanwhile
            _install(work, directory)


def _install(work: Path, directory: Path) -> None:
    """Put what was compiled in `work` into the environment, in place of earlier forms."""
    shutil.rmtree(directory.parent, ignore_errors=True)
    coming = directory.parent / "coming"
    tables = (work / "arqmath_bm25" / "analysis").glob("*.toml")  # which the modules read
    for path in (*work.glob("*.so"), *work.glob("arqmath_bm25/analysis/*.so"), *tables):
        place = coming / path.relative_to(work)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    coming.rename(directory)  # at once, as somebody may import it meanwhile


if __name__ == "__main__":
    main()
