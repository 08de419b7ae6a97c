"""The files of a folder that its search page sends: pictures, and the sources of documents.

Anything that could act is sent as an attachment, and without rights.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from arqmath_bm25.collection.folder_texts import inside

if TYPE_CHECKING:
    from starlette.requests import Request

    from arqmath_bm25.collection.own_documents import UserDocument
    from arqmath_bm25.tasks.open_index import Index

_TYPES: Final = {
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}


class FolderFiles:
    """The files of a folder, at addresses that begin with `prefix`."""

    def __init__(self, folder: Path, index: Index, prefix: str) -> None:
        self._folder = folder.resolve()
        self._index = index
        self._prefix = prefix

    @cached_property
    def _sources(self) -> set[str]:
        """The names of the files that have documents."""
        return {document.file for document in self._index.texts.all()}

    def _find(self, name: str) -> Path | None:
        """Return the file of a name in the folder; None if the page does not send it."""
        file = inside(self._folder / name, self._folder)
        if file is None:
            return None

        # A link may lead to a file of another name.
        real = file.relative_to(self._folder).as_posix()
        if any(part[:1] in ("", ".") for part in f"{name}/{real}".split("/")):
            return None
        if _kind(file).startswith("image/") or real in self._sources:
            return file
        return None

    def picture(self, source: str, address: str) -> str | None:
        """Return where the page sends a picture that a source shows; None if it does not."""
        path = unquote(re.split("[?#]", address)[0])
        name = os.path.normpath(Path(source).parent / path)
        file = self._find(name)
        if file and _kind(file).startswith("image/"):
            return f"{self._prefix}/files/{quote(name)}"
        return None

    def address(self, document: UserDocument) -> str:
        """Return the path of the file of a document, of a PDF at its page; "" if it is not sent."""
        if self._find(document.file) is None:
            return ""
        path = f"/files/{quote(document.file)}"
        if document.is_pdf:
            path += f"#page={document.line}"
        return path

    def send(self, request: Request) -> Response:
        """Return the answer with a file; HTTPException if there is none to send."""
        file = self._find(request.path_params["name"])
        if file is None:
            raise HTTPException(404, "There is no such file.")

        kind = _kind(file)
        headers = {}
        if kind in ("image/svg+xml", "text/plain"):
            headers["content-disposition"] = "attachment"
            headers["content-security-policy"] = "sandbox"
        answer = FileResponse(file, headers=headers, media_type=kind, stat_result=file.stat())
        headers["etag"] = answer.headers["etag"]
        if headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return answer


def _kind(file: Path) -> str:
    """Return the media type of a file."""
    return _TYPES.get(file.suffix.lower(), "text/plain")
