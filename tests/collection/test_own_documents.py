"""Documents of one's own: every form of files, ranking and scores of them, and bad rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

import pytest
from program import arqmath, printed, refused
from selectolax.lexbor import LexborHTMLParser
from serving import running

import arqmath_bm25 as arq
from arqmath_bm25.collection.own_documents import UserDocument, read_documents
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.qrels import read_qrels
from arqmath_bm25.pages.web.search_pages import SearchPages
from arqmath_bm25.tasks.open_index import OpenIndex

if TYPE_CHECKING:
    from pathlib import Path


def jsonl(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


ROWS = [
    {
        "_id": "thm/pythagoras",
        "title": "Pythagoras",
        "text": r"In a right triangle \(a^2+b^2=c^2\).",
    },
    {"_id": "euler", "title": "Euler", "text": r"<p>The identity</p><p>\[e^{i\pi}+1=0\]</p>"},
    {"_id": "η-7", "text": "No formula, a triangle only & a<b.", "tags": ["plane-geometry"]},
    {"_id": "empty", "text": ""},
]


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    jsonl(tmp_path / "mine" / "corpus.jsonl", *ROWS)
    jsonl(
        tmp_path / "mine" / "queries.jsonl",
        {"_id": "q1", "text": "triangle $x^2+y^2=z^2$"},
        {"_id": "q2", "text": "triangle", "excluded_ids": ["thm/pythagoras"]},
    )
    qrels = tmp_path / "mine" / "qrels" / "test.tsv"
    qrels.parent.mkdir()
    qrels.write_text("query-id\tcorpus-id\tscore\nq1\tthm/pythagoras\t1\nq2\tη-7\t2\n")
    return tmp_path / "mine"


def test_one_command_each(beir: Path, tmp_path: Path) -> None:
    where = ("--data", beir, "--indexes", tmp_path / "indexes")
    said = printed("index", "docs", *where)
    assert "4 documents indexed, 1 of them without words" in said
    said = printed("run", "docs", *where, "--runs", tmp_path / "runs", "--variant", "both")
    assert "2 queries, 4 rows" in said
    (run,) = (tmp_path / "runs" / "mine" / "queries").glob("both.trec")
    rows = [line.split("\t")[:4] for line in run.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == ["q1", "Q0", "thm/pythagoras", "1"]
    assert [row for row in rows if row[0] == "q2"] == [["q2", "Q0", "η-7", "1"]]
    table = printed("eval", run, "--json", tmp_path / "scores.json", *where)
    assert "nDCG@10" in table
    assert "R@100" in table
    (scores,) = json.loads((tmp_path / "scores.json").read_text())
    assert scores["nDCG@10"] == scores["R(rel=1)@100"] == 1
    found = printed("search", "docs", r"\(a^2+b^2=c^2\)", *where, "--depth", 1)
    assert "thm/pythagoras" in found
    assert "http" not in found
    untitled = printed("search", "docs", "plane", *where)
    assert untitled.count("η-7") == 1


@pytest.mark.parametrize("variant", ["text", "both"])
def test_what_is_excluded_makes_room_for_others(variant: str, tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": f"triangle $x^{n}$ " + "word " * n} for n in range(9)]
    corpus = jsonl(tmp_path / "corpus.jsonl", *rows)
    query = {"id": "q", "text": "triangle $x^2$"}
    excluding = {**query, "id": "r", "excluded_ids": ["0", "1", "2", "3"]}
    queries = jsonl(tmp_path / "queries.jsonl", query, excluding)
    where = ("--data", corpus, "--indexes", tmp_path / "indexes")
    arqmath("index", "docs", *where)
    options = ("--topics", queries, "--variant", variant, "--depth", 4)
    arqmath("run", "docs", *where, *options, "--runs", tmp_path / "runs")
    (run,) = (tmp_path / "runs").rglob("*.trec")
    lines = [line.split("\t") for line in run.read_text().splitlines()]
    found = {topic: [line[2] for line in lines if line[0] == topic] for topic in "qr"}
    assert len(found["q"]) == len(found["r"]) == 4
    assert not set(found["r"]) & {"0", "1", "2", "3"}


def test_a_report_shows_them(beir: Path, tmp_path: Path) -> None:
    """Queries, documents with their formulas, and scores; what was judged and not returned too."""
    rows = ["q1 Q0 euler 1 2.0 x", "q1 Q0 η-7 2 1.0 x", "q2 Q0 η-7 1 1.0 x"]
    (tmp_path / "x.trec").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    with (beir / "qrels" / "test.tsv").open("a") as file:
        file.write("q1\tthm/none\t2\n")
        file.write("q1\teuler\t2\n")
    with (beir / "corpus.jsonl").open("a") as file:
        file.write(json.dumps({"id": "thm/none", "text": "Nobody returns $0$"}) + "\n")
    where = ("--data", beir, "--indexes", tmp_path / "indexes", "-o", tmp_path / "out")
    assert "2 topics" in printed("report", tmp_path / "x.trec", *where)
    overview = LexborHTMLParser((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    assert overview.css_first("h1").text() == "Documents on mine"
    said = "For every topic every run has a relevant document among the first ten."
    assert said in overview.css_first(".verdict").text()
    topic = LexborHTMLParser((tmp_path / "out" / "topics" / "q1.html").read_text(encoding="utf-8"))
    assert topic.css(".question math")
    posts = topic.css("table.documents details")
    assert [post.attributes["id"] for post in posts] == [
        "doc-euler", "doc-thm/none", "doc-thm/pythagoras", "doc-η-7"
    ]  # fmt: skip  # relevant is grade 1, which the third has
    assert posts[0].css_first("summary").text().strip() == "Euler"
    assert posts[0].css_first("math").attributes["title"] == r"e^{i\pi}+1=0"
    assert not topic.css("a[href^='http']")


def test_no_document_is_without_words(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "mine.jsonl", {"id": 1, "text": "word"})
    said = printed("index", "docs", "--data", file, "--indexes", tmp_path / "i")
    assert "1 document indexed" in said


def test_the_library_takes_them(beir: Path, tmp_path: Path) -> None:
    collection = arq.Collection(beir / "corpus.jsonl", tmp_path / "indexes")
    index = collection.index("docs")
    assert list(index.search("triangle $x^2+y^2=z^2$", k=2)["docno"]) == ["thm/pythagoras", "η-7"]
    documents = list(collection.documents("docs"))
    assert [document["docno"] for document in documents] == [row["_id"] for row in ROWS]
    assert documents[0]["text"] == "Pythagoras In a right triangle $a^2+b^2=c^2$."
    assert documents[0]["fields"]["contents"] == ["pythagora", "right", "triangl"]
    assert documents[2]["fields"]["tags"] == ["plane", "geometri"]
    run = index.run([{"qid": "q1", "query": "triangle"}], variant="text")
    assert set(run["docno"]) == {"thm/pythagoras", "η-7"}


def test_every_form_of_file(tmp_path: Path) -> None:
    tsv = tmp_path / "docs.tsv"
    tsv.write_text("\ufeffid\ttitle\ttext\na\tA\tone\nb\t\ttwo\n\nc\tthree\n", encoding="utf-8")
    assert [document for document, _ in read_documents(tsv)] == [
        UserDocument("a", "one", "A"), UserDocument("b", "two"), UserDocument("c", "three")
    ]  # fmt: skip
    rows = jsonl(tmp_path / "a.jsonl", {"id": 7, "text": "x", "title": None, "more": {}})
    assert [document for document, _ in read_documents(rows)] == [UserDocument("7", "x")]


def test_a_row_may_say_its_kind_its_address_and_what_it_refers_to(tmp_path: Path) -> None:
    row = {
        "id": "limits",
        "text": "# Limits",
        "kind": "markdown",
        "url": "https://notes.example/limits",
        "references": ["series", 7],
    }
    ((document, _),) = read_documents(jsonl(tmp_path / "a.jsonl", row))
    assert document.kind == "markdown"
    assert document.url == "https://notes.example/limits"
    assert document.references == ("series", "7")


GOOD = '{"id": "a", "text": "x"}'
BAD = {
    "": "there are no rows",
    "\n \n": "there are no rows",
    "{": r"line 1: Invalid JSON",
    "id text": "line 1: Invalid JSON",
    f"{GOOD} {GOOD}": "line 1: Invalid JSON",
    f"[{GOOD},": "line 1: Invalid JSON",
    f"[{GOOD}]": "line 1: Input should be an object",
    '"a"': "line 1: Input should be an object",
    "null": "line 1: Input should be an object",
    "[" * 100_000: "line 1: Invalid JSON",
    '{"text": "x"}': "id: Field required",
    '{"id": null, "text": "x"}': "id: the value is missing",
    '{"id": true, "text": "x"}': "id: Input should be a valid string",
    '{"id": ["a"], "text": "x"}': "id: Input should be a valid string",
    '{"id": "", "text": "x"}': "id is ''; expected text without white space",
    '{"id": "a b", "text": "x"}': "id is 'a b'; expected text without white space",
    '{"id": "\\ud800", "text": "x"}': "Invalid JSON: .* hex escape",
    '{"id": "a"}': "text: Field required",
    '{"id": "a", "text": null}': "text: the value is missing",
    '{"id": "a", "text": 5}': "text: Input should be a valid string",
    '{"id": "a", "text": "x", "title": ["t"]}': "title: Input should be a valid string",
    '{"id": "a", "text": "x", "kind": "word"}': "kind: Input should be 'post', 'html', 'latex'",
    '{"id": "a", "text": "x", "url": 5}': "url: Input should be a valid string",
    '{"id": "a", "text": "x", "references": "b"}': "references: Input should be a valid array",
    '{"id": "a", "text": "x", "tags": "t"}': "tags: Input should be a valid array",
    '{"id": "a", "text": "x", "tags": [null]}': "tags.0: the value is missing",
    f"{GOOD}\n{GOOD}": "line 2: id 'a' is that of line 1 too",
    f'{GOOD}\n{{"id": "b", "text": "' + "y" * 99: "line 2: Invalid JSON",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_rows_are_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "docs.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=BAD[text]) as raised:
        list(read_documents(file))
    assert str(raised.value).startswith(f"{file}: ")
    assert len(str(raised.value)) < len(str(file)) + 400


@pytest.mark.parametrize("value", [None, 5, "text", ["a"], [0, 1], {"a": "b"}, {"a": 5}])
@pytest.mark.parametrize("field", ["type", "file", "line", "label_ids", "as_post"])
def test_rows_of_other_programs_may_have_fields_of_our_names(
    tmp_path: Path, field: str, value: object
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"id": "1", "text": "primes", field: value}))
    ((document, _),) = read_documents(path)
    assert (document.doc_id, document.text) == ("1", "primes")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"id": "a", "text": "\xff"}', "line 1: byte 22 is not UTF-8"),
        ("a.tsv", b"a\tx\na\ty\n", "line 2: id 'a' is that of line 1"),
        ("a.tsv", b"a\n", "line 1: expected 2 columns \\(id, text\\) or 3 .*, found 1"),
        ("a.tsv", b"a\tb\tc\td\n", "separated by TABs, found 4"),
        ("a.tsv", b"\tx\n", "line 1: id is ''"),
    ],
)
def test_bad_bytes_and_columns(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(read_documents(tmp_path / name))


def test_nothing_is_half_written(tmp_path: Path) -> None:
    file = tmp_path / "docs.jsonl"
    file.write_text(f"{GOOD}\n{{", encoding="utf-8")
    message = refused("index", "docs", "--data", file, "--indexes", tmp_path / "i")
    assert "docs.jsonl: line 2: Invalid JSON" in message
    assert not list((tmp_path / "i").glob("*/docs/*"))


def test_judgments_of_beir(tmp_path: Path) -> None:
    file = tmp_path / "test.tsv"
    file.write_text("query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\n")
    assert read_qrels(file) == {"q1": {"a": 2, "b": 0}}
    file.write_text("query-id\tcorpus-id\tscore\nq1\ta\n")
    with pytest.raises(InputError, match="row 2: expected the 3 columns"):
        read_qrels(file)


@pytest.mark.slow
def test_premises_as_documents(shared: Path, tmp_path: Path) -> None:
    """Against known judgments: statements cite premises of the knowledge base."""
    place = shared / "data" / "nlps"
    premises: dict[str, Any] = json.loads((place / "knowledge_base.json").read_text())
    statements: dict[str, Any] = json.loads((place / "dev_set.json").read_text())
    texts = {
        key: value["text"] if isinstance(value, dict) else value for key, value in premises.items()
    }
    jsonl(tmp_path / "nlps" / "corpus.jsonl", *({"id": k, "text": v} for k, v in texts.items()))
    chosen = dict(list(statements.items())[:60])
    jsonl(
        tmp_path / "nlps" / "queries.jsonl",
        *({"id": f"s{k}", "text": v["text"], "excluded_ids": [k]} for k, v in chosen.items()),
    )
    cited = {
        f"s{key}": set(map(str, statement["premises"])) & texts.keys() - {key}
        for key, statement in chosen.items()
    }
    judged = [f"{query}\t{doc}\t1\n" for query, docs in cited.items() for doc in sorted(docs)]
    qrels = tmp_path / "nlps" / "qrels" / "test.tsv"
    qrels.parent.mkdir()
    qrels.write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    where = ("--data", tmp_path / "nlps", "--indexes", tmp_path / "i")
    arqmath("index", "docs", *where)
    arqmath("run", "docs", *where, "--runs", tmp_path / "r", "--variant", "both")
    (run,) = (tmp_path / "r" / "nlps" / "queries").glob("*.trec")
    arqmath("eval", run, "--json", tmp_path / "scores.json", *where)
    (scores,) = json.loads((tmp_path / "scores.json").read_text())
    ranked: dict[str, list[str]] = {}
    for line in run.read_text().splitlines():
        query, _, doc, *_ = line.split("\t")
        ranked.setdefault(query, []).append(doc)
    assert all(query.removeprefix("s") not in docs for query, docs in ranked.items())
    recalls = [
        len(docs & set(ranked.get(query, [])[:100])) / len(docs)
        for query, docs in cited.items()
        if docs
    ]
    assert scores["R(rel=1)@100"] == pytest.approx(sum(recalls) / len(recalls), abs=1e-4)
    assert 0.3 < scores["R(rel=1)@100"] < 1
    assert 0.1 < scores["nDCG@10"] < 1


def test_the_library_leaves_out_what_a_query_excludes_as_the_program_does(
    beir: Path, tmp_path: Path
) -> None:
    where = ("--data", beir, "--indexes", tmp_path / "indexes")
    arqmath("index", "docs", *where, "--engine", "flat")
    arqmath("run", "docs", *where, "--runs", tmp_path / "runs", "--variant", "both")
    (file,) = (tmp_path / "runs").rglob("*both*.trec")
    collection = arq.Collection(beir, indexes=tmp_path / "indexes")
    topics = collection.topics("docs", beir / "queries.jsonl")
    assert topics["excluded"].tolist() == [(), ("thm/pythagoras",)]
    run = collection.index("docs").run(topics, "both")
    lines = [line.split()[:4:2] for line in file.read_text(encoding="utf-8").splitlines()]
    assert run[["qid", "docno"]].to_numpy().tolist() == lines
    rewritten = topics.assign(query="triangle")  # a row keeps what it excludes
    assert ["q2", "thm/pythagoras"] not in (
        collection.index("docs").run(rewritten, "both")[["qid", "docno"]].to_numpy().tolist()
    )


QUERY = r"$\lVert x \rVert_{\mathbb R} \le 1$"


def test_macros_beside_the_documents_hold_for_documents_queries_and_pages(tmp_path: Path) -> None:
    r"""As in LaTeX sources: `\normR` has an argument, and uses `\R`."""
    preamble = tmp_path / "mine" / "macros.tex"
    rows = [
        {"id": "macro", "title": r"On $\normR{x}$", "text": r"Bounded: $\normR{x} \le 1$."},
        {"id": "plain", "text": r"Bounded: $\lVert x \rVert_{\mathbb R} \le 1$."},
        {"id": "other", "text": "Bounded: $a+b=c$."},
    ]
    collection = arq.Collection(jsonl(tmp_path / "mine" / "corpus.jsonl", *rows), tmp_path / "i")
    without = collection.index("docs", engine="flat").search(QUERY, variant="math", k=1)
    assert without["docno"].tolist() == ["plain"]
    preamble.write_text(
        "% of the book\n\\newcommand{\\R}{\\mathbb R}\n"
        "\\newcommand{\\normR}[1]{\\lVert #1 \\rVert_{\\R}}\n"
    )
    index = collection.index("docs", engine="flat")
    terms = [index.analyze(str(row["text"]))["operators"] for row in rows]
    assert terms[0] == terms[1] != []
    for query in (QUERY, r"$\normR x \le 1$"):
        hits = index.search(query, variant="math", k=2)
        assert set(hits["docno"]) == {"macro", "plain"}
    pages = SearchPages({"docs": OpenIndex.open(collection, "docs")}, threads=1)
    with running(pages) as address:
        page = urlopen(f"{address}/?q=bounded&task=docs").read().decode()  # noqa: S310
    results = LexborHTMLParser(page).css_first(".results")
    # In two texts, a title, and the name of the document without a title, which is its beginning.
    assert results.html.count("<mi>ℝ</mi>") == 4
    assert "normR" not in results.text()  # the link to documents like this one has the source


@pytest.mark.parametrize("text", ["another question about rings", "something else"])
def test_a_query_that_is_a_document_is_left_out_of_its_own_hits(tmp_path: Path, text: str) -> None:
    data = tmp_path / "forum"
    data.mkdir()
    rows = [{"id": "1", "text": "a question about rings"}, {"id": "2", "text": text}]
    jsonl(data / "corpus.jsonl", *rows)
    jsonl(
        data / "queries.jsonl",
        {"id": "1", "text": "a question  about rings"},
        {"id": "2", "text": "rings"},
    )
    place = ("--data", data, "--indexes", tmp_path / "i", "--engine", "flat")
    arqmath("index", "docs", *place)
    said = printed("run", "docs", *place, "--runs", tmp_path / "r", "--variant", "text")
    assert "1 of 2 queries are documents of the collection" in said
    (run,) = (tmp_path / "r").rglob("text.trec")
    hits = [line.split()[:3] for line in run.read_text().splitlines()]
    assert ["1", "Q0", "1"] not in hits
    assert ["2", "Q0", "1"] in hits


@pytest.mark.parametrize("header", ["docno\ttext", "qid\tquery", "_id\ttitle\ttext"])
def test_a_header_of_a_tsv_has_the_names_of_json_rows(tmp_path: Path, header: str) -> None:
    path = tmp_path / "docs.tsv"
    columns = header.count("\t") + 1
    path.write_text(f"{header}\n" + "\t".join(["d1", "prime numbers", "query of primes"][:columns]))
    assert [document.doc_id for document, _ in read_documents(path)] == ["d1"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["<article>ring</article>", r"\emph{ring}", "ring", "a ring"],
         "documents by kind: HTML of other programs 1, LaTeX source 1, plain 2"),
        (["<article></article>", "ring", "<b>ring</b>"],
         "no words in 1 of 1 document read as HTML of other programs"),
        (["so $\frac{1}{2}$", "$5\times 3$", "a ring"], "2 of them with commands repaired"),
        (["จำนวนเฉพาะ คือ", "a ring", "素数"], "1 document in Thai, Lao, Burmese or Khmer"),
    ],
)  # fmt: skip
def test_index_says_how_documents_were_read(tmp_path: Path, rows: list[str], said: str) -> None:
    path = tmp_path / "rows.jsonl"
    jsonl(path, *({"id": str(number), "text": text} for number, text in enumerate(rows)))
    place = ("--data", path, "--indexes", tmp_path / "i", "--engine", "flat")
    assert said in " ".join(printed("index", "docs", *place).split())


def test_posts_and_plain_texts_need_no_report(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    jsonl(path, {"id": "1", "text": "<p>ring</p>"}, {"id": "2", "text": "ring"})
    place = ("--data", path, "--indexes", tmp_path / "i", "--engine", "flat")
    assert "read" not in printed("index", "docs", *place)
