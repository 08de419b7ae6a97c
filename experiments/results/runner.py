"""Makes the rows of a book of results, each by commands that a reader can paste.

The commands run one after the other, in processes of their own, in the directory of the results;
an index that serves several rows is built once. Scores are compared in three digits: some expected
ones have no more, and the sums of floating-point numbers depend on the processor.
"""

from __future__ import annotations

import hashlib
import json
import platform
import resource
import shlex
import subprocess
import sys
from dataclasses import asdict
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from arqmath_bm25.api import Collection
from arqmath_bm25.collection.own_documents import QUERIES
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RELEVANT
from arqmath_bm25.core.stores import readable_manifest
from arqmath_bm25.core.writing import contents, sources
from arqmath_bm25.evaluation.qrels import read_qrels, write_qrels
from arqmath_bm25.runs.task_rules import RULES
from arqmath_bm25.tasks import configured, task_class
from experiments.judged_references import write_references

if TYPE_CHECKING:
    from collections.abc import Callable

    from arqmath_bm25.evaluation.qrels import Qrels
    from arqmath_bm25.runs.run_rules import RunRules
    from arqmath_bm25.tasks.task import Task
    from experiments.results.book import Book, Row, Table

TOLERANCE: Final = 0.0006
_PACKAGES: Final = "arqmath_bm25 pyserini numpy scipy scikit-learn pytrec-eval-terrier".split()


class Maker:
    """Makes the rows of a book for one collection, in the directory `place`, which is empty."""

    def __init__(self, book: Book, data: Path | None, place: Path) -> None:
        """`data` is the root of the collection, the bundled sample without."""
        self._book = book
        self._data = ["--data", str(data.resolve())] if data is not None else []
        self._collection = Collection(data, place / "indexes")
        self._place = place
        self._indexes: list[dict[str, Any]] = []  # task → recipe, of each folder of indexes
        self._built: dict[tuple[str, ...], float] = {}  # folder and task → seconds of the CPU
        self.sets = {name: self._sets(table) for name, table in book.tables.items()}
        self.rows = [
            (name, row)
            for name, table in book.tables.items()
            for row, one in table.rows.items()
            if one.variant and self.sets[name]
        ]

    def make_all(self, tell: Callable[[str, str, dict[str, Any]], None]) -> dict[str, Any]:
        """Make every row; return the results as JSON.

        `tell` is called with each table, row and result. Raises InputError with the message of a
        command that fails.
        """
        if not self.rows:
            raise InputError(f"{self._collection.layout.data}: has nothing that the book is about")
        tables: dict[str, dict[str, Any]] = {}
        for name, row in self.rows:
            made = tables.setdefault(name, {})[row] = self._make(name, row)
            tell(name, row, made)
        manifests = filter(None, map(readable_manifest, self._place.glob("indexes/*/*/*/*/")))
        data = {source.sha256: asdict(source) for one in manifests for source in one.sources}
        code = contents(Path(__file__).parents[2] / "arqmath_bm25", "sample", "configs")
        return {
            "collection": self._book.collection,
            "ok": all(row["ok"] is not False for rows in tables.values() for row in rows.values()),
            "versions": {
                **{package: version(package) for package in _PACKAGES},
                "Python": platform.python_version(),
                "platform": platform.platform(),
            },
            "code": _digest({n: found for n, found in code.items() if n.endswith(".py")}),
            "book": _digest(self._book.model_dump(mode="json")),
            "data": sorted(data.values(), key=lambda one: str(one["name"])),
            "tables": tables,
        }

    def _sets(self, table: Table) -> list[str]:
        """Return the sets of topics whose judgments are there."""
        if not task_class(table.task).has_data(self._collection):
            return []
        judged, data = self._collection.judged_years(table.task), self._collection.layout.data
        return [
            one
            for one, file in table.sets.items()
            if (one in judged if file is None else (data / file).is_file())
        ]

    def _make(self, name: str, key: str) -> dict[str, Any]:
        table = self._book.tables[name]
        row, sets = table.rows[key], self.sets[name]
        config = self._configuration(f"{name}-{key}.yaml", table.task, row)
        task = configured(table.task, self._place / config[-1] if config else None)
        folder = self._folder(task)
        learning = []
        if row.learns:
            learning = ["--train", self._references(table)]
            folder += "-learning"
        there = [*self._data, "--indexes", folder]
        # By flat postings: the scores are Lucene's, for half of the time and without Java.
        index = ["index", table.task, *there, *config, *learning, "--engine", "flat"]
        built = (there[-1], table.task)
        if built not in self._built:
            self._built[built] = self._run(index)[1]
        runs = f"runs/{name}-{key}"
        chosen = sets if self._collection.years(table.task) else []  # one's own have one file
        topics = [word for one in chosen for word in ("--topics", one)]
        run = ["run", table.task, *there, *config, *learning]
        run += ["--runs", runs, "--variant", row.variant]
        run += topics
        seconds, commands, scores = self._run(run)[1], [index, run], dict[str, dict[str, Any]]()
        files = dict[str, str]()
        for one in sets:
            (path,) = (self._place / runs).glob(f"*/{one}/*{RULES[task.lab].ending}")
            files[one] = str(path.relative_to(self._place))
        for file, of in groupby(sets, lambda one: table.sets[one]):
            judged, together = [], list(of)
            if file:
                judged = ["--qrels", self._judgments(file, RULES[task.lab])]
            named = [files[one] for one in together]
            commands.append(["eval", *named, *there, *judged, *table.eval, "--json", "-"])
            for one, score in zip(together, json.loads(self._run(commands[-1])[0]), strict=True):
                source, judgments = sources(
                    [self._place / files[one], self._place / score["qrels"]]
                )
                scores[one] = _compared(score, table, row, one)
                scores[one] |= {"judgments": judgments.sha256, "run": source.sha256}
        verdicts = [one["ok"] for one in scores.values()]
        return {
            "ok": all(known) if (known := [ok for ok in verdicts if ok is not None]) else None,
            "commands": [shlex.join(["arqmath-bm25", *words]) for words in commands],
            "settings": _digest(task.settings.model_dump(mode="json")),
            "cpu_seconds": {"index": round(self._built[built], 1), "run": round(seconds, 1)},
            "sets": scores,
        }

    def _configuration(self, name: str, task: str, row: Row) -> list[str]:
        """Write the configuration of a row; return the option that names it."""
        if not row.config and not row.change:
            return []
        source = default_config(row.config.removesuffix(".yaml") or task)
        text = source.read_text(encoding="utf-8")
        if row.change:
            changed = yaml.safe_load(text)
            for key, value in row.change.items():
                *path, last = key.split(".")
                part = changed
                for step in path:
                    part = part.get(step)
                    if not isinstance(part, dict):
                        raise InputError(f"{source}: change {key}: there is no part {step}")
                part[last] = value
            text = yaml.safe_dump(changed, sort_keys=False)
        written = self._place / "configs" / name
        written.parent.mkdir(exist_ok=True)
        written.write_text(text, encoding="utf-8")
        return ["--config", f"configs/{name}"]

    def _folder(self, task: Task) -> str:
        """Return the folder whose indexes serve a task, a new one if none does."""
        own = task.index_task
        needed = {own.name: own.recipe}
        for name in own.needed(self._collection):
            needed[name] = configured(name).index_task.recipe
        for recipes in self._indexes:
            if all(recipes.get(name, recipe) == recipe for name, recipe in needed.items()):
                break
        else:
            self._indexes.append(recipes := {})
        recipes.update(needed)
        return f"indexes/{self._indexes.index(recipes) + 1}"

    def _judgments(self, file: str, rules: RunRules) -> str:
        """Write the judgments of the topics with a relevant document; return their place."""
        path = self._place / "judgments" / Path(file).name
        qrels = read_qrels(self._collection.layout.data / file)
        path.parent.mkdir(exist_ok=True)
        write_qrels(path, with_relevant(qrels, rules.relevant))
        return f"judgments/{path.name}"

    def _references(self, table: Table) -> str:
        """Write the judgments as references of the queries; return their place."""
        data = self._collection.layout.data
        (file,) = filter(None, table.sets.values())
        path = self._place / "judgments" / "references.jsonl"
        path.parent.mkdir(exist_ok=True)
        write_references(data / QUERIES, read_qrels(data / file), path)
        return f"judgments/{path.name}"

    def _run(self, words: list[str]) -> tuple[str, float]:
        """Run a command; return its output and its CPU time in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        program = [sys.executable, "-m", "arqmath_bm25", "--quiet"]
        done = subprocess.run([*program, *words], cwd=self._place, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            command = shlex.join(["arqmath-bm25", *words])
            raise InputError(f"`{command}` failed: {done.stderr.strip().removeprefix('error: ')}")
        return done.stdout, sum(after[:2]) - sum(before[:2])


def with_relevant(qrels: Qrels, least: int = RELEVANT) -> Qrels:
    """Return the judgments of the topics that have a relevant document: of this grade or more."""
    return {topic: docs for topic, docs in qrels.items() if max(docs.values()) >= least}


def _compared(score: dict[str, Any], table: Table, row: Row, name: str) -> dict[str, Any]:
    """Hold the scores of a set of topics against the expected ones."""
    expected = dict(zip(table.measures, row.scores.get(name, ()), strict=False))
    topics = score.get("topics", score.get("statements"))
    same = table.topics.get(name, topics) == topics
    measured = {key: round(score[key], 5) for key in table.measures}
    differences = {
        key: round(measured[key] - value, 5) for key, value in expected.items() if value is not None
    }
    return {
        "ok": same and all(abs(d) <= TOLERANCE for d in differences.values())
        if differences
        else None,
        "topics": topics,
        "measured": measured,
        "expected": expected,
        "difference": differences,
        "judged_at_10": score.get("Judged@10"),
    }


def _digest(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
