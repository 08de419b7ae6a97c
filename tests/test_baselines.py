"""The labs' baselines: TF-IDF and BM25 over one bag, query expansion, linked posts, by hand."""

from __future__ import annotations

from collections import Counter
from math import log, log2
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.cli import tasks
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.settings import default_config, load
from arqmath_bm25.engines.engine import TermCount
from arqmath_bm25.runs.run_files import read_run
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.answers.answer_retrieval import Task1Settings
from arqmath_bm25.tasks.answers.expansion import ExpansionSettings, Feedback, expanded
from arqmath_bm25.tasks.index import Index

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


def changed(tmp_path: Path, name: str, **changes: object) -> Path:
    """Write a configuration that comes with the package anew, with changes."""
    settings = load(Task1Settings, CONFIGS / f"{name}.yaml").model_dump(mode="json")
    path = tmp_path / f"{name}.yaml"
    path.write_text(str({**settings, **changes}).replace("None", "null"))
    return path


def opened(tmp_path: Path, config: Path) -> Index:
    data = tmp_path / "data"
    data.mkdir(exist_ok=True)
    (data / "Posts.xml").write_text(POSTS)
    indexes = tmp_path / "indexes"
    tasks.index("task1", data, indexes, config, threads=1, overwrite=True)
    return Index.open(Collection(data, indexes), "task1", config)


def found(index: Index, query: str) -> dict[str, float]:
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


def counts(**known: tuple[int, int]) -> dict[str, TermCount]:
    return {term: TermCount(*numbers) for term, numbers in known.items()}


def expansion(model: str, **settings: float) -> ExpansionSettings:
    return ExpansionSettings.model_validate({"model": model, **settings})


def test_rm3_mixes_the_query_with_shares_of_the_best_documents() -> None:
    """Of each document its two most frequent terms, in shares, times its score; then two of all.

    ab 3/5, cd 2/5 of the first (score 2); cd 3/4, ef 1/4 of the second (score 1): cd 1.55, ab 1.2,
    ef .25. `the` is in more than a tenth of 100 documents; `x` and `é1` are not words.
    """
    documents = [
        Feedback(Counter({"ab": 3, "cd": 2, "ef": 1, "the": 9}), 2.0),
        Feedback(Counter({"cd": 3, "ef": 1, "x": 8, "é1": 8}), 1.0),
    ]
    known = counts(ab=(10, 9), cd=(5, 9), ef=(2, 2), the=(11, 99), x=(1, 8)) | counts(é1=(1, 8))
    given = {"ab": 3.0, "gh": 1.0}
    weights = expanded(given, documents, expansion("rm3", terms=2), lambda _: known, 100)
    assert weights == pytest.approx(
        {"ab": (0.75 + 1.2 / 2.75) / 2, "gh": 0.125, "cd": 1.55 / 2.75 / 2}
    )
    assert expanded(given, [], expansion("rm3"), lambda _: known, 100) == given


def test_bo1_adds_what_the_best_documents_tell_to_the_query() -> None:
    """Weights of Terrier's Bo1, of terms in two documents or in the query, over the greatest.

    ab occurs 4 times in them and 5 in the collection of 10, cd 2 and 2, gh (asked for) once and 20;
    ef is in one of them only.
    """
    documents = [
        Feedback(Counter({"ab": 3, "cd": 1, "ef": 5}), 2.0),
        Feedback(Counter({"ab": 1, "cd": 1, "gh": 1}), 1.0),
    ]
    known = counts(ab=(3, 5), cd=(2, 2), ef=(1, 5), gh=(9, 20))
    given = {"gh": 2.0, "ij": 1.0}
    weights = expanded(given, documents, expansion("bo1", terms=3), lambda _: known, 10)
    greatest = 4 * log2(1.4 / 0.4) + log2(1.4)  # of ab, as if all that the collection has is here
    assert weights == pytest.approx(
        {
            "gh": 1 + (1 * log2(3 / 2) + log2(3)) / greatest,
            "ij": 0.5,
            "ab": (4 * log2(1.5 / 0.5) + log2(1.5)) / greatest,
            "cd": (2 * log2(1.2 / 0.2) + log2(1.2)) / greatest,
        }
    )


@pytest.mark.parametrize("model", ["rm3", "bo1"])
def test_an_expanded_query_finds_what_the_query_alone_does_not(tmp_path: Path, model: str) -> None:
    """`beta` is in post 5 alone, with `prime`; that is in post 2 as well."""
    expansions = {"model": model, "documents": 1, "terms": 4}
    for name in ("task1_tfidf", "task1_bag"):
        index = opened(tmp_path, changed(tmp_path, name))
        assert set(found(index, "beta")) == {"5"}
        more = opened(tmp_path, changed(tmp_path, name, expansion=expansions))
        # More than a tenth of four documents hold every term, so that RM3 takes none.
        assert set(found(more, "beta")) == ({"5", "2"} if model == "bo1" else {"5"})


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
        tasks.run("task1", data, [str(topics)], runs=tmp_path, **given)  # type: ignore[arg-type]
    (data / "PostLinks.xml").write_text(
        '<postlinks><row PostId="77" RelatedPostId="1"/><row PostId="5" RelatedPostId="77"/>'
        "</postlinks>"
    )
    opened(tmp_path, config)
    tasks.run("task1", data, [str(topics)], runs=tmp_path, **given)  # type: ignore[arg-type]
    rows = list(read_run(tmp_path / "data/topics/Linked-task1-MSE-auto-both-P.tsv"))
    assert [(row.topic_id, row.doc_id, row.score) for row in rows] == [
        ("A.1", "2", 4.0),
        ("A.1", "3", -1.0),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variants": {"both": {"contents": 1, "tags": 1}}}, "`contents` is the one field"),
        ({"expansion": {"model": "rocchio"}}, "expansion.model"),
        ({"expansion": {"model": "rm3", "terms": 0}}, "expansion.terms"),
        ({"model": "tfidf"}, "model: Input should be 'bm25', 'tf_idf' or 'linked'"),
    ],
)
def test_faults_of_configurations(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configured("task1", changed(tmp_path, "task1_bag", **changes))
