"""The ASGI application behind `serve`: a search page, the posts it finds, and a JSON interface.

It answers GET only and keeps no state. Every response forbids scripts but the one file of the
page, frames, and foreign requests, whatever a post holds.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import cached_property
from ipaddress import ip_address
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from arqmath_bm25.analysis.html import Content, Formula, read_body, read_title
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import MAX_DEPTH
from arqmath_bm25.pages.posts import PostWriter, beginning
from arqmath_bm25.pages.threads.gather import ThreadReader
from arqmath_bm25.pages.threads.site import thread_values
from arqmath_bm25.pages.web import api
from arqmath_bm25.pages.web.search_pool import BusyError
from arqmath_bm25.pages.writing import policy, static, templates
from arqmath_bm25.tasks.post_filter import NONE_PASSES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from collections.abc import Collection as Collection_

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from arqmath_bm25.collection.collection import Collection
    from arqmath_bm25.core.records import Hit, Part
    from arqmath_bm25.pages.web.search_pool import SearchThreads
    from arqmath_bm25.tasks.index import Index
    from arqmath_bm25.tasks.task import Shown

_EXCERPT: Final = 220  # characters of a post on the page of results
_LIKE: Final = 400  # characters of a post that is a query for others like it
_EXAMPLES: Final = 3  # topics of each task
# What the buttons above the query are called, what they show, and what they write: the cursor goes
# between the first braces that are empty.
_PALETTE: Final = (
    ("fraction", r"\frac{a}{b}", r"\frac{}{}"),
    ("power", "x^n", "^{}"),
    ("index", "x_n", "_{}"),
    ("root", r"\sqrt{x}", r"\sqrt{}"),
    ("sum", r"\sum_{n=1}^\infty", r"\sum_{n=1}^{\infty} {}"),
    ("product", r"\prod_{n=1}^\infty", r"\prod_{n=1}^{\infty} {}"),
    ("integral", r"\int_a^b", r"\int_{}^{} "),
    ("limit", r"\lim_{n\to\infty}", r"\lim_{n\to\infty} {}"),
    ("binomial coefficient", r"\binom nk", r"\binom{}{}"),
    ("matrix", r"\begin{pmatrix}a&b\\c&d\end{pmatrix}", r"\begin{pmatrix}{}&\\&\end{pmatrix}"),
    ("at most", r"\le", r"\le "),
    ("not equal", r"\ne", r"\ne "),
    ("element of", r"\in", r"\in "),
    ("infinity", r"\infty", r"\infty "),
    ("real numbers", r"\mathbb{R}", r"\mathbb{R}"),
)
_HEADERS: Final = {
    "content-security-policy": policy(script=True, source="'self'")
    + "; connect-src 'self'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_STATIC: Final = {"style.css": "text/css", "search.js": "text/javascript"}


class Guard:
    """Answers only to the server's own names, and adds the headers that every response has."""

    def __init__(self, app: ASGIApp, hosts: Collection_[str]) -> None:
        self._app = app
        self._hosts = hosts
        self._headers = [(k.encode(), v.encode()) for k, v in _HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        if scope["type"] == "http" and not self._knows(dict(scope["headers"]).get(b"host", b"")):
            refusal = PlainTextResponse("This is not a name of this server.", 421)
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _knows(self, host: bytes) -> bool:
        name = host.decode("latin-1").lower()
        name = (
            name.removeprefix("[").partition("]")[0] if name[:1] == "[" else name.partition(":")[0]
        )
        return name in self._hosts or _is_address(name)


def _is_address(name: str) -> bool:
    """Tell whether a host is named by its address, which no page elsewhere can rebind."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class Site:
    """The handlers of all requests."""

    def __init__(
        self, collection: Collection, indexes: Mapping[str, Index], threads: SearchThreads
    ) -> None:
        """`indexes` are those of the tasks that can be searched; `threads` search."""
        self._collection = collection
        self._indexes = indexes
        self._threads = threads
        self._reading = Lock()
        self._templates = templates("search", "search.js", served=True)
        self._templates.globals["origin"] = collection.origin
        self._openapi = api.openapi(list(indexes))

    def app(self, hosts: Collection_[str] = ("localhost", "127.0.0.1", "::1")) -> ASGIApp:
        """Return the application, which answers to the names `hosts`."""

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            self._threads.close()

        routes = [
            Route("/", self._search_page, name="search"),
            Route("/posts/{post_id:str}", self._post_page),
            Route("/threads/{post_id:str}", self._thread_page),
            Route("/api/search", self._search),
            Route("/api/preview", self._preview),
            Route("/openapi.json", self._description),
            Route("/static/{name}", self._file),
        ]
        handlers: Any = {
            HTTPException: self._problem, BusyError: self._busy, InputError: self._unusable
        }  # fmt: skip
        site = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
        return Guard(site, hosts)

    async def _search_page(self, request: Request) -> Response:
        if not request.query_params.get("q", "").strip():
            query = api.SearchQuery(q=" ")
            return self._page(
                "search.html", query=query, results=None, advice="", count=0, more=False
            )
        query = self._query(request)

        def work() -> str:
            writer = self._writer(query.q, query.task)
            hits, shown, parts = self._found(query)
            threads: dict[str, list[dict[str, Any]]] = {}
            for hit, one in zip(hits[: query.depth], shown, strict=True):
                result = self._shown(hit, one, writer)
                result |= {"id": hit.doc_id, "parts": parts.get(hit.doc_id)}
                thread = one.question.post_id if one.question else hit.doc_id
                threads.setdefault(thread, []).append(result)
            results = list(threads.values())
            advice = self._indexes[query.task].task.advice(query.q)
            return self._render(
                "search.html", query=query, results=results, advice=advice,
                count=len(shown), more=len(hits) > query.depth,
            )  # fmt: skip

        return HTMLResponse(await self._threads.run(work))

    async def _post_page(self, request: Request) -> Response:
        post_id = request.path_params["post_id"]

        def work() -> str | None:
            post = self._collection.posts.read(post_id)
            if post is None:
                return None
            question = self._collection.question_of(post)
            text = request.query_params.get("q", "")[: api.MAX_QUERY]
            writer = self._writer(text, request.query_params.get("task", ""))
            found = request.query_params.get("formula", "")
            title = (question.title if question else None) or "(no question)"
            return self._render(
                "post.html", post=post, title=writer.title(title, found),
                plain_title=read_title(title).text, body=writer.body(post.body, found),
                question=writer.body(question.body) if question and question != post else None,
                link=self._collection.link(post),
            )  # fmt: skip

        page = await self._threads.run(work)
        if page is None:
            raise HTTPException(404, f"There is no post {post_id[:40]} in the collection.")
        return HTMLResponse(page)

    async def _thread_page(self, request: Request) -> Response:
        post_id = request.path_params["post_id"]

        def address(post_id: str) -> str | None:
            thread = self._collection.posts.thread_of(post_id)
            return f"/threads/{thread}#post-{post_id}" if thread else None

        def work() -> str | None:
            thread_id = self._collection.posts.thread_of(post_id)
            with self._reading:  # the first request reads comments, votes, users and links
                reader = self._thread_reader
            thread = reader.read(thread_id) if thread_id else None
            if thread is None:
                return None
            values = thread_values(thread, self._collection, address)
            return self._render("thread.html", **values)

        page = await self._threads.run(work)
        if page is None:
            raise HTTPException(404, f"There is no post {post_id[:40]} in the collection.")
        return HTMLResponse(page)

    @cached_property
    def _thread_reader(self) -> ThreadReader:
        return ThreadReader(self._collection)

    async def _search(self, request: Request) -> Response:
        query = self._query(request)
        variant = self._variant(query)

        def work() -> bytes:
            hits, shown, parts = self._found(query)
            results = api.results(hits[: query.depth], shown, parts, query.before)
            answer = api.SearchAnswer(
                query=query.q, task=query.task, variant=variant, results=results
            )
            return answer.model_dump_json().encode()

        return Response(await self._threads.run(work), media_type="application/json")

    async def _preview(self, request: Request) -> Response:
        text = request.query_params.get("q", "")
        _check_length(text)
        html = self._drawn(text, request.query_params.get("task", ""))
        return JSONResponse(api.Preview(html=html).model_dump())

    async def _description(self, _: Request) -> Response:
        return JSONResponse(self._openapi)

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404, "There is no such file.")
        return Response(static(name), media_type=_STATIC[name])

    async def _busy(self, request: Request, _: Exception) -> Response:
        busy = HTTPException(503, "Too many searches at once; try again.", {"retry-after": "2"})
        return await self._problem(request, busy)

    async def _unusable(self, request: Request, error: Exception) -> Response:
        """Say what is wrong with the data, as when they were replaced since the server began."""
        return await self._problem(request, HTTPException(503, str(error)))

    async def _problem(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)  # noqa: S101  # what it is registered for
        if request.url.path.startswith("/api/"):
            body = api.Problem(error=problem.detail).model_dump()
            return JSONResponse(body, problem.status_code, problem.headers)
        page = self._render("problem.html", message=problem.detail)
        return HTMLResponse(page, problem.status_code, problem.headers)

    def _query(self, request: Request) -> api.SearchQuery:
        """Read the parameters of a search; raises 413 or 422 for what cannot be searched."""
        given = {name: value for name, value in request.query_params.items() if value}
        _check_length(given.get("q", ""))
        try:
            query = api.SearchQuery.model_validate(given)
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise HTTPException(422, "; ".join(faults)) from None
        if query.task not in self._indexes:
            known = ", ".join(self._indexes)
            raise HTTPException(422, f"task: there is no index of {query.task}; there are: {known}")
        self._variant(query)
        if not (query.posts.is_open or self._indexes[query.task].task.finds_posts):
            raise HTTPException(422, f"tag, year: what {query.task} finds has neither")
        return query

    def _variant(self, query: api.SearchQuery) -> str:
        known = self._variants(query.task)
        if query.variant is not None and query.variant not in known:
            raise HTTPException(422, f"variant: {query.task} has {', '.join(known)}")
        return query.variant or known[0]

    def _variants(self, task: str) -> list[str]:
        """Return the variants of a task, the best one first."""
        found = self._indexes[task].task
        return sorted(found.variants, key=lambda variant: variant != found.primary)

    def _found(
        self, query: api.SearchQuery
    ) -> tuple[list[Hit], list[Shown], dict[str, list[Part]]]:
        """Return the hits of a page, how they are shown, and the parts of the score to explain.

        Of the hits there is one more if there is a page after this one.
        """
        index, hits = self._indexes[query.task], self._hits(query)
        asked = [hit for hit in hits if hit.doc_id == query.explain]
        try:
            parts = (
                index.explain(index.task.topic(query.q), self._variant(query), asked)
                if asked
                else []
            )
        except InputError as error:
            raise HTTPException(422, f"explain: {error}") from None
        shown = [index.task.shown(hit, self._collection) for hit in hits[: query.depth]]
        return hits, shown, {hit.doc_id: of_hit for hit, of_hit in zip(asked, parts, strict=True)}

    def _hits(self, query: api.SearchQuery) -> list[Hit]:
        last = min(query.before + query.depth + 1, MAX_DEPTH)
        index = self._indexes[query.task]
        return index.search(query.q, self._variant(query), last, query.posts)[query.before :]

    def _shown(self, hit: Hit, shown: Shown, writer: PostWriter) -> dict[str, Any]:
        if shown.post is None:
            title, text = shown.heading, writer.content(read_title(shown.text))
            return {"post": None, "score": hit.score, "title": title, "text": text}
        title = (shown.question.title if shown.question else None) or "(no question)"
        begun = beginning(shown.post.body, _LIKE)
        passage = writer.passage(read_body(shown.post.body), _EXCERPT)
        return {
            "question": shown.question,
            "accepted": shown.question is not None
            and shown.question.accepted_answer_id == shown.post.post_id,
            "post": shown.post,
            "score": hit.score,
            "title": writer.title(title),
            "text": writer.content(passage),
            "formula": writer.formula(shown.formula, display=True) if shown.formula else "",
            "formula_id": shown.formula.formula_id if shown.formula else "",
            "link": self._collection.link(shown.post),
            "like": begun.text.removesuffix("…"),
        }

    def _writer(self, query: str, task: str) -> PostWriter:
        """Mark what a query asks for: its words, or its formulas where these are searched for."""
        return PostWriter([self._content(query, task)])

    def _content(self, query: str, task: str) -> Content:
        """Return a query; where formulas are searched for, they need no dollars."""
        formulas = self._indexes[task].task.topic(query).formulas if task in self._indexes else ()
        content = read_title(query)
        if formulas and not content.formulas:
            return Content(tuple(Formula(latex, None) for latex in formulas))
        return content

    def _drawn(self, query: str, task: str) -> Markup:
        """Return a query with its formulas drawn; nothing if it has none."""
        content = self._content(query, task)
        return PostWriter().content(content) if content.formulas else Markup("")

    @cached_property
    def _holds(self) -> str:
        """What can be searched, in a few words."""
        found = []
        for index in self._indexes.values():
            for store in index.task.index_task.stores.values():
                count = index.manifest.counts.get(store.documents)
                if count is not None:
                    found.append(f"{count:,} {index.task.title.lower()}")
        return f"{self._collection.name}: {', '.join(found)}"

    @cached_property
    def _examples(self) -> list[tuple[str, str]]:
        """Tasks and queries to begin with: their own, and the first topics that there are."""
        found = []
        for name, index in self._indexes.items():
            found.append((name, index.task.example))
            try:
                files = index.task.topic_files(self._collection)
                topics = index.task.read(self._collection, *files[0]).topics if files else []
            except InputError:  # a collection need not have topics, nor good ones, to be searched
                continue
            for topic in topics[:_EXAMPLES]:
                text = f"${topic.latex}$" if topic.latex else read_title(topic.title).text
                found.append((name, text[: api.MAX_QUERY]))
        return found

    def _page(self, template: str, **values: Any) -> Response:
        return HTMLResponse(self._render(template, **values))

    def _render(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(
            tasks={name: index.task for name, index in self._indexes.items()},
            variants=self._variants,
            max_query=api.MAX_QUERY,
            max_depth=api.MAX_DEPTH,
            none_passes=NONE_PASSES,
            holds=self._holds,
            examples=self._examples,
            preview=self._drawn,
            palette=_PALETTE,
            **values,
        )


def _check_length(query: str) -> None:
    if len(query) > api.MAX_QUERY:
        raise HTTPException(
            413,
            f"The query has {len(query):,} characters; at most {api.MAX_QUERY:,} are searched.",
        )
