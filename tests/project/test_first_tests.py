"""The choice of the tests for `make first`."""

from __future__ import annotations

from tools.first_tests import CHOSEN, ROOT, choose, lines_of


def test_files_are_taken_by_the_lines_that_they_add_in_a_second() -> None:
    lines = [("a.py", number) for number in range(100)]
    reached = {
        "quick": set(lines[:40]),
        "the same": set(lines[:39]),  # adds nothing to the one above
        "slow": set(lines),
        "other": set(lines[40:60]),
        "too long": {*lines, ("b.py", 1)},
    }
    seconds = {"quick": 0.1, "the same": 0.1, "slow": 5.0, "other": 0.2, "too long": 9.0}
    chosen, found = choose(reached, seconds, {("b.py", 2)})
    assert chosen == ["other", "quick", "slow"]
    assert found == {*lines, ("b.py", 2)}


def test_lines_of_nested_functions_count() -> None:
    source = "def f():\n    def g():\n        return 1\n    return g\n"
    assert {line for _, line in lines_of(compile(source, "a.py", "exec"))} == {1, 2, 3, 4}


def test_the_files_that_were_chosen_are_there() -> None:
    says, *files = CHOSEN.read_text(encoding="utf-8").splitlines()
    assert says.startswith(f"# {len(files)} files of tests reach")
    for file in files:
        assert (ROOT / file).is_file(), f"{file} is gone; choose anew: tools/first_tests.py"
