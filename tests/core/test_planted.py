"""Whatever is planted under a name that a command writes, nothing is followed and nothing replaced.

Each command is called once to learn its names, those of its temporary files among them. Then each
name in turn is a link, a second name of somebody's file, a pipe or a device (support/planting.py).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

import planting
import pytest
from chances import drawn
from planting import KINDS, LINKS, THESIS
from program import arqmath

from arqmath_bm25.collection import published
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.published import Archive, PublishedFile
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.evaluation.judging.judge import HitKey
from arqmath_bm25.evaluation.judging.session import judging_session
from arqmath_bm25.runs.formula_ids import FormulaIds

DOCUMENTS: Final = (
    {"id": "1", "title": "Pythagoras", "text": r"In a right triangle $a^2+b^2=c^2$."},
    {"id": "2", "text": "A triangle has three sides."},
)
QUERIES: Final = ({"id": "q1", "text": "a right triangle"}, {"id": "q2", "text": "$a^2$"})
LATEX: Final = r"\begin{document}\section{Sides} A triangle has $a+b>c$. \end{document}"
RUN: Final = "q1 Q0 1 1 2.5 me\nq1 Q0 2 2 1.5 me\nq2 Q0 1 1 1.5 me\n"
JUDGMENTS: Final = "q1 0 1 1\nq2 0 2 1\n"
RESULTS: Final = (
    "Input.topic_id,Input.doc_id,Input.post_1,Answer.grade_1\n"
    "A.1,7,7,High\nA.1,8,8,Low\nA.2,9,9,Medium\n"
)
HIT: Final = HitKey("A.1", "7", "")
OWN: Final = ("--data", "own", "--indexes", "indexes")
FLAT: Final = ("--engine", "flat")


class Command(NamedTuple):
    """A call that writes, in a folder of its own."""

    name: str
    arguments: tuple[object, ...] = ()
    outputs: tuple[str, ...] = ()  # that the user names
    ready: tuple[tuple[object, ...], ...] = ()  # calls before it, in the same folder
    function: Callable[[], object] | None = None  # in place of the command line

    def call(self) -> None:
        if self.function:
            self.function()
        else:
            arqmath(*self.arguments)


def _judge_in_a_browser() -> None:
    with judging_session(Path("batch.csv"), {HIT}, Path("labels.csv")) as session:
        session.label(HIT, "High")


def _read_formula_ids() -> None:
    FormulaIds.from_collection(CollectionFiles(SAMPLE, Path("indexes")))


INDEX: Final = ("-q", "index", "docs", *OWN, *FLAT, "-j", "1")
COMMANDS: Final = (
    Command("index", INDEX),
    Command("index of LaTeX", ("index", "docs", "--data", "tex", "--indexes", "indexes", *FLAT)),
    Command("run", ("run", "docs", *OWN, *FLAT, "--variant", "text"), ready=(INDEX,)),
    Command(
        "eval",
        ("eval", "a.trec", "--qrels", "qrels", "--json", "out.json", "--per-topic", "out.csv"),
        ("out.json", "out.csv"),
    ),
    Command(
        "compare", ("compare", "a.trec", "b.trec", "--qrels", "qrels", "--json", "out.json"),
        ("out.json",),
    ),
    Command("convert", ("convert", "a.trec", "-o", "out.trec.gz"), ("out.trec.gz",)),
    Command("convert for TIRA", ("convert", "a.trec", "--tira", "tira")),
    Command("fuse", ("fuse", "a.trec", "b.trec", "-o", "out.trec"), ("out.trec",)),
    Command("pool", ("pool", "a.trec", "--data", "own", "-o", "out.csv"), ("out.csv",)),
    Command(
        "pool for two", ("pool", "a.trec", "--data", "own", "-o", "out.csv", "--assessors", "2")
    ),
    Command(
        "judge",
        ("judge", "first.csv", "second.csv", "--rule", "highest", "-o", "out.tsv",
         "--disagreements", "differ.csv"),
        ("out.tsv", "differ.csv"),
    ),
    Command("judge --serve", function=_judge_in_a_browser),
    Command("report", ("report", "a.trec", "--data", "own", "-o", "out"), ("out",)),
    Command("threads", ("threads", "10027", "-o", "out"), ("out",)),
    Command("fetch", ("fetch", "--data", "new", "--only", "posts,links", "--from", "mirror")),
    Command("ids of formulas", function=_read_formula_ids),
)  # fmt: skip
NAMED: Final = {command.name: command for command in COMMANDS}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the inputs of all commands."""
    place = tmp_path_factory.mktemp("template") / "work"
    for name in ("own", "tex"):
        (place / name).mkdir(parents=True)
    for name, rows in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (place / "own" / f"{name}.jsonl").write_text(text)
    (place / "tex" / "notes.tex").write_text(LATEX)
    manifest = json.dumps({"tag": "me", "implementation": {"executable": {"cmd": "a"}}})
    for name in "ab":
        (place / f"{name}.trec").write_text(RUN)
        (place / f"{name}.trec.manifest.json").write_text(manifest)
    (place / "qrels").write_text(JUDGMENTS)
    (place / "first.csv").write_text(RESULTS)
    (place / "second.csv").write_text(RESULTS.replace("High", "Low"))
    (place / "mirror").mkdir()
    (place / "mirror" / "PostLinks.xml").write_text("<postlinks/>\n")
    with ZipFile(place / "mirror" / "Posts.zip", "w") as zipped:
        zipped.writestr("Posts.xml", "<posts/>\n")
    return place


@pytest.fixture(scope="module", autouse=True)
def _small_catalogue() -> Iterator[None]:
    """Let the labs have published two small files, one of them zipped."""
    archive = Archive("Posts.xml", ("Posts.xml",), 100)
    lab = frozenset({"task1"})
    files = [
        PublishedFile("Posts.zip", "posts", lab, archive=archive),
        PublishedFile("PostLinks.xml", "links", lab),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(published, "CATALOGUE", files)
        yield


class Prepared(NamedTuple):
    """A folder in which a command can be called, and the names that it writes there."""

    folder: Path
    names: list[Path]


@pytest.fixture(scope="module")
def prepared(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Prepared]:
    """Return a function that prepares a command once."""
    done: dict[str, Prepared] = {}

    def prepare(name: str) -> Prepared:
        if name not in done:
            command, place = NAMED[name], tmp_path_factory.mktemp("prepared")
            folder = place / "work"
            shutil.copytree(template, folder)
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                for earlier in command.ready:
                    arqmath(*earlier)

            def call(copy: Path) -> None:
                with pytest.MonkeyPatch.context() as patch:
                    patch.chdir(copy)
                    command.call()

            done[name] = Prepared(folder, planting.written_names(call, folder, place))
        return done[name]

    return prepare


# All commands, each with some kinds.
CASES: Final = [(name, kind) for name in NAMED for kind in drawn(KINDS, 2, name)]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_nothing_planted_is_followed_or_replaced(
    name: str, kind: str, prepared: Callable[[str], Prepared], tmp_path: Path
) -> None:
    if kind == "device" and not planting.makes_devices(tmp_path):
        pytest.skip("this user makes no devices")
    command, (folder, names) = NAMED[name], prepared(name)
    found = {}
    for number, planted in enumerate(planting.groups(names)):
        place, victim = tmp_path / f"{number}", tmp_path / f"home{number}"
        shutil.copytree(folder, place, symlinks=True)
        victim.mkdir()
        (victim / "thesis.tex").write_text(THESIS)
        for path in planted:
            planting.plant(kind, place / path, victim)
        by_user = [path for path in planted if str(path) in command.outputs]

        with ExitStack() as stack:
            stack.enter_context(pytest.MonkeyPatch.context()).chdir(place)
            stack.enter_context(planting.limited())
            if kind == "pipe":
                for path in by_user:
                    stack.enter_context(planting.reader_of(path))
            try:
                command.call()
            except (InputError, OSError):  # both are messages of the program
                pass
            except (Exception, planting.WaitedTooLongError) as error:
                found[str(planted)] = repr(error)

        for path in planted:
            damage = planting.damage(kind, place / path, victim)
            if path in by_user and kind in LINKS:  # its target is what the user names
                damage = "" if (place / path).is_symlink() else "replaced"
            if damage:
                found[str(path)] = damage

    assert found == {}


def test_three_hundred_are_planted(prepared: Callable[[str], Prepared]) -> None:
    names = sum(len(prepared(name).names) for name in NAMED)
    assert names * len(KINDS) >= 300
