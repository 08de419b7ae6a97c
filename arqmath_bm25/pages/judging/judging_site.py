"""Judging a batch in a browser: one hit after another, each label saved before the next is shown.

Labels are kept in a results CSV that `judge` reads, one row per hit in the order in which they were
given; it is written as a whole with each of them. Forms hold a token that only this server's pages
have, so that no page elsewhere can judge.
"""

import csv
import secrets
from collections.abc import Container
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import GRADE_OF_LABEL, MAX_INSTANCES
from arqmath_bm25.core.reading import read_csv
from arqmath_bm25.core.writing import complete
from arqmath_bm25.evaluation.judging.judge import COLUMNS, HitKey, read_annotations
from arqmath_bm25.pages.page_files import templates
from arqmath_bm25.pages.web.server import STATIC, guarded

_LONGEST_FORM: Final = 1000  # bytes
_KEYS: Final = {label: str(grade) for label, grade in GRADE_OF_LABEL.items()} | {
    "System failure": "f",
    "Do not know": "d",
}


class JudgingSite:
    """The pages of one batch; `results` keeps its labels, also those of an earlier day."""

    def __init__(self, batch: Path, results: Path) -> None:
        """Raise InputError where `batch` is no batch, or `results` holds labels of another."""
        rows = read_csv(
            batch, "batch", "topic_id", "doc_id", "title", "question", "post_1", "hit_1"
        )
        self._hits = {
            HitKey(row["topic_id"], row["doc_id"], post): {**row, "hit": row[f"hit_{n}"]}
            for row in rows
            for n in range(1, MAX_INSTANCES + 1)
            if (post := row.get(f"post_{n}"))
        }
        if not self._hits:
            raise InputError(f"{batch}: no row has a hit; expected a batch that `pool` wrote")
        self._results = results
        self._labels: dict[HitKey, str] = {}
        for key, notes in (read_annotations([results]) if results.exists() else {}).items():
            if key not in self._hits:
                raise InputError(
                    f"{results}: row {notes[0].row}: post {key.post_id} for topic {key.topic_id} "
                    f"is not in {batch}; choose another file with -o"
                )
            self._labels[key] = notes[0].label
        self._token = secrets.token_urlsafe()
        self._templates = templates("judging", "judging.js", served=True)

    @property
    def progress(self) -> tuple[int, int]:
        """How many hits are judged, and of how many."""
        return len(self._labels), len(self._hits)

    def app(self, hosts: Container[str] = ("localhost", "127.0.0.1", "::1")) -> ASGIApp:
        """Return the application, which answers to the names `hosts`."""
        routes = [
            Route("/", self._page),
            Route("/judge", self._judge, methods=["POST"]),
            Route("/undo", self._undo, methods=["POST"]),
            STATIC,
        ]
        return guarded(Starlette(routes=routes), hosts)

    async def _page(self, _: Request) -> Response:
        key = next((key for key in self._hits if key not in self._labels), None)
        judged, hits = self.progress
        html = self._templates.get_template("judging.html").render(
            key=key, row=key and self._hits[key], token=self._token, keys=_KEYS, judged=judged,
            hits=hits, results=self._results.name,
        )  # fmt: skip
        return HTMLResponse(html, headers={"cache-control": "no-store"})

    async def _judge(self, request: Request) -> Response:
        form = await self._form(request)
        key = HitKey(form.get("topic", ""), form.get("doc", ""), form.get("post", ""))
        if key not in self._hits or form.get("label") not in GRADE_OF_LABEL:
            raise HTTPException(422, "There is no such hit or label in this batch.")
        self._save({**self._labels, key: form["label"]})
        return RedirectResponse("/", 303)

    async def _undo(self, request: Request) -> Response:
        await self._form(request)
        self._save(dict(list(self._labels.items())[:-1]))
        return RedirectResponse("/", 303)

    async def _form(self, request: Request) -> dict[str, str]:
        """Read a form that a page of this server sent."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_FORM:
                raise HTTPException(413, "This form is too long.")
        form = {name: values[0] for name, values in parse_qs(body.decode("latin-1")).items()}
        if not secrets.compare_digest(form.get("token", "").encode(), self._token.encode()):
            raise HTTPException(403, "The page is of an earlier server; go back and reload it.")
        return form

    def _save(self, labels: dict[HitKey, str]) -> None:
        with complete(self._results) as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(COLUMNS)
            writer.writerows([*key, label] for key, label in labels.items())
        self._labels = labels
