"""The command `judge`: from the annotations of batches to judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arqmath_bm25.cli.shared.options import out
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.judging import judge as judging
from arqmath_bm25.evaluation.judging.adjudication import read_adjudication, write_disagreements
from arqmath_bm25.evaluation.judging.agreement import agreements
from arqmath_bm25.evaluation.qrels import write_qrels
from arqmath_bm25.evaluation.sampled_qrels import (
    read_sampled_qrels,
    with_grades,
    write_sampled_qrels,
)


def judge(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS.csv...", help="Results CSVs, one or more of each batch."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="QRELS.tsv", help="The judgments.")
    ],
    rule: Annotated[
        judging.Rule,
        typer.Option(help="What counts where assessors differ; agreed: that is refused."),
    ] = "agreed",
    adjudicated: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Labels of hits that were in dispute.")
    ] = None,
    disagreements: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Write the hits in dispute, to adjudicate.")
    ] = None,
    sampled: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The sampled pool of `pool --strata`, to fill in."),
    ] = None,
) -> None:
    """Turn annotations into qrels; prints Cohen's kappa where several assessors saw the same.

    A formula gets the highest grade of its instances. "System failure" and "Do not know" are left
    out and counted.

    Example: arqmath-bm25 judge one.csv two.csv --disagreements disputes.csv --rule highest -o q.tsv
    """
    notes = judging.read_annotations(results)
    for agreement in agreements(judging.grades_by_assessor(notes)).get("", ()):
        first, second = agreement.assessors
        out.print(
            f"{first} and {second}: {agreement.hits:,} hits, kappa {agreement.kappa:.3f} graded, "
            f"{agreement.quadratic:.3f} weighted, {agreement.binary:.3f} binary", markup=False,
        )  # fmt: skip
    if disagreements is not None:
        count = write_disagreements(disagreements, notes)
        out.print(f"{disagreements}: {count:,} hits with different labels")
    judged = judging.judge(notes, rule, read_adjudication(adjudicated) if adjudicated else {})
    if not judged.qrels:
        raise InputError(f"{results[0]}: no hit was given a grade; there is nothing to write")
    if sampled is None:
        write_qrels(output, judged.qrels)
    else:
        write_sampled_qrels(output, with_grades(read_sampled_qrels(sampled), judged.qrels))
    if judged.settled:
        out.print(f"{judged.settled:,} hits with different labels: {rule}, or as adjudicated")
    documents = sum(map(len, judged.qrels.values()))
    out.print(f"{output}: {len(judged.qrels):,} topics, {documents:,} judgments")
    for label, count in judged.labels.items():
        out.print(f"  {count:,} hits: {label}")
    if judged.without_grade:
        out.print(f"  left out: {judged.without_grade:,} documents without any grade")
