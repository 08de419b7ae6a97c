"""Documents of the user's own as a static site: a page for each file, and their contents.

The pages open from disk, have no search, and are the same bytes each time.
"""

import shutil
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from arqmath_bm25.core.records import Hit, Json
from arqmath_bm25.pages.folder_files import FolderFiles
from arqmath_bm25.pages.own_documents import MOST_REFERRING, OwnDocuments
from arqmath_bm25.pages.page_files import page_names, site
from arqmath_bm25.tasks.open_index import OpenIndex


class _CopiedFiles(FolderFiles):
    """The files of a folder, copied to the pages that show them."""

    def __init__(self, folder: Path, index: OpenIndex, pages: Path) -> None:
        super().__init__(folder, index, ".")
        self._pages = pages

    def address(self, name: str) -> str:
        """Copy a file, and return its address."""
        file = self.find(name)
        if file:
            copy = self._pages / "files" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        return super().address(name)


def write_site(index: OpenIndex, directory: Path) -> int:
    """Write the documents of an index to a directory; return the number of pages.

    The directory appears only when it is complete. Raises InputError if it has something else.
    """
    texts = index.texts
    collection = index.collection
    files = {document.doc_id: document.source or document.doc_id for document in texts.all()}
    names = page_names(dict.fromkeys(files.values()))
    contents: dict[str, list[Json]] = {name: [] for name in names}

    def address(doc_id: str) -> str:
        name = names[files[doc_id]]
        return f"{name}#{quote(_anchor(doc_id), safe=':/')}"

    with site(directory, "pages") as pages:
        pages.templates.globals["brand"] = collection.name
        copied = None
        if collection.is_imported and isinstance(collection.data, Path):
            copied = _CopiedFiles(collection.data, index, pages.folder)
        documents = OwnDocuments(index, address, copied)

        by_file = sorted(files, key=files.__getitem__)
        for file, doc_ids in groupby(by_file, files.__getitem__):
            shown = []
            for doc_id in doc_ids:
                found = index.task.found(Hit(doc_id, 0), index)
                values = documents.shown(doc_id, found)
                others = texts.referring.get(doc_id, ())[:MOST_REFERRING]
                values["referring"] = [(other, address(other)) for other in others]
                shown.append(values | {"anchor": _anchor(doc_id)})
                contents[file].append({"title": values["title"], "address": address(doc_id)})
            pages.write(names[file], "file.html", name=file, documents=shown, pages=names)

        pages.write("index.html", "contents.html", contents=contents, pages=names)
    return len(names)


def _anchor(doc_id: str) -> str:
    """Return the anchor of a document in the page of its file."""
    _, _, anchor = doc_id.partition("#")
    return anchor or "top"
