"""Documents of the user's own on pages, with links to each other and pictures of their folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from arqmath_bm25.analysis.html import Content, as_body
from arqmath_bm25.collection.listing import part_id
from arqmath_bm25.collection.own_documents import UserDocument
from arqmath_bm25.pages.folder_files import FolderFiles, named
from arqmath_bm25.pages.post_html import PostWriter
from arqmath_bm25.pages.web.shown_hits import (
    content_of,
    heading,
    is_web_address,
    query_like,
    tags_of,
    web_address,
)
from arqmath_bm25.tasks.open_index import OpenIndex
from arqmath_bm25.tasks.task import Found

MOST_REFERRING = 100  # documents that link to one


@dataclass(eq=False)
class OwnDocuments:
    """The documents of an index, as pages show them."""

    _index: OpenIndex
    _address: Callable[[str], str]  # returns where the document with an id is
    _files: FolderFiles | None  # among which the pictures are

    @cached_property
    def _notes(self) -> dict[str, str]:
        """The first document of each file, by the name of the file without its ending."""
        firsts = self._index.texts.first_of_file
        return {Path(file).stem: doc_id for file, doc_id in firsts.items()}

    def shown(self, doc_id: str, found: Found, query: Sequence[Content] = ()) -> dict[str, Any]:
        """Return the values for a template, with the words and formulas of a query marked."""
        task = self._index.task
        document = found.document or UserDocument(doc_id, found.text)
        picture = partial(self._picture, document)
        link = partial(self._link, document)
        writer = PostWriter(query, task.delimiters, task.macros, picture, link)

        content = content_of(found)
        body = as_body(content)
        if found.document:
            body = document.body(found.delimiters)
        title = heading(doc_id, found)
        return {
            "doc_id": doc_id,
            "place": document.place,
            "title": writer.content(title),
            "plain_title": title.text,
            "body": writer.body(body),
            "tags": tags_of(found),
            "link": web_address(found, self._index.collection),
            "like": query_like(content),
        }

    def _picture(self, document: UserDocument, address: str) -> str:
        """Return the address of a picture that a document shows; "" if there is none."""
        if self._files is None:
            return ""
        return self._files.picture(document.source, address)

    def _link(self, document: UserDocument, address: str) -> tuple[str, str]:
        """Return the address of a link of a document, or "", and the text of one without words."""
        if is_web_address(address):
            return address, address

        path, _, label = unquote(address).partition("#")
        texts = self._index.texts
        if path:
            name = named(document.source, address)
            doc_id = part_id(name, label)
            if not texts.has(doc_id):
                doc_id = texts.first_of_file.get(name, "")
        else:
            doc_id = document.label_ids.get(label) or part_id(document.source, label)
            if not texts.has(doc_id):
                doc_id = self._notes.get(label, "")

        other = None
        if texts.has(doc_id):
            other = texts.read(doc_id)
        if other is None:
            address = ""
            if self._files and path:
                address = self._files.address(name)
            return address, label or path
        _, _, name = other.title.rpartition(" › ")
        if other.type not in ("", "section"):
            name = name.partition(": ")[2]
        return self._address(doc_id), name or label
