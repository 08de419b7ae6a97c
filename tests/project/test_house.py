"""The shape of the package: imports go one way, and a task is one file behind one protocol."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from io import StringIO
from pathlib import Path
from token import COMMENT, DEDENT, ENDMARKER, INDENT, NEWLINE, NL, STRING
from tokenize import generate_tokens
from typing import TYPE_CHECKING

from program import arqmath, json_of

import arqmath_bm25
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.tasks import TASKS

if TYPE_CHECKING:
    import pytest

PACKAGE = Path(arqmath_bm25.__file__).parent
# Each room may import from those before it. Modules of the ground are rooms of their own.
ORDER = (
    "version", "core", "analysis", "collection", "engines", "runs", "tasks", "evaluation",
    "pages", "frames", "api", "pyterrier", "irdatasets", "cli", "__main__",
)  # fmt: skip


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@cache
def trees() -> dict[Path, list[ast.AST]]:
    """Return the nodes of every module of the package that the tests here look at."""
    wanted = (ast.ImportFrom, ast.ClassDef, ast.Assign)
    return {
        path: [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, wanted)]
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def imports() -> set[tuple[str, str]]:
    """Return every import of the package in itself, also for types: who imports what."""
    found = set()
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in trees()}
    packages = {name.removesuffix(".__init__") for name in names}
    for path, nodes in trees().items():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(PACKAGE.name):
                for name in node.names:
                    whole = f"{node.module}.{name.name}"
                    found.add((module, whole if whole in packages else str(node.module)))
    return found


def test_imports_go_one_way_through_the_rooms() -> None:
    assert len(imports()) > 300
    for module, imported in imports():
        if room(module) and room(imported):  # the package itself shows what the rooms have
            assert ORDER.index(room(imported)) <= ORDER.index(room(module)), (module, imported)


def test_benchmarks_import_experiments_and_not_the_other_way() -> None:
    """Nor does the package import either of them."""
    root = PACKAGE.parent
    modules = {path.stem for path in (root / "benchmarks").glob("*") if path.suffix in ("", ".py")}
    beside = {"benchmarks", *modules - {"results"}}

    for directory, barred in ((root / "experiments", beside), (PACKAGE, {"experiments", *beside})):
        for path in directory.rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            found = set(re.findall(r"^ *(?:from|import) (\w+)", source, re.MULTILINE))
            assert not found & barred, path


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for module, imported in imports():
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


def test_a_type_has_a_name_of_its_own() -> None:
    """No reader has to ask which of two is meant."""
    places: dict[str, set[str]] = {}
    for path, nodes in trees().items():
        for node in nodes:
            names = [node.name] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.Assign):  # aliases, not letters that stand for any type
                targets = [one.id for one in node.targets if isinstance(one, ast.Name)]
                names = [name for name in targets if re.fullmatch("_?[A-Z]+[a-z]\\w*", name)]
            for name in names:
                places.setdefault(name, set()).add(path.relative_to(PACKAGE).as_posix())
    assert len(places) > 250
    assert {name for name, paths in places.items() if len(paths) > 1} == set()


def code_lines(text: str) -> int:
    """Return the number of lines with a token that is neither comment nor docstring."""
    lines, begins = set[int](), True
    for token in generate_tokens(StringIO(text).readline):
        if token.type in (NEWLINE, INDENT, DEDENT):
            begins = True
        elif token.type not in (COMMENT, NL, ENDMARKER):
            if not (begins and token.type == STRING):
                lines.update(range(token.start[0], token.end[0] + 1))
            begins = False
    return len(lines)


def test_lines_of_code_are_counted_by_room(capsys: pytest.CaptureFixture[str]) -> None:
    """How large the house is; there is no limit."""
    assert code_lines('"""Doc."""\n\n# why\nx = [\n    1,\n]\ny = """a\nb"""\n') == 5
    rooms = Counter[str]()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        rooms[parts[0] if len(parts) > 1 else "faces"] += code_lines(path.read_text("utf-8"))
    with capsys.disabled():
        print(*(f"{lines:7,}  {name}" for name, lines in rooms.most_common()), sep="\n")
    assert set(rooms) - {"faces"} == {name for name in ORDER if (PACKAGE / name).is_dir()}


def test_a_task_of_ones_own_needs_one_file_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TASKS, "questions", "toy_task:QuestionRetrieval")

    config = ("--config", default_config("task1"))
    assert "90 of 90 questions indexed" in arqmath("index", "questions", *config).output
    assert arqmath("index", "questions", *config).output.endswith(": up to date\n")
    output = arqmath("run", "questions", "--topics", "2021", "--variant", "both", *config).output
    assert "questions-both.tsv: 8 topics" in output
    run = tmp_path / "runs" / "arqmath-sample" / "2021" / "questions-both.tsv"
    topic, first = run.read_text().split("\t")[:2]
    posts = PostTable.scan(CollectionFiles().layout.posts())
    assert posts.read(first).title  # type: ignore[union-attr]
    qrels = tmp_path / "qrels.tsv"
    qrels.write_text(f"{topic}\t0\t{first}\t3\n")
    (scored,) = json_of("eval", run, "--qrels", qrels)
    assert scored["nDCG(judged_only=True)"] == 1
    found = arqmath(
        "search", "questions", r"Why does $\sum 1/n$ diverge?", "--depth", 1, *config
    ).output
    assert found.startswith("  1  ")
