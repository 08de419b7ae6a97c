"""The JSON interface: what may be asked, what is answered, and its OpenAPI description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from arqmath_bm25.analysis.html import read_title
from arqmath_bm25.collection.posts import read_tags
from arqmath_bm25.pages.posts import beginning
from arqmath_bm25.tasks.post_filter import PostFilter
from arqmath_bm25.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arqmath_bm25.core.records import Hit, Part
    from arqmath_bm25.tasks.task import Shown

MAX_QUERY: Final = 5_000  # characters; the longest questions of the labs have fewer
MAX_DEPTH: Final = 100
_TEXT: Final = 300  # characters of a post in an answer


class SearchQuery(BaseModel):
    """The parameters of a search."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: Annotated[
        str,
        Field(min_length=1, max_length=MAX_QUERY, description="Words, with $…$ around formulas."),
    ]
    task: Annotated[str, Field(description="task1: answers; task2: formulas.")] = "task1"
    variant: Annotated[
        str | None, Field(description="Which fields are searched. Default: the task's best.")
    ] = None
    depth: Annotated[int, Field(ge=1, le=MAX_DEPTH, description="Results on a page.")] = 10
    page: Annotated[int, Field(ge=1, le=1_000, description="Page 2 follows page 1.")] = 1
    tag: Annotated[
        str | None,
        Field(description="Only posts whose question has this tag, or all.", max_length=100),
    ] = None
    year: Annotated[
        int | None, Field(description="Only posts whose question is of this year.", ge=2000)
    ] = None
    explain: Annotated[
        str | None, Field(description="The document whose score is explained, if it is found.")
    ] = None

    @property
    def posts(self) -> PostFilter:
        """What tag and year let through; several tags have blanks or commas between."""
        return PostFilter.of(read_tags(self.tag or ""), [self.year] if self.year else ())

    @property
    def before(self) -> int:
        """How many results the pages before this one have."""
        return (self.page - 1) * self.depth


class Evidence(BaseModel):
    """A part of a score."""

    name: Annotated[str, Field(description="A field, or evidence as the configuration names it.")]
    score: float
    terms: Annotated[dict[str, float], Field(description="Of a field; they add up to its score.")]


class Result(BaseModel):
    """One result."""

    rank: int
    score: float
    post_id: Annotated[str | None, Field(description="None of a premise.")]
    question_id: str | None
    title: Annotated[str, Field(description="Of the question, with $…$ around formulas.")]
    text: Annotated[str, Field(description="How the post begins, with $…$ around formulas.")]
    formula_id: Annotated[str | None, Field(description="task2: the formula that was found.")]
    latex: str | None
    doc_id: Annotated[str, Field(description="The post, formula or premise, for `explain`.")]
    parts: Annotated[
        list[Evidence] | None, Field(description="What `explain` asks for; the score is their sum.")
    ]


class SearchAnswer(BaseModel):
    """The best results."""

    query: str
    task: str
    variant: str
    results: list[Result]


class Preview(BaseModel):
    """A query as HTML."""

    html: Annotated[str, Field(description="Safe HTML; nothing if there is no formula.")]


class Problem(BaseModel):
    """Why a request was not answered."""

    error: str


def results(
    hits: Sequence[Hit], shown: Sequence[Shown], parts: Mapping[str, Sequence[Part]], before: int
) -> list[Result]:
    """Write hits for the answer; `parts` are those of the scores of documents.

    There are as many hits `before` them.
    """
    return [
        Result(
            rank=rank,
            score=hit.score,
            post_id=one.post.post_id if one.post else None,
            question_id=one.question.post_id if one.question else None,
            title=read_title((one.question.title if one.question else one.heading) or "").text,
            text=beginning(one.post.body, _TEXT).text if one.post else one.text,
            formula_id=one.formula.formula_id if one.formula else None,
            latex=one.formula.latex if one.formula else None,
            doc_id=hit.doc_id,
            parts=[
                Evidence(name=name, score=score, terms=dict(terms))
                for name, score, terms in parts[hit.doc_id]
            ]
            if hit.doc_id in parts
            else None,
        )
        for rank, (hit, one) in enumerate(zip(hits, shown, strict=True), before + 1)
    ]


def openapi(tasks: Sequence[str]) -> dict[str, Any]:
    """Describe the interface in OpenAPI 3.1."""
    _, definitions = models_json_schema(
        [(model, "serialization") for model in (SearchAnswer, Preview, Problem)],
        ref_template="#/components/schemas/{model}",
    )
    parameters = SearchQuery.model_json_schema()
    parameters["properties"]["task"]["enum"] = list(tasks)
    search = [
        {
            "name": name,
            "in": "query",
            "required": name in parameters["required"],
            "description": schema.pop("description", ""),
            "schema": schema,
        }
        for name, schema in parameters["properties"].items()
    ]
    return {
        "openapi": "3.1.0",
        "info": {"title": "arqmath-bm25 search", "version": __version__},
        "paths": {
            "/api/search": {"get": _operation("Search answers or formulas.", search, SearchAnswer)},
            "/api/preview": {"get": _operation("Draw a query.", search[:2], Preview)},
        },
        "components": {"schemas": definitions["$defs"]},
    }


def _operation(summary: str, parameters: list[Any], model: type[BaseModel]) -> dict[str, Any]:
    def response(description: str, model: type[BaseModel]) -> dict[str, Any]:
        reference = {"$ref": f"#/components/schemas/{model.__name__}"}
        content = {"application/json": {"schema": reference}}
        return {"description": description, "content": content}

    return {
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": response("Done.", model),
            "413": response("The query is too long.", Problem),
            "422": response("A parameter is missing or wrong.", Problem),
        },
    }
