"""Posts are anybody's HTML; what is shown of them must be harmless and still readable."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from arqmath_bm25.analysis.safe_html import safe_body, safe_title

if TYPE_CHECKING:
    from arqmath_bm25.analysis.html import Formula

KEPT = {"a": {"href", "rel"}, "img": {"src", "alt"}}
ELEMENTS = {"p", "b", "i", "a", "img", "code", "pre", "div", "em", "br", "span", "table", "tbody"}

SCHEME = re.compile(r"[\0- ]*[a-zA-Z][a-zA-Z0-9+.\t\n-]*:")


def written(formula: Formula, display: bool) -> str:
    """Write formulas as other tests do not: with brackets that no post has."""
    left, right = ("⟦⟦", "⟧⟧") if display else ("⟦", "⟧")
    return left + escape(formula.latex) + right


def elements(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """Return every element that a browser would make, with its attributes."""
    tree = LexborHTMLParser(f"<body>{html}</body>")
    assert tree.head is None or not tree.head.text()
    return [
        (node.tag or "", dict(node.attributes))
        for node in (tree.body.traverse() if tree.body else ())
        if node.tag != "body"
    ]


HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    '<img src=x onerror="alert(1)">',
    '<img src="https://x.y/a.png" alt="><script>alert(1)</script>">',
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='java\ue005script:alert(1)'>x</a>",
    "<a href='java\x01script:alert(1)'>x</a>",
    "<a href='java\ue004script:alert(1)'>x</a>",
    "<a href='java&#xe004;script:alert(1)'>x</a>",
    "<a href='java&script:alert(1)'>x</a>",
    "<a href='  java\tscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    '<p onclick="alert(1)" style="background:url(javascript:alert(1))">x</p>',
    "<svg><script>alert(1)</script></svg>",
    "<svg onload=alert(1)>",
    "<math><mtext><script>alert(1)</script></mtext></math>",
    "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
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
    '<a href="https://x.y/$a$"><span class="math-container">"></span></a>',
    "$<script>alert(1)</script>$",
    r"$\href{javascript:alert(1)}{x}$",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_in_a_post_can_act(hostile: str) -> None:
    for tag, attributes in elements(safe_body(f"<p>before</p>{hostile}<p>after</p>", written)):
        assert tag in ELEMENTS
        assert set(attributes) <= KEPT.get(tag, set())
        link = attributes.get("href") or attributes.get("src") or "https://"
        assert link.startswith("https://") or tag == "img" or SCHEME.match(link) is None
    assert elements(safe_title(hostile, written)) == []  # a title is text: its tags are shown


def test_structure_links_and_pictures_stay() -> None:
    body = (
        '<p>See <a href="https://math.stackexchange.com/q/1?a=1&amp;b=2" title="x">this</a>,'
        '<br><em>not</em> <img src="https://i.stack.imgur.com/x.png" alt="a &quot;b&quot;"></p>'
        "<pre><code>x &lt; 1</code></pre>"
    )
    assert elements(safe_body(body, written)) == [
        ("p", {}),
        (
            "a",
            {
                "href": "https://math.stackexchange.com/q/1?a=1&b=2",
                "rel": "noopener noreferrer nofollow",
            },
        ),
        ("br", {}),
        ("em", {}),
        ("img", {"src": "https://i.stack.imgur.com/x.png", "alt": 'a "b"'}),
        ("pre", {}),
        ("code", {}),
    ]


def test_formulas_are_those_that_are_indexed() -> None:
    span = '<span class="math-container" id="{}">{}</span>'
    body = f"<p>If {span.format(7, 'a<b')}, {span.format(8, 'b&lt;c')} or $d$</p>"
    assert safe_body(body, written) == "<p>If ⟦a&lt;b⟧, ⟦b&lt;c⟧ or ⟦d⟧</p>"
    topic = f"Is {span.format('q_1', '$x$')} like {span.format('q_2', '$$y$$')}?"
    assert safe_title(topic, written) == "Is ⟦x⟧ like ⟦y⟧?"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p>$x$</p>", "<p>⟦⟦x⟧⟧</p>"),
        ("<p> $x$. </p>", "<p> ⟦⟦x⟧⟧. </p>"),
        ("a<br>$x$<br>b", "a<br>⟦⟦x⟧⟧<br>b"),  # on a line of its own
        ("<p>so $x$</p>", "<p>so ⟦x⟧</p>"),
        ("<p>$x$ $y$</p>", "<p>⟦x⟧ ⟦y⟧</p>"),
        ("<p><b>$x$</b></p>", "<p><b>⟦x⟧</b></p>"),
        ("<p>so $$x$$ and $y$</p>", "<p>so ⟦⟦x⟧⟧ and ⟦y⟧</p>"),
        (r"<p>so \[x\] and \(y\)</p>", "<p>so ⟦⟦x⟧⟧ and ⟦y⟧</p>"),
        (
            '<p>so <span class="math-container" id="1">$$x$$</span> and '
            '<span class="math-container" id="2">$y$</span></p>',
            "<p>so ⟦⟦x⟧⟧ and ⟦y⟧</p>",
        ),
        (
            r"<p>so \begin{align}x\end{align} and</p>",
            r"<p>so ⟦⟦\begin{align}x\end{align}⟧⟧ and</p>",
        ),
    ],
)
def test_displays_and_formulas_alone_in_their_block_are_displayed(body: str, shown: str) -> None:
    assert safe_body(body, written) == shown


def test_code_is_neither_math_nor_prose() -> None:
    html = safe_body("<p>a $x$</p><pre><code>a = $x$ \\$</code></pre>", written, str.upper)
    assert html == "<p>A ⟦x⟧</p><pre><code>a = $x$ \\$</code></pre>"


@given(st.text(st.sampled_from("<>/=&;\"'$\\ \ue000\x010abdpim\n" + "éx"), max_size=80))
def test_whatever_comes_in_only_known_elements_go_out(text: str) -> None:
    for html in (safe_body(text, written), safe_title(text, written)):
        assert {tag for tag, _ in elements(html)} <= {"a", "b", "p", "i"}
        assert "\ue000" not in html


def test_depth_of_nesting_is_no_limit() -> None:
    deep = safe_body("<div>" * 5000 + "x" + "</div>" * 4950 + "y" + "</div>" * 50, written)
    assert (deep.count("<div>"), "".join(re.findall("[xy]", deep))) == (100, "xy")
