"""Thirty questions find their sections in a LaTeX book, a MyST book and an Obsidian vault.

The questions were written from the titles, before anything was ranked. Most have other words than
their section of one or two sentences, so the mean reciprocal rank is .80, .80 and .79.
"""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean

import pytest

import arqmath_bm25 as arq

SUPPORT = Path(__file__).parents[1] / "support"
TOPICS = [
    line.split("\t") for line in (SUPPORT / "known_topics.tsv").read_text("utf-8").splitlines()
]
QUESTIONS = [
    line.split("\t") for line in (SUPPORT / "known_questions.tsv").read_text("utf-8").splitlines()
]
CHAPTERS = list(dict.fromkeys(chapter for chapter, _, _ in TOPICS))
LEAST = 0.78
FORMULA = re.compile(r"\$([^$]+)\$")


def sections_of(chapter: str) -> list[tuple[int, str, str]]:
    found = enumerate(TOPICS)
    return [(number, title, text) for number, (of, title, text) in found if of == chapter]


def latex_book() -> dict[str, str]:
    files = {
        "macros.sty": "",
        "main.tex": (
            "\\documentclass{book}\n\\newcommand{\\R}{\\mathbb{R}}\n"
            "\\newtheorem{satz}{Theorem}\n\\title{Notes}\n\\begin{document}\n\\maketitle\n"
            + "".join(f"\\include{{ch/{number}}}\n" for number in range(len(CHAPTERS)))
            + "\\end{document}\n"
        ),
    }
    for place, chapter in enumerate(CHAPTERS):
        lines = [f"\\chapter{{{chapter}}}"]
        for number, title, text in sections_of(chapter):
            text = text.replace(r"\mathbb{R}", r"\R")
            lines += [f"\\section{{{title}}}\\label{{sec:{number}}}", text]
            lines += [f"See also Section~\\ref{{sec:{number + 1}}}.", ""]
        files[f"ch/{place}.tex"] = "\n".join(lines)
    return files


def myst_book() -> dict[str, str]:
    files = {"myst.yml": 'project:\n  math:\n    "\\\\R": "\\\\mathbb{R}"\n'}
    for place, chapter in enumerate(CHAPTERS):
        lines = [f"# {chapter}", ""]
        for number, title, text in sections_of(chapter):
            text = FORMULA.sub(r"{math}`\1`", text.replace(r"\mathbb{R}", r"\R"))
            lines += [f"(sec-{number})=", f"## {title}", "", "```{prf:remark}"]
            lines += [text, "```", "", f"More in {{ref}}`sec-{number + 1}`.", ""]
        files[f"{place}.md"] = "\n".join(lines)
    return files


def vault() -> dict[str, str]:
    files = {}
    for (chapter, title, text), (_, after, _) in zip(TOPICS, TOPICS[1:] + TOPICS[:1], strict=True):
        tag = chapter.lower().replace(" ", "-")
        files[f"{chapter}/{title}.md"] = (
            f"---\ntags: [{tag}]\n---\n> [!note] Remark\n> {text}\n\nThen [[{after}]].\n"
        )
    return files


@pytest.mark.parametrize("form", [latex_book, myst_book, vault])
def test_questions_find_their_sections(tmp_path: Path, form: object) -> None:
    assert callable(form)
    for name, text in form().items():
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    index = arq.Collection(tmp_path / "notes", tmp_path / "i").index("docs", threads=1)
    ranks = []
    for title, question in QUESTIONS:
        found = index.search(question)["title"].tolist()
        places = [place for place, each in enumerate(found, 1) if each.split(" › ")[-1] == title]
        ranks.append(sum(1 / place for place in places[:1]))
    assert len(TOPICS) >= 150
    assert mean(ranks) >= LEAST


def a_long_and_a_short_section(notes: Path) -> list[dict[str, str]]:
    """Write a long section that begins with a subject, and a shorter one that ends with it."""
    others = [f"{first}{second}zy" for first in "abcdefgh" for second in "abcdefghijklm"]
    texts = {
        "long": f"# Alpha\n\nKernels of operators are closed. {' '.join(others)}.\n",
        "short": f"# Beta\n\nBounds of norms. {' '.join(others[:45])} See kernels.\n",
    }
    notes.mkdir()
    for name, text in texts.items():
        (notes / f"{name}.md").write_text(text, encoding="utf-8")
    return [{"id": name, "text": text} for name, text in texts.items()]


def test_a_section_is_found_by_its_first_words_however_long_it_is(tmp_path: Path) -> None:
    rows = a_long_and_a_short_section(tmp_path / "notes")
    index = arq.Collection(tmp_path / "notes", tmp_path / "i").index("docs", threads=1)
    assert index.search("kernels")["docno"].tolist() == ["long.md#alpha", "short.md#beta"]

    config = tmp_path / "own.yaml"
    config.write_text(
        "variants: {both: {lead_text: 0}}\nbm25: {fields: {contents: {k1: 1.2, b: 0.75}}}\n",
        encoding="utf-8",
    )
    index = arq.Collection(tmp_path / "notes", tmp_path / "i").index("docs", config=config)
    assert index.search("kernels")["docno"].tolist() == ["short.md#beta", "long.md#alpha"]

    index = arq.Collection.of(rows, indexes=tmp_path / "i").index("docs", threads=1)
    assert index.search("kernels")["docno"].tolist() == ["short", "long"]
