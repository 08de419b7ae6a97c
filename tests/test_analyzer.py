"""Content → terms of an index."""

from __future__ import annotations

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.config import AnalysisSettings, LatexSettings, TextSettings

BODY = r"<p>Sums $a+b$ converge $c$ $$x\text{ if odd}$$</p>"


def analyze(settings: AnalysisSettings) -> tuple[str, str]:
    return Analyzer(settings)(read_body(BODY))


def test_ngrams_stay_inside_their_formula_and_text_joins_the_words() -> None:
    words, math = analyze(AnalysisSettings())
    assert words == "sum converg odd"
    assert math == "a + b a~+ +~b a~+~b c x"


def test_single_tokens() -> None:
    settings = AnalysisSettings(latex=LatexSettings(ngrams=(1, 1)))
    assert analyze(settings)[1] == "a + b c x"


def test_word_like_terms() -> None:
    settings = AnalysisSettings(latex=LatexSettings(ngrams=(1, 2), form="words"))
    assert analyze(settings)[1] == "a plus b a_plus plus_b c x"


def test_plain_words() -> None:
    settings = AnalysisSettings(text=TextSettings(stemmer="none", stop_words=False))
    assert analyze(settings)[0] == "sums converge if odd"


def test_settings_that_change_terms_change_the_fingerprint() -> None:
    default = AnalysisSettings()
    others = [
        AnalysisSettings(latex=LatexSettings(ngrams=(1, 2))),
        AnalysisSettings(latex=LatexSettings(form="words")),
        AnalysisSettings(text=TextSettings(stemmer="porter")),
    ]
    fingerprints = {default.fingerprint, *(other.fingerprint for other in others)}
    assert len(fingerprints) == 4
    assert AnalysisSettings().fingerprint == default.fingerprint
