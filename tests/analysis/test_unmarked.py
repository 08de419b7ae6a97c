"""Mathematics that nobody marked: where it begins and ends, and what is none."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import arqmath_bm25 as arq
from arqmath_bm25.analysis.html import Content, Formula, read_body
from arqmath_bm25.analysis.unmarked import (
    _runs,
    as_latex,
    formulas_in,
    may_hold_formula,
    with_formulas,
)
from arqmath_bm25.collection.own_documents import UserDocument

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Written by hand: a text, with dollars where its reader sees formulas.
TYPED = [
    r"Why does $\sum \frac1n$ diverge",
    "$x^2+y^2=z^2$",
    "is $sqrt(2)$ irrational?",
    "how to solve $x^2/4 + y^2/9 = 1$ for $y$",
    "show that $a_n -> 0$ as $n$ goes to infinity",
    "evaluate $int_0^1 x^2 dx$",
    "if $a<=b$ and $c>0$",
    "prove $x²+y²≥2xy$ for all $x,y∈ℝ$",
    r"Let $f: X \to Y$ be a map",
    "the sum $sum_(i=1)^n i^3=((n(n+1))/2)^2$ is known",
    "$ax + by = c$ where $a,b,c$ are integers",
    "a group of order $p^2$ is abelian",
    "Let $a$ be an element of order 2 in $G$, $a^2=e$",
    "$lim_{x->0} sin(x)/x$",
    "$n! > 2^n$ for which $n$?",
    "is $1+1/2+1/3+...$ divergent",
    r"Is $\mathbb{Z}[\sqrt{-5}]$ a UFD?",
    "$log n! ~ n log n$",
    r"Find $\lim_{n \to \infty} \left(1+\frac{1}{n}\right)^n$.",
    r"$\inf\{d(x,y):y\in A\}<d(x,y)$",
    "$∑1/n²$ converges",
    "$dim V = dim ker + dim im$",
    "is $det AB = det A det B$ true?",
    "show that $dim ker T = 0$",
    "$rank A < n$ iff $det A = 0$",
    "when is $norm(x+y)^2 = norm(x)^2 + norm(y)^2$",
    "the derivative of $abs(x)$ at 0",
    "eigenvalues: $det(A - lambda I) = 0$",
    "why is $f'(x)=0$ at a maximum",
    "when does $sum q^n$ converge",
    "compute $int x^2 dx$ and $lim a_n$",
]
PROSE = [
    "use and/or in C++ with file_name",
    "we found p = .05 and n = 20",
    "It costs 50% of 5 dollars, or 3-4 euros.",
    "20 m² of CO₂ in C:\\Users\\bob\\x_1",
    "Mail a_b@example.org or see https://example.org/x^2 on 2020-11-23 at 10:30.",
    "Vitamin C, plan B, section 3.1 (a), Type I errors; e.g. the U.S. and I/O.",
    "Press Ctrl+C -> quit, then run ./configure --prefix=/usr && make",
    "He said: 'I am a man' - and (as he was) a good one!",
    "His rank + pay; the rank = 5, and im = 3. It is dim. A rank A player and a det = none.",
    "x86, mp3, utf8, 3D, H2O and R2D2",
    "The norm(s) of a space, the norm of abs, and abs (a muscle).",
    r"\section{Notes} see \cite{knuth} and \emph{this}",
    "The sum of a bill, int x = 5; max of 3 (A side), min 5/day, see Fig. 2 (I think).",
    "declare int n_items, a speed of max 5/s, and max w/o loss or sum a/b",
]


STRUCTURE = re.compile(r"\\[A-Za-z]|[\^_+<>]|\w[(=]")


def split(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text without its dollars, and the places of what stood between them."""
    parts = text.split("$")
    places, written = [], ""
    for number, part in enumerate(parts):
        if number % 2:
            places.append((len(written), len(written) + len(part)))
        written += part
    return written, places


@pytest.mark.parametrize("text", TYPED)
def test_formulas_as_people_type_them(text: str) -> None:
    written, places = split(text)
    assert formulas_in(written) == places


@pytest.mark.parametrize("text", PROSE)
def test_prose_stays_prose(text: str) -> None:
    assert formulas_in(text) == []


def sentences(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.?!])\s+|\n\n", text):
        if 30 < len(sentence) < 400:
            yield " ".join(sentence.split())


def test_two_of_a_hundred_sentences_of_documentation_may_hold_a_formula() -> None:
    modules = "os json email http argparse logging subprocess threading csv sqlite3 asyncio shutil"
    found = {
        sentence
        for name in modules.split()
        for value in vars(__import__(name)).values()
        for sentence in sentences(getattr(value, "__doc__", None) or "")
    }
    chosen = random.Random(0).sample(sorted(found), 400)
    assert sum(bool(formulas_in(sentence)) for sentence in chosen) <= 8


@pytest.mark.parametrize("name", ["cacm", "cisi", "cranfield", "vaswani"])
def test_two_of_a_hundred_sentences_of_abstracts_may_hold_a_formula(
    shared: Path, name: str
) -> None:
    lines = (shared / "data" / "prose" / name / "corpus.jsonl").read_text("utf-8").splitlines()
    found = [s for line in random.Random(0).sample(lines, 200) for s in sentences(line)]
    assert sum(bool(formulas_in(sentence)) for sentence in found) <= 0.02 * len(found)


def blocks(body: str) -> Iterator[list[str | Formula]]:
    """Yield the paragraphs of a post that have words and formulas."""
    block: list[str | Formula] = []
    for piece in (*read_body(body).pieces, "\n"):
        parts = piece.split("\n") if isinstance(piece, str) else [piece]
        block.append(parts[0])
        for part in parts[1:]:
            kinds = {type(each) for each in block if isinstance(each, Formula) or each.strip()}
            if len(kinds) == 2:
                yield block
            block = [part]


def test_formulas_of_posts_are_found_without_their_dollars(shared: Path) -> None:
    """Of those with an operator, a script or a command: a letter or a number may be prose."""
    rows = etree.iterparse(shared / "data" / "mse-raw" / "Posts.xml", tag="row")
    chance = random.Random(0)
    overlapped, exact, count = 0, 0, 0
    for body in chance.sample([row.get("Body") for _, row in rows], 500):
        for block in blocks(body):
            marked = "".join(f"${p.latex}$" if isinstance(p, Formula) else p for p in block)
            if r"\begin" in marked or r"\$" in marked:
                continue
            written, places = split(marked)
            places = [
                place
                for place in places
                if re.search(r"\\[A-Za-z]|[\^_+<>]|\w[(=]", written[slice(*place)])
            ]
            if not places:
                continue
            begin, end = chance.choice(places)
            spans = [span for span in formulas_in(written) if span[0] < end and span[1] > begin]
            formula = written[begin:end].strip(" .,\\")
            overlapped += bool(spans)
            exact += any(written[slice(*span)].strip(" .,\\") == formula for span in spans)
            count += 1
    print(f"{count} formulas: {overlapped / count:.3f} overlapped, {exact / count:.3f} exact")
    assert count > 200
    assert overlapped >= 0.97 * count
    assert exact >= 0.8 * count


@pytest.mark.parametrize(
    ("typed", "latex"),
    [
        ("sqrt(2)", r"\sqrt{2}"),
        ("sum_(i=1)^n i^10", r"\sum_{i=1}^n i^{10}"),
        ("a_n -> oo", r"a_n\to\infty"),
        ("norm(x+y)^2", r"\lVert x+y\rVert^2"),
        (r"\norm(x) = 1", r"\norm(x) = 1"),
        ("norm(x^(n+1)) = 1", r"\lVert x^{n+1}\rVert = 1"),
        ("norm(sqrt(2)x)", r"\lVert \sqrt{2}x\rVert"),
        ("pr + tr = x^2", "pr + tr = x^2"),
        ("abs(x) < 1", r"\lvert x\rvert<1"),
        ("∫₀¹ x² dx", r"\int_0^1 x^2 dx"),
        ("sin(2pi x) <= 1", r"\sin(2\pi x)\le 1"),
    ],
)
def test_what_people_type_has_the_terms_of_its_latex(typed: str, latex: str) -> None:
    assert arq.tokenize(as_latex(typed)) == arq.tokenize(latex)


def test_a_formula_between_backticks_loses_them() -> None:
    (content,) = with_formulas(Content(("prove `sum_(i=1)^n i` for `n`",)))
    assert content.marked() == r"prove $\sum _{i=1}^n i$ for $n$"


def test_plain_documents_without_a_delimiter_get_dollars_and_no_others() -> None:
    document = UserDocument("1", "so x^2 is even", "On n and f(x)")
    assert document.marked("mathjax") == UserDocument("1", "so $x^2$ is even", "On $n$ and $f(x)$")
    for text in ("a_n costs 5$", r"\(x\) or y^2", "<p>x^2</p>", "no formula", "p = .05"):
        assert UserDocument("1", text).marked("mathjax").text == text
    assert document.marked("latex") is document.marked("none") is document


PROVING = r"""
x y ab f n ( ) [ ] , - − / + = < > ~ 2 3 . sin log alpha oo infinity sqrt gcd max a I { } ' ! ’ ½ …
² ≤ ∑ ω Ω ϕ : | _ ^ \ \{ \| \; is on and
""".split()
PASSED = [" word ", " long, ", " the end. ", " of ", " sum ", " rank ", "\n", "{a}"]


@settings(max_examples=400)
@given(st.lists(st.sampled_from([*PROVING, *PASSED, *[" "] * 9]), max_size=16).map("".join))
def test_what_is_passed_over_quickly_holds_no_formula(text: str) -> None:
    runs = list(_runs(text, 0, len(text)))
    spans = [(begin, end) for begin, end, _ in runs]
    assert formulas_in(text, proved=True) == spans
    assert bool(formulas_in(text)) == any(is_proof for _, _, is_proof in runs)


# Formulas far from each other, beside words that are passed over, and words that look like these
# but belong to a formula; as version 0.5 found them, which looked at every word.
@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        (
            "Every word of this long sentence stands before the value f(x), which proves that x is "
            "a number; and what follows has many words until we see the letter y, and the end.",
            ["f(x)", "x", "y"],
        ),
        (
            "Then the rank V = 3 and that is what we need, but sigma alone was given.",
            ["rank V = 3", "sigma"],
        ),
        (
            "This holds for the set of all numbers where rank A + dim ker A = n is known.",
            ["rank A + dim ker A = n"],
        ),
        (
            "the word, alpha and the word. beta are here: gamma of f(t) for all",
            ["alpha", "beta", "gamma", "f(t)"],
        ),
        ("if is = of + to then we know that is all of x^2 there is to see", ["of", "x^2"]),
        ("Words like these (see above), and/or the state-of-the-art ones: 1998, 12 - 3.", []),
        (
            r"we take x_{any word of the whole set} for all of these",
            ["x_{any word of the whole set}"],
        ),
        (
            "one can see  that the\n\nmap  g: A -> B  has the inverse which\nhas been given",
            ["g: A -> B"],
        ),
    ],
)
def test_formulas_among_many_words(text: str, formulas: list[str]) -> None:
    assert [text[begin:end] for begin, end in formulas_in(text)] == formulas


@pytest.mark.parametrize(
    "prose", ["Primes are many.", "so-called rings (of course), and/or fields: 1998", "it's here!"]
)
def test_prose_is_told_by_the_quick_look(prose: str) -> None:
    assert not may_hold_formula(prose)
