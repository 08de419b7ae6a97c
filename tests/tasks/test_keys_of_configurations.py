"""Each key of each shipped configuration changes something, or is refused."""

from __future__ import annotations

import copy
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.configuration import default_config
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.records import Topic
from arqmath_bm25.core.workers import HERE
from arqmath_bm25.engines.engine import Engine
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.index import ensure
from arqmath_bm25.tasks.index_content import fitted, with_needed
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIGS = sorted(default_config("task1").parent.glob("*.yaml"))
TEXT = r"Why do the partial sums of the harmonic series $\sum \frac{1}{n}$ diverge, if series do?"
QUESTION = Topic(
    "A.1",
    TEXT,
    "<p>Sums $x^2$ of primes: please help. Sums $x^2$ again. Show, prove and find that the function"
    " has a value, number, integral, set, group, limit, point, matrix, for every real.</p>",
    ("limits",),
)
ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "title": "Harmonic sums $\\frac{1}{n}$",
        "text": "Partial sums of $\\frac{1}{n}$ diverge.",
    },
    {"id": "b", "text": "Harmonic series.", "tags": ["series"], "references": ["a"]},
    {"id": "c", "text": "Sums of series diverge, as $\\sum x^2$.", "references": ["a", "b"]},
    {"id": "d", "text": "Ideals are proper.", "references": ["e"]},
    {"id": "e", "title": "The sums", "text": "Rings with primes have no limits."},
]
# For keys of text, in the order of trial.
NAMES = ("porter", "none", "raw", "latex", "slt", "text", "linked", "tfidf", "other")


def leaves(values: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def others(value: object) -> list[object]:
    """Return values that a key may have in place of this one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [other for other in (value * 2, value / 2, 1, 0.5, 5, 0) if other != value]
    if isinstance(value, list):
        return [[value[0], value[1] - 1], [value[0] + 1, value[1]]]
    return [name for name in NAMES if name != value]


def collection_of(task: str, place: Path) -> CollectionFiles:
    if task != "docs":
        return CollectionFiles(indexes=place / "indexes")
    corpus = place / "own" / "corpus.jsonl"
    corpus.parent.mkdir(exist_ok=True)
    corpus.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return CollectionFiles(corpus, place / "indexes")


def made(task: Any, collection: CollectionFiles) -> object:
    """Return what settings decide: the index, the names of runs, and the hits of a topic."""
    task = fitted(task, collection)
    decided = [task.index_task.recipe, task.primary, list(map(task.tag, task.variants))]
    for content in with_needed([task.index_task], collection):
        ensure(content, HERE, [Engine("flat")])
    index = OpenIndex.of(task, collection)
    if task.name == "task2":
        topic = QUESTION._replace(formulas=(r"\sum \frac{1}{n}",))
    elif task.name in ("docs", "nlps"):
        topic = task.topic(TEXT)
    else:
        topic = QUESTION
    for variant in index.variants:
        try:
            decided.append(list(index.rank([topic], variant, 300)))
        except InputError as error:  # the sample has no links of posts
            decided.append(str(error))
    return decided


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_each_key_has_an_effect_or_is_refused(config: Path, tmp_path: Path) -> None:
    configs = shutil.copytree(config.parent, tmp_path / "configs")
    name = config.stem.partition("_")[0]
    collection = collection_of(name, tmp_path)
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    before = made(configured(name, config), collection)
    without = []
    for path in leaves(values):
        changed = copy.deepcopy(values)
        part = changed
        for key in path[:-1]:
            part = part[key]

        found = []
        for other in others(part[path[-1]]):
            part[path[-1]] = other
            (configs / config.name).write_text(
                yaml.safe_dump(changed, sort_keys=False), encoding="utf-8"
            )
            try:
                task = configured(name, configs / config.name)
            except InputError:
                continue
            same_index = task.index_task.recipe == configured(name, config).index_task.recipe
            found.append(not same_index or made(task, collection) != before)
            if found[-1]:
                break
        if found and not found[-1]:
            without.append(".".join(path))
    assert without == []
