r"""Folders in the forms of others: what each document of them has, as the form's manual says.

A case is the files of a folder, and its documents in order: title, words, formulas.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arqmath_bm25.analysis.markdown_html import front_matter
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.own_documents import read_documents

Document = tuple[str, str, list[str]]


def read(folder: Path, files: dict[str, str]) -> list[dict[str, Any]]:
    """Write files and read their folder."""
    for name, text in files.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    corpus = CollectionFiles(str(folder / "notes"), folder / "i").imported().corpus
    assert corpus is not None
    return [document.as_read() for document, _ in read_documents(corpus)]


def documents(folder: Path, files: dict[str, str]) -> list[Document]:
    return [(row["title"], row["words"], row["formulas"]) for row in read(folder, files)]


MARKDOWN: dict[str, tuple[str, list[Document]]] = {
    "an exercise between two directives": (
        "# T\n\nText.\n\n```{exercise-start} Sums\n:label: e\n```\nFind $x$.\n```{code-cell}\n"
        "1 + 1\n"
        "```\n```{exercise-end}\n```\nAfter.\n\n```{solution-start} e\n:class: dropdown\n```\n"
        "It is $y$.\n```{solution-end}\n```\n",
        [("T", "Text. After. It is .", ["y"]), ("T › Exercise: Sums", "Find . 1 + 1", ["x"])],
    ),
    "figures and tables of MyST": (
        "# T\n\n:::{figure} a/b.png\n:name: f\nOf $c$.\n:::\n\n```{glue:figure} sorted\nShown.\n"
        "```\n\n"
        "```{list-table} Means\n:header-rows: 1\n* - Of $u$\n  - two\n```\n\n"
        "```{table} Named\n| $v$ | w |\n|---|---|\n| 1 | 2 |\n```\n",
        [("T", "Of . Shown. Means Of two Named w 1 2", ["c", "u", "v"])],
    ),
    "breaks of blocks": (
        '# T\n\n+++ {"part": "abstract"}\n\nBy {math}`x`.\n\n+++\n\nMore.\n',
        [("T", "By . More.", ["x"])],
    ),
    "options of a cell of Quarto": (
        '# T\n\n```{r}\n#| label: fig-a\n#| echo: false\nplot(1)\n```\n\n```{mermaid}\n'
        '%%| fig: x\na\n```\n',
        [("T", "plot(1)", [])],
    ),
    "a figure of pandoc": (
        "# T\n\n![The graph of $f$](a.png){#fig-a width=50%}\n\n"
        "A ![small picture](b.png) within.\n",
        [("T", "The graph of A within.", ["f"])],
    ),
    "labels of bookdown": (
        '# (PART\\*) Sums {-}\n\n# (APPENDIX) More {-}\n\nBy \\@ref(thm:p).\n\n'
        '```{theorem, name="P", label="p", echo=TRUE}\nSides $a$.\n```\n',
        [("Sums", "", []), ("More", "By .", []), ("More › Theorem: P", "Sides .", ["a"])],
    ),
    "a callout with a place, blocks of plugins": (
        "# T\n\n> [!definition]+ Coset ^def-c\n> Of $g$.\n\n```dataview\nLIST FROM #a\n```\n\n"
        "```ad-note\ntitle: Mind\ncollapse: open\nthe $gap$\n```\n",
        [("T", "Coset Of . Mind the", ["g", "gap"])],
    ),
    "attributes, abbreviations and contents of mkdocs": (
        "# T\n\n[TOC]\n\n*[HTML]: Hyper Text\n\nSee [it](b.md){ .button target=_blank }, HTML.\n",
        [("T", "See it, HTML.", [])],
    ),
    "shortcodes of Hugo": (
        "# T\n\nLet {{< katex >}}x^{2}{{< /katex >}} and {{< katex display=true >}}\ny\n"
        "{{< /katex >}}\n"
        'See {{< ref "b.md" >}}.\n\n{{< theorem name="Zorn" id="z" >}}\nOf $c$.\n'
        '{{< /theorem >}}\n\n'
        '{{< figure src="a.png" >}}\n\nEnd.\n',
        [("T", "Let and See . End.", ["x^{2}", "y"]), ("T › Theorem: Zorn", "Of .", ["c"])],
    ),
    "tags and contents of Jekyll": (
        "# T\n\n* TOC\n{:toc}\n\n{% include a.html %}\n{% highlight python %}\nx = '$no$'\n"
        "{% endhighlight %}\n"
        "Text.\n{: .wide}\n",
        [("T", "x = '$no$' Text.", [])],
    ),
    "imports and comments of MDX": (
        "---\ntitle: T\n---\nimport Tabs from '@theme/Tabs';\n\n:::tip Mind\n\n"
        "$x$ {/* hidden */}\n\n:::\n",
        [("T", "Mind", ["x"])],
    ),
    "headers and keys of pandoc": (
        "---\ntitle: T\nheader-includes:\n- \\newcommand{\\R}{\\mathbb{R}}\n"
        "bibliography: a.bib\n---\n"
        "By @knuth84 [p. 3] in $\\R$.\n\n\\newpage\n\nEnd, @alice.\n",
        [("T", "By in . End, @alice.", ["\\mathbb{R}"])],
    ),
    "front matter in JSON, as Hugo has it": (
        '{\n  "title": "Of {rings}",\n  "tags": ["algebra"]\n}\n\nText of $r$.\n',
        [("Of {rings}", "Text of .", ["r"])],
    ),
    "front matter in JSON that is not indented": (
        '{\n"title": "Of rings",\n"params": {\n"math": true\n}\n}\nText of $r$.\n',
        [("Of rings", "Text of .", ["r"])],
    ),
    "reStructuredText and comments within MyST": (
        "# T\n\n```{eval-rst}\n.. note:: Of :math:`r`.\n```\n\n%hidden\n\n"
        '```{figure-md} f\n<img src="a.png" alt="b">\n\nOf $k$.\n```\n',
        [("T", "Of . Of .", ["r", "k"])],
    ),
    "commands of mdBook": (
        "# T\n\n{{#title Other}}\n\n{{#playground ../a.rs editable}}\n\nText \\\\(x\\\\).\n",
        [("T", "Text .", ["x"])],
    ),
    "roles in the title of a directive": (
        "# T\n\n:::{prf:lemma} On {math}`L^1`\n:label: l\nOf $f$.\n:::\n\n"
        ":::{admonition} {octicon}`book` Proof of {eq}`e`\n`code` here.\n:::\n",
        [("T", "Proof of code here.", []), ("T › Lemma: On $L^1$", "Of .", ["f"])],
    ),
    "roles and spans with text": (
        "# T\n\nGet {download}`the tables <t.csv>`, [in red]{.red} and $a &lt; b$.\n",
        [("T", "Get the tables, in red and .", ["a < b"])],
    ),
    "titles in brackets, exports": (
        "# T\n\nexport const Box = () => {\n  return 1;\n};\n\n:::tip[The $k$-th]\nText.\n:::\n",
        [("T", "The -th Text.", ["k"])],
    ),
    "marks of mkdocs-material": (
        "# Sums :material-sigma:\n\nBy hand (1)\n{ .annotate }\n\n:smile: ^^new^^, ==so $n$==, "
        "a == b, 10:30:45.\n\n--8<-- \"none.md\"\n",
        [("Sums", "By hand (1) new, so , a == b, 10:30:45.", ["n"])],
    ),
    "captions of bookdown": (
        "# T\n\n(ref:plot) Of $c$.\n",
        [("T", "Of .", ["c"])],
    ),
    "raw text and examples of pandoc": (
        "# T\n\n(@one) Of $x$.\n\nAs (@one) says, `\\small`{=latex} text.\n\n"
        "```{=html}\n<b>raw</b>\n```\n",
        [("T", "Of . As says, text.", ["x"])],
    ),
    "a grid table of pandoc": (
        "# T\n\n+-----+---+\n| Of  | n |\n+=====+===+\n| $a$ | 2 |\n+-----+---+\n| b   | 3 |\n"
        "+-----+---+\n",
        [("T", "Of n 2 b 3", ["a"])],
    ),
    "the title block of pandoc": (
        "% Of rings\n  and fields\n% A. Writer\n\nText $r$.\n",
        [("Of rings", "Text .", ["r"])],
    ),
    "a bar in code of a table": (
        "# T\n\n| a | b |\n|---|---|\n| `x\\|y` | `z` |\n\nNot `x\\|y`.\n",
        [("T", "a b x|y z Not x\\|y.", [])],
    ),
    "money beside roles": (
        "# T\n\nPay $5, or $6 with {math}`n` sold and $7 later, $8 for `it` and $9.\n",
        [("T", "Pay $5, or $6 with sold and $7 later, $8 for it and $9.", ["n"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKDOWN)
def test_a_dialect_of_markdown_is_read_as_its_manual_says(tmp_path: Path, name: str) -> None:
    text, expected = MARKDOWN[name]
    assert documents(tmp_path, {"a.md": text}) == expected


def test_json_of_more_levels_than_a_parser_takes_is_no_front_matter() -> None:
    for levels, end in ((100, 216), (300, 0), (100_000, 0)):
        text = '{\n"title": ' + "[" * levels + '"b"' + "]" * levels + "\n}\nText.\n"
        assert front_matter(text)[1] == end


BOOKS = {
    "myst.yml": 'project:\n  math:\n    "\\\\R": \\mathbb{R}\n    f: {macro: "f(#1)"}\n',
    "_config.yml": (
        "sphinx:\n  config:\n    mathjax3_config:\n      tex:\n        macros:\n"
        '          "R": "\\\\mathbb{R}"\n          "f": ["f(#1)", 1]\n'
    ),
    "conf.py": (
        "import os\nname = os.environ['HOME']\nmathjax3_config = {\n"
        "    'tex': {'macros': {'R': r'\\mathbb{R}', 'f': ['f(#1)', 1]}},\n}\n"
    ),
}


@pytest.mark.parametrize("name", BOOKS)
def test_macros_of_a_book_reach_its_files_alone(tmp_path: Path, name: str) -> None:
    text = "# T\n\nIn $\\R$ and $\\f{x}$.\n"
    files = {f"book/{name}": BOOKS[name], "book/ch/a.md": text, "other.md": text}
    other, book = documents(tmp_path, files)  # files come before folders
    assert book == ("T", "In and .", ["\\mathbb{R}", "f(x)"])
    assert other == ("T", "In and .", ["\\R", "\\f{x}"])


def test_macros_of_a_book_that_are_saved_are_read(tmp_path: Path) -> None:
    config = {"myst.yml": BOOKS["myst.yml"], "a.md": "# T\n\n$\\R$\n"}
    assert documents(tmp_path, config) == [("T", "", ["\\mathbb{R}"])]
    config["myst.yml"] = config["myst.yml"].replace("mathbb", "mathbf")
    assert documents(tmp_path, config) == [("T", "", ["\\mathbf{R}"])]


@pytest.mark.parametrize(
    "text",
    [
        "mathjax3_config = load()",
        "mathjax3_config = " + "[" * 200_000,
        "mathjax3_config = " + "-" * 90_000 + "1",
        "math" * 20_000,
        "\0",
    ],
)
def test_a_configuration_that_cannot_be_read_is_no_fault(tmp_path: Path, text: str) -> None:
    files = {"conf.py": text, "myst.yml": text, "a.md": "# T\n\n$\\R$\n"}
    assert documents(tmp_path, files) == [("T", "", ["\\R"])]


def test_a_chapter_of_mdbook_takes_in_lines_of_another_once(tmp_path: Path) -> None:
    files = {
        "book.toml": "",
        "src/SUMMARY.md": "# Summary\n\n- [One](one.md)\n- [Two](two.md)\n",
        "src/one.md": "# One\n\n{{#include two.md:key}}\n\n{{#include two.md:key}}\n"
        "{{#include two.md:1:2}}\n\n{{#include two.md:none}}\n",
        "src/two.md": "Zero.\n\n# Two\n\n<!-- ANCHOR: key -->\nFor $p$.\n"
        "<!-- ANCHOR_END: key -->\n",
    }
    assert documents(tmp_path, files) == [
        ("One", "For . Zero.", ["p"]),
        ("", "Zero.", []),
        ("Two", "For .", ["p"]),
    ]


def test_an_embedded_note_has_no_sections_in_another(tmp_path: Path) -> None:
    files = {
        "Host.md": "# Host\n\nBefore.\n\n![[Nets#Limits]]\n\nBetween.\n![[Nets#^a1b2]]\n"
        "![[Nets#None]]\n\nAfter.\n\n## Next\n\n![[Nets]]\nEnd.\n",
        "Nets.md": "# Nets\n\nTop.\n\n## Limits\n\nOf $l$.\n\n### Deep\n\nDeeper.\n\n"
        "## Other\n\nRest ^a1b2\n",
    }
    assert documents(tmp_path, files) == [
        ("Host", "Before. Limits Of . Deep Deeper. Between. Rest After.", ["l"]),
        ("Host › Next", "Nets Top. Limits Of . Deep Deeper. Other Rest End.", ["l"]),
        ("Nets", "Top.", []),
        ("Nets › Limits", "Of .", ["l"]),
        ("Nets › Limits › Deep", "Deeper.", []),
        ("Nets › Other", "Rest", []),
    ]


def test_a_link_by_a_shortcode_refers_to_its_file(tmp_path: Path) -> None:
    files = {
        "2020-01-02-zeta.md": "# Zeta\n\nA sum.\n",
        "a.md": '# T\n\nSee [the sum]({{< ref "2020-01-02-zeta.md" >}}), [part]({% post_url '
        '2020-01-02-zeta %}), [top]({{< ref "#t" >}}), [none]({{ }}).\n',
        "b.md": "[It]({{ site.url }}{% link _posts/2020-01-02-zeta.md %}).\n",
        "c.md": "[It]({{ '/2020-01-02-zeta.html' | relative_url }}).\n",
    }
    zeta, *hosts = read(tmp_path, files)
    assert hosts[0]["words"] == "See the sum, part, top, none."
    assert [host["references"] for host in hosts] == [[zeta["id"]]] * 3


def test_tags_of_jekyll_have_blanks_between_them(tmp_path: Path) -> None:
    values = "tags: rings, fields\ncategories: pure maths\n---\nText.\n"
    files = {"a.md": f"---\nlayout: post\n{values}", "b.md": f"---\ntitle: B\n{values}"}
    jekyll, other = read(tmp_path, files)
    assert jekyll["tags"] == ["rings", "fields", "pure", "maths"]
    assert other["tags"] == ["rings", "fields", "pure maths"]


def test_a_comment_of_myst_is_no_title(tmp_path: Path) -> None:
    text = "% hidden\n% and this\n\n# T\n\nText.\n"
    assert documents(tmp_path, {"conf.py": "", "a.md": text}) == [("T", "Text.", [])]


def test_a_note_has_the_name_of_its_file_and_is_referred_to_by_it(tmp_path: Path) -> None:
    files = {
        "Cosets.md": "See [[Groups#Order|its order]].\n",
        "in/Groups.md": "# Group\n\nA set.\n",
    }
    cosets, groups = read(tmp_path, files)
    assert (cosets["title"], cosets["words"]) == ("Cosets", "See its order.")
    assert cosets["references"] == [groups["id"]] == ["in/Groups.md#group"]


FORMS: dict[str, tuple[str, str, list[Document]]] = {
    "blocks, notes and links of org": (
        "a.org",
        """#+TITLE: Notes
* Null sets
SCHEDULED: <2020-01-01 Wed> DEADLINE: <2020-01-02 Thu>
:PROPERTIES:
:CUSTOM_ID: null
:END:
By cite:folland and [cite:@knuth] or eqref:eq1, a note[fn:1] and one[fn:: of $n$].
| a | $b$ |
|---+-----|
| 1 | 2 |
#+begin_comment
hidden
#+end_comment
#+begin_export latex
hidden
#+end_export
#+CAPTION: A picture of $c$
[[file:img.png]]
-----
#+NAME: t
#+ATTR_LATEX: :options [Borel]
#+begin_theorem
Each $t$.
#+end_theorem
[fn:1] Of $f$.
""",
        [
            ("Notes › Null sets",
             "By and or , a note and one (of ). a 1 2 A picture of Of .", ["n", "b", "c", "f"]),
            ("Notes › Null sets › Theorem: Borel", "Each .", ["t"]),
        ],
    ),
    "calls and titles of Typst": (
        "a.typ",
        """#set document(title: "Graphs", author: "A")
#align(center, text(17pt)[*By hand*])
= Trees
See @t and @knuth[p. 3].
#figure(image("a.png", width: 50%), caption: [A small tree.]) <f>
#table(columns: 2, [one], [two])
#theorem(name: [Euler])[ All #emph[plane] graphs. ] <t>
""",
        [
            ("Graphs", "By hand", []),
            ("Graphs › Trees", "See and . A small tree. one two", []),
            ("Graphs › Trees › Theorem: Euler", "All plane graphs.", []),
        ],
    ),
    "contents, lists and versions of Sphinx": (
        "a.rst",
        """One
===

.. contents:: Table
   :local:

.. deprecated:: 1.0
   Old :math:`o`.

ring
   A set.

Two
---

.. prf:lemma:: Zorn
   :label: z

   Of :math:`c`.

.. rst-class:: wide

End.
""",
        [("One", "Old . ring A set.", ["o"]), ("One › Two", "End.", []),
         ("One › Two › Lemma: Zorn", "Of .", ["c"])],
    ),
    "labels and capitals of Sphinx": (
        "a.rst",
        """Nets
====

By :ref:`limits`.

.. _limits:

Limits
------

.. MATH:: l

.. Note:: Of :math:`m`.
""",
        [("Nets", "By Limits.", []), ("Nets › Limits", "Of .", ["l", "m"])],
    ),
    "names and comments of org": (
        "a.org",
        """* Sums
CLOCK: [2020-01-01 Wed 10:00]
By [[eq:s]] and [[#more]].
#+NAME: eq:s
\\begin{equation}
s
\\end{equation}
#+begin_theorem
Of $t$.
#+end_theorem
* COMMENT Not this
** Nor this
$h$
* COMMENTS
* Ends
Text.
""",
        [("Sums", "By and . Of .", ["\\begin{equation} s \\end{equation}", "t"]),
         ("COMMENTS", "", []), ("Ends", "Text.", [])],
    ),
    "money of Typst": (
        "a.typ", "Pay \\$5, not \\$6, at once.\n", [("", "Pay $5, not $6, at once.", [])]
    ),
    "notes within lines of PreTeXt": (
        "a.ptx",
        """<section><title>One</title><paragraphs><title>First</title><p>Of 3<fn>Foot.</fn>, as
<latex/> has.</p></paragraphs><p>Then <md><mrow>a \\amp = b</mrow><intertext>hence</intertext>
<mrow>c \\lt d</mrow></md></p></section>""",
        [("One", "First Of 3 (Foot.), as LaTeX has. Then hence",
          ["\\begin{aligned}a & = b\\end{aligned}", "\\begin{aligned}c < d\\end{aligned}"])],
    ),
    "a notebook of nbformat 3": (
        "a.ipynb",
        """{"nbformat": 3, "worksheets": [{"cells": [
{"cell_type": "heading", "level": 2, "source": ["Sums"]},
{"cell_type": "markdown", "source": "Of $s$."},
{"cell_type": "code", "input": ["1 + 1"],
"outputs": [{"stream": "stdout", "text": "two"}]}]}]}""",
        [("Sums", "Of . 1 + 1 two", ["s"])],
    ),
    "footnotes of LaTeXML and pandoc": (
        "a.html",
        """<!DOCTYPE html><html><head><title>T</title></head><body><p>Flat<span
class="ltx_note"><sup class="ltx_note_mark">1</sup><span class="ltx_note_outer"><sup
class="ltx_note_mark">1</sup>Foot</span></span>.</p>
<p>Note<a class="footnote-back" href="#a">up</a></p></body></html>""",
        [("T", "Flat Foot. Note", [])],
    ),
    "headings, footnotes and statements of pandoc": (
        "a.html",
        """<!DOCTYPE html><html><head><title>T</title></head><body>
<h1 id="rings"><span class="header-section-number">1</span> Of rings <a href="#rings">#</a></h1>
<p>Flat<a href="#fn1" id="fnref1"><sup>1</sup></a> and <a href="#x">it</a>.</p>
<div id="t" class="theorem"><p><strong>Theorem 1</strong> (Artin). Each <em>one</em>.</p></div>
<div class="proof"><p><em>Proof.</em> By hand.</p></div>
<div class="example"><p>An <em>easy</em> case.</p></div></body></html>""",
        [("Of rings", "Flat and it. An easy case.", []),
         ("Of rings › Theorem", "(Artin). Each one. By hand.", [])],
    ),
    "statements of Sphinx, Quarto and bookdown": (
        "a.html",
        """<!DOCTYPE html><html><head><title>T</title></head><body><h1>Gains</h1>
<div class="math"><span class="eqno">(1)</span>\\[x\\]</div>
<div class="proof lemma admonition" id="k"><p class="admonition-title"><span>Lemma 2 </span>
(Of \\(k\\))</p><section><p>It is.</p></section></div>
<div id="q" class="definition"><p><span class="theorem-title"><strong>Definition 3 (Line)</strong>
</span> It goes.</p></div>
<div class="theorem"><p><span id="thm:p" class="theorem"><strong>Theorem 2.1  (Sides) </strong>
</span>They add.</p></div></body></html>""",
        [("Gains", "", ["x"]), ("Gains › Lemma: Of $k$", "It is.", []),
         ("Gains › Definition: Line", "It goes.", []),
         ("Gains › Theorem: Sides", "They add.", [])],
    ),
    "pages of PreTeXt": (
        "a.html",
        """<!DOCTYPE html><html><head><title>T</title></head><body>
<div id="latex-macros"><span class="process-math">\\(\\newcommand{\\N}{\\mathbb N}\\)</span></div>
<main><h2 class="heading"><span class="codenumber">6</span> <span>Sets</span></h2>
<p>In <span class="process-math">\\(\\N\\)</span>.</p>
<article class="theorem" id="l"><h3 class="heading"><span>Theorem</span> <span>6.2</span>
<span>Lagrange.</span></h3><div>It divides.</div></article></main></body></html>""",
        [("T › Sets", "In .", ["\\mathbb N"]), ("T › Sets › Theorem: Lagrange", "It divides.", [])],
    ),
    "characters and links of PreTeXt": (
        "a.ptx",
        """<section xml:id="s"><title>One</title>
<p>Here<mdash/>see <xref ref="e">the task</xref>.</p>
<ol><li><title>First</title><p>Item.</p></li></ol>
<exercise xml:id="e"><webwork><pg-code>$a = 3;</pg-code><statement><p>Add <m>a</m>.</p></statement>
</webwork></exercise></section>""",
        [("One", "Here—see the task. First Item.", []), ("One › Exercise", "Add .", ["a"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_another_form_is_read_as_its_manual_says(tmp_path: Path, name: str) -> None:
    file, text, expected = FORMS[name]
    assert documents(tmp_path, {file: text}) == expected


def test_a_section_of_a_page_has_the_id_of_its_heading(tmp_path: Path) -> None:
    page = (
        "<!DOCTYPE html><html><body><h1>Nets</h1><p>By <a href='#lim'>limits</a>.</p>"
        "<h2 id='lim'>All limits</h2><p>Text.</p><div class='section' id='s'><h2>Sums</h2>"
        "<p>See <a href='#lim'>it</a>.</p></div></body></html>"
    )
    nets, limits, sums = read(tmp_path, {"a.html": page})
    assert nets["references"] == sums["references"] == [limits["id"]] == ["a.html#lim"]
    assert sums["id"] == "a.html#s"


def test_settings_of_pretext_are_no_text(tmp_path: Path) -> None:
    project = "<project><targets><target name='web'/></targets></project>"
    files = {"project.ptx": project, "a.ptx": "<section><title>One</title><p>Two.</p></section>"}
    assert documents(tmp_path, files) == [("One", "Two.", [])]
