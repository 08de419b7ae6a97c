"""The library's face: the block of docs/USAGE.md, runs and scores as those of the command line."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd
import pytest
from program import arqmath, json_of, process, refused
from shared_indexes import linked

import arqmath_bm25 as arq
from arqmath_bm25.evaluation.measures import full_name, measures_of
from arqmath_bm25.runs.task_rules import RULES
from configs import edited

if TYPE_CHECKING:
    from opensearch_nodes import Nodes

MEASURES = measures_of(RULES["task1"])

ROOT = Path(__file__).parents[2]
TASKS: tuple[tuple[Any, int | str], ...] = (
    ("task1", 2021), ("task2", "2020"), ("task3", 2022), ("nlps", "dev")
)  # fmt: skip


def scores(file: Path, *options: object) -> dict[str, Any]:
    (found,) = json_of("eval", file, *options)
    return {
        key: found[key]
        for key in found
        if key not in ("run", "file", "task", "year", "qrels", "ids")
    }


def same_scores(found: Any, printed: dict[str, Any]) -> None:
    """The keys of `eval --json` find the same numbers."""
    printed = dict(printed)
    assert (list(found.warnings), found.relevant) == (
        printed.pop("warnings"),
        printed.pop("relevant"),
    )
    for name in ("run_topics_only", "judged_rate"):
        printed.pop(name, None)
    for key, value in printed.items():
        assert found.counts.get(key, found.get(key)) == value, key


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, sample_indexes: Path) -> arq.Collection:
    return arq.sample(linked(sample_indexes, tmp_path_factory.mktemp("sample") / "indexes"))


def block() -> str:
    """Return the API block of docs/USAGE.md, without the lines that need a file or a directory."""
    _, _, section = (ROOT / "docs" / "USAGE.md").read_text().partition("## I work in Python")
    return section.partition("```python\n")[2].partition("```")[0]


SCRIPT = """
import json, sys
{block}
assert not set(topics) - set("qid query title question tags".split())
found = arq.evaluate(run, collection.qrels("task1", 2021))
arq.write_run(run, sys.argv[1], name="x")
assert arq.evaluate(arq.read_run(sys.argv[1]), collection.qrels("task1", 2021)) == found
print(json.dumps(dict(found)))
"""


def test_the_block_of_the_docs_runs_as_a_script(tmp_path: Path, sample: arq.Collection) -> None:
    assert "collection.index" in block()
    run_block('arq.Collection("/data/ARQMath")', "arq.sample()", tmp_path, "--topics", "2021")


@pytest.mark.slow
def test_the_block_of_the_docs_runs_on_real_data(
    lite: Path, lite_indexes: Path, tmp_path: Path
) -> None:
    linked(lite_indexes, tmp_path / "indexes")
    run_block('"/data/ARQMath"', repr(str(lite)), tmp_path, "--data", lite)


def run_block(old: str, new: str, place: Path, *options: object) -> None:
    """Run the block as a script of its own, which has no `if __name__ == "__main__"`."""
    assert old in block()
    script, run = place / "script.py", place / "run.tsv"
    script.write_text(SCRIPT.format(block=block().replace(old, new)))
    done = subprocess.run(
        [sys.executable, script, run], cwd=place, capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(place)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    printed = scores(run, "--indexes", place / "indexes", *options)
    for measure in MEASURES:
        assert told[full_name(measure.at(2))] == printed[full_name(measure.at(2))]


@pytest.mark.parametrize(("task", "year"), TASKS)
def test_runs_and_scores_are_those_of_the_command_line(
    task: Any, year: int | str, sample: arq.Collection, tmp_path: Path
) -> None:
    index = sample.index(task)
    assert index.variants == sample.index(task, threads=1).variants
    run = index.run(sample.topics(task, year))
    options = ("--indexes", sample.indexes, "--runs", tmp_path, "--topics", year)
    arqmath("run", task, "--variant", index.primary, *options)
    (file,) = (path for path in tmp_path.rglob("*.t*") if path.suffix != ".json")
    written = tmp_path / file.name
    arq.write_run(run, written)
    assert written.read_bytes() == file.read_bytes()
    qrels = sample.qrels(task, year)
    found = arq.evaluate(run, qrels)
    if task == "task3":  # as answers, its posts are judged
        trec = tmp_path / "answers.tsv"
        run.assign(run_id="x")[["qid", "docno", "rank", "score", "run_id"]].to_csv(
            trec, sep="\t", header=False, index=False
        )
        same_scores(found, scores(trec, "--task", "task3"))
    else:
        same_scores(found, scores(file, "--indexes", sample.indexes))
    again = arq.read_run(written)
    assert arq.evaluate(again, qrels) == found
    columns = [name for name in again if not (task == "nlps" and name == "score")]
    pd.testing.assert_frame_equal(again[columns], run[columns], check_exact=False)
    topics = arq.evaluate(run, qrels, per_topic=True)
    assert topics.index.name == "qid"
    first = topics.columns[0]
    assert topics[first].mean() == pytest.approx(found[first])
    # the order of the rows means nothing, but between equal scores
    assert arq.evaluate(run.sample(frac=1, random_state=1), qrels) == found


def test_a_search_shows_answers_with_their_questions(sample: arq.Collection) -> None:
    found = sample.index("task1").search(r"Why does $\sum 1/n$ diverge?", k=3)
    assert list(found) == ["docno", "score", "rank", "title", "text"]
    assert list(found["rank"]) == [1, 2, 3]
    assert "diverge" in found["title"][0]
    assert "$" in found["text"][0]


def test_a_question_alone_is_a_topic(sample: arq.Collection) -> None:
    index = sample.index("task1")
    text = r"Why does $\sum 1/n$ diverge?"
    run = index.run(pd.DataFrame({"qid": ["a", "b"], "query": [text, "zzzz"]}), depth=3)
    assert list(run["docno"]) == list(index.search(text, k=3)["docno"])
    formula = sample.index("task2").run(pd.DataFrame({"qid": ["a"], "query": ["$x^2$"]}))
    assert list(formula) == ["qid", "docno", "score", "rank", "post_id", "visual_id"]


def test_a_run_without_hits_joins_with_its_topics(sample: arq.Collection) -> None:
    topics = pd.DataFrame({"qid": ["a"], "query": ["zzzz"]})
    run = sample.index("task1").run(topics)
    joined = topics.merge(run, on="qid", how="left")
    assert joined["qid"].tolist() == ["a"]
    assert joined["docno"].isna().all()
    assert run.dtypes[["score", "rank"]].tolist() == [float, int]


def test_equal_scores_are_written_in_the_order_that_they_are_scored_in(
    sample: arq.Collection, tmp_path: Path
) -> None:
    qrels = sample.qrels("task1", 2021)
    tied = qrels.rename(columns={"label": "grade"}).assign(score=1.0)[["qid", "docno", "score"]]
    for form in ("lab", "trec"):
        arq.write_run(tied, tmp_path / "run.tsv", form=form)  # type: ignore[arg-type]
        same_scores(arq.evaluate(tied, qrels), scores(tmp_path / "run.tsv"))


def test_years_and_judgments_are_found(sample: arq.Collection) -> None:
    assert sample.years("task1") == ("2020", "2021", "2022")
    assert sample.years("task3") == sample.years("task1")
    assert sample.judged_years("nlps") == ("dev",)
    assert list(sample.qrels("task2", 2020)) == ["qid", "docno", "label"]


def test_an_index_has_the_settings_that_are_given(sample: arq.Collection, tmp_path: Path) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(edited("task1", ("stop_words: true", "stop_words: false")))
    own = sample.index("task1", indexes=tmp_path, config=config)
    topics = sample.topics("task1", 2021)
    default = sample.index("task1", indexes=tmp_path)
    assert not own.run(topics).equals(default.run(topics))
    assert default.run(topics).equals(sample.index("task1").run(topics))
    by_path = arq.Index(arq.sample(tmp_path), own.path)
    assert by_path == own
    assert by_path.run(topics).equals(own.run(topics))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["task1", "task2"])
def test_an_engine_is_added_and_changes_no_ranking(task: Any, tmp_path: Path) -> None:
    sample = arq.sample(tmp_path)
    index, topics = sample.index(task, engine="lucene"), sample.topics(task, 2021)
    added = sample.index(task, engine="flat")
    assert (added.path / "lucene.flat").is_dir()
    assert (index.path / "lucene").is_dir()
    pd.testing.assert_frame_equal(added.run(topics), index.run(topics), check_exact=True)
    formula = "$x^2$"
    pd.testing.assert_frame_equal(added.search(formula), index.search(formula), check_exact=True)


@pytest.mark.slow
def test_a_cluster_changes_no_ranking(opensearch: Nodes, tmp_path: Path) -> None:
    sample = arq.sample(tmp_path)
    index = sample.index("task1", engine="opensearch", hosts=",".join(opensearch.hosts))
    topics = sample.topics("task1", 2021)
    pd.testing.assert_frame_equal(index.run(topics), sample.index("task1").run(topics))


def test_faults_are_named(sample: arq.Collection, tmp_path: Path) -> None:
    index, topics = sample.index("task1"), sample.topics("task1", 2021)
    qrels, run = sample.qrels("task1", 2021), pd.DataFrame({"qid": ["A.201"], "docno": ["1"]})
    faults = {
        "variant 'x': the configuration has": lambda: index.run(topics, variant="x"),
        "topics: no column query; it has qid": lambda: index.run(topics[["qid"]]),
        "topics: qid A.201 comes twice": lambda: index.run(pd.concat([topics, topics])),
        "run: no column score": lambda: arq.evaluate(run, qrels),
        "run: no score in row 0": lambda: arq.evaluate(run.assign(score=[None]), qrels),
        "the qrels judge none": lambda: arq.evaluate(run.assign(qid="B.1", score=1), qrels),
        "2019: no such qrels file": lambda: sample.qrels("task1", 2019),
        "no such run file": lambda: arq.read_run(tmp_path / "none.tsv"),
        "no such file or directory": lambda: arq.Collection(tmp_path / "none"),
        "engine 'x': expected one of auto, lucene": lambda: sample.index("task1", engine="x"),  # type: ignore[arg-type]
        "opensearch and hosts belong together": lambda: sample.index("task1", hosts="http://x"),
        "k 0: expected a whole number from 1": lambda: index.search("x", k=0),
        "k 3.0: expected a whole number": lambda: index.search("x", k=3.0),  # type: ignore[arg-type]
        "depth -1: expected": lambda: index.run(topics, depth=-1),
        "depth 0: expected": lambda: index.run(topics, depth=0),
        "query None: expected a text": lambda: index.search(None),  # type: ignore[arg-type]
        "query 3: expected a text": lambda: index.run([{"qid": "a", "query": 3}]),
        "topics: got a dict; expected a frame": lambda: index.run({"qid": 3}),  # type: ignore[dict-item]
        "candidates: no column docno": lambda: index.score(topics),
        "only rows of task1 and docs can be scored": lambda: sample.index("task2").score(
            sample.topics("task2", 2020).assign(docno="1")
        ),
        "task1: no topics 1999; there are 2020, 2021": lambda: sample.topics("task1", 1999),
        "kind 'x': expected any of words": lambda: arq.terms("x", ["x"]),  # type: ignore[list-item]
        "text: expected a string": lambda: arq.terms(None),  # type: ignore[arg-type]
        "their attrs are lost": lambda: arq.evaluate(
            index.run(topics), pd.DataFrame(qrels).pipe(_unknown, "task2")
        ),
    }
    for message, fault in faults.items():
        with pytest.raises(arq.InputError, match=message):
            fault()
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        arq.x  # type: ignore[attr-defined]  # noqa: B018


def _unknown(qrels: pd.DataFrame, task: str) -> pd.DataFrame:
    qrels = qrels.copy()
    qrels.attrs = {"task": task}
    return qrels


def test_terms_are_those_of_an_index() -> None:
    assert arq.tokenize(r"\frac12 x^2")[:6] == ["frac", "1", "2", "x", "^", "2"]
    assert arq.tokenize("x^2") == arq.tokenize("x^{2}")
    found = arq.analyze("Primes in $x^2$")
    assert found["words"] == ["prime"]
    assert found["math"][:3] == ["x", "^", "2"]
    assert "^~1~x" in found["operators"]


def test_a_rewritten_query_is_searched_even_beside_a_title(sample: arq.Collection) -> None:
    index, topics = sample.index("task1"), sample.topics("task1", 2021)
    alone = topics[["qid"]].assign(query="zebra $x^2$")
    for rewritten in (topics.assign(query="zebra $x^2$"), alone.assign(title="of a document")):
        pd.testing.assert_frame_equal(index.run(rewritten), index.run(alone))
    one = topics.iloc[0]
    assert index.explain(one, index.run(topics)["docno"][0])["score"].sum() > 0
    # What nobody touched is searched with its title, its question and its tags.
    full, text = index.run(topics), index.run(topics[["qid", "query"]])
    assert not full.equals(text)
    lists = topics.assign(tags=topics["tags"].map(list))
    pd.testing.assert_frame_equal(index.run(lists), full)
    formulas = sample.topics("task2", 2020)
    changed = formulas.assign(query="$y^7$")
    index = sample.index("task2")
    pd.testing.assert_frame_equal(index.run(changed), index.run(changed[["qid", "query"]]))
    assert not index.run(changed).equals(index.run(formulas))


@pytest.mark.slow
def test_objects_are_what_they_are_made_from(sample: arq.Collection, tmp_path: Path) -> None:
    index, topics = sample.index("task1"), sample.topics("task1", 2021)
    again = pickle.loads(pickle.dumps(index))  # noqa: S301
    assert again == index == copy.deepcopy(index)
    assert len({index, again, sample.index("task2")}) == 2
    assert pickle.loads(pickle.dumps(sample)) == sample != arq.sample(tmp_path)  # noqa: S301
    pd.testing.assert_frame_equal(again.run(topics), index.run(topics))
    jobs = joblib.Parallel(n_jobs=2)(joblib.delayed(index.search)("prime", k) for k in (1, 2))
    assert [len(hits) for hits in jobs] == [1, 2]
    assert len(index) == sample.posts.answer_count
    assert index.path.parent == sample.directory / "task1"
    own = {"question_operators": {"k1": 2, "b": 1}}
    assert index.settings["bm25"] == {"k1": 1.2, "b": 0.75, "fields": own}
    assert repr(index) == f"<Index task1 of {sample.name}>"
    assert repr(sample) == f"<Collection {sample.name}>"
    assert "both" in index._repr_html_()
    assert "2021" in sample._repr_html_()
    with again, pickle.loads(pickle.dumps(sample)) as collection:  # noqa: S301
        assert len(again.run(topics, depth=1)) == len(topics)
        assert collection.posts.answer_count == len(index)
    pd.testing.assert_frame_equal(again.run(topics, depth=3), index.run(topics, depth=3))


@pytest.mark.parametrize(("task", "year"), TASKS)
def test_a_run_and_a_document_have_their_texts(
    task: Any, year: int | str, sample: arq.Collection
) -> None:
    index = sample.index(task)
    run = index.run(sample.topics(task, year), depth=5, text=True)
    assert {"title", "text"} < set(run)
    assert run["text"].str.len().min() > 0
    for row in run.head(3).to_dict("records"):
        document = index.document(row["docno"])
        assert (document["docno"], document["title"]) == (row["docno"], row["title"])
        assert row["text"].split()[0] in document["text"]
    if task == "task1":
        assert "$" in "".join(run["text"])
    for unknown in ("x", "0", "-1"):
        with pytest.raises(arq.InputError, match=f"has no document '{unknown}'"):
            index.document(unknown)
    assert any(index.analyze("x^2" if task == "task2" else "Primes in $x^2$").values())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lucene", "flat"])
def test_given_documents_are_scored_as_they_are_ranked(engine: Any, tmp_path: Path) -> None:
    sample = arq.sample(tmp_path)
    index, topics = sample.index("task1", engine=engine), sample.topics("task1", 2021)
    for variant in ("text", "math", "both"):
        run = index.run(topics, variant, depth=100)
        given = topics.merge(run[["qid", "docno"]].sample(frac=1, random_state=1), on="qid")
        scored = index.score(given, variant)
        pd.testing.assert_frame_equal(scored[list(run)], run, check_exact=True)
    run = index.run(topics, "text", depth=3)
    few = topics.merge(run[["qid", "docno"]], on="qid")
    others = set(index.run(topics, "math")["docno"]) - set(index.run(topics[:1], "text")["docno"])
    unlike = few.assign(docno=min(others))[:1]  # without any word of the first topic
    scored = index.score(pd.concat([few, unlike]), "text")
    last = scored[scored["docno"] == min(others)].iloc[0]
    assert (last["score"], last["rank"]) == (0, 4)
    lost = pd.concat([few, few[:1].assign(docno="0"), few[-1:].assign(docno="none")])
    for ask in (index.score, index.features):
        with pytest.raises(arq.InputError, match=r"has no document '0', 'none'$"):
            ask(lost, "both")
    features = index.features(few, "both")
    assert list(features.index) == list(few.index)
    best = index.run(topics, "both")
    expected = few.merge(best, on=["qid", "docno"], how="left")["score"].fillna(-1)
    found = features.sum(axis=1)[expected >= 0]
    assert found.to_list() == pytest.approx(expected[expected >= 0].to_list(), abs=1e-4)


def test_a_reranked_run_keeps_the_manifest_of_the_run_that_it_was_made_from(
    sample: arq.Collection, tmp_path: Path
) -> None:
    run = sample.index("task1").run(sample.topics("task1", 2021), variant="text", depth=20)
    arq.write_run(run, tmp_path / "run.tsv")
    manifest = json.loads((tmp_path / "run.tsv.manifest.json").read_text())
    assert (manifest["variant"], manifest["depth"]) == ("text", 20)
    assert manifest["tag"] == run.attrs["name"]
    for first in (run, arq.read_run(tmp_path / "run.tsv")):
        arq.write_run(first.assign(score=range(len(run))), tmp_path / "mine.tsv", name="mine")
        mine = json.loads((tmp_path / "mine.tsv.manifest.json").read_text())
        for made in (manifest, mine["made from"]):
            for of_file in ("sha256", "form"):
                made.pop(of_file, None)
        assert mine["made from"] == manifest
        assert mine["tag"] == "mine"
    assert "variant" not in mine  # nothing is explained by settings that did not make it


def test_topics_may_be_a_list_of_dicts_with_any_ids(sample: arq.Collection) -> None:
    index = sample.index("task1")
    run = index.run([{"qid": 7, "query": "prime"}], depth=np.int64(2))
    assert run["qid"].tolist() == ["7", "7"]
    pd.testing.assert_frame_equal(
        run[["docno", "score", "rank"]], index.search("prime", 2)[["docno", "score", "rank"]]
    )


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    script = """
import sys
import arqmath_bm25 as arq
light = set(sys.modules)
terms = arq.terms("Why does $x^2$ grow?")
assert len(terms) == 5 and {"grow", "^~1~x", "~^", "^~2~2"} < set(terms), terms
assert terms == arq.terms("<p>Why does $x^2$ grow?</p>", html=True)
print(sorted(set(sys.modules) & {"numpy", "pandas", "scipy", "jnius"}))
arq.sample(), arq.tokenize("x")
print(sorted(set(sys.modules) & {"pandas", "scipy.stats"}))
print(sorted(light & {"numpy", "pandas", "typer", "lxml", "yaml"}))
print(sorted(set(sys.modules) & {"jnius", "sklearn", "typer", "starlette", "ir_datasets"}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]"] * 4, done.stderr
    assert dir(arq) == sorted(arq.__all__)


@pytest.mark.parametrize(("task", "year"), TASKS)
def test_convert_keeps_what_a_run_scores(
    task: Any, year: int | str, sample: arq.Collection, tmp_path: Path
) -> None:
    index, run = sample.index(task), tmp_path / "x-auto.tsv"
    qrels = sample.qrels(task, year)
    arq.write_run(index.run(sample.topics(task, year)), run)
    found = arq.evaluate(arq.read_run(run), qrels)
    packed, again = tmp_path / "packed.tsv.gz", tmp_path / "again.tsv"
    arqmath("convert", run, "-o", packed)
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    assert arq.evaluate(arq.read_run(packed), qrels) == found
    arqmath("convert", packed, "-o", again)
    assert again.read_bytes() == run.read_bytes()
    trec = tmp_path / "run.trec.gz"
    convert = ("convert", run, "--format", "trec", "-o", trec)
    if task in ("task3", "nlps"):
        assert "has no TREC form" in refused(*convert)
        return
    arqmath(*convert)
    assert arq.evaluate(arq.read_run(trec), qrels) == found
    if task == "task2":
        assert "in which post formula" in refused("convert", trec, "-o", again)
    else:
        again.unlink()
        arqmath("convert", trec, "-o", again)
        assert again.read_bytes() == run.read_bytes()


@pytest.mark.slow
def test_the_program_is_quiet_completes_and_finds_its_data(tmp_path: Path) -> None:
    def program(*arguments: str, **environment: str) -> str:
        path = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)}
        done = process(*arguments, cwd=tmp_path, env=path | environment)
        return done.stdout + done.stderr

    assert program("--quiet", "index", "task1") == ""
    assert "up to date" in program("index", "task1")
    assert "1  " in program("--quiet", "search", "task1", "prime")
    assert f"DATA={tmp_path / 'x'}" in program(
        "search", "task1", "prime", ARQMATH_DATA=str(tmp_path / "x")
    )
    shell = {"_ARQMATH_BM25_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    assert program(COMP_WORDS="arqmath-bm25 con", **shell).split() == ["convert"]
    shell["COMP_CWORD"] = "2"
    assert "task1" in program(COMP_WORDS="arqmath-bm25 run ", **shell).split()


def test_a_collection_stays_where_it_is_when_the_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "1", "text": "A triangle"}\n')
    monkeypatch.chdir(tmp_path)
    collection = arq.Collection("corpus.jsonl", "ix")
    monkeypatch.chdir("/")
    assert collection.data == tmp_path / "corpus.jsonl"
    assert collection.indexes == tmp_path / "ix"
