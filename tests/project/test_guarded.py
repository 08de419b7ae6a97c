"""Which slow tests `make test` leaves out: those that guard nothing that changed."""

from __future__ import annotations

import guarded
import pytest
from guarded import GUARDED, ROOT, left_out


def test_every_file_that_is_named_is_there() -> None:
    for pattern, paths in GUARDED.items():
        assert [*ROOT.glob(pattern)], pattern
        for path in paths:
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    ("changed", "runs"),
    [
        ("arqmath_bm25/engines/opensearch/connection.py", "tests/engines/test_opensearch*.py"),
        ("tests/engines/test_opensearch_faults.py", "tests/engines/test_opensearch*.py"),
        ("arqmath_bm25/pages/templates/search.html", "tests/pages/test_browser*.py"),
        ("pyproject.toml", "tests/project/test_install.py"),
        ("README.md", None),
    ],
)
def test_a_change_calls_for_the_tests_that_guard_it(
    changed: str, runs: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARQMATH_ALL_TESTS", raising=False)
    monkeypatch.delenv("ARQMATH_EXHAUSTIVE", raising=False)
    monkeypatch.setattr(guarded, "_changed", lambda: [changed])
    assert (runs in left_out()) is False
    assert len(left_out()) >= len(GUARDED) - 2


def test_all_run_where_that_is_asked_for_or_there_is_no_git(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ARQMATH_EXHAUSTIVE", raising=False)
    monkeypatch.setenv("ARQMATH_ALL_TESTS", "1")
    assert left_out() == []
    monkeypatch.delenv("ARQMATH_ALL_TESTS")
    monkeypatch.setattr(guarded, "_changed", lambda: None)
    assert left_out() == []
