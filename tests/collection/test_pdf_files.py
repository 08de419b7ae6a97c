"""PDF files of a folder: their words, and no file that ends, hangs or falsifies the rest.

In `pdf/`, `notes.pdf` was printed by Chromium, with an outline, `tex.pdf` was made by pdfTeX,
`libreoffice.pdf` by LibreOffice, and `scan.pdf` has pictures of pages. Others are made here.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from serving import Client, folder_site, page, running

from arqmath_bm25.collection import pdf_files
from arqmath_bm25.collection.listing import listed
from arqmath_bm25.collection.own_documents import UserDocument, corpus_in, read_documents
from arqmath_bm25.collection.source_files import READERS, read_source
from arqmath_bm25.core.errors import InputError
from tests.support.importing import imported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.skipif(".pdf" not in READERS, reason="the extra pdf is not installed")
MADE: Final = Path(__file__).parent / "pdf"
NOTES: Final = (MADE / "notes.pdf").read_bytes()
SCAN: Final = (MADE / "scan.pdf").read_bytes()
CATALOG: Final = "<</Type/Catalog/Pages 2 0 R>>"
FONT: Final = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def pdf(objects: Sequence[str | bytes], trailer: str = "") -> bytes:
    """Return a PDF of some objects, the first of which is the catalog."""
    data = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        body = content if isinstance(content, bytes) else content.encode("latin-1")
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R{trailer}>>\n"
        f"startxref\n{len(data)}\n%%EOF\n"
    )
    return data + end.encode()


def stream(content: bytes, entries: str = "") -> bytes:
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), entries.encode(), content)


def pages(*texts: str) -> list[str | bytes]:
    """Return the objects of a document: catalog, pages, font, and a page and its text in turn."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(texts)))
    objects: list[str | bytes] = [
        CATALOG,
        f"<</Type/Pages/Count {len(texts)}/Kids[{kids}]>>",
        FONT,
    ]
    for number, text in enumerate(texts):
        objects.append(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Resources<</Font<</F 3 0 R>>>>"
            f"/Contents {5 + 2 * number} 0 R>>"
        )
        objects.append(stream(f"BT /F 12 Tf 14 TL 20 300 Td {text} ET".encode("latin-1")))
    return objects


def lines(*said: str) -> str:
    return " ".join(f"({line}) Tj T*" for line in said)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(folder_site(MADE, tmp_path_factory.mktemp("indexes"))) as address:
        yield Client(address)


def documents(data: Path, indexes: Path) -> dict[str, UserDocument]:
    corpus = corpus_in(imported(data, indexes))
    assert corpus is not None
    return {document.doc_id: document for document, _ in read_documents(corpus)}


def test_chapters_of_the_outline_are_documents_at_their_pages(tmp_path: Path) -> None:
    (tmp_path / "notes.pdf").write_bytes(NOTES)
    first, second = read_source(tmp_path / "notes.pdf", tmp_path).parts
    assert (first.anchor, first.title, first.line) == ("page=1", "Eigenvalues", 1)
    assert (second.anchor, second.title) == ("page=2", "Determinants")
    assert "product of the determinants" in " ".join(second.text.split())


def test_words_are_whole_and_nothing_is_a_formula(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "notes.pdf").write_bytes(NOTES)
    read = documents(folder, tmp_path / "indexes")["notes.pdf#page=1"].as_read("auto")
    words = " ".join(read["words"].split())
    for said in ("The finite case", "naïve", "by induction on the dimension", "$5 and $x^2$ more"):
        assert said in words
    assert read["formulas"] == []


def test_without_an_outline_pages_are_documents(tmp_path: Path) -> None:
    content = pdf(
        pages(lines("The trace is linear.", "k=1", "1"), "", lines("Norms are con-", "vex."))
    )
    (tmp_path / "a.pdf").write_bytes(content)
    parts = read_source(tmp_path / "a.pdf", tmp_path).parts
    assert [(part.anchor, part.title) for part in parts] == [
        ("page=1", "a, page 1"),
        ("page=3", "a, page 3"),
    ]
    assert [part.text for part in parts] == [
        "<p>The trace is linear.</p>",
        "<p>Norms are convex.</p>",
    ]


def outline(entry: str) -> bytes:
    objects = pages(lines("Words beside an outline."))
    objects[0] = "<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>"
    return pdf([*objects, "<</First 7 0 R/Last 7 0 R/Count 9>>", entry])


def bomb() -> bytes:
    """Return a page whose content is 2 GB when it is unpacked twice."""
    pack = zlib.compressobj(9)
    block = b" " * (1 << 24)
    first, second = (pack.compress(block) + pack.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = first + 127 * second + pack.flush()  # The checksum at its end is wrong.
    objects = pages("")
    objects[4] = stream(zlib.compress(packed, 9), "/Filter[/FlateDecode/FlateDecode]")
    return pdf(objects)


def nested_forms() -> bytes:
    """Return a page of 10^9 words, by forms that each show the next one ten times."""
    objects = pages("")
    objects[2] = "<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>/XObject<<>>>>"
    page, content = objects[3:]
    objects = [
        *objects[:3],
        str(page).replace("/Font<</F 3 0 R>>", "/XObject<</X 6 0 R>>"),
        content,
    ]
    objects[4] = stream(b"/X Do " * 10)
    form = "/Type/XObject/Subtype/Form/BBox[0 0 400 400]"
    for number in range(7, 15):
        inner = f"{form}/Resources<</XObject<</X {number} 0 R>>>>"
        objects.append(stream(b"/X Do " * 10, inner))
    words = f"{form}/Resources<</Font<</F {FONT}>>>>"
    return pdf([*objects, stream(b"BT /F 12 Tf (word) Tj ET", words)])


BROKEN: Final = "a broken PDF"
LOCKED: Final = (
    f"/Encrypt<</Filter/Standard/V 1/R 2/O<{'00' * 32}>/U<{'11' * 32}>/P -4>>/ID[<00><00>]"
)
MANY: Final = [CATALOG, f"<</Type/Pages/Count 100000/Kids[{'4 0 R ' * 100_000}]>>", *pages("")[2:]]
ITSELF: Final = [CATALOG, "<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]/Parent 2 0 R>>"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", BROKEN, id="empty"),
        pytest.param(b"%PDF-1.7\n" + bytes(range(256)) * 99, BROKEN, id="garbage"),
        pytest.param(NOTES[: len(NOTES) // 2], "", id="cut in half"),
        pytest.param(pdf(pages("")), "without text", id="empty page"),
        pytest.param(SCAN, "without text, such as a scan", id="scan"),
        pytest.param(pdf(pages("(a) Tj"), LOCKED), "encrypted", id="encrypted"),
        pytest.param(pdf(ITSELF), "", id="pages within themselves"),
        pytest.param(pdf(MANY), "100,000 pages; at most 2,000", id="100,000 pages"),
        pytest.param(bomb(), "20 seconds or 1 GB", id="bomb"),
        pytest.param(pdf([CATALOG, "[" * 10**6]), BROKEN, id="deep brackets"),
        pytest.param(outline("<</Title(A)/Next 7 0 R/Dest[4 0 R/Fit]>>"), None, id="cycle"),
        pytest.param(outline("<</Title(A)/First 7 0 R/Dest[99 0 R/Fit]>>"), None, id="no page"),
    ],
)
def test_no_pdf_ends_a_folder(
    content: bytes, reason: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(content)
    (folder / "b.md").write_text("# Sums\n\nThe sum of two numbers commutes.\n")
    found = documents(folder, tmp_path / "indexes")
    assert "b.md#sums" in found
    said = [line for line in caplog.messages if "left out, " in line]
    if reason is None:
        assert "Words beside an outline." in found["a.pdf#page=1"].text
        assert not said
    else:
        (line,) = said
        assert reason in line
        assert line.endswith(": a.pdf")


def test_time_is_limited_and_the_next_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf_files, "_SECONDS", 1)
    (tmp_path / "a.pdf").write_bytes(nested_forms())
    (tmp_path / "b.pdf").write_bytes(NOTES)
    for _ in range(2):
        with pytest.raises(InputError, match=r"a\.pdf: a PDF that takes more than 1 seconds"):
            pdf_files.pdf_sections(tmp_path / "a.pdf")
        assert len(pdf_files.pdf_sections(tmp_path / "b.pdf")) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # its open pipes
def test_a_reader_that_was_killed_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(NOTES)
    process = pdf_files._process(pdf_files._SECONDS)
    process.kill()
    process.wait()
    assert len(pdf_files.pdf_sections(tmp_path / "a.pdf")) == 2


def test_a_pdf_of_a_source_is_left_out(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf", "sub/a.PDF"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(NOTES)
    (tmp_path / "a.tex").write_text("\\section{Sums}\nThe sum of numbers.\n")
    files = listed(tmp_path, tmp_path / "indexes")
    assert files.left_out == {"a.pdf": "a.tex is read"}
    assert files.names == ["a.tex", "b.pdf", "sub/a.PDF"]


@pytest.mark.parametrize(
    ("name", "query", "number"),
    [
        ("tex.pdf", "naive gambler doubles the stake", 1),
        ("tex.pdf", "a bounded martingale and its efficient office", 1),
        ("tex.pdf", "Schütz", 1),
        ("tex.pdf", "extinction probability unfortunately", 2),
        ("libreoffice.pdf", "Compactness of the unit ball", 1),
        ("libreoffice.pdf", "Vektoren und ihre Größe", 2),
    ],
)
def test_words_of_tex_and_libreoffice_are_found_at_their_pages(
    made: Client, name: str, query: str, number: int
) -> None:
    first = page(made, "/", q=query).css_first(".result")
    link = first.css_first("h3 a").attributes["href"]
    assert link == f"/files/{name}#page={number}"
    assert f"{name}, page {number}, words only" in first.text()
    headers = made.get(f"/files/{name}", "HEAD").headers
    assert headers["content-type"] == "application/pdf"
    assert "content-disposition" not in headers


def test_what_is_not_read_is_counted_with_the_way_to_read_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(READERS, ".pdf", raising=False)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("The sum of two numbers commutes.\n")
    (folder / "b.pdf").write_bytes(NOTES)
    (folder / "c.docx").write_bytes(b"PK")
    assert list(documents(folder, tmp_path / "indexes")) == ["a.md"]
    said = " ".join(caplog.messages)
    assert "1 .docx (`pandoc a.docx -t markdown -o a.md` keeps its formulas)" in said
    assert "1 .pdf (read by words after pip install 'arqmath-bm25[pdf]')" in said


def test_a_pdf_with_the_title_of_a_latex_file_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    texts = {
        "final.pdf": ("Sums of", "two squares", "by Euler", "Primes are sums."),
        "other.pdf": ("Sums of", "two squares and more", "Not the same."),
        "empty.pdf": ("Another paper.",),
    }
    for name, said in texts.items():
        (folder / name).write_bytes(pdf(pages(lines(*said))))
    source = r"\title{Sums of two \emph{Squares}}\begin{document}\maketitle Primes.\end{document}"
    (folder / "z.tex").write_text(source)
    (folder / "untitled.tex").write_text(r"\section{Another paper}Text.")
    indexes = tmp_path / "indexes"
    kept = ["other.pdf#page=1", "empty.pdf#page=1", "untitled.tex#another-paper", "z.tex"]
    assert documents(folder, indexes).keys() == {*kept}
    assert f"{folder}: left out, z.tex has its title: final.pdf" in caplog.messages

    (folder / "new.md").write_text("# New\n")
    assert "final.pdf#page=1" not in documents(folder, indexes)
    (folder / "z.tex").write_text(source.replace("two", "four"))
    now = documents(folder, indexes)
    assert "final.pdf#page=1" in now
    assert now == documents(folder, tmp_path / "fresh")


def test_a_pdf_that_latex_shows_as_a_picture_is_no_document(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "figs").mkdir(parents=True)
    for name in ("figs/plot.pdf", "drawing.pdf", "paper.pdf"):
        (folder / name).write_bytes(pdf(pages(lines(f"Words of {name[:4]}."))))
    (folder / "main.tex").write_text(
        r"\graphicspath{{figs/}}\begin{document}A plot. \includegraphics[width=3cm]{plot}"
        r"\input{chapter} \verb|\includegraphics{paper.pdf}|\end{document}"
    )
    (folder / "chapter.tex").write_text(r"A drawing. \includegraphics{drawing.pdf}")
    for _ in range(2):
        assert documents(folder, tmp_path / "indexes").keys() == {"main.tex", "paper.pdf#page=1"}
        (folder / "new.md").write_text("")
