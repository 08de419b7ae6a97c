"""Run the quick tests by every Python of this machine, each in a copy with its own environment.

    python tools/pythons.py [VERSION …]     # make pythons [ONLY=3.14]

Pythons are looked for in PATH, among the versions of pyenv, whose commands in PATH may be stubs
that only say which version to choose, and in the tool cache of GitHub's machines. What ran is
printed at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_NAME: Final = re.compile(r"python3(\.\d+)?")
_VERSION: Final = "import sys; print('.'.join(map(str, sys.version_info[:3])))"


def version_of(python: Path) -> str | None:
    """Return the version of a Python, None of a stub or of what does not start."""
    try:
        asked = [python, "-c", _VERSION]
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def is_served(version: str) -> bool:
    """Return whether the lock files serve a version: `requires-python` of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest, newer = re.findall(r"3\.(\d+)", project["requires-python"])
    major, minor, _ = version.split(".")
    return major == "3" and int(oldest) <= int(minor) < int(newer)


def pythons_here() -> dict[str, Path]:
    """Return a Python of each version that the lock files serve, by its version."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += Path.home().glob(".pyenv/versions/*/bin")
    folders += Path(os.environ.get("RUNNER_TOOL_CACHE", "/none")).glob("Python/*/*/bin")
    found: dict[str, Path] = {}
    for folder in folders:
        for python in sorted(folder.glob("python3*")):
            if not _NAME.fullmatch(python.name):
                continue
            version = version_of(python)
            if version and is_served(version):
                found.setdefault(version, python)
    return dict(sorted(found.items(), key=lambda pair: [*map(int, pair[0].split("."))]))


def copy_of_the_tree(folder: Path) -> None:
    """Copy what git tracks or would add, with what is not committed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():  # and not removed since the last commit
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def quick_tests(python: Path) -> str:
    """Run the quick tests by a Python in a copy of the tree; return their last line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "copy")
        copy_of_the_tree(folder)
        command = ["make", "quick", f"PYTHON={python}"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            last = ""
            for line in process.stdout or ():
                print(line, end="", flush=True)
                last = line.strip() or last
    return last if process.returncode == 0 else f"FAILED: {last}"


def main() -> None:
    """Run them and print a table; exit status 1 if a Python failed or none was found."""
    asked = tuple(f"{version}." for version in sys.argv[1:]) or ("",)
    found = {}
    for version, python in pythons_here().items():
        if f"{version}.".startswith(asked):
            found[version] = python
    lines = {}
    for version, python in found.items():
        print(f"== Python {version}: {python}", flush=True)
        lines[version] = quick_tests(python)

    print(f"\nThe quick tests ran on {len(lines)} Pythons:")
    for version, line in lines.items():
        print(f"  {version:8} {line}")
    if not lines or any(line.startswith("FAILED") for line in lines.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
