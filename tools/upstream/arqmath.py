"""The collections of the ARQMath labs for ir_datasets, as a module to submit there.

It goes to `ir_datasets/datasets/arqmath.py`, `arqmath.yaml` to `ir_datasets/docs`, and a line
`from . import arqmath` into `ir_datasets/datasets/__init__.py`. It needs nothing of this project.
The organisers' files are fetched by hand, so they are expected below
`~/.ir_datasets/arqmath/published` under the paths of the organisers' site, with the archives of
posts and formulas unpacked.
"""

import csv
import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ir_datasets
from ir_datasets.datasets.base import Dataset, ExpectedFile, YamlDocumentation
from ir_datasets.formats import BaseDocs, BaseQueries, TrecQrels
from ir_datasets.indices import PickleLz4FullStore

NAME = "arqmath"
QRELS_DEFS = {0: "not relevant", 1: "low", 2: "medium", 3: "high"}
INSTRUCTIONS = "Fetch the file of ARQMath (https://www.cs.rit.edu/~dprl/ARQMath/) and put it there."

POSTS = "Collection/Posts.V1.3.xml"
FORMULAS = "Formulas/latex_representation_v3"
TOPICS = {
    "answers/2020": "Topics/Task1&3 Topics/ARQMath-1/Topics/Topics_V2.0.xml",
    "answers/2021": "Topics/Task1&3 Topics/ARQMath-2/Topics/Topics_Task1_2021_V1.1.xml",
    "answers/2022": "Topics/Task1&3 Topics/ARQMath-3/Topics/Topics_Task1_2022_V0.1.xml",
    "formulas/2020": "Topics/Task2 Topics/ARQMath-1/Topics/Topics_V1.1.xml",
    "formulas/2021": "Topics/Task2 Topics/ARQMath-2/Topics/Topics_Task2_2021_V1.1.xml",
    "formulas/2022": "Topics/Task2 Topics/ARQMath-3/Topics/Topics_Task2_2022_V0.1.xml",
}
# The blank before "Scripts" and the one after "Task 1" are the organisers'.
JUDGED = "Evaluation/ Scripts & Qrels"
QRELS = {
    "answers/2020": f"{JUDGED}/ARQMath-1/Task 1 /qrel_official_task1",
    "answers/2021": f"{JUDGED}/ARQMath-2/Task1/Qrel Files/qrel_task1_2021_test.tsv",
    "answers/2022": f"{JUDGED}/ARQMath-3/Task 1/Qrel Files/qrel_task1_2022_official.tsv",
    "formulas/2020": f"{JUDGED}/ARQMath-1/Task2/qrel_with_formula_ids/qrel_task2.tsv",
    "formulas/2021": (
        f"{JUDGED}/ARQMath-2/Task2/Qrel Files/qrel_task2_2021_test_official_evaluation.tsv"
    ),
    "formulas/2022": f"{JUDGED}/ARQMath-3/Task2/Qrel Files/qrel_task2_2022_official.tsv",
}

_FORMULA = re.compile(r'<span class="math-container"[^>]*>\$*(.*?)\$*</span>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


class ArqmathAnswer(NamedTuple):
    """An answer; its text has LaTeX between dollars."""

    doc_id: str
    text: str
    title: str  # of the question
    question_id: str
    body: str  # HTML

    def default_text(self) -> str:
        """title and text"""
        return f"{self.title}\n{self.text}"


class ArqmathFormula(NamedTuple):
    """A formula in a post. Formulas that look alike share a visual id."""

    doc_id: str
    latex: str
    visual_id: str
    post_id: str

    def default_text(self) -> str:
        """latex"""
        return self.latex


class ArqmathQuery(NamedTuple):
    """A question that asks for answers."""

    query_id: str
    title: str
    question: str
    tags: list[str]

    def default_text(self) -> str:
        """title and question"""
        return f"{self.title}\n{self.question}"


class ArqmathFormulaQuery(NamedTuple):
    """A formula of a question that asks for formulas."""

    query_id: str
    latex: str
    formula_id: str
    title: str
    question: str
    tags: list[str]

    def default_text(self) -> str:
        """latex"""
        return self.latex


def plain_text(markup: str) -> str:
    """Return HTML as text, with its formulas between dollars."""
    with_dollars = _FORMULA.sub(lambda formula: f"${formula[1]}$", markup)
    return html.unescape(_TAG.sub(" ", with_dollars)).strip()


def read_answers(posts: Path) -> Iterator[ArqmathAnswer]:
    """Yield the answers of a dump, which has each question before its answers."""
    titles: dict[str, str] = {}
    events = ET.iterparse(posts, events=("start", "end"))
    _, root = next(events)
    for event, row in events:
        if event == "start":
            continue
        post = dict(row.attrib)
        root.clear()  # The dump takes 4 GB.
        if post.get("PostTypeId") == "1":
            titles[post["Id"]] = plain_text(post.get("Title", ""))
        elif post.get("PostTypeId") == "2":
            question = post.get("ParentId", "")
            body = post.get("Body", "")
            title = titles.get(question, "")
            yield ArqmathAnswer(post["Id"], plain_text(body), title, question, body)


def read_formulas(directory: Path) -> Iterator[ArqmathFormula]:
    """Yield the formulas of the files 1.tsv, 2.tsv, … in their order."""
    for path in sorted(directory.glob("*.tsv"), key=lambda path: int(path.stem)):
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                yield ArqmathFormula(row["id"], row["formula"], row["visual_id"], row["post_id"])


class ArqmathDocs(BaseDocs):
    """Answers or formulas."""

    def __init__(self, source: Any, read: Any, doc_cls: Any, store: Path) -> None:
        self._source, self._read, self._doc_cls, self._store = source, read, doc_cls, store

    def docs_path(self, force: bool = True) -> Path:
        return self._source.path(force)

    @ir_datasets.util.use_docstore
    def docs_iter(self) -> Iterator[Any]:
        return self._read(self.docs_path())

    def docs_cls(self) -> Any:
        return self._doc_cls

    def docs_store(self, field: str = "doc_id") -> PickleLz4FullStore:
        return PickleLz4FullStore(
            str(self._store), self.docs_iter, self._doc_cls, field, index_fields=["doc_id"]
        )

    def docs_count(self) -> int | None:
        store = self.docs_store()
        return store.count() if store.built() else None

    def docs_namespace(self) -> str:
        return NAME

    def docs_lang(self) -> str:
        return "en"


class ArqmathQueries(BaseQueries):
    """The topics of a year."""

    def __init__(self, source: ExpectedFile, query_cls: Any) -> None:
        self._source, self._query_cls = source, query_cls

    def queries_path(self) -> Path:
        return self._source.path()

    def queries_iter(self) -> Iterator[Any]:
        for topic in ET.parse(self.queries_path()).getroot().iter("Topic"):
            parts = {part.tag: "".join(part.itertext()).strip() for part in topic}
            query = {
                "query_id": topic.attrib["number"],
                "latex": parts.get("Latex", ""),
                "formula_id": parts.get("Formula_Id", ""),
                "title": plain_text(parts["Title"]),
                "question": plain_text(parts["Question"]),
                "tags": parts.get("Tags", "").split(","),
            }
            yield self._query_cls(*(query[field] for field in self._query_cls._fields))

    def queries_cls(self) -> Any:
        return self._query_cls

    def queries_namespace(self) -> str:
        return NAME

    def queries_lang(self) -> str:
        return "en"


def _init() -> dict[str, Dataset]:
    base_path = ir_datasets.util.home_path() / NAME
    documentation = YamlDocumentation(f"docs/{NAME}.yaml")

    def published(path: str) -> ExpectedFile:
        return ExpectedFile(base_path / "published" / path, instructions=INSTRUCTIONS)

    documents = {
        "answers": ArqmathDocs(
            published(POSTS), read_answers, ArqmathAnswer, base_path / "answers.pklz4"
        ),
        "formulas": ArqmathDocs(
            published(FORMULAS), read_formulas, ArqmathFormula, base_path / "formulas.pklz4"
        ),
    }
    query_classes = {"answers": ArqmathQuery, "formulas": ArqmathFormulaQuery}

    subsets = {name: Dataset(docs, documentation(name)) for name, docs in documents.items()}
    for name, topics in TOPICS.items():
        kind = name.partition("/")[0]
        subsets[name] = Dataset(
            documents[kind],
            ArqmathQueries(published(topics), query_classes[kind]),
            TrecQrels(published(QRELS[name]), QRELS_DEFS),
            documentation(name),
        )

    ir_datasets.registry.register(NAME, Dataset(documentation("_")))
    for name in sorted(subsets):
        ir_datasets.registry.register(f"{NAME}/{name}", subsets[name])
    return subsets


subsets = _init()
