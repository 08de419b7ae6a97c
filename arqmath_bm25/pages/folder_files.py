"""The files of a folder that pages of its documents show or send: pictures, and sources."""

import os
import re
from functools import cached_property
from html import unescape
from pathlib import Path
from urllib.parse import quote, unquote

from arqmath_bm25.collection.folder_texts import inside
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.tasks.open_index import OpenIndex

_TYPES = {
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}
_FIGURE = re.compile(r'<img src="/([^"]+\.pdf)"', re.IGNORECASE)


class FolderFiles:
    """The files of a folder, at addresses that begin with `prefix`."""

    def __init__(self, folder: Path, index: OpenIndex, prefix: str) -> None:
        self._folder = folder.resolve()
        self._index = index
        self._prefix = prefix

    def find(self, name: str) -> Path | None:
        """Return the file of a name in the folder; None if pages may not have it."""
        file = inside(self._folder / name, self._folder)
        if file is None:
            return None

        # A link may lead to a file of another name.
        real = file.relative_to(self._folder).as_posix()
        if any(part[:1] in ("", ".") for part in f"{name}/{real}".split("/")):
            return None
        if kind_of(file).startswith("image/") or real in self._index.texts.first_of_file:
            return file
        if kind_of(file) == _TYPES[".pdf"] and real in self._figures:
            return file
        return None

    @cached_property
    def _figures(self) -> set[str]:
        """The PDF files that documents show as pictures."""
        figures: set[str] = set()
        for document in self._index.texts.all():
            figures.update(map(unescape, _FIGURE.findall(document.as_post)))
        return figures

    def address(self, name: str) -> str:
        """Return the address of a file; "" if pages may not have it."""
        if self.find(name) is None:
            return ""
        return f"{self._prefix}/files/{quote(name)}"

    def picture(self, source: str, address: str) -> str:
        """Return the address of a picture that a source shows; "" if pages may not have it."""
        name = named(source, address)
        if kind_of(Path(name)).startswith("image/"):
            return self.address(name)
        return ""

    def source(self, document: UserDocument) -> str:
        """Return the address of the file of a document, of a PDF at its page; "" for none."""
        address = self.address(document.file)
        if address and document.is_pdf:
            address += f"#page={document.line}"
        return address


def named(source: str, address: str) -> str:
    """Return the name in the folder of the file that a source gives the address of."""
    path = unquote(re.split("[?#]", address)[0])
    folder = Path(source).parent
    if path.startswith("/"):
        folder = Path()
    return os.path.normpath(folder / path.lstrip("/"))


def kind_of(file: Path) -> str:
    """Return the media type of a file."""
    return _TYPES.get(file.suffix.lower(), "text/plain")
