"""The labs' baselines: TF-IDF and BM25 over one bag, linked posts, by hand."""

from __future__ import annotations

from math import log, log2
from typing import TYPE_CHECKING

import pytest
from run_rows import read_run

from arqmath_bm25.cli import tasks
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.configuration import default_config, load
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.settings import Task1Settings

if TYPE_CHECKING:
    from pathlib import Path

CONFIGS = default_config("task1").parent
POSTS = r"""<posts>
<row Id="1" PostTypeId="1" Title="group" Body="ring $\alpha$" Tags="&lt;field>"/>
<row Id="2" PostTypeId="2" ParentId="1" Score="4" Body="prime prime ideal"/>
<row Id="3" PostTypeId="2" ParentId="1" Score="-1" Body="lattice"/>
<row Id="5" PostTypeId="2" ParentId="9" Score="4" Body="prime $\frac{\beta}{2}$"/>
<row Id="6" PostTypeId="2" ParentId="9" Body="ideal"/>
</posts>"""
# What stands in the bags of these answers: the answer, its question, title and tags.
BAGS = {
    "2": "prime prime ideal ring alpha group field",
    "3": "lattice ring alpha group field",
    "5": "prime frac beta 2",
    "6": "ideal",
}


def opened(tmp_path: Path, config: Path) -> OpenIndex:
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    (data / "Posts.xml").write_text(POSTS)
    indexes = tmp_path / "indexes"
    tasks.index("task1", data=data, indexes=indexes, config=config, threads=1, overwrite=True)
    return OpenIndex.open(CollectionFiles(data, indexes), "task1", config)


def found(index: OpenIndex, query: str) -> dict[str, float]:
    return {hit.doc_id: hit.score for hit in index.search(query, index.task.primary, 10)}


def robertson(term: str, post: str, k1: float, b: float) -> float:
    words = {one: bag.split() for one, bag in BAGS.items()}
    average = sum(map(len, words.values())) / len(words)
    occurrences = words[post].count(term)
    return occurrences / (occurrences + k1 * (1 - b + b * len(words[post]) / average))


def test_tf_idf_is_terriers(tmp_path: Path) -> None:
    """Each term: how often it is asked for, Robertson's tf, and log2(N / df + 1)."""
    index = opened(tmp_path, CONFIGS / "task1_tfidf.yaml")
    expected = {
        post: 2 * 1.2 * robertson("prime", post, 1.2, 0.75) * log2(4 / 2 + 1)
        + 1.2 * robertson("beta", post, 1.2, 0.75) * log2(4 / 1 + 1)
        for post in ("2", "5")
    }
    assert found(index, r"primes and the prime $\beta$") == pytest.approx(expected, rel=1e-5)
    assert found(index, "nowhere") == {}


def test_bm25_over_one_bag_with_and_without_latex(tmp_path: Path) -> None:
    raw = opened(tmp_path, CONFIGS / "task1_bag.yaml")
    idf = log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    beta = {"5": idf * robertson("beta", "5", 0.9, 0.4)}
    assert found(raw, r"$\beta$") == pytest.approx(beta, rel=1e-5)
    assert set(found(raw, "ring")) == set(found(raw, r"$\alpha$")) == {"2", "3"}
    stripped = opened(tmp_path, CONFIGS / "task1_bag_text.yaml")
    assert found(stripped, r"$\beta$") == found(stripped, "beta") == {}
    assert set(found(stripped, "ring")) == {"2", "3"}


def test_linked_posts_are_ranked_by_votes(tmp_path: Path) -> None:
    """A.1 is question 77 of a younger dump, and linked with question 1; of A.3 it is not known."""
    config = CONFIGS / "task1_linked.yaml"
    data = tmp_path / "data"
    formulas = data / "Topics/Task2 Topics/ARQMath-1/Formulas/Formula_topics_latex_V2.0.tsv"
    formulas.parent.mkdir(parents=True)
    formulas.write_text(
        "id\ttopic_id\tthread_id\ttype\tformula\nq_1\tA.1\t77\ttitle\tx\nq_2\tA.3\tno\ttitle\tx\n"
    )
    topics = tmp_path / "topics.xml"
    ends = "<Title>t</Title><Question>q</Question><Tags>a</Tags></Topic>"
    topics.write_text(f'<Topics><Topic number="A.1">{ends}<Topic number="A.3">{ends}</Topics>')
    given = {"indexes": tmp_path / "indexes", "config": config, "threads": 1}
    opened(tmp_path, config)
    with pytest.raises(InputError, match="no question is linked with a topic of 2020"):
        tasks.run("task1", data=data, topics=[str(topics)], runs=tmp_path, **given)  # type: ignore[arg-type]
    (data / "PostLinks.xml").write_text(
        '<postlinks><row PostId="77" RelatedPostId="1"/><row PostId="5" RelatedPostId="77"/>'
        "</postlinks>"
    )
    opened(tmp_path, config)
    tasks.run("task1", data=data, topics=[str(topics)], runs=tmp_path, **given)  # type: ignore[arg-type]
    rows = list(read_run(tmp_path / "data/topics/Linked-task1-MSE-auto-both-P.tsv"))
    assert [(row.topic_id, row.doc_id, row.score) for row in rows] == [
        ("A.1", "2", 4.0),
        ("A.1", "3", -1.0),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": {"both": {"contents": 1, "tags": 1}}}, "`contents` is the one field"),
        ({"model": "tfidf"}, "model: Input should be 'bm25', 'tf_idf' or 'linked'"),
    ],
)
def test_faults_of_configurations(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    settings = load(Task1Settings, CONFIGS / "task1_bag.yaml").model_dump(mode="json")
    path = tmp_path / "task1_bag.yaml"
    path.write_text(str({**settings, **changes}).replace("None", "null"))
    with pytest.raises(InputError, match=message):
        configured("task1", path)
