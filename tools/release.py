"""Build the source archive and the wheels of a release into dist/, each checked as installed.

    python tools/release.py [--pure]

The wheel without compiled parts is tested on every Python of this machine. `--pure` leaves out the
compiled one, which needs a C compiler. Nothing is uploaded: a tag `vVERSION` publishes, by
.github/workflows/wheels.yml.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pythons import pythons_here

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
SOURCES = ("pyproject.toml", "LICENSE", "README.md", "arqmath_bm25", "configs", "docs")


def run(*command: str | Path, folder: Path = ROOT, **environment: str) -> None:
    """Run a command and end with its status if it fails."""
    done = subprocess.run(command, cwd=folder, env=os.environ | environment)
    if done.returncode:
        shown = " ".join(map(str, command))
        sys.exit(f"{shown}: exit status {done.returncode}")


def build(target: str, compiled: bool = False) -> Path:
    """Build one distribution from a copy of the sources and return its path in dist/.

    In a copy, as Python would import a compiled module that stands beside its source.
    """
    with tempfile.TemporaryDirectory() as name:
        copy, output = Path(name, "sources"), Path(name, "built")
        copy.mkdir()
        for source in SOURCES:
            path = ROOT / source
            if path.is_dir():
                shutil.copytree(path, copy / source, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(path, copy / source)

        switch = {"HATCH_BUILD_HOOK_ENABLE_MYPYC": "1"} if compiled else {}
        hatchling = (sys.executable, "-m", "hatchling", "build", "--target", target)
        # The hook calls mypy by its name.
        search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        run(*hatchling, "--directory", output, folder=copy, PATH=search, **switch)

        (path,) = output.iterdir()
        return Path(shutil.move(path, DIST / path.name))


def check_installed(distribution: Path, python: str | Path, *form: str) -> None:
    """Install a distribution into an empty environment and test it from an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        environment, folder = Path(name, "environment"), Path(name, "work")
        folder.mkdir()
        run(python, "-m", "venv", "--without-pip", environment)
        installed = environment / "bin" / "python"
        pip = (sys.executable, "-m", "pip", "--python", installed)
        pip = (*pip, "--quiet", "--disable-pip-version-check")
        install = (*pip, "install", "--no-deps")
        hashes = ("--require-hashes", "--only-binary", ":all:", "-r", ROOT / "requirements.lock")
        run(*install, *hashes)
        run(*install, "--no-build-isolation", distribution)
        run(*pip, "check")  # Its metadata name nothing else.

        search = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
        script = ROOT / "tools" / "test_wheel.sh"
        run("sh", script, ROOT, *form, folder=folder, PATH=search, PYTHONPATH="")


def main() -> None:
    """Build, check and name what would be published."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pure", action="store_true", help="leave out the compiled wheel")
    pure_only = parser.parse_args().pure

    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    sources, wheel = build("sdist"), build("wheel")
    run(sys.executable, "-m", "twine", "check", "--strict", sources, wheel)
    check_installed(sources, sys.executable, "pure")
    tested = pythons_here()
    for version, python in tested.items():
        print(f"The wheel on Python {version}: {python}", flush=True)
        check_installed(wheel, python, "pure")

    built = [sources, wheel]
    if not pure_only:
        compiled = build("wheel", compiled=True)
        check_installed(compiled, sys.executable)
        built.append(compiled)

    for path in built:
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"The wheel was tested on Python {', '.join(tested)}.")
    print("Nothing was uploaded. A tag of this version publishes it, with wheels for all machines.")


if __name__ == "__main__":
    main()
