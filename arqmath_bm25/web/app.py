"""The ASGI application behind `serve`: a search page, the posts it finds, and a JSON interface.

It answers GET only and keeps no state. Every response forbids scripts but the one file of the
page, frames, and foreign requests, whatever a post holds.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from arqmath_bm25.analysis.html import Content, Formula, read_title
from arqmath_bm25.report.posts import PostWriter, beginning, site_link
from arqmath_bm25.report.site import templates
from arqmath_bm25.web import api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from arqmath_bm25.runs import Variant
    from arqmath_bm25.web.engines import Engine, Found
    from arqmath_bm25.web.pool import SearchPool

_EXCERPT: Final = 220  # characters of a post on the page of results
_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_STATIC: Final = {
    "style.css": ("arqmath_bm25.report", "text/css"),
    "search.js": ("arqmath_bm25.web", "text/javascript"),
}


class _SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [(k.encode(), v.encode()) for k, v in _HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class Site:
    """The handlers of all requests."""

    def __init__(self, pool: SearchPool, engines: Mapping[str, Engine], on_site: bool) -> None:
        """`engines` tell what there is; `pool` searches. `on_site`: link to Stack Exchange."""
        self._pool = pool
        self._engines = engines
        self._on_site = on_site
        self._templates = templates("arqmath_bm25.web")
        self._openapi = api.openapi(list(engines))
        self._static = {
            name: files(package).joinpath("static", name).read_text(encoding="utf-8")
            for name, (package, _) in _STATIC.items()
        }

    def app(self) -> ASGIApp:
        """Return the application."""

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            self._pool.close()

        routes = [
            Route("/", self._search_page, name="search"),
            Route("/posts/{post_id:int}", self._post_page),
            Route("/api/search", self._search),
            Route("/api/preview", self._preview),
            Route("/openapi.json", self._description),
            Route("/static/{name}", self._file),
        ]
        handlers: Any = {HTTPException: self._problem}
        return _SecurityHeaders(
            Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
        )

    async def _search_page(self, request: Request) -> Response:
        if not request.query_params.get("q", "").strip():
            return self._page("search.html", query=api.SearchQuery(q=" "), results=None)
        query = self._query(request)

        def work(engine: Engine) -> str:
            writer = _writer(query.q, query.task)
            found = engine.search(query.q, self._variant(query), query.depth)
            return self._render(
                "search.html", query=query, results=[self._shown(hit, writer) for hit in found]
            )

        return HTMLResponse(await self._pool.run(query.task, work))

    async def _post_page(self, request: Request) -> Response:
        post_id = str(request.path_params["post_id"])

        def work(engine: Engine) -> str | None:
            post = engine.posts.read(post_id)
            if post is None:
                return None
            question = post if post.parent_id is None else engine.posts.read(post.parent_id)
            text = request.query_params.get("q", "")[: api.MAX_QUERY]
            writer = _writer(text, request.query_params.get("task", ""))
            found = request.query_params.get("formula", "")
            title = (question.title if question else None) or "(no question)"
            return self._render(
                "post.html", post=post, title=writer.title(title, found),
                plain_title=api.plain(read_title(title)), body=writer.body(post.body, found),
                question=writer.body(question.body) if question and question != post else None,
                link=site_link(post) if self._on_site else "",
            )  # fmt: skip

        page = await self._pool.run(next(iter(self._engines)), work)
        if page is None:
            raise HTTPException(404, f"There is no post {post_id} in the collection.")
        return HTMLResponse(page)

    async def _search(self, request: Request) -> Response:
        query = self._query(request)
        variant = self._variant(query)

        def work(engine: Engine) -> bytes:
            results = api.results(engine.search(query.q, variant, query.depth))
            answer = api.SearchAnswer(
                query=query.q, task=query.task, variant=variant, results=results
            )
            return answer.model_dump_json().encode()

        return Response(await self._pool.run(query.task, work), media_type="application/json")

    async def _preview(self, request: Request) -> Response:
        text = request.query_params.get("q", "")
        _check_length(text)
        html = PostWriter().content(read_title(text))
        return JSONResponse(api.Preview(html=html).model_dump())

    async def _description(self, _: Request) -> Response:
        return JSONResponse(self._openapi)

    async def _file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._static:
            raise HTTPException(404, "There is no such file.")
        return PlainTextResponse(self._static[name], media_type=_STATIC[name][1])

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
        if query.task not in self._engines:
            known = ", ".join(self._engines)
            raise HTTPException(422, f"task: there is no index of {query.task}; there are: {known}")
        self._variant(query)
        return query

    def _variant(self, query: api.SearchQuery) -> Variant:
        known = self._engines[query.task].variants
        if query.variant is not None and query.variant not in known:
            raise HTTPException(422, f"variant: {query.task} has {', '.join(known)}")
        return query.variant or known[0]

    def _shown(self, hit: Found, writer: PostWriter) -> dict[str, Any]:
        title = (hit.question.title if hit.question else None) or "(no question)"
        return {
            "post": hit.post,
            "score": hit.score,
            "title": writer.title(title),
            "text": writer.content(beginning(hit.post.body, _EXCERPT)),
            "formula": writer.formula(hit.formula, display=True) if hit.formula else "",
            "formula_id": hit.formula.formula_id if hit.formula else "",
            "link": site_link(hit.post) if self._on_site else "",
        }

    def _page(self, template: str, **values: Any) -> Response:
        return HTMLResponse(self._render(template, **values))

    def _render(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(
            engines=self._engines, max_query=api.MAX_QUERY, max_depth=api.MAX_DEPTH, **values
        )


def _check_length(query: str) -> None:
    if len(query) > api.MAX_QUERY:
        raise HTTPException(
            413,
            f"The query has {len(query):,} characters; at most {api.MAX_QUERY:,} are searched.",
        )


def _writer(query: str, task: str) -> PostWriter:
    content = read_title(query)
    if task == "task2" and not content.formulas:
        content = Content((Formula(query, None),))
    return PostWriter([content])
