"""Documents of premise selection: words in `contents`, n-grams of formulas in `contents_math`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.engines.documents import Document
from arqmath_bm25.tasks.answers.answer_documents import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.collection.premises import Premise

TEXT: Final = "contents"  # Anserini insists on the name
MATH: Final = "contents_math"


def premise_documents(premises: Iterable[Premise], analyzer: Analyzer) -> Iterator[Document]:
    """Yield a document for every premise."""
    for premise in premises:
        terms = analyzer(read_title(premise.text))
        words = terms.prose if terms.prose.words else NOTHING
        yield Document(premise.premise_id, {TEXT: words, MATH: terms.ngrams})
