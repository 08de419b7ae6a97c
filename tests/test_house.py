"""The shape of the package: imports go one way, and a task is one file behind one protocol."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

import arqmath_bm25
from arqmath_bm25.cli import app
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.settings import default_config
from arqmath_bm25.tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

PACKAGE = Path(arqmath_bm25.__file__).parent
# Each room may import from those before it. Modules of the ground are rooms of their own.
ORDER = (
    "version", "core", "analysis", "collection", "engines", "runs", "tasks", "evaluation",
    "pages", "frames", "api", "pyterrier", "irdatasets", "cli", "__main__",
)  # fmt: skip


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(typing: bool = True) -> Iterator[tuple[str, str]]:
    """Yield every import of the package in itself: which module, and what it imports.

    Without `typing`, those that only the type checker follows are left out.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not typing:
            tree.body = [n for n in tree.body if "TYPE_CHECKING" not in ast.unparse(n)[:20]]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGE.name):
                for name in node.names:
                    whole = PACKAGE.parent.joinpath(*str(node.module).split("."), name.name)
                    known = whole.is_dir() or whole.with_suffix(".py").is_file()
                    yield module, f"{node.module}.{name.name}" if known else str(node.module)


def test_imports_go_one_way_through_the_rooms() -> None:
    found = set(imports())
    assert len(found) > 300
    for module, imported in found:
        if room(module) and room(imported):  # the package itself shows what the rooms have
            assert ORDER.index(room(imported)) <= ORDER.index(room(module)), (module, imported)


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for module, imported in imports(typing=False):
        graph.setdefault(module, set()).add(imported)
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for imported in graph.get(module, ()):
                visit(imported, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_no_two_rooms_have_modules_of_one_name() -> None:
    """A command, a page or a package's face may have the name of what it shows."""
    places: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        where = path.relative_to(PACKAGE).parts
        if where[0] not in ("cli", "pages") and path.stem not in ("__init__", "settings"):
            places.setdefault(path.stem, set()).add("/".join(where[:-1]))
    assert [name for name, rooms in places.items() if len(rooms) > 1] == []


def test_a_task_of_ones_own_needs_one_file_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TASKS, "questions", "toy_task:QuestionRetrieval")

    def arqmath(*arguments: object) -> str:
        done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    config = ("--config", default_config("task1"))
    assert "90 of 90 questions indexed" in arqmath("index", "questions", *config)
    assert arqmath("index", "questions", *config).endswith("questions: up to date\n")
    output = arqmath("run", "questions", "--topics", "2021", "--variant", "both", *config)
    assert "questions-both.tsv: 8 topics" in output
    run = tmp_path / "runs" / "arqmath-sample" / "2021" / "questions-both.tsv"
    topic, first = run.read_text().split("\t")[:2]
    posts = PostTable.scan(Collection().layout.posts())
    assert posts.read(first).title  # type: ignore[union-attr]
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text(f"{topic}\t0\t{first}\t3\n")
    (scored,) = json.loads(arqmath("eval", run, "--qrels", qrels, "--json", "-"))
    assert scored["ndcg_prime"] == 1
    found = arqmath("search", "questions", r"Why does $\sum 1/n$ diverge?", "--depth", 1)
    assert found.startswith("  1  ")
