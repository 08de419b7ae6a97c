"""What all tests share: real data, indexes that are built once, the order of the files.

* `shared` and `lite` are real data beside the project; tests skip where there are none.
* `sample_indexes` and `lite_indexes` are indexes that are only read (support/shared_indexes.py).
* Of many like cases some are drawn, and all by `make exhaustive` (support/chances.py).
* What needs more than `make setup` brings is marked `extra` (support/extras.py).
* `--cpu 20` prints which files and tests take most CPU time (support/cpu_times.py).
* `--minutes 45` ends tests that do not end (support/time_limit.py).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import _sources  # noqa: F401  # before anything of the package
import chances
import pytest
from extras import is_extra
from hypothesis import settings
from opensearch_nodes import Nodes, started
from shared_indexes import built_once

from arqmath_bm25.core import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = ("cpu_times", "time_limit")

# Files that keep a worker for long: where the last to start is one of them, the others wait for it.
FIRST = (
    "core/test_spark.py", "engines/test_opensearch.py", "engines/test_engines_runs.py",
    "project/test_install.py", "engines/test_opensearch_faults.py", "project/test_killed_calls.py",
    "faces/test_ecosystem.py", "tasks/test_damage.py", "tasks/test_interrupted.py",
    "benchmarks/test_bench.py", "experiments/test_results.py", "project/test_docs.py",
    "tasks/test_task1.py", "pages/test_browser_search.py", "tasks/test_premise_model.py",
)  # fmt: skip

# No test depends on how busy the machine is, and only nightly ones on chance.
settings.register_profile(
    "drawn", deadline=None, derandomize=not chances.exhaustive(), print_blob=True
)
settings.load_profile("drawn")

# A JVM that lives for seconds needs no second compiler.
with suppress(ModuleNotFoundError):
    import jnius_config

    jnius_config.add_options("-XX:TieredStopAtLevel=1")

ROOT = Path(__file__).parent.parent
progress._PAUSE = 3600  # no lines of what takes long, on a busy machine either
os.environ.pop("ARQMATH_DATA", None)  # the sample is meant where no test says another


def pytest_configure() -> None:
    chances.seed()  # for the workers, which inherit it


def pytest_report_header() -> str:
    return chances.told()


@pytest.hookimpl(optionalhook=True)  # `make lowest` runs without xdist
def pytest_xdist_auto_num_workers() -> int:
    return (os.cpu_count() or 1) + 1  # tests of clusters and of a browser mostly wait


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is extra; workers start the files of FIRST first, then slow tests."""
    for item in items:
        if is_extra(item):
            item.add_marker("extra")

    if not hasattr(config, "workerinput"):  # One process keeps the order that it was given.
        return
    tests = ROOT / "tests"
    order = {tests / name: place for place, name in enumerate(FIRST)}
    assert all(path.is_file() for path in order), "a file of FIRST is not there"
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (order.get(item.path, len(order)), item.path not in slow))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data that is not part of the project; ARQMATH_SHARED says where it is."""
    path = Path(os.environ.get("ARQMATH_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no real data at {path}; set ARQMATH_SHARED")
    return path


@pytest.fixture(scope="session")
def lite(shared: Path) -> Path:
    """Return the root of a real subset of the collection in the official layout."""
    return shared / "data" / "arqmath-lite"


@pytest.fixture(scope="session")
def sample_indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def lite_indexes(tmp_path_factory: pytest.TempPathFactory, lite: Path) -> Path:
    return built_once(tmp_path_factory.getbasetemp(), lite)


@pytest.fixture(scope="session")
def opensearch() -> Iterator[Nodes]:
    """Return a real OpenSearch node, alone."""
    with started(1) as nodes:
        yield nodes
