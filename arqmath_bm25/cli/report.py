"""The command `report`: pages that show what runs did."""

from pathlib import Path

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import Place, out
from arqmath_bm25.core.labs import LabTask
from arqmath_bm25.core.progress import progress, status


@command
def report(
    runs: list[Path],
    output: Path,
    place: Place,
    qrels: Path | None = None,
    task: LabTask | None = None,
    topics: Path | None = None,
    depth: int = 20,
    thread_pages: Path | None = None,
) -> None:
    """Write a report on runs as HTML pages that open from disk: scores, charts, every topic.

    The overview has scores, significance and plots; a page for each topic shows the question and
    the rankings side by side, with formulas drawn and relevance marked. Without --qrels the
    official judgments of the topics' year are used, if DATA has them.

    Example: arqmath-bm25 report runs/arqmath-sample/2021/*.tsv -o report
    """
    # Templates and charts take half a second to load, which other commands need not wait for.
    from arqmath_bm25.pages.report.gather import gather
    from arqmath_bm25.pages.report.site import write_report

    with status("Reading runs") as say:
        gathered = gather(
            runs, place.collection, task=task, qrels=qrels, topics=topics, depth=depth, status=say,
        )  # fmt: skip
    with progress("Writing pages", len(gathered.questions), "topics") as advance:
        write_report(gathered, output, advance, thread_pages)
    out.print(f"{output / 'index.html'}: {len(gathered.questions)} topics")
