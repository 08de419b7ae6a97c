"""The ASGI application behind `serve`: a search page, the posts it finds, and a JSON interface.

It answers GET only and keeps no state. Threads do the work, so that the event loop never waits for
Lucene.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Final

from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from arqmath_bm25.analysis.excerpts import beginning, excerpt
from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.collection.posts import read_tags
from arqmath_bm25.core.configuration import faults
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.core.progress import counted
from arqmath_bm25.core.records import Hit, Part
from arqmath_bm25.engines.lucene.jvm import detaching
from arqmath_bm25.pages.page_files import templates
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.pages.threads import ThreadReader, ThreadWriter
from arqmath_bm25.pages.web.server import STATIC, guarded
from arqmath_bm25.tasks.post_filter import NONE_PASSES, PostFilter

if TYPE_CHECKING:
    from arqmath_bm25.tasks.index import Index
    from arqmath_bm25.tasks.task import Found

    Result = tuple[Hit, Found, list[Part] | None]  # the parts of its score, if they are asked for

MAX_QUERY: Final = 5_000  # characters; the longest questions of the labs have fewer
_MAX_HITS: Final = 100  # of a page
_TEXT: Final = 300  # characters of a post in a JSON answer
_HEADING: Final = 80  # characters of a document without a title
_EXCERPT: Final = 220  # characters of a post on the page of results
_LIKE: Final = 400  # characters of a post that is a query for others like it
_DRAWN: Final = 100  # queries and buttons that need not be drawn again
_MAX_WAITING: Final = 64  # requests; further ones are told to come back


class SearchQuery(BaseModel):
    """The parameters of a search."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: Annotated[str, Field(min_length=1, max_length=MAX_QUERY)]  # words, with $…$ around formulas
    task: str
    variant: str | None = None  # None: the best of the task
    depth: Annotated[int, Field(ge=1, le=_MAX_HITS)] = 10  # results of a page
    page: Annotated[int, Field(ge=1, le=1_000)] = 1
    tag: Annotated[str, Field(max_length=100)] = ""  # that the question has; blanks between several
    year: Annotated[int | None, Field(ge=2000)] = None  # of the question
    explain: str | None = None  # the document whose score is explained, if it is a result

    @property
    def posts(self) -> PostFilter:
        """The filter by tag and year."""
        return PostFilter.of(read_tags(self.tag), [self.year] if self.year else ())

    @property
    def before(self) -> int:
        """The number of results on earlier pages."""
        return (self.page - 1) * self.depth


class SearchPages:
    """The handlers of all requests."""

    def __init__(self, collection: Collection, indexes: Mapping[str, Index], threads: int) -> None:
        """`indexes` are those of the tasks that can be searched, at most `threads` at once."""
        self._collection = collection
        self._indexes = indexes
        task = next(iter(indexes.values())).task
        self._delimiters, self._macros = task.delimiters, task.macros
        self._threads = CapacityLimiter(threads)
        self._reading = Lock()
        self._templates = templates("search", "search.js", True, collection.origin)
        self._templates.globals |= {
            "tasks": {name: i.task for name, i in indexes.items()},
            "variants": self._variants, "preview": lru_cache(_DRAWN)(self._drawn),
            "none_passes": NONE_PASSES,
            "max_query": MAX_QUERY, "max_depth": _MAX_HITS, "holds": self._holds(),
            "examples": [(name, index.task.example) for name, index in indexes.items()],
        }  # fmt: skip

    def app(self, hosts: Container[str] = ("localhost", "127.0.0.1", "::1")) -> ASGIApp:
        """Return the application, which answers to the names `hosts`."""
        routes = [
            Route("/", self._threaded(self._search_page)),
            Route("/posts/{post_id:str}", self._threaded(self._thread_page)),
            Route("/threads/{post_id:str}", self._threaded(self._thread_page)),
            Route("/api/search", self._threaded(self._search)),
            Route("/api/preview", self._preview),
            STATIC,
        ]
        handlers: Any = dict.fromkeys((HTTPException, InputError), self._problem)
        return guarded(Starlette(routes=routes, exception_handlers=handlers), hosts)

    def _threaded(
        self, handler: Callable[[Request], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        def answer(request: Request) -> Response:
            with detaching():  # the JVM must not know a thread that ends; the next call tells it
                return handler(request)

        async def endpoint(request: Request) -> Response:
            if self._threads.statistics().tasks_waiting >= _MAX_WAITING:
                message = "Too many searches at once; try again."
                raise HTTPException(503, message, {"retry-after": "2"})
            return await to_thread.run_sync(answer, request, limiter=self._threads)

        return endpoint

    def _search_page(self, request: Request) -> Response:
        if not request.query_params.get("q", "").strip():
            return self._page("search.html", query=self._query({"q": " "}), results=None)
        query = self._query(request.query_params)
        task = self._indexes[query.task].task
        writer = PostWriter([self._content(query.q, query.task)], self._delimiters, self._macros)
        results, more = self._results(query)
        threads: dict[str, list[SimpleNamespace]] = {}
        for hit, found, parts in results:
            thread = found.question.post_id if found.question else hit.doc_id
            described = self._result(hit, found, writer) | {"parts": parts}
            # In a template, `hit.post` looks for an attribute first.
            threads.setdefault(thread, []).append(SimpleNamespace(**described))
        return self._page(
            "search.html", query=query, results=list(threads.values()),
            advice=task.advice(query.q), marked=task.topic(query.q).title,
            count=len(results), more=more,
        )  # fmt: skip

    def _thread_page(self, request: Request) -> Response:
        """Show the thread of a post, with what a query asks for marked."""
        posts, post_id = self._collection.posts, request.path_params["post_id"]
        parameters = request.query_params
        query = self._content(parameters.get("q", "")[:MAX_QUERY], parameters.get("task", ""))

        def address(post_id: str) -> str | None:
            thread = posts.thread_of(post_id)
            return f"/threads/{thread}#post-{post_id}" if thread else None

        thread_id = posts.thread_of(post_id)
        with self._reading:
            reader = self._thread_reader
        thread = reader.read(thread_id) if thread_id else None
        if thread is None:
            raise HTTPException(404, f"There is no post {post_id[:40]} in the collection.")
        writer = ThreadWriter(
            thread, self._collection, address, self._delimiters, [query],
            parameters.get("formula", ""),
        )  # fmt: skip
        return self._page("thread.html", thread=thread, writer=writer)

    def read_ahead(self) -> None:
        """Read comments, users and links, so that the first click on a post need not wait."""
        with suppress(InputError), self._reading:  # the click tells what is wrong
            _ = self._thread_reader

    @cached_property
    def _thread_reader(self) -> ThreadReader:
        return ThreadReader(self._collection)

    def _search(self, request: Request) -> Response:
        query = self._query(request.query_params)
        results = [
            {"rank": rank, **_as_json(*result)}
            for rank, result in enumerate(self._results(query)[0], query.before + 1)
        ]
        variant = self._indexes[query.task].task.chosen(query.variant)
        return JSONResponse(
            {"query": query.q, "task": query.task, "variant": variant, "results": results}
        )

    async def _preview(self, request: Request) -> Response:
        text = request.query_params.get("q", "")
        _check_length(text)
        return JSONResponse({"html": self._drawn(text, request.query_params.get("task", ""))})

    async def _problem(self, request: Request, error: Exception) -> Response:
        """Answer a faulty request, or one for data replaced meanwhile, with a message."""
        problem = error if isinstance(error, HTTPException) else HTTPException(503, str(error))
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": problem.detail}, problem.status_code, problem.headers)
        page = self._page("problem.html", message=problem.detail)
        page.status_code = problem.status_code
        page.headers.update(problem.headers or {})
        return page

    def _query(self, parameters: Mapping[str, str]) -> SearchQuery:
        """Read the parameters of a search; raises 413 or 422 for what cannot be searched."""
        values = {"task": next(iter(self._indexes)), **{k: v for k, v in parameters.items() if v}}
        _check_length(values.get("q", ""))
        try:
            query = SearchQuery.model_validate(values)
        except ValidationError as error:
            raise HTTPException(422, faults(error)) from None
        if query.task not in self._indexes:
            tasks = ", ".join(self._indexes)
            raise HTTPException(422, f"task: there is no index of {query.task}; there are: {tasks}")
        variants = self._variants(query.task)
        if query.variant is not None and query.variant not in variants:
            raise HTTPException(422, f"variant: {query.task} has {', '.join(variants)}")
        if not (query.posts.is_open or self._indexes[query.task].task.finds_posts):
            raise HTTPException(422, f"tag, year: what {query.task} finds has neither")
        return query

    def _variants(self, task: str) -> list[str]:
        """Return the variants of a task, the best one first."""
        of_index = self._indexes[task].task
        return sorted(of_index.variants, key=lambda variant: variant != of_index.primary)

    def _results(self, query: SearchQuery) -> tuple[list[Result], bool]:
        """Return the results of a page, and whether there is a page after it."""
        index = self._indexes[query.task]
        variant = index.task.chosen(query.variant)
        last = min(query.before + query.depth + 1, MAX_DEPTH)
        hits = index.search(query.q, variant, last, query.posts)[query.before :]
        page = hits[: query.depth]
        explained = [hit for hit in page if hit.doc_id == query.explain]
        parts: list[Part] | None = None
        if explained:
            try:
                (parts,) = index.explain(index.task.topic(query.q), variant, explained)
            except InputError as error:
                raise HTTPException(422, f"explain: {error}") from None
        results = [
            (hit, index.task.found(hit, self._collection), parts if hit in explained else None)
            for hit in page
        ]
        return results, len(hits) > query.depth

    def _result(self, hit: Hit, found: Found, writer: PostWriter) -> dict[str, Any]:
        """Return the values that the page shows of a hit."""
        post, formula = found.post, found.formula
        if found.body:
            content = read_body(found.body, found.delimiters)
        else:
            content = read_title(found.text)

        passage = writer.passage(content, _EXCERPT)
        like = excerpt(content, _LIKE).text.removesuffix("…")
        return found._asdict() | {
            "id": hit.doc_id,
            "score": hit.score,
            "title": writer.content(_heading(hit, found)),
            "text": writer.content(passage),
            "drawn": writer.formula(formula, display=True) if formula else "",
            "link": self._collection.link(post) if post else "",
            "like": like,
        }

    def _content(self, query: str, task: str) -> Content:
        """Return a query as it is searched for: with the formulas that nobody marked."""
        if task not in self._indexes:
            return read_title(query, self._delimiters)
        topic = self._indexes[task].task.topic(query)
        if not topic.title:
            return Content(tuple(Formula(latex, None) for latex in topic.formulas))
        return read_title(topic.title, self._delimiters)

    def _drawn(self, query: str, task: str) -> Markup:
        """Return a query with its formulas drawn; nothing if it has none."""
        content = self._content(query, task)
        return PostWriter(macros=self._macros).content(content) if content.formulas else Markup("")

    def _holds(self) -> str:
        """Say in a few words what can be searched."""
        counts = [
            counted(index.manifest.counts["documents"], index.task.title.lower())
            for index in self._indexes.values()
        ]
        return f"{self._collection.name}: {', '.join(counts)}"

    def _page(self, template: str, **values: Any) -> Response:
        return HTMLResponse(self._templates.get_template(template).render(values))


def _as_json(hit: Hit, found: Found, parts: list[Part] | None) -> dict[str, Any]:
    """Return a hit for the JSON interface; formulas stand between dollars."""
    post, question, formula = found.post, found.question, found.formula
    text = found.text
    if found.body:
        text = beginning(found.body, _TEXT, found.delimiters).text

    return {
        "score": hit.score,
        "post_id": post.post_id if post else None,
        "question_id": question.post_id if question else None,
        "title": _heading(hit, found).text,
        "text": text,
        "formula_id": formula.formula_id if formula else None,
        "latex": formula.latex if formula else None,
        "doc_id": hit.doc_id,
        "parts": parts and [{**part._asdict(), "terms": dict(part.terms)} for part in parts],
    }


def _heading(hit: Hit, found: Found) -> Content:
    """Return the title of a question or document, or how an untitled document begins."""
    if found.title:
        return read_title(found.title, found.delimiters)
    if found.post:
        return Content(("(no question)",))
    if found.body:
        return beginning(found.body, _HEADING, found.delimiters)
    return Content((hit.doc_id,))


def _check_length(query: str) -> None:
    if len(query) > MAX_QUERY:
        message = f"The query has {len(query):,} characters; at most {MAX_QUERY:,} are searched."
        raise HTTPException(413, message)
