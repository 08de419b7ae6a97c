"""Source files split into parts; expected parts are written by hand from the sources."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from growth import check_growth

from arqmath_bm25.analysis import markup
from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.collection.source_files import anchor_of, read_source
from arqmath_bm25.collection.taken_in import SourceInputs
from arqmath_bm25.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

THESIS = r"""
\documentclass{article}
\newcommand{\R}{\mathbb{R}}
\title{Analysis {\em One}}
\begin{document}
Welcome to the course.
\section{Convergence}\label{sec:convergence}
A sequence $x_n \in \R$ converges. % \section{Not one}
\begin{theorem}[Bolzano] \label{thm:bw}
Every bounded sequence in $\R^n$ has a convergent subsequence.
\end{theorem}
\begin{proof}
By \cref{lem:a, lem:b} and Section~\ref{sec:convergence}.
\end{proof}
After it.
\begin{lemma}Without a label.\end{lemma}
\section*{Series}
$\sum 1/n$ diverges.
\end{document}
\section{Never read}
"""


def parts_of(tmp_path: Path, name: str, text: str, whole: bool = False) -> dict[str, str]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    parts = read_source(tmp_path / name, tmp_path, whole).parts
    return {part.anchor: f"{part.title} | {' '.join(part.text.split())}" for part in parts}


def test_latex_is_split_at_headings_and_labelled_statements(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, "thesis.tex", THESIS)
    macro = r"\newcommand{\R}{\mathbb{R}}"
    title = "Analysis One"
    assert list(parts) == ["", "sec:convergence", "thm:bw", "series"]
    assert parts[""] == f"{title} | Welcome to the course."
    assert "Without a label." in parts["sec:convergence"]
    assert "Bolzano" not in parts["sec:convergence"]
    assert "Not one" not in parts["sec:convergence"]
    assert parts["thm:bw"].startswith(rf"{title} › Convergence › Theorem: Bolzano | {macro}")
    assert "By \\cref" in parts["thm:bw"]
    assert parts["series"] == rf"{title} › Series | $\sum 1/n$ diverges."


def test_a_heading_above_others_is_part_of_their_titles_and_no_part_itself(tmp_path: Path) -> None:
    text = r"""\title{Analysis}\begin{document}\maketitle
\section{Series}\label{sec:series}
\begin{theorem}\label{thm:leibniz}It converges.\end{theorem}
\subsection{Tests}
\begin{lemma}[Root]\label{lem:root}$q<1$\end{lemma}
\section{Empty}
\subsection{}
\end{document}"""
    (tmp_path / "a.tex").write_text(text)
    parts = read_source(tmp_path / "a.tex", tmp_path).parts
    assert [(part.anchor, part.title, part.labels) for part in parts] == [
        ("thm:leibniz", "Analysis › Series › Theorem", ("sec:series", "thm:leibniz")),
        ("lem:root", "Analysis › Series › Tests › Lemma: Root", ("lem:root",)),
        ("empty", "Analysis › Empty", ()),
    ]


def test_titles_of_latex_are_as_readers_see_them(tmp_path: Path) -> None:
    text = r"""\newcommand{\R}{\mathbb{R}}\begin{document}
\section{Bolzano--Weierstrass in $\R^n$} Words.
\section*{\texorpdfstring{$L^p$}{Lp} spaces\thanks{Draft}} Norms.
\begin{lemma}[H\"older's \emph{``trick''}]\label{a} More.\end{lemma}
\end{document}"""
    parts = parts_of(tmp_path, "a.tex", text)
    titles = [part.partition(" | ")[0] for part in parts.values()]
    section = r"Bolzano–Weierstrass in $\mathbb{R}^n$"
    assert titles == [section, "$L^p$ spaces", "$L^p$ spaces › Lemma: Hölder's “trick”"]


def test_signs_in_titles_of_latex_are_no_commands(tmp_path: Path) -> None:
    text = r"""\title{Notes on the 50\% rule}\begin{document}
\section{From \$5 to \$x^2$} Words.\end{document}"""
    (tmp_path / "a.tex").write_text(text)
    (part,) = read_source(tmp_path / "a.tex", tmp_path).parts
    assert part.title == r"Notes on the 50% rule › From \$5 to \$x^2\$"
    title, _ = UserDocument("1", part.text, part.title, kind="latex").contents("auto")
    assert title.pieces == ("Notes on the 50% rule › From $5 to $x^2$",)


def test_references_of_a_statement_are_those_of_its_proof_too(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text(THESIS)
    parts = {part.anchor: part for part in read_source(tmp_path / "thesis.tex", tmp_path).parts}
    assert parts["thm:bw"].references == ("lem:a", "lem:b", "sec:convergence")
    assert parts["thm:bw"].labels == ("thm:bw",)


def test_a_whole_file_is_one_part(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, "thesis.tex", THESIS, whole=True)
    assert list(parts) == [""]
    assert parts[""].startswith("Analysis One | ")
    for words in ("Welcome", "Bolzano", "diverges"):
        assert words in parts[""]


LINES = {
    "a.md": (
        "---\ntitle: T\n---\nWords\n\n# One\nword\n\n"
        "```\n# Two\n```\n\n# Two\nword\n\nThree\n---\nword\n",
        {"": 1, "one": 6, "two": 13, "three": 16},
    ),
    "a.tex": (
        "% Notes\n\\begin{document}\nWords.\n% none\n\\section{One} % first\nword\n"
        "\\begin{theorem}\\label{thm:a}\nA word.\n\\end{theorem}\n\\input{b}\n"
        "\\section{Two}\nword\n\\end{document}\n",
        {"": 1, "one": 5, "thm:a": 7, "inner": 1, "two": 11},
    ),
    "a.rst": ("One\n===\n\nword\n\nTwo\n---\n\nword\n", {"one": 1, "two": 6}),
    "a.org": ("Words\n\n* One\nword\n** Two\nword\n", {"": 1, "one": 3, "two": 5}),
    "a.lean": ("theorem one : 1 = 1 := rfl\ntheorem two : 2 = 2 := rfl\n", {"one": 1, "two": 2}),
    "a.txt": ("Title\n\nwords\n", {"": 1}),
}


@pytest.mark.parametrize("name", LINES)
def test_a_part_has_the_line_where_it_begins(tmp_path: Path, name: str) -> None:
    text, lines = LINES[name]
    (tmp_path / name).write_text(text)
    (tmp_path / "b.tex").write_text("\\section{Inner}\nword\n")
    parts = read_source(tmp_path / name, tmp_path).parts
    assert {part.anchor: part.line for part in parts} == lines


def test_inputs_are_read_where_they_are_taken_in(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.tex").write_text(r"Cauchy. \input{deep} \input{main}")
    (tmp_path / "sub" / "deep.tex").write_text("Uniform.")
    text = r"\section{A} \input{sub/more} \include{absent} End. % \input{sub/deep}"
    parts = parts_of(tmp_path, "main.tex", text)
    assert parts["a"] == "A | Cauchy. Uniform. End."
    inputs = SourceInputs(tmp_path)
    inputs.expanded(text, tmp_path / "main.tex")
    assert {path.name for path in inputs.taken} == {"more.tex", "deep.tex"}


def test_no_input_leads_out_of_the_collection(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (tmp_path / "secret.tex").write_text("password")
    (root / "link.tex").symlink_to(tmp_path / "secret.tex")
    text = r"\section{A} words \input{../secret} \input{link} \input{/etc/passwd}"
    assert "password" not in parts_of(root, "main.tex", text)["a"]


@pytest.mark.slow
def test_inputs_that_multiply_come_to_an_end(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number}.tex").write_text(rf"x \input{{f{number + 1}}}" * 10)
    began = time.perf_counter()
    parts_of(tmp_path, "main.tex", r"\section{A} \input{f0}")
    assert time.perf_counter() - began < 20


def test_markdown_is_split_at_headings_outside_of_code(tmp_path: Path) -> None:
    text = (
        '---\ntitle: "Groups"\n---\nIntro.\n\n# Lagrange’s theorem ##\n\nThe order.\n\n'
        "```python\n# a comment\n```\n\nCosets\n------\n\n$gH$\n\n## Named {#own-anchor}\n\nx\n\n"
        "# Cosets\n\nagain\n\n# Empty\n"
    )
    assert parts_of(tmp_path, "groups.md", text) == {
        "": "Groups | Intro.",
        "lagrange-s-theorem": "Groups › Lagrange’s theorem | The order. ```python # a comment ```",
        "cosets": "Groups › Lagrange’s theorem › Cosets | $gH$",
        "own-anchor": "Groups › Lagrange’s theorem › Named | x",
        "cosets-2": "Groups › Cosets | again",
        "empty": "Groups › Empty | ",
    }


def test_lists_and_rules_are_no_headings(tmp_path: Path) -> None:
    text = "- a\n- b\n---\n\n| x | y |\n|---|---|\n\nText\n\n---\n\nmore #hashtag\n"
    assert list(parts_of(tmp_path, "list.md", text)) == [""]


def test_a_notebook_has_its_markdown_and_its_code(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Fourier\n", "The transform $\\hat f$."]},
        {"cell_type": "code", "source": "# no heading\nimport numpy"},
        {"cell_type": "raw", "source": "left out"},
    ]
    parts = parts_of(tmp_path, "a.ipynb", json.dumps({"cells": cells}))
    code = "``` # no heading import numpy ```"
    assert parts == {"fourier": rf"Fourier | The transform $\hat f$. {code}"}


def test_what_a_notebook_has_printed_is_read(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["Newton's method\n", "converges\n"]},
        {"output_type": "stream", "name": "stderr", "text": "DeprecationWarning"},
        {"output_type": "display_data", "data": {"text/latex": ["$\\displaystyle x^{2}$"]}},
        {"output_type": "execute_result", "data": {"text/plain": ["<Figure size 640x480>"]}},
        {"output_type": "error", "ename": "NameError", "traceback": ["..."]},
    ]
    cells = [{"cell_type": "code", "source": "solve()", "outputs": outputs}]
    text = parts_of(tmp_path, "a.ipynb", json.dumps({"cells": cells}))[""]
    assert "Newton's method converges" in text
    assert r"$\displaystyle x^{2}$" in text
    assert not any(word in text for word in ("Warning", "Figure", "NameError"))


def test_macros_of_front_matter_hold_for_the_file(tmp_path: Path) -> None:
    text = (
        "---\ntitle: Norms\nmath:\n  '\\R': '\\mathbb{R}'\n  '\\norm': '\\lVert #1 \\rVert'\n---\n"
        "# One\n\nLet $x \\in \\R$.\n\n# Two\n\nThen $\\norm{x}$.\n"
    )
    (tmp_path / "a.md").write_text(text)
    html = [part.html for part in read_source(tmp_path / "a.md", tmp_path).parts]
    assert r"x \in \mathbb{R}" in html[0]
    assert r"\lVert x \rVert" in html[1]


@pytest.mark.parametrize(
    "outputs",
    [1, [1], [{"name": "stdout"}], [{"data": 1}], [{"data": {"text/latex": 1}}], {"a": "b"}],
)
def test_an_odd_output_leaves_the_cells_of_a_notebook(tmp_path: Path, outputs: object) -> None:
    cells = [
        {"cell_type": "markdown", "source": "The ring $R$."},
        {"cell_type": "code", "source": "solve()", "outputs": outputs},
    ]
    text = parts_of(tmp_path, "a.ipynb", json.dumps({"cells": cells}))[""]
    assert "The ring $R$." in text
    assert "solve()" in text


@pytest.mark.parametrize("text", ["", "[]", '{"cells": [{}]}', '{"cells": 1}', "[" * 100_000])
def test_a_damaged_notebook_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"a\.ipynb: expected a Jupyter notebook"):
        parts_of(tmp_path, "a.ipynb", text)


def test_restructured_text_has_formulas_and_headings(tmp_path: Path) -> None:
    text = (
        "=====\nTitle\n=====\n\nThe :math:`x^2` and\n\n.. math::\n   :label: one\n\n   a+b=c\n\n"
        "Part\n====\n\nend\n"
    )
    (tmp_path / "a.rst").write_text(text)
    parts = {part.anchor: part for part in read_source(tmp_path / "a.rst", tmp_path).parts}
    content = read_body(parts["title"].text)
    assert content.prose == "The and"
    assert [formula.latex for formula in content.formulas] == ["x^2", "a+b=c"]
    assert parts["title"].labels == ("one",)
    assert parts["part"].title == "Title › Part"
    assert read_body(parts["part"].text).prose == "end"


def test_a_page_is_split_at_its_headings_without_its_navigation(tmp_path: Path) -> None:
    text = (
        "<html><head><title>Topology</title></head><body><nav>menu</nav><main><p>first</p>"
        r"<h1>Compact &amp; closed</h1><p>Every cover</p><h2>Hausdorff \(T_2\)</h2><p>separated</p>"
        "</main></body></html>"
    )
    parts = parts_of(tmp_path, "page.html", text)
    assert parts == {
        "": "Topology | <p>first</p>",
        "compact-closed": "Compact & closed | <p>Every cover</p>",
        "hausdorff-t-2": "Compact & closed › Hausdorff $T_2$ | <p>separated</p>",
    }


def test_a_part_names_the_file_that_holds_it(tmp_path: Path) -> None:
    book = {
        "main.tex": "\\begin{document}\n\\section{One}\n\\input{ch/a}\n\\input{ch/b}\n"
        "\\section{Last}\nWords.\n\\end{document}\n",
        "ch/a.tex": "% of last year\n\\section{Two}\nWords.\n\\input{ch/deep}\n",
        "ch/b.tex": "Words.\n\n\\section{Exercises}\nWords.\n",
        "ch/deep.tex": "\\section{Exercises}\n\\begin{lemma}\\label{l}\nWords.\\end{lemma}\n",
    }
    (tmp_path / "ch").mkdir()
    for name, text in book.items():
        (tmp_path / name).write_text(text)
    parts = read_source(tmp_path / "main.tex", tmp_path).parts
    assert {part.anchor: (part.file, part.line) for part in parts} == {
        "one": ("", 2),
        "two": ("ch/a.tex", 2),
        "exercises": ("ch/deep.tex", 1),
        "l": ("ch/deep.tex", 2),
        "exercises-2": ("ch/b.tex", 3),
        "last": ("", 5),
    }


def test_the_first_line_of_a_text_is_its_title_if_it_stands_alone(tmp_path: Path) -> None:
    assert parts_of(tmp_path, "a.txt", "Primes\n\nInfinitely many.") == {
        "": "Primes | Infinitely many."
    }
    assert parts_of(tmp_path, "b.txt", "Primes are\ninfinitely many.") == {
        "": " | Primes are infinitely many."
    }


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"a\0b")
    with pytest.raises(InputError, match=r"a\.md: it holds the character NUL"):
        read_source(tmp_path / "a.md", tmp_path)


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [("Émile Borel's  Lemma", "émile-borel-s-lemma"), ("$x^2$", "x-2"), ("***", "section")],
)
def test_anchors_of_headings(heading: str, anchor: str) -> None:
    assert anchor_of(heading) == anchor


@pytest.mark.parametrize("name", ["a.tex", "a.md", "a.html", "a.rst", "a.txt"])
@pytest.mark.parametrize(
    "piece",
    [
        r"\section{", r"\begin{theorem}", r"\begin{theorem}\label{a}\end{theorem}\begin{proof}",
        "# ", "```\n", "<h1>", "<div>", "x\n===\n", ".. math::\n\n   x\n", ":math:`", "{", "%",
    ],
)  # fmt: skip
def test_reading_takes_linear_time(tmp_path: Path, name: str, piece: str) -> None:
    few, many = tmp_path / f"few-{name}", tmp_path / f"many-{name}"
    few.write_text(piece * 2_000)
    many.write_text(piece * 16_000)
    check_growth(lambda path: read_source(path, tmp_path), few, many, limit=24, floor=0.02)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.tex",
            r"\section{S}Text.\begin{exercise}\label{ex}Count.\end{exercise}"
            "\n\n"
            r"\begin{solution}Seven.\end{solution}After.\begin{solution}Apart.\end{solution}",
        ),
        (
            "a.md",
            "# S\n\nText.\n\n```{exercise}\n:label: ex\nCount.\n```\n\n"
            "```{solution} ex\n:label: so\nSeven.\n```\n\nAfter.\n\n"
            "```{solution} ex\nApart.\n```\n",
        ),
    ],
)
def test_a_solution_is_with_the_exercise_before_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    section, exercise = read_source(tmp_path / name, tmp_path).parts
    assert markup.words(section.html).split() == ["Text.", "After.", "Apart."]
    assert markup.words(exercise.html).split() == ["Count.", "Seven."]
    assert "Seven" in exercise.text
    assert "Seven" not in exercise.statement
