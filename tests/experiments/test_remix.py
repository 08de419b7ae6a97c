"""A larger collection remixed from a given one, experiments/remix.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arqmath_bm25.analysis.html import read_body
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.collection.posts import PostTable
from experiments.remix import sentences, write_remix

if TYPE_CHECKING:
    from pathlib import Path

POSTS = """<posts>
<row Id="1" PostTypeId="1" Title="Roots of $x^2$" Body="Where? There $x$ is." Tags="&lt;a&gt;"/>
<row Id="2" PostTypeId="2" ParentId="1" Body="It is nowhere. Look at $y$."/>
<row Id="3" PostTypeId="1" Title="Sums" Body="secret" Tags="&lt;a&gt;"/>
<row Id="4" PostTypeId="2" ParentId="3" Body="relevant"/>
</posts>"""
LINKS = '<postlinks>\n<row PostId="1" RelatedPostId="9" LinkTypeId="1"/>\n</postlinks>'


def test_a_text_is_cut_after_its_sentences() -> None:
    cut = sentences(read_body("<p>Is $a&lt;b$ so? Yes. It</p>"))
    formula = '<span class="math-container">a&lt;b</span>'
    assert cut == [["Is", formula, "so?"], ["Yes."], ["It"]]


def test_invented_threads_have_nothing_of_threads_with_relevant_answers(tmp_path: Path) -> None:
    data = tmp_path / "data" / "Collection"
    data.mkdir(parents=True)
    (data / "Posts.V1.3.xml").write_text(POSTS)
    (data / "PostLinks.V1.3.xml").write_text(LINKS)
    made = []
    for name in ("one", "two"):
        write_remix(CollectionFiles(data.parent), tmp_path / name, 20, {"4"}, 1, 0.4, 2.0)
        made.append((tmp_path / name / "Collection" / "Posts.V1.3.xml").read_text())
    assert made[0] == made[1]
    table = PostTable.scan(tmp_path / "one" / "Collection" / "Posts.V1.3.xml")
    assert table.answer_count == 20
    posts = [post for thread in table.threads() for post in (thread.question, *thread.answers)]
    words = {word for post in posts[4:] if post for word in f"{post.title} {post.body}".split()}
    assert not words & {"secret", "relevant", "<p>secret</p>", "<p>relevant</p>"}
    assert not (tmp_path / "one" / "Evaluation").exists()  # as in the given collection
    links = PostLinks.read(tmp_path / "one" / "Collection" / "PostLinks.V1.3.xml")
    assert links.counts["links"] == 1 + 20  # two for each of 20 threads, which share them
