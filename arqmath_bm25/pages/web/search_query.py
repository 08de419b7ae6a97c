"""The query of a visitor: its parameters, and the messages for faulty ones."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException

from arqmath_bm25.collection.posts import read_tags
from arqmath_bm25.tasks.post_filter import PostFilter
from arqmath_bm25.tasks.task import Task

# Characters of a query; the longest questions of the labs have fewer.
MAX_QUERY = 5_000

# Results of a page.
MAX_HITS = 100
_MAX_PAGE = 1_000
_FIRST_YEAR = 2000
_EXPECTED = {
    "q": "type words or formulas to search for",
    "depth": f"the number of results per page is from 1 to {MAX_HITS}",
    "page": f"pages are numbered from 1 to {_MAX_PAGE:,}",
    "tag": "tags have at most 100 characters",
    "year": f"expected a year from {_FIRST_YEAR} on",
}


class SearchQuery(BaseModel):
    """The parameters of a search."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]  # words, with $…$ around formulas
    task: str
    variant: str | None = None  # None for the primary one
    depth: Annotated[int, Field(ge=1, le=MAX_HITS)] = 10  # number of results of a page
    page: Annotated[int, Field(ge=1, le=_MAX_PAGE)] = 1
    prefix: bool = False  # the last word is being typed
    tag: Annotated[str, Field(max_length=100)] = ""  # tags of the question, separated by blanks
    year: Annotated[int | None, Field(ge=_FIRST_YEAR)] = None  # the year of the question
    explain: str | None = None  # the document whose score is explained, if it is a result

    @property
    def posts(self) -> PostFilter:
        """The filter by tag and year."""
        years = []
        if self.year is not None:
            years.append(self.year)
        return PostFilter.of(read_tags(self.tag), years)

    @property
    def before(self) -> int:
        """The number of results on earlier pages."""
        return (self.page - 1) * self.depth


def read_query(parameters: Mapping[str, str], tasks: Mapping[str, Task]) -> SearchQuery:
    """Read the parameters of a search; the first task is the default.

    Raises HTTPException, with a sentence for the visitor, for parameters that cannot be searched.
    """
    values = {name: value for name, value in parameters.items() if value}
    values.setdefault("task", next(iter(tasks)))
    check_length(values.get("q", ""))

    try:
        query = SearchQuery.model_validate(values)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise HTTPException(422, _fault(name)) from None

    if query.task not in tasks:
        names = _choice(list(tasks))
        raise HTTPException(422, f"There is no index of {query.task[:40]}. Choose {names}.")

    task = tasks[query.task]
    if query.variant is not None and query.variant not in task.variants:
        names = _choice(task.variants)
        raise HTTPException(422, f"There is no ranking {query.variant[:40]}. Choose {names}.")
    if not (query.posts.is_open or task.finds_posts):
        raise HTTPException(422, f"These {task.title.lower()} have no tags or years to choose by.")
    return query


def check_length(query: str) -> None:
    """Raise HTTPException for a query that is too long."""
    if len(query) > MAX_QUERY:
        raise HTTPException(
            413, f"The query has {len(query):,} characters; at most {MAX_QUERY:,} are searched."
        )


def _fault(name: str) -> str:
    """Return the sentence for a faulty parameter."""
    if name in _EXPECTED:
        return f"{name}: {_EXPECTED[name]}."
    names = ", ".join(SearchQuery.model_fields)
    return f"{name[:40]}: there is no such parameter. There are {names}."


def _choice(names: Sequence[str]) -> str:
    """Join names as alternatives: "a, b or c"."""
    *others, last = names
    if not others:
        return last
    return f"{', '.join(others)} or {last}"
