"""Judging a batch in a browser: one hit after another, each label saved before the next is shown.

The session keeps the labels (`evaluation/judging/session.py`). A page that is older than a label
cannot change it: the session refuses that, and the page says so. Forms hold a token that only this
server's pages have, so that no page elsewhere can judge.
"""

import secrets
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import GRADE_OF_LABEL, MAX_INSTANCES
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.evaluation.judging.judge import HitKey
from arqmath_bm25.evaluation.judging.session import Session, judging_session
from arqmath_bm25.pages.page_files import templates
from arqmath_bm25.pages.web.server import STATIC, guarded

_LONGEST_FORM: Final = 8000  # bytes; an id of one's own has up to 512, three in an escape
_KEYS: Final = {label: str(grade) for label, grade in GRADE_OF_LABEL.items()} | {
    "System failure": "f",
    "Do not know": "d",
}


@contextmanager
def judging_site(batch: Path, results: Path) -> Iterator["JudgingSite"]:
    """Yield the pages of a batch, whose labels nobody else gives meanwhile.

    Raises InputError where `batch` is no batch, and as `judging_session` does.
    """
    rows = read_csv(batch, "batch", "topic_id", "doc_id", "title", "question", "post_1", "hit_1")
    hits = {
        HitKey(row["topic_id"], row["doc_id"], post): {**row, "hit": row[f"hit_{n}"]}
        for row in rows
        for n in range(1, MAX_INSTANCES + 1)
        if (post := row.get(f"post_{n}"))
    }
    if not hits:
        raise InputError(f"{batch}: no row has a hit; expected a batch that `pool` wrote")
    with judging_session(batch, hits, results) as session:
        yield JudgingSite(hits, session)


class JudgingSite:
    """The pages of one batch: `hits` with the cells to show of each."""

    def __init__(self, hits: Mapping[HitKey, Mapping[str, str]], session: Session) -> None:
        self._hits, self._session = hits, session
        self._topics: dict[str, list[HitKey]] = {}
        for hit in hits:
            self._topics.setdefault(hit.topic_id, []).append(hit)
        self._token = secrets.token_urlsafe()
        self._templates = templates("judging", "judging.js", served=True)

    @property
    def progress(self) -> tuple[int, int]:
        """How many hits are judged, and of how many."""
        return len(self._session.labels), len(self._hits)

    def app(self, hosts: Container[str] = ("localhost", "127.0.0.1", "::1")) -> ASGIApp:
        """Return the application, which answers to the names `hosts`."""
        routes = [
            Route("/", self._page),
            Route("/judge", self._judge, methods=["POST"]),
            Route("/undo", self._undo, methods=["POST"]),
            STATIC,
        ]
        refusals = {InputError: _refuse, OSError: _refuse}
        return guarded(Starlette(routes=routes, exception_handlers=refusals), hosts)

    async def _page(self, _: Request) -> Response:
        key = next((key for key in self._hits if key not in self._session.labels), None)
        judged, hits = self.progress
        html = self._templates.get_template("judging.html").render(
            key=key, row=key and self._hits[key], token=self._token, keys=_KEYS, judged=judged,
            hits=hits, topics=list(self._topics), of_topic=key and self._topics[key.topic_id],
            last=next(reversed(self._session.labels.items()), None), results=self._session.results,
        )  # fmt: skip
        return HTMLResponse(html, headers={"cache-control": "no-store"})

    async def _judge(self, request: Request) -> Response:
        hit, label = await self._read_form(request)
        if hit not in self._hits or label not in GRADE_OF_LABEL:
            raise HTTPException(422, "There is no such hit or label in this batch.")
        self._session.label(hit, label)
        return RedirectResponse("/", 303)

    async def _undo(self, request: Request) -> Response:
        hit, _ = await self._read_form(request)
        self._session.undo(hit)
        return RedirectResponse("/", 303)

    async def _read_form(self, request: Request) -> tuple[HitKey, str]:
        """Read a form that a page of this server sent: a hit, and a label if there is one."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_FORM:
                raise HTTPException(413, "This form is too long.")
        form = {name: values[0] for name, values in parse_qs(body.decode("latin-1")).items()}
        if not secrets.compare_digest(form.get("token", "").encode(), self._token.encode()):
            raise HTTPException(403, "The page is of an earlier server; go back and reload it.")
        hit = HitKey(*(form.get(name, "") for name in HitKey._fields))
        return hit, form.get("label", "")


def _refuse(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{error} Nothing was saved; reload the page.", 409)
