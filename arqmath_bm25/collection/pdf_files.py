"""PDF files by their words, each read in a process of its own with limited time and memory.

A document is a chapter of the outline, else a page. Formulas of a PDF are debris, so lines without
a word are left out. A process that runs this file alone starts the others, as copies of itself.
"""

import json
import os
import re
import sys
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Lock
from typing import Any

_SECONDS = 20  # of a processor, for one file
_MEMORY = 1 << 30  # bytes
_MOST_PAGES = 2_000
_HYPHEN = re.compile(
    r"[\xad\ufffe]\s*|(?<=[a-zß-ÿ])[-\u2010]\n(?=[a-zß-ÿ])"
)  # at the end of a line
_ACCENT = re.compile(r" ([\u0300-\u036f])(\w)")  # printed before its letter
_WORD = re.compile(r"[^\W\d_]{2}")
_READING = Lock()
PdfSection = tuple[int, str, str]  # its first page, title and text


def pdf_sections(path: Path) -> list[PdfSection]:
    """Return the chapters or pages of a PDF; InputError with the reason if it cannot be read."""
    from arqmath_bm25.core.errors import InputError  # which the other process need not load

    with _READING:
        if _process(_SECONDS).poll() is not None:
            _process.cache_clear()
        process = _process(_SECONDS)
        print(json.dumps(str(path)), file=process.stdin, flush=True)
        answer = next(process.stdout or iter(()), "")

    try:
        sections: list[PdfSection] | str = json.loads(answer)
    except ValueError:
        sections = f"a PDF that takes more than {_SECONDS} seconds or 1 GB, or breaks its reader"
    if isinstance(sections, str):
        raise InputError(f"{path}: {sections}")
    return sections


@cache
def _process(seconds: int) -> Popen[str]:
    """Start the process that reads PDFs; it ends with this one."""
    command = [sys.executable, "-P", __file__, str(seconds)]
    return Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True)


def _answer(seconds: int) -> None:
    """Answer each line, the path of a PDF, with a line: its sections or the reason for none."""
    from resource import RLIMIT_AS, RLIMIT_CPU, setrlimit

    import pypdfium2

    for line in sys.stdin:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            print(flush=True)
            continue

        setrlimit(RLIMIT_CPU, (seconds, seconds))
        if sys.platform == "linux":  # macOS refuses it
            setrlimit(RLIMIT_AS, (_MEMORY, _MEMORY))
        try:
            sections = _sections(pypdfium2.PdfDocument(json.loads(line)))
        except pypdfium2.PdfiumError as error:
            sections = "a broken PDF; give its LaTeX, HTML or text"
            if "password" in str(error):
                sections = "an encrypted PDF; save it without a password"
        print(json.dumps(sections), end="")
        return


def _sections(document: Any) -> list[PdfSection] | str:
    """Return the chapters or pages of a PDF, or why it has none."""
    count = len(document)
    if count > _MOST_PAGES:
        return f"a PDF of {count:,} pages; at most {_MOST_PAGES:,} are read"
    pages = [_words(page.get_textpage().get_text_range()) for page in document]
    if not any(pages):
        return "a PDF without text, such as a scan; recognize its text (OCR) first"

    titles: dict[int, list[str]] = {}
    for entry in document.get_toc(max_depth=1):
        place = entry.get_dest()
        index = place and place.get_index()
        if index is not None and 0 <= index < count:
            titles.setdefault(index, []).append(_words(entry.get_title()))

    starts = sorted({0, *(titles or range(count))})
    sections = []
    for start, end in pairwise([*starts, count]):
        text = "\n\n".join(filter(None, pages[start:end]))
        if text:
            title = "; ".join(filter(None, titles.get(start, ())))
            sections.append((start + 1, title, text))
    return sections


def _words(text: str) -> str:
    """Return the lines with words, without ligatures, broken words and marks of formulas."""
    plain = unicodedata.normalize("NFKC", text.replace("\r\n", "\n"))
    plain = _ACCENT.sub(r"\2\1", _HYPHEN.sub("", plain))
    lines = unicodedata.normalize("NFC", plain).split("\n")
    kept = [line.strip() for line in lines if not line.strip() or _WORD.search(line)]
    return "\n".join(kept).strip().replace("\\", " ").replace("$", r"\$")


if __name__ == "__main__":
    _answer(int(sys.argv[1]))
