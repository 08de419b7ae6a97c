"""The fields of a document: its title, its body and its tags, as words and as formulas.

Every task that ranks by fields has these names: NAME_text are words, NAME_math n-grams of LaTeX
tokens, NAME_operators terms of operator trees; NAME is `title`, `body`, or for an answer also its
`question`. A topic has the same fields. `contents` are the words that a document is found by at
least: Anserini requires a field of this name, and skips documents in which it is blank.
"""

from collections.abc import Iterable
from functools import lru_cache

from arqmath_bm25.analysis.analyzer import Analyzer, Terms
from arqmath_bm25.analysis.html import Content
from arqmath_bm25.analysis.terms import Bag
from arqmath_bm25.tasks.settings import FieldSettings, kind

# A process does many parts, and the analyzer remembers the formulas it has read.
_analyzer = lru_cache(maxsize=1)(Analyzer)
NOTHING = Bag(("∅",))  # stands for a document without words; no query holds it


def analyzer_of(settings: FieldSettings) -> Analyzer:
    """Return the analyzer that makes the terms of the fields that settings weigh."""
    return _analyzer(settings.analysis, "math" in map(kind, settings.fields))


def part_fields(name: str, terms: Terms) -> dict[str, Bag]:
    """Return the fields of one part of a document."""
    return {
        f"{name}_text": terms.words,
        f"{name}_math": terms.math,
        f"{name}_operators": terms.operators,
    }


def document_fields(
    title: Terms, body: Terms, tags: Iterable[str], analyzer: Analyzer, name: str = "body"
) -> dict[str, Bag]:
    """Return the fields of a document, or of a topic, of which the body is called `name`."""
    words = " ".join(tags).replace("-", " ")
    tag_terms = analyzer(Content((words,)))
    return {
        **part_fields(name, body),
        **part_fields("title", title),
        "tags": tag_terms.words,
    }
