"""The lines that `make mutants` breaks are where its table says, and so are the tests."""

from __future__ import annotations

import pytest

from tools.mutants import MUTANTS, ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}: {mutant.line}")
def test_a_line_to_break_is_there_once_and_what_takes_its_place_is_python(mutant: Mutant) -> None:
    source = (ROOT / "arqmath_bm25" / mutant.file).read_text(encoding="utf-8")
    assert source.count(mutant.line) == 1
    compile(source.replace(mutant.line, mutant.broken), mutant.file, "exec")
    for name in mutant.tests.split():
        assert [*(ROOT / "tests").glob(f"*/test_{name}.py")], name
