"""Delimiters of a site's own and a tokenizer of one's own: terms, indexes that become stale."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from program import arqmath, printed, refused
from serving import running

import arqmath_bm25 as arq
from arqmath_bm25.analysis.html import Delimiters, read_body, read_title
from arqmath_bm25.analysis.tokenizer import TRUSTED, load_tokenizer, tokenizer_version
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.pages.web.search_pages import SearchPages
from arqmath_bm25.tasks import trust
from arqmath_bm25.tasks.answers import answer_documents
from arqmath_bm25.tasks.open_index import OpenIndex

CONFIG = Path(__file__).parents[2] / "configs" / "task1_tokens.yaml"
TEXT = r"of $5 a \$x^2\$ or <span class='m'>b</span> $$y$$, \(z\) \begin{align}w\end{align}"
SPAN = '<span class="math-container">$s$</span>'


@pytest.mark.parametrize(
    ("delimiters", "formulas"),
    [
        ("escaped", ["x^2", "y", "z", r"\begin{align}w\end{align}", "s"]),
        ("spans", ["s"]),
        ("none", []),
    ],
)
def test_delimiters_of_a_site(delimiters: Delimiters, formulas: list[str]) -> None:
    content = read_body(f"<p>{TEXT} {SPAN}</p>", delimiters)
    assert [formula.latex for formula in content.formulas] == formulas
    assert "of $5 a" in content.prose
    assert ("s" in content.prose.split()) == (delimiters == "none")
    assert [formula.latex for formula in read_title(TEXT + SPAN, delimiters).formulas] == formulas


def test_a_price_is_no_formula_where_dollars_are_escaped() -> None:
    """As the network's own settings have it: only `\\$` begins a formula on these sites."""
    content = read_body(r"<p>$5, \$R_1\$ and $7 <code>\$no\$</code></p>", "escaped")
    assert [formula.latex for formula in content.formulas] == ["R_1"]
    assert read_body(r"<p>a \$5 alone</p>", "escaped").text == "a $5 alone"


@given(st.text("$\\ab{}()[]<>/p \n"), st.sampled_from(["mathjax", "escaped", "spans", "none"]))
def test_every_text_is_read(text: str, delimiters: Delimiters) -> None:
    for content in (read_body(text, delimiters), read_title(text, delimiters)):
        assert not re.search("[\ue000-\uf8ff]", content.text)


def configured(path: Path, **latex: object) -> Path:
    settings = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    settings["analysis"]["latex"] |= latex
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


def dump(place: Path, body: str) -> Path:
    place.mkdir()
    rows = (
        '<row Id="1" PostTypeId="1" CreationDate="2020-01-01" Title="t" Body="asked"/>'
        '<row Id="3" PostTypeId="1" CreationDate="2020-01-01" Title="t" Body="asked"/>'
        '<row Id="4" PostTypeId="2" ParentId="3" CreationDate="2020-01-01" Body="no $z$"/>'
        f'<row Id="2" PostTypeId="2" ParentId="1" CreationDate="2020-01-01" Body="{body}"/>'
    )
    (place / "Posts.xml").write_text(f"<posts>{rows}</posts>", encoding="utf-8")
    return place


def test_an_index_keeps_its_delimiters(tmp_path: Path) -> None:
    data = dump(tmp_path / "electronics.stackexchange.com", r"It costs $5, \$R_1+R_2\$, $6.")
    where = ("--data", data, "--indexes", tmp_path / "i", "--engine", "flat")
    arqmath("index", "task1", *where, "--config", configured(tmp_path / "a", delimiters="escaped"))
    index = arq.Collection(data, tmp_path / "i").index("task1", config=tmp_path / "a")
    assert "R" in index.analyze(r"\$R_1+R_2\$")["math"]
    assert index.analyze("$R_1+R_2$")["math"] == []
    document = next(arq.Collection(data).documents("task1", config=tmp_path / "a"))
    assert document["text"] == "It costs $5, $R_1+R_2$, $6."
    assert "R" in document["fields"]["body_math"]
    other = configured(tmp_path / "b", delimiters="spans")
    message = refused("run", "task1", *where, "--config", other)
    assert "built with other analysis settings" in message
    bad = configured(tmp_path / "c", delimiters="dollars")
    message = refused("index", "task1", *where, "--config", bad)
    assert "analysis.latex.delimiters: Input should be 'mathjax', 'escaped', 'spans', '" in message


def test_all_tasks_and_pages_keep_the_delimiters(tmp_path: Path) -> None:
    data = dump(tmp_path / "electronics.stackexchange.com", r"It costs $5, \$R_1+R_2\$, $6.")
    where = ("--data", data, "--indexes", tmp_path / "i", "--engine", "flat")
    config = yaml.safe_load((CONFIG.parent / "task2.yaml").read_text(encoding="utf-8"))
    config["analysis"]["delimiters"] = "escaped"
    config["variants"].pop("both")
    config["run"]["primary"] = "math"
    (tmp_path / "task2").write_text(yaml.safe_dump(config), encoding="utf-8")
    task1 = configured(tmp_path / "task1", delimiters="escaped")
    arqmath("index", "task2", *where, "--config", tmp_path / "task2")
    arqmath("index", "task1", *where, "--config", task1)

    collection = CollectionFiles(data, tmp_path / "i")
    index = OpenIndex.open(collection, "task2", tmp_path / "task2")
    (hit,) = index.search(r"\$R_1+R_2\$", "math", 5)
    formula = index.task.found(hit, index).formula
    assert formula is not None
    assert formula.latex == "R_1+R_2"
    assert r"as in \$x^2\$" in index.task.advice(r"a \$x+y")
    assert index.task.advice("from $5 to 6") == ""

    indexes = {"task1": OpenIndex.open(collection, "task1", task1), "task2": index}
    arqmath("threads", 1, "--data", data, "-o", tmp_path / "t", "--delimiters", "escaped")
    drawn = [(tmp_path / "t" / "1.html").read_text(encoding="utf-8")]
    with running(SearchPages(indexes, 1)) as address:
        for page in ("/posts/2", "/threads/1", "/?q=costs&task=task1"):
            with urlopen(address + page) as answer:  # noqa: S310
                drawn.append(answer.read().decode())
    for text in drawn:
        assert 'title="R_1+R_2"' in text
        assert "$5" in text


MODULE = """
__version__ = "1.0"

def letters(latex):
    return [character.upper() for character in latex if character.isalpha()]

def blanks(latex):
    return ["a b"]

def broken(latex):
    raise RuntimeError("no")

number = 7
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "modules").mkdir()
    file = tmp_path / "modules" / "my_tokens.py"
    file.write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.setenv("PYTHONPATH", str(file.parent))
    forget()
    return file


def forget() -> None:
    """Import the module again, as a new process does."""
    load_tokenizer.cache_clear()
    tokenizer_version.cache_clear()
    sys.modules.pop("my_tokens", None)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_tokenizer_of_ones_own(
    jobs: int, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_documents, "_PER_PART", 1)  # a part for each thread
    data = dump(tmp_path / "some", "Is $ab+c$ it?")
    config = configured(tmp_path / "a", tokenizer="my_tokens:letters")
    where = ("--data", data, "--indexes", tmp_path / "i", "--config", config, "--engine", "flat")
    arqmath("index", "task1", *where, "--jobs", jobs)
    index = arq.Collection(data, tmp_path / "i").index("task1", config=config)
    assert index.analyze("$ab+c$")["math"] == ["A", "B", "C", "A~B", "B~C", "A~B~C"]
    assert list(index.search("$b$", variant="math")["docno"]) == ["2"]
    assert list(index.search("$+$", variant="math")["docno"]) == []
    assert "up to date" in printed("index", "task1", *where)
    module.write_text(MODULE.replace("upper", "lower"), encoding="utf-8")  # other tokens
    forget()
    message = refused("search", "task1", "$b$", *where)
    assert "this index was built with other analysis settings" in message


def test_a_tokenizer_runs_if_a_configuration_names_it(module: Path, tmp_path: Path) -> None:
    data = dump(tmp_path / "some", "Is $ab+c$ it?")
    topics, config = (
        tmp_path / "topics.xml",
        configured(tmp_path / "a", tokenizer="my_tokens:letters"),
    )
    topics.write_text(
        '<Topics><Topic number="A.1"><Title>$b$</Title><Question>?</Question><Tags>a</Tags>'
        "</Topic></Topics>"
    )
    where = ("--data", data, "--indexes", tmp_path / "i")
    arqmath("index", "task1", *where, "--config", config, "--engine", "flat")
    asked = ("--config", config, "--topics", topics, "--variant", "math")
    arqmath("run", "task1", *where, *asked, "--runs", tmp_path)
    (run,) = tmp_path.rglob("*.tsv")
    shutil.copy(topics, run.parent)
    for command, advice in (
        (("serve", "--port", "0"), 'latex.tokenizer: "my_tokens:letters"'),
        (
            ("verify", run),
            "if you trust it, give the configuration that names it; give --config FILE",
        ),
    ):
        TRUSTED.clear()  # as a new process has it
        sys.modules.pop("my_tokens", None)
        message = refused(*command, *where)
        assert advice in message
        assert "my_tokens" not in sys.modules
    assert "as it was made" in printed("verify", run, *where, "--config", config)
    TRUSTED.clear()
    trust([config])  # as `serve --config` does
    (store,) = (tmp_path / "i" / "some" / "task1").glob("flat-*")
    assert OpenIndex.at(CollectionFiles(data, tmp_path / "i"), store).search("$b$", "math", 1)
    with pytest.raises(InputError, match="tokens: unknown; there are"):
        (tmp_path / "b").write_text("tokens: my_tokens", encoding="utf-8")
        trust([tmp_path / "b"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:f", r"cannot import no_such_module \(ModuleNotFoundError: .*PYTHONPATH"),
        ("my_tokens:missing", "my_tokens has no function missing"),
        ("my_tokens:number", "my_tokens has no function number"),
        ("my_tokens", "analysis.latex.tokenizer: String should match pattern"),
        ("my_tokens:blanks", r"returned \['a b'\] for 'x'; expected a list of strings"),
        ("my_tokens:broken", "my_tokens:broken failed on 'x': RuntimeError: no"),
    ],
)
def test_tokenizers_that_do_not_serve(
    name: str, message: str, module: Path, tmp_path: Path
) -> None:
    data = dump(tmp_path / "some", "Is $x$ it?")
    config = configured(tmp_path / "a", tokenizer=name)
    where = ("--data", data, "--indexes", tmp_path / "i", "--config", config, "--engine", "flat")
    said = refused("index", "task1", *where)
    assert re.search(message, said), said
    assert not list(tmp_path.glob("i/some/task1/*"))


def test_tokens_that_no_variant_looks_for(module: Path, tmp_path: Path) -> None:
    settings = yaml.safe_load((CONFIG.parent / "task1.yaml").read_text(encoding="utf-8"))
    settings["analysis"]["latex"]["tokenizer"] = "my_tokens:letters"
    (tmp_path / "a").write_text(yaml.safe_dump(settings), encoding="utf-8")
    with pytest.raises(InputError, match="no variant weighs a field of tokens, as body_math"):
        arq.sample(tmp_path).index("task1", config=tmp_path / "a")
