"""How a hit of any task is shown in the terminal."""

import textwrap
from collections.abc import Iterable
from typing import Final

from rich.text import Text

from arqmath_bm25.cli.shared.options import results
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.records import Hit, Part
from arqmath_bm25.tasks.task import Found

_MARGIN: Final = " " * 5
_WIDTH: Final = 95
_MAX_TERMS: Final = 6  # of a field, that explain a score


def show_hit(
    rank: int, hit: Hit, found: Found, collection: Collection, parts: Iterable[Part]
) -> None:
    """Print a hit: its heading, its source and its text; then the parts of its score."""
    if found.text and found.post:  # an answer of Task 3
        note = f"{hit.score:.2f}  post {hit.doc_id}  {len(found.text):,} characters"
        results.print(Text(note, style="dim"))
        results.print(_wrapped("", found.text))
    else:
        heading = _heading(hit, found)
        note = _note(hit, found, collection)
        results.print(Text(f"{rank:>3}  {heading}", style="bold"))
        results.print(Text(f"{_MARGIN}{note}", style="dim"))
        results.print(_wrapped(_MARGIN, found.short_text, break_on_hyphens=True))
        results.print("")

    for part in parts:
        terms = [f"{term} {score:.3f}" for term, score in part.best_terms(_MAX_TERMS)]
        begin = f"{part.score:>12.3f}  {part.name:<20} "
        results.print(_wrapped(begin, ", ".join(terms)), style="dim")


def _wrapped(begin: str, text: str, break_on_hyphens: bool = False) -> Text:
    """Return a text in lines, with the later ones indented."""
    indent = " " * len(begin)
    wrapper = textwrap.TextWrapper(
        _WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=break_on_hyphens,
    )
    return Text(wrapper.fill(begin + text))


def _heading(hit: Hit, found: Found) -> str:
    """Return the formula or the title of a hit, else its id."""
    if found.formula:
        return found.formula.latex or f"formula {hit.doc_id}"
    if found.title:
        return found.plain_title
    if found.post and not found.question:
        return "(no question)"
    return hit.doc_id


def _note(hit: Hit, found: Found, collection: Collection) -> str:
    """Return the score of a hit, where it is, and the thread of a formula."""
    parts = [f"{hit.score:.2f}"]
    if found.post:
        parts.append(collection.place(found.post))
    elif found.title:
        parts.append(hit.doc_id)
    if found.document and found.document.place:
        parts.append(found.document.place)

    if found.formula:
        parts.append(found.plain_title or "(no question)")
    is_cited_only = not (found.document or found.text or found.body)
    if is_cited_only:
        parts.append("its text is not known: the training set only cites it")

    return "  ".join(parts)
