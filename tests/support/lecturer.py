r"""The notes of a lecturer, written for the tests of the search page: forty files of five forms.

A line of `lecturer.txt` has the name of a file, its title, its tags and its text; the form follows
from the ending. Of LaTeX every second text is a theorem, so that a page has types to choose by.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

NOTES: Final = Path(__file__).with_name("lecturer.txt")


def write_notes(folder: Path) -> Path:
    """Write the notes below a folder."""
    for number, line in enumerate(NOTES.read_text(encoding="utf-8").splitlines()):
        name, title, rest = line.split("|", 2)
        tags, text = rest.split("|", 1)
        path = folder / name.strip()
        path.parent.mkdir(parents=True, exist_ok=True)
        written = _written(path.suffix, title.strip(), tags.strip(), text.strip(), number)
        path.write_text(written, encoding="utf-8")
    return folder


def _written(ending: str, title: str, tags: str, text: str, number: int) -> str:
    if ending == ".tex":
        if number % 2:
            text = f"\\begin{{theorem}}\\label{{n{number}}}\n{text}\n\\end{{theorem}}"
        return f"\\section{{{title}}}\n{text}\n"
    if ending == ".html":
        return f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{text}</p>\n"
    if ending == ".rst":
        return f"{title}\n{'=' * len(title)}\n\n{text}\n"
    source = f"# {title}\n\n{text}\n"
    if ending == ".ipynb":
        cells = [{"cell_type": "markdown", "metadata": {}, "source": source}]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    if tags:
        return f"---\ntags: [{tags}]\n---\n{source}"
    return source
