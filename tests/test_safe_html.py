"""Posts are anybody's HTML; what is shown to assessors must be harmless and still readable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from arqmath_bm25.analysis.safe_html import plain, safe_body, safe_title

if TYPE_CHECKING:
    from arqmath_bm25.analysis.html import Formula

ALLOWED = set("a b br code div em i img mark p pre span table".split())
ATTRIBUTES = {"href", "rel", "src", "alt", "title", "lang"}


def written(formula: Formula, display: bool) -> str:
    return f"<mark>{plain(formula.latex)}</mark>"


def elements(text: str) -> list[html.HtmlElement]:
    return list(html.fromstring(f"<main>{text}</main>").iter())[1:]


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
        '<img src=x onerror="alert(1)">',
        "<a href='javascript:alert(1)'>x</a>",
        "<a href='  java\tscript:alert(1)'>x</a>",
        "<a href='&#106;avascript:alert(1)'>x</a>",
        "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
        '<p onclick="alert(1)" style="background:url(javascript:alert(1))">x</p>',
        "<svg><script>alert(1)</script></svg>",
        "<svg onload=alert(1)>",
        "<math><mtext><script>alert(1)</script></mtext></math>",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "<template><script>alert(1)</script></template>",
        "<noscript><p title='</noscript><script>alert(1)</script>'></noscript>",
        "<style>@import 'evil.css'</style>",
        "<object data=x></object><embed src=x>",
        "<base href='https://evil.example/'><meta http-equiv=refresh content=0>",
        "<!--><script>alert(1)</script>-->",
        "<scr<script>ipt>alert(1)</scr</script>ipt>",
        "</form><form action='https://evil.example/'><input name=grade_1 value=High checked>",
        '<span class="math-container" id="1"><script>alert(1)</script></span>',
        '<span class="math-container" id="1"></span><script>alert(1)</script>',
        '<a href="https://x.y/<span class="math-container" id="1">" onclick=alert(1)</span>">',
    ],
)
def test_nothing_in_a_post_can_act(hostile: str) -> None:
    for element in elements(safe_body(f"<p>before</p>{hostile}<p>after</p>", written)):
        assert element.tag in ALLOWED
        assert set(element.attrib) <= ATTRIBUTES
        link = element.get("href") or element.get("src") or "https://"
        assert link.startswith("https://")
    for element in elements(safe_title(hostile, written)):
        assert element.tag == "mark"  # a title is text: its tags are shown as they are


def test_structure_links_and_pictures_stay() -> None:
    body = (
        '<p>See <a href="https://math.stackexchange.com/q/1?a=1&amp;b=2" rel="nofollow">this</a>,'
        '<br>\n<em>not</em> <img src="https://i.stack.imgur.com/x.png" alt="a &quot;b&quot;"></p>'
        "<pre><code>x &lt; 1</code></pre>"
    )
    assert safe_body(body, written) == (
        '<p>See <a href="https://math.stackexchange.com/q/1?a=1&amp;b=2" '
        'rel="noopener noreferrer nofollow">this</a>,<br> <em>not</em> '
        '<img src="https://i.stack.imgur.com/x.png" alt="a &quot;b&quot;"></p>'
        "<pre><code>x &lt; 1</code></pre>"
    )


def test_formulas_are_written_as_whoever_shows_them_wants() -> None:
    span = '<span class="math-container" id="{}">{}</span>'
    body = f"<p>If {span.format(7, 'a<b')} and {span.format(8, 'b&lt;c')}</p>"
    assert safe_body(body, written) == "<p>If <mark>a&lt;b</mark> and <mark>b&lt;c</mark></p>"
    topic = f"Is {span.format('q_1', '$x$')} like <b>?"
    assert safe_title(topic, written) == "Is <mark>x</mark> like &lt;b&gt;?"


def test_a_post_cannot_spell_the_mark_of_a_formula() -> None:
    assert safe_body("<p>&#xe000;0&#xe000;!</p>", written) == "<p>!</p>"


@given(st.text(st.sampled_from("<>/=&;\"'$\\ \ue000\x010abdpim\n" + "éx"), max_size=80))
def test_whatever_comes_in_what_goes_out_is_harmless(text: str) -> None:
    for safe in (safe_body(text, written), safe_title(text, written)):
        assert {element.tag for element in elements(safe)} <= {"a", "b", "p", "i", "mark"}


def test_depth_of_nesting_is_no_limit() -> None:
    assert safe_body("<div>" * 5000 + "x", written).count("<div>") == 5000
