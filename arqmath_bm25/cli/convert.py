"""The command `convert`: a run file in another form."""

from pathlib import Path

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import keep_runs, out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import official_stem
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.run_files import Form, hits_of, write_run


@command
def convert(run: Path, output: Path, form: Form = "lab") -> None:
    """Write a run in the lab's form or TREC's, gzipped or not.

    Rows are sorted as they are scored, with ranks from 1. TREC's form has no post ids (Task 2), and
    it does not exist for answer texts (Task 3) and premises (NLPS).

    Example: arqmath-bm25 convert Team-task1-bm25-auto-both-P.tsv --format trec -o run.trec.gz
    """
    read = Run.read(run)
    if form == "trec" and not read.rules.trec:
        raise InputError(f"{run}: a run of {read.task} has no TREC form; give --format lab")
    if form == "lab" and (lacking := read.without_post()):
        raise InputError(
            f"{run}: row {lacking.line}: it does not say in which post formula {lacking.doc_id} "
            "stands, as the lab's form must; give --format trec, or the run that it was made from"
        )
    keep_runs(output, [run])
    name = read.name or official_stem(output)
    rows = write_run(output, hits_of(read), name, read.task, form)
    repeated = len(read) - rows
    note = f"; {repeated:,} left out, since they repeat a document" if repeated else ""
    out.print(f"{output}: {len(read.topics):,} topics, {rows:,} rows{note}")
