"""The command `threads`: questions with all that belongs to them, as pages."""

from pathlib import Path

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import THREADS, Place, out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.progress import progress, status
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.pages.judging.annotation import posts_of_batch


@command
def threads(
    output: Path,
    place: Place,
    ids: list[str] | None = None,
    pool: Path | None = None,
    threads: int = THREADS,
    delimiters: Delimiters = "mathjax",
) -> None:
    """Write threads as HTML pages that open from disk, as the labs' assessors saw them.

    A page has the question, its answers with score and acceptance, comments, users, dates, tags,
    duplicates and links, as far as DATA has them. Every post and formula has an anchor:
    ID.html#post-ID, ID.html#formula-ID. Links lead to pages that are written too, or nowhere.

    Example: arqmath-bm25 threads --pool batch.csv --data /data/ARQMath -o threads
    """
    wanted = [*(ids or ()), *(posts_of_batch(pool) if pool else ())]
    if not wanted:
        raise InputError(
            "threads of which posts? Give ids of questions or answers, or --pool BATCH"
        )
    # Templates take a quarter of a second to load, which other commands need not wait for.
    from arqmath_bm25.pages.threads import ThreadReader, write_threads

    with status("Reading comments, users and links"):
        reader = ThreadReader(place.collection, Processes(threads))
    for line in reader.left_out():
        out.print(f"left out: {line}", markup=False)
    with progress("Writing pages", len(wanted), "posts") as advance:
        written = write_threads(reader, wanted, output, advance, delimiters)
    out.print(f"{output / 'index.html'}: {written} threads", markup=False)
