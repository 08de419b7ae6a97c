"""Answers as the lab takes them: HTML bodies as text with dollars, and texts cut to length."""

from __future__ import annotations

import re
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.answer_text import (
    answer_text,
    one_line,
    sentences,
    shorten,
    unpaired_dollars,
)


def math(latex: str) -> str:
    return f'<span class="math-container" id="1">{escape(latex)}</span>'


def lab_counts_dollars(text: str) -> int:
    """Count as the lab's scripts do: dollars without a backslash before them."""
    return len(re.findall(r"(?<!\\)\$", text))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<p>So {math('x')} is <em>odd</em>.</p>", "So $x$ is odd."),
        (f"<p>Thus</p><p>{math('a=b')},</p><p>done</p>", "Thus\n$$a=b$$,\ndone"),
        (f"<p>{math('a')} and {math('b')}</p>", "$a$ and $b$"),
        (f"<p>{math('a')}{math('b')}</p>", "$a$ $b$"),  # not $a$$b$
        ("<p>so " + math(r"\begin{align}x&=1\end{align}") + " .</p>",
         r"so $$\begin{align}x&=1\end{align}$$ ."),
        ('<p>See <a href="https://x.org/a_1">this</a>: <code>x = $1</code></p>',
         r"See this: x = \$1"),
        ("<ul><li>a</li><li>\n<p>b</p><p>c</p></li></ul>", "- a\n- b\nc"),
        ("<ol><li>a<ul><li>i</li></ul></li><li>b</li></ol>", "1. a\n- i\n2. b"),
        ('<ol start="3"><li>a</li></ol>', "3. a"),
        ("<blockquote><p>He said</p></blockquote><p>no</p>", "He said\nno"),
        ("<pre><code>for i in x:\n  f(i)\n</code></pre>", "for i in x: f(i)"),
        ("<table><tr><td>1</td><td>2</td></tr></table>", "1\n2"),
        ('<p><img src="x.png" alt="enter image description here"></p>', ""),
        ("", ""),
        (math(""), ""),
        ("<p>It costs $5.</p>", r"It costs \$5."),
        (r"<p>It costs \$5.</p>", r"It costs \$5."),
        ("<p>1 < 2 &amp; 3</p>", "1 < 2 & 3"),
    ],
)  # fmt: skip
def test_bodies_become_text(body: str, text: str) -> None:
    assert answer_text(body) == text


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"1\text{ if $x$ or $y$}", r"$1\text{ if \(x\) or \(y\)}$"),
        (r"\text{height $}", r"$\text{height \$}$"),
        (r"\$5", r"$\$5$"),
        ("x\\", "$x\\ $"),  # the backslash would escape the dollar
        (r"x\\", r"$x\\ $"),  # and the lab's script would think that it does
        (r"$$x$$", "$$x$$"),  # its own delimiters are no inner dollars; alone, it is displayed
        # What LaTeXML left behind.
        (r"a=\qvar@construct{?}b\par", "$a=b$"),
        (r"\displaystyle amp;=1", r"$\displaystyle =1$"),
        (r"\@@eqnarray$\displaystyle I$&$\displaystyle amp;=$&$2$",
         r"$\begin{array}{rcl}\displaystyle I&\displaystyle =&2\end{array}$"),
    ],
)  # fmt: skip
def test_latex_gets_dollars_around_it_and_none_inside(latex: str, text: str) -> None:
    alone = answer_text(math(latex))
    assert alone in (text, f"${text}$")
    within = answer_text(f"<p>so {math(latex)} is</p>")
    for found in (alone, within):
        assert unpaired_dollars(found) == []
        assert lab_counts_dollars(found) % 2 == 0


pieces = st.one_of(
    st.text(st.sampled_from("ab. \\$<&\n"), max_size=12).map(escape),
    st.text(st.sampled_from("xy\\${}^ &"), max_size=12).map(math),
    st.sampled_from(["<p>", "</p>", "<li>", "<ol>", "</ol>", "<code>", "</code>", "<ul>", "<img>"]),
)


@given(st.lists(pieces, max_size=8).map("".join), st.integers(0, 60))
def test_every_body_becomes_balanced_text_of_one_line(body: str, limit: int) -> None:
    text = answer_text(body)
    for found in (text, shorten(text, limit), one_line(shorten(text, limit))):
        assert unpaired_dollars(found) == []
        assert lab_counts_dollars(found) % 2 == 0
    assert len(shorten(text, limit)) <= limit
    assert not re.search(r"[\t\n\r]", one_line(text))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three", ["One.", " Two!", " Three"]),
        ("See e.g. Rudin, cf. Lang (p. 3). So", ["See e.g. Rudin, cf. Lang (p. 3).", " So"]),
        ("It is 3.14. (Is it?) Yes", ["It is 3.14.", " (Is it?)", " Yes"]),
        ("so $x. Y$ is. And", ["so $x. Y$ is.", " And"]),
        ("so $x=1.$ And", ["so $x=1.$", " And"]),
        ("Now\n$$x$$\nwhere $y$.\nThen", ["Now\n$$x$$\nwhere $y$.\n", "Then"]),
        ("1. First\n2. Second", ["1. First\n", "2. Second"]),
        ("It holds. $x$ is", ["It holds.", " $x$ is"]),
        ("", []),
    ],
)
def test_sentences_end_at_stops_and_paragraphs(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@given(st.text(st.sampled_from("$\\aB. !\n1"), max_size=60))
def test_sentences_lose_nothing(text: str) -> None:
    assert "".join(sentences(text)) == text


@pytest.mark.parametrize(
    ("text", "limit", "shortened"),
    [
        ("It is so. And so on.", 12, "It is so."),
        ("It is. And so forth and on", 20, "It is. And so forth"),  # the sentence is too short
        ("So $x + y = z$ holds", 17, "So $x + y = z$"),
        ("So $x + y = z$ if we can", 20, "So $x + y = z$"),  # formulas are better ends than words
        ("So $x$ is the one that we want", 20, "So $x$ is the one"),
        ("So $x + y = z$ holds", 10, "So"),
        ("So $$x. y$$ holds", 11, "So $$x. y$$"),
        ("$x + y = z$", 5, ""),
        ("abcdefgh", 5, "abcde"),
        ("cost: $5", 20, r"cost: \$5"),
        ("The value 3.14 is near", 12, "The value"),
        ("First\nSecond line", 9, "First"),
    ],
)
def test_a_text_is_cut_where_it_can_be_read(text: str, limit: int, shortened: str) -> None:
    assert shorten(text, limit) == shortened


@given(st.text(st.sampled_from("$\\ab. !\té"), max_size=60), st.integers(0, 40))
def test_a_shortened_text_is_short_and_balanced(text: str, limit: int) -> None:
    shortened = shorten(text, limit)
    assert len(shortened) <= limit
    assert unpaired_dollars(shortened) == []
    assert shorten(shortened, limit) == shortened


@pytest.mark.parametrize(
    "body",
    [
        f"<p>See {math('x' * 30_000)}</p>",
        f"<pre><code>{'f($x); ' * 5_000}</code></pre>",
        f"<p>{'$$' * 10_000}</p>",
        f"<p>{math(chr(36) * 20_001)}</p>",
        f"<p>So {math('a $$ b $$ c') * 400}</p>",
        f"<p>{'word ' * 20_000}</p>",
        "<ol>" * 5_000 + "<li>x",
    ],
)
def test_hostile_answers_are_cut_and_balanced(body: str) -> None:
    text = one_line(shorten(answer_text(body)))
    assert len(text) <= 1200
    assert unpaired_dollars(text) == []
    assert lab_counts_dollars(text) % 2 == 0
