"""Prose → words."""

from __future__ import annotations

import unicodedata

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.text import MAX_WORD, SINGULARS, WordAnalyzer


@pytest.mark.parametrize(
    ("prose", "words"),
    [
        ("Does the harmonic series converge?", ["harmon", "seri", "converg"]),
        ("It doesn't: Abel's theorem", ["abel", "theorem"]),
        ("ε-δ Gödel GÖDEL naïve", ["ε", "δ", "godel", "godel", "naiv"]),
        ("ﬁnite 𝐑 Ⅳ", ["finit", "r", "iv"]),
        ("non-zero p_adic x2", ["nonzero", "p", "adic", "x", "2"]),
        ("Nonzero well-known x-axis non-", ["nonzero", "well", "known", "x", "axi", "non"]),
        (
            "Poincaré Erdős–Rényi Łoś Straße ısı",
            ["poincar", "erdo", "renyi", "los", "strass", "isi"],
        ),
        # Signs that are not seen: soft hyphens, word joiners, byte order marks.
        ("Mannig\u00adfaltig\u00adkeit non\u00adtrivial", ["mannigfaltigkeit", "nontrivi"]),
        ("\ufeffno\u2060break", ["nobreak"]),
        ("", []),
        ("the of and", []),
    ],
)
def test_words(prose: str, words: list[str]) -> None:
    assert WordAnalyzer()(prose) == words


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("Invertible matrices", "invertible matrix"),
        ("vertices, axes and indices", "vertex axis index"),
        ("bases under these hypotheses", "basis hypothesis"),
        ("radii, foci, moduli", "radius focus modulus"),
        ("Suprema of polyhedra: criteria", "supremum polyhedron criterion"),
    ],
)
def test_irregular_plurals_are_read_as_their_singulars(plural: str, singular: str) -> None:
    assert WordAnalyzer()(plural) == WordAnalyzer()(singular)
    assert WordAnalyzer("none")(plural) != WordAnalyzer("none")(singular)


def test_each_irregular_plural_has_another_stem_than_its_singular() -> None:
    stem = Stemmer.Stemmer("english").stemWord
    for plural, singular in SINGULARS.items():
        assert stem(plural) != stem(singular)


def test_choices() -> None:
    assert WordAnalyzer(stemmer="none")("the series converges") == ["series", "converges"]
    assert WordAnalyzer(stop_words=False)("the series") == ["the", "seri"]
    assert WordAnalyzer(stemmer="porter")("generally") != WordAnalyzer()("generally")


@given(st.text())
def test_any_text_gives_terms_without_white_space(prose: str) -> None:
    for word in WordAnalyzer()(prose):
        assert 0 < len(word) <= MAX_WORD + 3
        assert word.split() == [word]


@given(st.text())
def test_case_does_not_matter(prose: str) -> None:
    analyze = WordAnalyzer(stemmer="none")
    assert analyze(prose.casefold()) == analyze(analyze and prose.casefold().casefold())


@pytest.mark.parametrize(
    ("prose", "words"),
    [
        ("证明素数有无穷多个", ["证明", "明素", "素数", "数有", "有无", "无穷", "穷多", "多个"]),
        ("素数", ["素数"]),
        ("数", ["数"]),
        ("素数 p と合同式", ["素数", "p", "と合", "合同", "同式"]),
        ("フェルマーの定理", ["フェ", "ェル", "ルマ", "マー", "ーの", "の定", "定理"]),
        ("定理5は", ["定理", "5", "は"]),
        ("त्रिभुज", ["त्रिभुज"]),
        ("चतुर्भुज का क्षेत्रफल", ["चतुर्भुज", "का", "क्षेत्रफल"]),
        ("จำนวนเฉพาะ", ["จํานวนเฉพาะ"]),  # NFKC parts the vowel
        ("מִסְפָּר", ["מִסְפָּר"]),
        ("소수는 무한하다", ["소수는", "무한하다"]),
        ("Höhe x\u0304", ["hohe", "x"]),
    ],
)
def test_words_of_other_scripts(prose: str, words: list[str]) -> None:
    normal = [unicodedata.normalize("NFKC", word) for word in words]
    assert WordAnalyzer(stemmer="none")(prose) == normal
