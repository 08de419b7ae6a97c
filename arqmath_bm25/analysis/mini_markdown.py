"""Comments of Stack Exchange: their mini-Markdown as HTML, which must be sanitised afterwards.

Comments may have code, bold, italics and links, and no other markup (the site's help on comments).
Formulas, in dollars or in the lab's spans, are left unchanged. Unclosed marks are text. CommonMark,
as `markdown_html` reads it, has more: lists, headings, escapes and images, which are text here.
"""

from html import escape, unescape

from arqmath_bm25.core.lazy import expression

# Repeats are bounded, so that time is linear in the text; a comment has 600 characters at most.
_MARKUP = expression(
    r'(?P<span><span class="math-container"[^<>]{0,80}>(?s:.*?)(?:</span>|\Z))'
    r"|(?P<math>\$\$[^$]{1,600}\$\$|\$[^$]{1,600}\$)"
    r"|`(?P<code>[^`]{1,600})`"
    r"|\[(?P<text>[^\[\]]{1,600})\]\((?P<link>https?://[^\s()]{1,600})(?: [^()]{0,200})?\)"
    r"|\*\*(?P<strong>[^*\s](?:[^*]{0,600}[^*\s])?)\*\*"
    r"|(?P<mark>[*_])(?<!\w.)(?P<em>[^*_\s](?:[^*_]{0,600}[^*_\s])?)(?P=mark)(?!\w)"
)


def comment_html(text: str) -> str:
    """Return a comment as HTML; any string is read, and no part of it is trusted."""
    parts = []
    done = 0
    while True:
        markup = _MARKUP.search(text, done)
        if markup is None:
            break

        parts.append(_prose(text[done : markup.start()]))
        done = markup.end()
        if markup["span"]:
            parts.append(markup["span"])
        elif markup["link"]:
            parts.append(f'<a href="{escape(markup["link"])}">{_prose(markup["text"])}</a>')
        elif markup["math"]:
            parts.append(_prose(markup["math"]))
        else:
            name = markup.lastgroup or ""
            parts.append(f"<{name}>{_prose(markup[name])}</{name}>")

    parts.append(_prose(text[done:]))
    return "".join(parts)


def _prose(text: str) -> str:
    return escape(unescape(text), quote=False)
