"""Comments' Markdown: code, bold, italics, links; formulas and everything else stay as they are."""

from __future__ import annotations

import pytest

from arqmath_bm25.analysis.mini_markdown import comment_html
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.pages.threads import ThreadPosts, ThreadWriter


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold** and *it* or _it_", "<strong>bold</strong> and <em>it</em> or <em>it</em>"),
        ("`a*b*c` <b>", "<code>a*b*c</code> &lt;b&gt;"),
        ("[here](https://a.org/x_y_z?a=1&b=2 'title')!",
         '<a href="https://a.org/x_y_z?a=1&amp;b=2">here</a>!'),
        (r"$a*b*c$ and $$x_1 y_1$$ *so*", r"$a*b*c$ and $$x_1 y_1$$ <em>so</em>"),
        ('<span class="math-container" id="3">a<b *x* y</span> *so*',
         '<span class="math-container" id="3">a<b *x* y</span> <em>so</em>'),
        ("snake_case_name, 2 * 3 * 4, *open, **open, `open", None),
        ("[x](javascript:alert(1)) [y](data:text/html,z) ![i]", None),
        ("1 &lt; 2 & 3", "1 &lt; 2 &amp; 3"),
    ],
)  # fmt: skip
def test_markup(text: str, html: str | None) -> None:
    assert comment_html(text) == (text if html is None else html)


def test_a_comment_on_a_page_is_safe_and_its_links_lead_to_pages_or_nowhere() -> None:
    thread = ThreadPosts("1", None, [], [])
    writer = ThreadWriter(thread, CollectionFiles(), {"7": "7.html#post-7"}.get)
    html = writer.text(
        "comment", "3",
        "*See* [this](https://math.stackexchange.com/q/7), "
        "[that](https://a.org/'onclick='x), <script>alert(1)</script> and "
        '<span class="math-container" id="3">x<y</span>'
        '<span class="math-container" onclick="x()">z</span>',
    )  # fmt: skip
    assert html.startswith('<em>See</em> <a href="7.html#post-7">this</a>, <span class="outside">')
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert 'onclick="' not in html
    assert html.count("<math") == 1
