"""The ASGI application of `serve`: a search page, the pages of what it finds, a JSON interface.

It answers GET only and keeps no state. Threads do the work, so that the event loop never waits for
Lucene.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Container, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from arqmath_bm25.analysis.html import Content, Formula, read_title
from arqmath_bm25.core.errors import InputError, NoPartsError
from arqmath_bm25.core.progress import counted, tell
from arqmath_bm25.core.records import Hit, Json, Topic
from arqmath_bm25.engines.lucene.jvm import detaching
from arqmath_bm25.pages.folder_files import FolderFiles, kind_of
from arqmath_bm25.pages.own_documents import MOST_REFERRING, OwnDocuments
from arqmath_bm25.pages.page_files import templates
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.pages.threads import ThreadReader, ThreadWriter
from arqmath_bm25.pages.web.search_query import (
    MAX_HITS,
    MAX_QUERY,
    SearchQuery,
    check_length,
    read_query,
)
from arqmath_bm25.pages.web.server import STATIC, guarded
from arqmath_bm25.pages.web.shown_hits import (
    Result,
    answer,
    heading,
    shown_hit,
)
from arqmath_bm25.tasks.cited.cited_documents import STATEMENTS
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.post_filter import NONE_PASSES

# How many rendered queries and buttons are kept.
_CACHE_SIZE = 100

# Results that can be paged through.
_MOST_HITS = 1000
_SHOWN_LABELS = 8  # of each kind
# With so many waiting requests, further ones are refused for now.
_MAX_WAITING = 64
_RANKED_BY = {
    "both": "words and formulas",
    "text": "words",
    "math": "formulas",
    "cited": "words, formulas and references",
}
_PROBLEMS = {
    404: "Not found",
    405: "Not allowed",
    413: "Too long",
    422: "Wrong address",
    503: "Not possible now",
}

_CHANGED = (
    "Something that this page needs is missing or has changed since it was indexed. What the "
    "server prints says what, and what to do."
)


class LatestPages:
    """The pages of the indexes that were opened last; requests under way keep their own."""

    def __init__(
        self, pages: Callable[[Mapping[str, OpenIndex]], ASGIApp], indexes: Mapping[str, OpenIndex]
    ) -> None:
        self._pages = pages
        self.show(indexes)

    def show(self, indexes: Mapping[str, OpenIndex]) -> None:
        """Show the pages of other indexes from now on."""
        self._app = self._pages(indexes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._app(scope, receive, send)


class _ReadQuery(NamedTuple):
    """A query as its index reads it, and the variant that ranks it."""

    text: str  # without labels
    labels: list[str]  # which choose documents
    typed: Topic
    searched: Topic  # with the completions of a last word that is being typed
    suggestion: str  # the query with its wrong words mended; "" if nothing is to be mended
    variant: str
    note: str  # why it is another variant than was asked for


class SearchPages:
    """The handlers of all requests."""

    def __init__(
        self,
        indexes: Mapping[str, OpenIndex],
        threads: int,
        prefix: str = "",
        folder: Path | None = None,
        title: str = "arqmath-bm25",
    ) -> None:
        """Search the indexes, by task, in at most `threads` threads; paths begin with `prefix`.

        Pictures and sources of documents are sent from `folder`.
        """
        first = next(iter(indexes.values()))
        self._collection = first.collection
        self._indexes = indexes
        self._tasks = {name: index.task for name, index in indexes.items()}
        self._prefix = prefix
        self._files = None
        if folder:
            self._files = FolderFiles(folder, indexes["docs"], prefix)
        self._own = {
            name: OwnDocuments(
                index, lambda doc_id: f"{prefix}/documents/{quote(doc_id, safe='')}", self._files
            )
            for name, index in indexes.items()
        }
        self._delimiters = first.task.delimiters
        self._macros = first.task.macros
        self._threads = CapacityLimiter(threads)
        self._reading = Lock()
        self._templates = templates("search", "search.js", True, first.collection.origin)
        self._templates.globals |= {
            "root": prefix,
            "brand": title,
            "tasks": self._tasks,
            "built": {name: index.directory.name for name, index in indexes.items()},
            "variants": self._variants,
            "ranked_by": _RANKED_BY,
            "preview": lru_cache(_CACHE_SIZE)(self._render_query),
            "none_passes": NONE_PASSES,
            "max_query": MAX_QUERY,
            "max_depth": MAX_HITS,
            "holds": self._describe_contents(),
            "examples": [
                (name, example)
                for name, index in indexes.items()
                for example in _titles(index) or [index.task.example]
            ],
        }

    def app(self, hosts: Container[str]) -> ASGIApp:
        """Return the application, which answers to the names `hosts`."""
        routes = [
            Route("/", self._threaded(self._search_page)),
            Route("/documents/{doc_id:path}", self._threaded(self._document_page)),
            Route("/posts/{post_id:str}", self._threaded(self._thread_page)),
            Route("/threads/{post_id:str}", self._threaded(self._thread_page)),
            Route("/api/search", self._threaded(self._search)),
            Route("/api/results", self._threaded(self._live_results)),
            Route("/api/preview", self._preview),
            STATIC,
        ]
        if self._files:
            routes.append(Route("/files/{name:path}", self._threaded(self._file)))
        handlers = dict.fromkeys((HTTPException, InputError), self._problem)
        pages = Starlette(routes=[Mount(self._prefix, routes=routes)], exception_handlers=handlers)
        return guarded(pages, hosts)

    def _threaded(
        self, handler: Callable[[Request], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that runs a handler in a thread."""

        def answer(request: Request) -> Response:
            # A thread may end after the request, so it must not stay attached to the JVM.
            with detaching():
                return handler(request)

        async def endpoint(request: Request) -> Response:
            if self._threads.statistics().tasks_waiting >= _MAX_WAITING:
                message = "Too many searches at once; try again."
                raise HTTPException(503, message, {"retry-after": "2"})

            return await to_thread.run_sync(answer, request, limiter=self._threads)

        return endpoint

    # The search page

    def _search_page(self, request: Request) -> Response:
        """Show the search page, with results if there is a query."""
        if not request.query_params.get("q", "").strip():
            query = read_query({"q": " "}, self._tasks)
            return self._page("search.html", query=query, results=None)

        query = read_query(request.query_params, self._tasks)
        return self._page("search.html", **self._values(query))

    def _live_results(self, request: Request) -> Response:
        """Return the part of the search page that changes while a visitor types."""
        query = read_query(request.query_params, self._tasks)
        values = self._values(query)
        template = self._templates.get_template("found.html")
        found = {"html": template.render(values), "count": values["count"]}
        return JSONResponse({**found, "index": self._indexes[query.task].directory.name})

    def _values(self, query: SearchQuery) -> Json:
        """Return the values for the template of results."""
        asked = self._read_query(query)
        content = self._read(asked.typed)
        writer = PostWriter([content, self._read(asked.searched)], self._delimiters, self._macros)

        results, more, counts = self._results(query, asked)
        threads: dict[str, list[dict[str, Any]]] = {}
        for result in results:
            hits = threads.setdefault(result.thread, [])
            shown = shown_hit(result, query, writer, self._collection, self._prefix, self._files)
            hits.append(shown)

        return {
            "query": query,
            "results": list(threads.values()),
            "count": len(results),
            "choice": asked.labels,
            "labels": _best_labels(counts, asked.labels),
            "more": more,
            "advice": self._tasks[query.task].advice(query.q),
            "note": asked.note,
            "suggestion": asked.suggestion,
            "marked": asked.typed.title,
            "text": asked.text,
            "words": content.prose,
            "formulas": Content(content.formulas).text,
            "read_as": list(map(writer.formula, content.formulas)),
        }

    def _read_query(self, query: SearchQuery) -> _ReadQuery:
        """Return a query as its index reads it."""
        index = self._indexes[query.task]
        task = index.task
        text, labels = index.labels.chosen(query.q)
        completed = text
        if query.prefix:
            completed = index.completed(text)

        typed = searched = task.topic(text)
        suggestion = ""
        if completed == text:
            suggestion = index.suggested(query.q)
        else:
            searched = task.topic(completed)

        variant, note = task.served(task.chosen(query.variant), index)
        return _ReadQuery(text, labels, typed, searched, suggestion, variant, note)

    def _results(
        self, query: SearchQuery, asked: _ReadQuery
    ) -> tuple[list[Result], bool, Counter[str]]:
        """Return the results of a page, whether a page follows, and the counts of labels."""
        index = self._indexes[query.task]
        topic, variant = asked.searched, asked.variant

        # One hit more than the page shows tells whether there is a next page.
        depth = min(query.before + query.depth + 1, _MOST_HITS)
        ranking, counts = index.search_chosen(topic, asked.labels, variant, depth, query.posts)
        hits = ranking[query.before :]

        results = []
        for hit in hits[: query.depth]:
            parts = None
            if hit.doc_id == query.explain:
                try:
                    (parts,) = index.ranker.explain(topic, variant, [hit])
                except NoPartsError as error:
                    raise HTTPException(422, f"explain: {error}") from None
            found = index.task.found(hit, index)
            results.append(Result(hit, found, parts))

        has_more = len(hits) > query.depth
        return results, has_more, counts

    # The pages of hits

    def _document_page(self, request: Request) -> Response:
        """Show a document, with the words and formulas of a query marked."""
        doc_id = request.path_params["doc_id"]
        query = request.query_params.get("q", "")[:MAX_QUERY]
        for index in self._indexes.values():
            if not index.task.finds_posts and index.task.find(doc_id, index):
                break
        else:
            message = f"There is no document “{doc_id[:40]}” in {self._collection.name}."
            raise HTTPException(404, message)

        task = index.task.name
        found = index.task.found(Hit(doc_id, 0), index)
        document = found.document
        file = ""
        beside = {}
        referring = []
        if document:
            if self._files:
                file = self._files.source(document)
            for place, other in index.texts.beside(document).items():
                beside[place] = self._linked(other, index)
            if STATEMENTS in index.manifest.counts:  # else there are no references
                for other in index.texts.referring.get(doc_id, ())[:MOST_REFERRING]:
                    referring.append(self._linked(other, index))

        return self._page(
            "document.html",
            shown=self._own[task].shown(doc_id, found, [self._content(query, task)]),
            file=file,
            beside=beside,
            referring=referring,
            asked=query,
            task=task,
        )

    def _file(self, request: Request) -> Response:
        """Send a file of the folder; what could act is an attachment, without rights."""
        file = self._files and self._files.find(request.path_params["name"])
        if not file:
            raise HTTPException(404, "There is no such file.")

        kind = kind_of(file)
        headers = {}
        if kind in ("image/svg+xml", "text/plain"):
            headers["content-disposition"] = "attachment"
            headers["content-security-policy"] = "sandbox"
        answer = FileResponse(file, headers=headers, media_type=kind, stat_result=file.stat())
        headers["etag"] = answer.headers["etag"]
        if headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return answer

    def _linked(self, doc_id: str, index: OpenIndex) -> tuple[str, Markup]:
        """Return the id and the title of a document, for a link to it."""
        found = index.task.found(Hit(doc_id, 0), index)
        return doc_id, PostWriter(macros=self._macros).content(heading(doc_id, found))

    def _thread_page(self, request: Request) -> Response:
        """Show the thread of a post, with the words and formulas of a query marked."""
        post_id = request.path_params["post_id"]
        missing = f"There is no post {post_id[:40]} in the collection."
        if not self._collection.has_posts:
            raise HTTPException(404, missing)

        posts = self._collection.posts
        parameters = request.query_params
        query = parameters.get("q", "")[:MAX_QUERY]
        task = parameters.get("task", "")

        def address(post_id: str) -> str | None:
            thread = posts.thread_of(post_id)
            if thread is None:
                return None
            return f"{self._prefix}/threads/{thread}#post-{post_id}"

        thread = None
        thread_id = posts.thread_of(post_id)
        if thread_id:
            with self._reading:
                reader = self._thread_reader
            thread = reader.read(thread_id)

        if thread is None:
            raise HTTPException(404, missing)

        writer = ThreadWriter(
            thread,
            self._collection,
            address,
            self._delimiters,
            query=[self._content(query, task)],
            formula_id=parameters.get("formula", ""),
        )
        return self._page("thread.html", thread=thread, writer=writer, asked=query, task=task)

    def read_ahead(self) -> None:
        """Read comments, users and links, so that the first click on a post need not wait."""
        # If a file is damaged, the click shows the error.
        with suppress(InputError), self._reading:
            _ = self._thread_reader

    @cached_property
    def _thread_reader(self) -> ThreadReader:
        return ThreadReader(self._collection)

    # The JSON interface

    def _search(self, request: Request) -> Response:
        """Return the results of a query as JSON."""
        query = read_query(request.query_params, self._tasks)
        asked = self._read_query(query)
        results, _, counts = self._results(query, asked)
        return JSONResponse(
            answer(
                query.q,
                query.task,
                asked.variant,
                asked.suggestion,
                counts,
                results,
                query.before,
            )
        )

    async def _preview(self, request: Request) -> Response:
        """Return the formulas of a query, rendered while a visitor types."""
        text = request.query_params.get("q", "")
        task = request.query_params.get("task", "")
        check_length(text)
        return JSONResponse({"html": self._render_query(text, task)})

    async def _problem(self, request: Request, error: Exception) -> Response:
        """Answer a faulty request with a message, also one for data that were replaced.

        What an InputError says names files of this machine, so only its terminal shows that.
        """
        if isinstance(error, HTTPException):
            problem = error
        else:
            tell(str(error))
            problem = HTTPException(503, _CHANGED)

        path = request.url.path.removeprefix(self._prefix)
        if path.startswith("/api/"):
            return JSONResponse({"error": problem.detail}, problem.status_code, problem.headers)

        title = _PROBLEMS.get(problem.status_code, "This did not work")
        message = problem.detail
        # This is starlette's message for an address that no route has.
        if message == "Not Found":
            message = "There is no such page."

        page = self._page("problem.html", title=title, message=message, asked="", task="")
        page.status_code = problem.status_code
        page.headers.update(problem.headers or {})
        return page

    # Functions of the templates

    def _variants(self, task: str) -> list[str]:
        """Return the variants of a task, the best one first."""
        primary = self._tasks[task].primary
        others = [variant for variant in self._indexes[task].variants if variant != primary]
        return [primary, *others]

    def _content(self, query: str, task: str) -> Content:
        """Return a query as it is searched: formulas without delimiters are recognised."""
        if task not in self._tasks:
            return read_title(query, self._delimiters)

        return self._read(self._tasks[task].topic(query))

    def _read(self, topic: Topic) -> Content:
        """Return the words and formulas of a topic that was typed."""
        if not topic.title:
            return Content(tuple(Formula(latex, None) for latex in topic.formulas))
        return read_title(topic.title, self._delimiters)

    def _render_query(self, query: str, task: str) -> Markup:
        """Return a query with its formulas as MathML; empty if it has no formula."""
        content = self._content(query, task)
        if not content.formulas:
            return Markup()
        return PostWriter(macros=self._macros).content(content)

    def _describe_contents(self) -> str:
        """Return the name of the collection and the number of documents of each task."""
        counts = []
        for index in self._indexes.values():
            documents = index.manifest.counts["documents"]
            counts.append(counted(documents, index.task.title.lower()))
        return f"{self._collection.name}: {', '.join(counts)}"

    def _page(self, template: str, **values: Any) -> Response:
        """Return a page by its template."""
        html = self._templates.get_template(template).render(values)
        return HTMLResponse(html)


def _titles(index: OpenIndex) -> list[str]:
    """Return titles of the first, the middle and the last of the user's own documents."""
    if not index.labels.known:
        return []
    ids = index.texts.ids
    rows = np.array([0, len(ids) // 2, len(ids) - 1])
    read = [index.texts.read(doc_id.decode()) for doc_id in ids.of(rows)]
    titles = [document.title.partition(" › ")[0] for document in read if document]
    return list(filter(None, dict.fromkeys(titles)))


def _best_labels(counts: Counter[str], chosen: list[str]) -> dict[str, list[tuple[str, int]]]:
    """Return the labels of each kind that most hits have, the chosen ones first."""
    kinds: dict[str, list[tuple[str, int]]] = {"in": [], "type": [], "tag": []}
    ranked = sorted(counts.items(), key=lambda entry: (entry[0] not in chosen, -entry[1], entry[0]))
    for label, count in ranked:
        of_kind = kinds[label.partition(":")[0]]
        if len(of_kind) < _SHOWN_LABELS:
            of_kind.append((label, count))
    return kinds
