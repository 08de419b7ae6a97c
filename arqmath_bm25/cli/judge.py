"""The command `judge`: from the annotations of batches to judgments."""

from importlib.util import find_spec
from pathlib import Path

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation import sampled_pools
from arqmath_bm25.evaluation.judging import agreement
from arqmath_bm25.evaluation.judging import judge as judging
from arqmath_bm25.evaluation.qrels import write_qrels


@command
def judge(
    results: list[Path] | None = None,
    output: Path | None = None,
    serve: Path | None = None,
    port: int = 8000,
    rule: judging.Rule = "agreed",
    adjudicated: Path | None = None,
    disagreements: Path | None = None,
    sampled: Path | None = None,
) -> None:
    """Turn annotations into qrels; print Cohen's kappa of assessors who judged the same hits.

    A formula gets the highest grade of its instances. "System failure" and "Do not know" are left
    out and counted.

    With --serve, hits are judged one after another in a browser on this machine, and the labels are
    saved as results. Ctrl-C ends it; the next call resumes after the last label.

    Example: arqmath-bm25 judge one.csv two.csv --disagreements disputes.csv --rule highest -o q.tsv
    """
    if serve is not None:
        if results:
            raise InputError(f"--serve {serve} judges one batch; leave out {results[0]}")
        _serve(serve, output or serve.with_suffix(".results.csv"), port)
        return
    if not results or output is None:
        raise InputError("judge needs RESULTS.csv and -o QRELS.tsv, or --serve BATCH.csv")
    notes = judging.read_annotations(results)
    for pair in agreement.agreements(judging.grades_by_assessor(notes)).get("", ()):
        first, second = pair.assessors
        out.print(
            f"{first} and {second}: {pair.hits:,} hits, kappa {pair.kappa:.3f} graded, "
            f"{pair.quadratic:.3f} weighted, {pair.binary:.3f} binary", markup=False,
        )  # fmt: skip
    if disagreements is not None:
        count = agreement.write_disagreements(disagreements, notes)
        out.print(f"{disagreements}: {count:,} hits with different labels")
    settled = agreement.read_adjudication(adjudicated) if adjudicated else {}
    judged = judging.judge(notes, rule, settled)
    if not judged.qrels:
        raise InputError(f"{results[0]}: no hit was given a grade; there is nothing to write")
    if sampled is None:
        write_qrels(output, judged.qrels)
    else:
        pool = sampled_pools.read_sampled_qrels(sampled)
        graded = sampled_pools.with_grades(pool, judged.qrels)
        sampled_pools.write_sampled_qrels(output, graded)
    if judged.settled:
        out.print(f"{judged.settled:,} hits with different labels: {rule}, or as adjudicated")
    documents = sum(map(len, judged.qrels.values()))
    out.print(f"{output}: {len(judged.qrels):,} topics, {documents:,} judgments")
    for label, count in judged.labels.items():
        out.print(f"  {count:,} hits: {label}")
    if judged.without_grade:
        out.print(f"  left out: {judged.without_grade:,} documents without any grade")


def _serve(batch: Path, results: Path, port: int) -> None:
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise InputError("--serve needs starlette and uvicorn: pip install 'arqmath-bm25[web]'")
    from arqmath_bm25.pages.judging.app import JudgingSite
    from arqmath_bm25.pages.web.server import listen, own_names, server

    site = JudgingSite(batch, results)
    with listen("127.0.0.1", port) as listening:
        judged, hits = site.progress
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        out.print(f"{address}: {judged:,} of {hits:,} hits judged, in {results}; Ctrl-C ends it")
        server(site.app(own_names("127.0.0.1", listening))).run(sockets=[listening])
