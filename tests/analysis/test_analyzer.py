"""Content → terms of an index."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from arqmath_bm25.analysis import answer_text
from arqmath_bm25.analysis.analyzer import Analyzer, FormulaAnalyzer, Terms
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.analysis.safe_html import plain, safe_body, safe_title
from arqmath_bm25.analysis.settings import (
    AnalysisSettings,
    FormulaField,
    LatexSettings,
    TextSettings,
)
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.tasks import configured

if TYPE_CHECKING:
    import pytest

BODY = r"<p>Sums $a+b$ converge $c$ $$x\text{ if odd}$$</p>"


def analyze(settings: AnalysisSettings) -> Terms:
    return Analyzer(settings)(read_body(BODY))


def test_ngrams_stay_inside_their_formula_and_text_joins_the_words() -> None:
    terms = analyze(AnalysisSettings())
    assert terms.words.terms == "sum converg odd"
    assert terms.math.terms == "a + b a~+ +~b a~+~b c x"


def test_single_tokens() -> None:
    settings = AnalysisSettings(latex=LatexSettings(ngrams=(1, 1)))
    assert analyze(settings).math.terms == "a + b c x"


def test_plain_words() -> None:
    settings = AnalysisSettings(text=TextSettings(stemmer="none", stop_words=False))
    assert analyze(settings).words.terms == "sums converge if odd"


def test_paths_through_operator_trees_stay_inside_their_formula() -> None:
    settings = AnalysisSettings(latex=LatexSettings(operators=True))
    paths = Analyzer(settings)(read_body(BODY)).operators.terms
    assert sorted(paths.split()) == sorted([*"+~a +~b ~+ ~c ~x".split(), r"+(~\?~\?)"])


def texts(terms: Terms) -> list[str]:
    return [bag.terms for bag in terms]


ANY_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cs", "Co", "Cc", "Cn", "Mn"]),
        st.sampled_from("$\\{}<>&;#'\"/ax1 \ue000\ue001\ue002\ue003\0"),
    ),
    max_size=40,
)


@settings(max_examples=40)
@given(ANY_TEXT, ANY_TEXT)
def test_no_text_raises_anywhere_and_all_that_is_written_is_text(one: str, other: str) -> None:
    span = f'<p>{one}<span class="math-container" id="{other}">{other}</span>{one}</p>'
    analyzer = Analyzer(AnalysisSettings())
    formulas = FormulaAnalyzer(configured("task2").settings.analysis, get_args(FormulaField))
    for source in (one, span, f"${one}$", f"&#x{other};&#xE000;{'9' * 5000}&#xE000;"):
        text = answer_text.answer_text(source)
        written = [
            *texts(analyzer(read_body(source))), *texts(analyzer(read_title(source))), text,
            safe_body(source, lambda formula, _: plain(formula.latex)),
            safe_title(source, lambda formula, _: plain(formula.latex)),
            *answer_text.sentences(text), answer_text.shorten(text, 9),
            *(term for terms in formulas.latex(source).values() for term in terms),
        ]  # fmt: skip
        " ".join(written).encode()
        answer_text.shorten(source)
        answer_text.unpaired_dollars(source)


def test_one_analyzer_serves_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    # Few things are remembered, so that the threads empty the tables under each other's hands.
    monkeypatch.setattr("arqmath_bm25.analysis.text._KEPT_WORDS", 20)
    monkeypatch.setattr("arqmath_bm25.analysis.latex._MEANING._most", 20)
    posts = PostTable.scan(SAMPLE / "Collection" / "Posts.V1.3.xml")
    ids = [str(post) for post in posts.ids[:60]]
    analyzer = Analyzer(AnalysisSettings())
    formulas = FormulaAnalyzer(configured("task2").settings.analysis, get_args(FormulaField))

    def work(_: int) -> list[object]:
        found: list[object] = []
        for content in (read_body(post.body) for post in map(posts.read, ids) if post):
            found += [
                *texts(analyzer(content)),
                *(formulas.latex(f.latex) for f in content.formulas),
            ]
        return found

    expected = work(0)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert all(found == expected for found in threads.map(work, range(8)))
    finally:
        sys.setswitchinterval(interval)
