"""Every Python block of README and docs runs, and prints what stands below it.

The blocks of a page are one session, in an empty directory: `/data/ARQMath` is the bundled sample
there. A block ```text after one of Python is what that prints.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
import yaml
from forked import served
from program import arqmath
from shared_indexes import linked

from arqmath_bm25.cli import COMMANDS, FUNCTIONS, load
from arqmath_bm25.cli.shared.command import descriptions
from arqmath_bm25.collection.published import PARTS
from arqmath_bm25.core.sample_data import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
ALL: Final = [*sorted(ROOT.glob("[ACR]*.md")), *sorted((ROOT / "docs").glob("*.md"))]
PAGES: Final = [page for page in ALL if "```python" in page.read_text()]
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"(?:^|[ /])arqmath-bm25 (?:--quiet )?([a-z]+)([^;&|]*)")
_CONTINUED: Final = re.compile(r"\\\n")
_IMPORT: Final = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)

SESSION: Final = """
import contextlib, io, json, sys
blocks, path = json.load(sys.stdin)
sys.path += path
namespace = {"__name__": "session"}
for number, block in enumerate(blocks):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, f"block {number}", "exec"), namespace)
    print(json.dumps(printed.getvalue()))
"""


class Block(NamedTuple):
    kind: str
    text: str
    printed: str | None  # what the page says that it prints


def blocks(page: Path) -> list[Block]:
    fences = list(_FENCE.finditer(page.read_text()))
    found = []
    for fence, after in zip_longest(fences, fences[1:]):
        between = page.read_text()[fence.end() : after.start()] if after else "end"
        shown = after[2] if after and after[1] == "text" and not between.strip() else None
        found.append(Block(fence[1], fence[2], shown))
    return found


def peers() -> list[str]:
    """Directories of packages of others: PyTerrier, bm25s, Tantivy, …"""
    return [str(path) for path in ROOT.glob(".venv-bench/lib/python*/site-packages")]


def missing(code: str, path: list[str]) -> set[str]:
    """Return the packages that code imports and that are not there."""
    names = set(_IMPORT.findall(code))
    return {n for n in names if not find_spec(n) and not any((Path(p) / n).exists() for p in path)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_block_runs_and_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    python = [block for block in blocks(page) if block.kind == "python"]
    lacking = {name for block in python for name in missing(block.text, peers())}
    runnable = [block for block in python if not missing(block.text, peers())]
    texts = [block.text.replace("/data/ARQMath", str(SAMPLE)) for block in runnable]
    script = tmp_path / "session.py"
    script.write_text(SESSION)
    done = subprocess.run(
        [sys.executable, script], input=json.dumps([texts, peers()]), cwd=tmp_path,
        capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = list(map(json.loads, done.stdout.splitlines()))
    for block, found in zip(runnable, printed, strict=True):
        if block.printed is not None:
            assert found.splitlines() == block.printed.splitlines()
    if lacking:
        pytest.skip(f"not installed: {', '.join(sorted(lacking))}")


def test_a_block_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1)\n```\n\n```text\n2\n```\n\n```python\n1\n```\nno\n```text\n"
    )
    assert blocks(page)[0] == Block("python", "print(1)\n", "2\n")
    assert blocks(page)[2] == Block("python", "1\n", None)
    with pytest.raises(AssertionError):
        test_every_python_block_runs_and_prints_what_it_shows(page, tmp_path)
    for line in ("arqmath-bm25 eval RUN --nothing", ".venv/bin/arqmath-bm25 nothing x"):
        page.write_text(f"```\n{line}\n```\n")
        with pytest.raises(AssertionError):
            test_every_command_and_option_that_is_named_exists(page)
    assert missing("import nowhere_1\nfrom json import x", []) == {"nowhere_1"}


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_what_is_not_run_is_at_least_python(page: Path) -> None:
    for block in blocks(page):
        if block.kind == "py":
            compile(block.text, page.name, "exec")


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_every_command_and_option_that_is_named_exists(page: Path) -> None:
    for block in blocks(page):
        for line in _CONTINUED.sub(" ", block.text).splitlines():
            for command, words in _COMMAND.findall(line.partition("   #")[0]):
                assert command in COMMANDS, line
                there = {option for each in load(command).params for option in each.opts}
                asked = set(re.findall(r"(?<=[ \[])--[a-z-]+", words))
                assert asked <= there | {"--quiet"}, line


def test_every_option_has_a_description_and_every_description_an_option() -> None:
    described = {(section, name) for section, texts in descriptions().items() for name in texts} - {
        ("compare", name) for name in descriptions()["evaluate"]
    }  # which it shares
    used = set()
    for command in COMMANDS:
        function = FUNCTIONS.get(command, command)
        for option in load(command).params:
            own = option.name in descriptions().get(function, {})
            used.add((function if own else "any", option.name))
            assert getattr(option, "help", None), (command, option.name)
    assert described <= used
    assert all(part in descriptions()["fetch"]["only"]["help"] for part in PARTS)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, sample_indexes: Path) -> Path:
    """Return a folder with the indexes and runs of `make demo`."""
    place = tmp_path_factory.mktemp("demo")
    indexes = linked(sample_indexes, place / "indexes")
    arqmath("run", "all", "--indexes", indexes, "--runs", place / "runs")
    return place


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("served")) as program:
        yield program


@pytest.mark.slow
@pytest.mark.parametrize("after", ["nothing", "the demo"])
@pytest.mark.parametrize(
    "page", [page for page in ALL if "```sh" in page.read_text()], ids=lambda page: page.name
)
def test_every_shell_block_runs_on_the_sample(
    page: Path, after: str, demo: Path, program: str, tmp_path: Path
) -> None:
    for number, block in enumerate(blocks(page)):
        if block.kind != "sh":
            continue
        place = tmp_path / str(number)
        if after == "the demo":
            shutil.copytree(demo, place)
        else:
            place.mkdir()
        function = f'arqmath-bm25() {{ {program} "$@"; }}\n'
        script = function + block.text.replace("/data/ARQMath", str(SAMPLE))
        shell = ["/bin/bash", "-e", "-c", script]
        done = subprocess.run(shell, cwd=place, capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        assert not re.search(r"\bnan\b", done.stdout, re.IGNORECASE)
        assert not zeros(done.stdout), done.stdout


def zeros(printed: str) -> list[str]:
    """Return the columns of printed tables of several rows that are 0.0000 throughout."""
    columns = []
    for table in re.finditer(r"^(.+)\n ─+ *\n((?: +\S.*\n){2,})", printed, re.MULTILINE):
        lines = (table[1], *table[2].splitlines())
        header, *rows = (re.split(r"\s{2,}", line.strip()) for line in lines)
        # A row with an empty cell is not told apart into columns.
        columns += zip(header, *(row for row in rows if len(row) == len(header)), strict=True)
    return [header for header, *cells in columns if set(cells) == {"0.0000"}]


def test_a_column_of_zeros_is_noticed() -> None:
    table = "  run   AP  RR \n ─── \n  a  0.0000  0.5000 \n  b  0.0000  0.0000 \n     \n  note \n"
    assert zeros(f"title\n{table}") == ["AP"]
    assert zeros(table.replace("  b  0.0000", "  b  0.1000")) == []


def test_every_invariant_of_the_architecture_has_its_test() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (ROOT / "ARCHITECTURE.md").read_text())
    assert len(named) > 10
    for file, test in named:
        (path,) = (ROOT / "tests").glob(f"*/{file}")
        assert f"def {test}(" in path.read_text(), (file, test)


def test_the_architecture_names_files_that_are_there() -> None:
    named = re.findall(r"`([a-z_]+/[\w./*]*|[a-z_]+\.py)`", (ROOT / "ARCHITECTURE.md").read_text())
    assert len(named) > 60
    for name in named:
        pattern = re.sub("TASK|NAME", "*", name).rstrip("/")
        assert [*ROOT.glob(pattern), *(ROOT / "arqmath_bm25").glob(pattern)], name


def test_every_module_says_in_its_first_sentence_what_it_decides() -> None:
    """`make docs` lists these sentences."""
    package = ROOT / "arqmath_bm25"
    for path in sorted(package.rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        first = docstring.partition("\n\n")[0]
        assert first.endswith((".", "?")), path
        assert len(first) <= 200, path


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", page.read_text()):
        file = page.parent / target if target else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


def test_the_container_of_the_guide_is_alone_secured_and_of_a_version_that_is_taken() -> None:
    guide = ROOT / "docs" / "USAGE.md"
    block = guide.read_text(encoding="utf-8").partition("```yaml\nservices:")[2]
    compose = yaml.safe_load("services:" + block.partition("```")[0])
    (service,) = compose["services"].values()
    assert service["image"] == "opensearchproject/opensearch:3.4.0"
    assert service["environment"]["discovery.type"] == "single-node"
    assert service["environment"]["OPENSEARCH_INITIAL_ADMIN_PASSWORD"].startswith(
        "${ARQMATH_OPENSEARCH_PASSWORD:?"
    )
    assert service["ports"] == ["127.0.0.1:9200:9200"]  # not of all networks
    assert [volume.partition(":")[0] for volume in service["volumes"]] == [*compose["volumes"]]
