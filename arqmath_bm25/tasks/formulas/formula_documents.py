"""Task 2 documents: one per visually distinct formula, whose terms are those of its first instance.

Rows are read once, in one process; only formulas that are analysed become text, in as many
processes as there are. Every row is accounted for: read = indexed + each kind of left out.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.analyzer import FormulaAnalyzer
from arqmath_bm25.collection.formulas import formula_files, read_formula_blocks
from arqmath_bm25.engines.engine import Document
from arqmath_bm25.tasks.answers.answer_documents import NOTHING
from arqmath_bm25.tasks.document_parts import JSON, write_parts
from arqmath_bm25.tasks.formulas.formula_instances import Groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from arqmath_bm25.analysis.settings import FormulaAnalysisSettings, FormulaField
    from arqmath_bm25.core.workers import Workers
    from arqmath_bm25.tasks.document_parts import Form

_PER_PART: Final = 20_000  # documents that one process writes at a time


def write_formula_documents(
    formulas: Path,
    settings: FormulaAnalysisSettings,
    fields: tuple[FormulaField, ...],
    directory: Path,
    instances: Path,
    workers: Workers,
    progress: Callable[[int], None] = lambda _: None,
    forms: Sequence[Form] = JSON,
) -> dict[str, int]:
    """Write the documents of the formula TSVs to `directory`; return the counts.

    The table of instances goes to the file `instances`. What is written does not depend on the
    number of `workers`. `progress` is told how many bytes each step read.
    """
    groups = Groups()
    counts = Counter(documents=0)
    documents, parts = partial(_documents, settings, fields), _distinct(formulas, groups, progress)
    for counted in write_parts(documents, parts, directory, workers, forms):
        counts.update(counted)
    groups.save(instances)
    return {**groups.counts, **counts}


def _distinct(
    formulas: Path, groups: Groups, progress: Callable[[int], None]
) -> Iterator[list[tuple[str, str]]]:
    """Yield the distinct formulas with their ids, as many at a time as make a part."""
    batch: list[tuple[str, str]] = []
    for file in formula_files(formulas):
        for block in read_formula_blocks(file):
            batch += groups.add(block)
            while len(batch) >= _PER_PART:
                yield batch[:_PER_PART]
                batch = batch[_PER_PART:]
        progress(file.stat().st_size)
    yield batch


# A process does many parts, and the analyzer remembers what it met.
_analyzer = lru_cache(maxsize=1)(FormulaAnalyzer)


def _documents(
    settings: FormulaAnalysisSettings,
    fields: tuple[FormulaField, ...],
    formulas: list[tuple[str, str]],
    counts: Counter[str],
) -> Iterator[Document]:
    analyzer = _analyzer(settings, fields)
    for visual_id, formula in formulas:
        bags = analyzer.bags(formula)
        if bags["contents"].is_empty:
            counts["formulas without a symbol"] += 1
            bags["contents"] = NOTHING
        yield Document(visual_id, bags)
