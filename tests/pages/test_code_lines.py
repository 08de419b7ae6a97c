"""Code keeps its lines on the pages of documents, however it was written."""

from __future__ import annotations

import pytest

from arqmath_bm25.analysis.kinds import Kind
from arqmath_bm25.analysis.rst_html import rst_html
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.pages.post_html import PostWriter

CODE = "def f(x):\n    if x < 1:\n\n        return $x$ & y"
INDENTED = CODE.replace("\n", "\n    ").replace("    \n", "\n")
ESCAPED = CODE.replace("&", "&amp;").replace("<", "&lt;")


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("markdown", f"Words.\n\n```python\n{CODE}\n```\n\nAfter.\n"),
        ("markdown", f"Words.\n\n    {INDENTED}\n\nAfter.\n"),
        ("latex", f"Words.\n\\begin{{verbatim}}\n{CODE}\n\\end{{verbatim}}\nAfter.\n"),
        ("latex", f"Words.\n\\begin{{lstlisting}}\n{CODE}\n\\end{{lstlisting}}\nAfter.\n"),
        ("html", f"<html><body><p>Words.</p><pre>{ESCAPED}</pre><p>After.</p></body></html>"),
        ("post", f"<p>Words.</p><pre><code>{ESCAPED}</code></pre><p>After.</p>"),
        ("post", rst_html(f"Words::\n\n    {INDENTED}\n\nAfter.\n")),
    ],
)
def test_code_keeps_its_lines(kind: Kind, text: str) -> None:
    body = str(PostWriter().body(UserDocument("1", text, kind=kind).body("auto")))
    assert ESCAPED in body, body
