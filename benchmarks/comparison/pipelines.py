"""Posts.xml → terms as JSON lines: the package's way, and the same with BeautifulSoup.

    python -m comparison.pipelines package|soup DATA OUT [--processes 2]

Prints seconds of the whole as JSON, by the clock and of the CPU (of this process), and those of the
analysis alone, without the first pass over the posts. Imports are not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from arqmath_bm25.analysis.analyzer import Analyzer
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.posts import PostTable
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.answers.answer_documents import write_answer_documents
from arqmath_bm25.tasks.settings import Task1Settings


def main() -> None:
    """Write the documents to OUT/documents and print the seconds."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("way", choices=("package", "soup"))
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    workers = Processes(options.processes)
    documents = options.out / "documents"
    documents.mkdir(parents=True)
    layout, settings = Layout(options.data), configured("task1").settings
    if options.way == "soup":
        from comparison import soup  # not imported by workers of the package

    began, cpu = time.perf_counter(), time.process_time()
    table = PostTable.scan(layout.posts(), workers)
    scanned = time.perf_counter()
    if options.way == "soup":
        soup.write_documents(table, Analyzer(settings.analysis), documents / "part-00000.jsonl")
    else:
        weights = {"both": dict.fromkeys(Task1Settings.all_fields, 1.0)}
        every_field = settings.model_copy(update={"variants": weights})
        write_answer_documents(table, every_field, documents, workers)
    ended = time.perf_counter()
    seconds = {"clock": ended - began, "cpu": time.process_time() - cpu}
    print(json.dumps({**seconds, "analysis": ended - scanned}))


if __name__ == "__main__":
    main()
