"""Documents of premise selection: words in `contents`, n-grams of formulas in
`contents_math`.

There are three kinds, each for an index of its own, so that what comes from the training set cannot
change the statistics of the premises: premises with their own text, the statements of the training
set, and *profiles*. The profile of a premise is the text of all training statements that cite it;
every premise cited has one, whether or not its own text is known.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.documents.answers import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from arqmath_bm25.analysis.analyzer import Analyzer, Terms
    from arqmath_bm25.collection.premises import Premise, Statement

TEXT: Final = "contents"  # Anserini insists on the name
MATH: Final = "contents_math"


def premise_documents(premises: Iterable[Premise], analyzer: Analyzer) -> Iterator[dict[str, str]]:
    """Yield a document for every premise."""
    for premise in premises:
        yield _document(premise.premise_id, [analyzer(read_title(premise.text))])


def statement_documents(
    training: Iterable[Statement], analyzer: Analyzer
) -> Iterator[dict[str, str]]:
    """Yield a document for every statement."""
    for statement in training:
        yield _document(statement.statement_id, [analyzer(read_title(statement.text))])


def profile_documents(
    training: Iterable[Statement], analyzer: Analyzer
) -> Iterator[dict[str, str]]:
    """Yield the profile of every premise that a statement cites."""
    citing: dict[str, list[Terms]] = defaultdict(list)
    for statement in training:
        terms = analyzer(read_title(statement.text))
        for premise_id in statement.premises:
            citing[premise_id].append(terms)
    for premise_id, texts in citing.items():
        yield _document(premise_id, texts)


def _document(doc_id: str, texts: Iterable[Terms]) -> dict[str, str]:
    words = " ".join(terms.words for terms in texts).strip()
    math = " ".join(terms.math for terms in texts).strip()
    return {"id": doc_id, TEXT: words or NOTHING, MATH: math}


def write_documents(documents: Iterable[dict[str, str]], path: Path) -> int:
    """Write documents as JSON lines; return how many."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for document in documents:
            file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
            count += 1
    return count
