"""Judging a batch in a browser: one hit after another, each label saved before the next is shown.

The session keeps the labels (`evaluation/judging/session.py`). A page that is older than a label
cannot change it: the session refuses that, and the page says so. The address of the page and its
forms hold a token, so that neither other users of this machine nor pages elsewhere can judge.
"""

import secrets
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from arqmath_bm25.core.errors import InputError, shown
from arqmath_bm25.core.labs import GRADE_OF_LABEL, MAX_INSTANCES
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.evaluation.judging.judge import HitKey
from arqmath_bm25.evaluation.judging.session import Session, judging_session
from arqmath_bm25.pages.judging.annotation import QUESTION
from arqmath_bm25.pages.page_files import templates
from arqmath_bm25.pages.web.server import STATIC, guarded

# Bytes of a form; an id has up to 512 bytes, each of which takes three if it is escaped.
_LONGEST_FORM = 8000

# Keys of the keyboard that give a label.
_KEYS = {label: str(grade) for label, grade in GRADE_OF_LABEL.items()} | {
    "System failure": "f",
    "Do not know": "d",
}


@contextmanager
def judging_site(batch: Path, results: Path) -> Iterator["JudgingSite"]:
    """Yield the pages of a batch, which no other process may label meanwhile.

    Raises InputError if `batch` is not a batch, and as `judging_session` does.
    """
    rows = read_csv(batch, "batch", "topic_id", "doc_id", "title", "question", "post_1", "hit_1")
    # The cells of each topic are in its first row.
    questions = dict[str, dict[str, str]]()
    for row in rows:
        cells = {name: row.get(name, "") for name in QUESTION}
        if any(cells.values()):
            questions.setdefault(row["topic_id"], cells)

    hits = {}
    for row in rows:
        topic_id = row["topic_id"]
        if topic_id not in questions:
            raise InputError(
                f"{batch}: topic {shown(topic_id)} has no question; it is in the first row of the "
                "topic that `pool` wrote"
            )

        for number in range(1, MAX_INSTANCES + 1):
            post = row.get(f"post_{number}")
            if post:
                key = HitKey(topic_id, row["doc_id"], post)
                hits[key] = {**questions[topic_id], "hit": row[f"hit_{number}"]}

    if not hits:
        raise InputError(f"{batch}: no row has a hit; expected a batch that `pool` wrote")

    with judging_session(batch, hits, results) as session:
        yield JudgingSite(hits, session)


class JudgingSite:
    """The pages of one batch: `hits` with the cells to show of each."""

    def __init__(self, hits: Mapping[HitKey, Mapping[str, str]], session: Session) -> None:
        self._hits = hits
        self._session = session
        self._topics: dict[str, list[HitKey]] = {}
        for hit in hits:
            self._topics.setdefault(hit.topic_id, []).append(hit)

        self.token = secrets.token_urlsafe()
        self._templates = templates("judging", "judging.js", served=True)

    @property
    def path(self) -> str:
        """The path of the page, with the token."""
        return f"/?token={self.token}"

    @property
    def progress(self) -> tuple[int, int]:
        """The number of judged hits, and the number of all hits."""
        return len(self._session.labels), len(self._hits)

    def app(self, hosts: Container[str]) -> ASGIApp:
        """Return the application, which answers to the names `hosts`."""
        routes = [
            Route("/", self._page),
            Route("/judge", self._judge, methods=["POST"]),
            Route("/undo", self._undo, methods=["POST"]),
            STATIC,
        ]
        refusals = {InputError: _refuse, OSError: _refuse}
        site = Starlette(routes=routes, exception_handlers=refusals)
        return guarded(site, hosts)

    async def _page(self, request: Request) -> Response:
        """Show the next hit, or that all are judged."""
        token = request.query_params.get("token", "")
        self._check_token(token)
        judged, hits = self.progress
        labels = self._session.labels
        key = next((hit for hit in self._hits if hit not in labels), None)
        row = None
        of_topic = None
        if key is not None:
            row = self._hits[key]
            of_topic = self._topics[key.topic_id]

        template = self._templates.get_template("judging.html")
        html = template.render(
            key=key,
            row=row,
            of_topic=of_topic,
            last=next(reversed(labels.items()), None),
            judged=judged,
            hits=hits,
            topics=list(self._topics),
            keys=_KEYS,
            token=self.token,
            results=self._session.results,
        )
        return HTMLResponse(html, headers={"cache-control": "no-store"})

    def _check_token(self, token: str) -> None:
        """Raise HTTPException for another token than the one of this server."""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            raise HTTPException(
                403, "This is not the address of the page. Open the one that the command printed."
            )

    async def _judge(self, request: Request) -> Response:
        """Save the label of a hit."""
        hit, label = await self._read_form(request)
        if hit not in self._hits or label not in GRADE_OF_LABEL:
            raise HTTPException(422, "There is no such hit or label in this batch.")
        self._session.label(hit, label)
        return RedirectResponse(self.path, 303)

    async def _undo(self, request: Request) -> Response:
        """Undo the last label."""
        hit, label = await self._read_form(request)
        self._session.undo(hit, label)
        return RedirectResponse(self.path, 303)

    async def _read_form(self, request: Request) -> tuple[HitKey, str]:
        """Read a form that a page of this server sent: a hit and its label."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_FORM:
                raise HTTPException(413, "This form is too long.")

        form = dict.fromkeys(("token", "label", *HitKey._fields), "")
        for name, values in parse_qs(body.decode("latin-1")).items():
            form[name] = values[0]

        self._check_token(form["token"])
        hit = HitKey(form["topic_id"], form["doc_id"], form["post_id"])
        return hit, form["label"]


def _refuse(_: Request, error: Exception) -> Response:
    """Say why a label was not saved."""
    return PlainTextResponse(f"{error} Nothing was saved; reload the page.", 409)
