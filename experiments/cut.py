"""The command `cut`: the subset on which results are documented, out of a larger collection.

Its posts are those in lite_ids.txt. Their comments, links and formula rows are copied with them as
they stand, a line each, and topics and judgments as a whole; `qrels_lite` has the judgments of what
was cut.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arqmath_bm25.cli.shared import options
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.collection.collection import CollectionFiles
from arqmath_bm25.collection.formulas import formula_files
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import open_bytes
from experiments.judged import YEARS, judgments_held

if TYPE_CHECKING:
    from arqmath_bm25.collection.layout import Dump
    from arqmath_bm25.core.labs import LabTask

IDS: Final = Path(__file__).with_name("lite_ids.txt")
_FOLDERS: Final = ("Topics", "Evaluation")
_BESIDE: Final[tuple[Dump, ...]] = ("Comments", "PostLinks")
_ENDS: Final[dict[LabTask, str]] = {"task1": "t1", "task2": "t2v3"}  # of names in qrels_lite
_FORMULA: Final = re.compile(rb"[0-9]+\t([0-9]+)\t")  # formula id, post id


@command
def cut(
    place: options.Place,
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write the collection.")
    ],
) -> None:
    """Write the posts of arqmath-lite, and what belongs to them, out of a larger collection.

    DATA is the collection of the labs, or a remix of arqmath-lite. The labs have the LaTeX of the
    authors and arqmath-lite that of LaTeXML, so the third digits of scores differ.

    Example: python -m experiments cut --data /data/ARQMath -o arqmath-lite
    """
    if out.exists():
        raise InputError(f"{out}: exists already; choose another directory")
    layout = place.collection.layout
    posts, ids = layout.posts(), set(IDS.read_bytes().split())
    for year in YEARS:  # raises InputError for a file that is missing
        layout.topics("task1", year)
        layout.qrels("task1", year)

    (out / "Collection").mkdir(parents=True)
    found = cut_dump(posts, out / "Collection" / posts.name, b"Id", ids)
    if found < len(ids):
        shutil.rmtree(out)
        raise InputError(
            f"{posts}: {len(ids) - found:,} of the {len(ids):,} posts of experiments/{IDS.name} "
            "are not in it; give the collection of the labs by --data, or a remix of arqmath-lite"
        )
    said = [f"{found:,} posts"]

    for kind in _BESIDE:
        dump = layout.dump(kind)
        rows = 0
        if dump is not None:
            rows = cut_dump(dump, out / "Collection" / dump.name, b"PostId", ids)
        said.append(f"{rows:,} {kind}")
    rows = 0
    for folder in sorted(layout.data.glob("Formulas/*_representation_*")):
        (out / "Formulas" / folder.name).mkdir(parents=True)
        for file in formula_files(folder):
            rows += cut_formulas(file, out / "Formulas" / folder.name / file.name, ids)
    said.append(f"{rows:,} formula rows")

    for name in _FOLDERS:
        shutil.copytree(layout.data / name, out / name)
    _write_judgments(CollectionFiles(out), place.collection, out / "qrels_lite")
    options.results.print(f"{out}: {', '.join(said)}")


def cut_dump(source: Path, target: Path, attribute: bytes, ids: set[bytes]) -> int:
    """Copy a dump with those rows alone whose attribute is one of the ids; return their number."""
    value = re.compile(rb"\s%s=\"([0-9]+)\"" % attribute)
    kept = 0
    with open_bytes(source) as lines, target.open("wb") as output:
        for line in lines:
            if b"<row " in line:
                found = value.search(line)
                if found is None or found[1] not in ids:
                    continue
                kept += 1
            output.write(line)
    return kept


def cut_formulas(source: Path, target: Path, ids: set[bytes]) -> int:
    """Copy the header of a formula file and the rows of the posts; return the number of rows."""
    kept = 0
    with open_bytes(source) as lines, target.open("wb") as output:
        output.write(next(lines, b""))
        is_kept = False
        for line in lines:
            begins = _FORMULA.match(line)
            if begins:  # other lines go on with a formula
                is_kept = begins[1] in ids
                kept += is_kept
            if is_kept:
                output.write(line)
    return kept


def _write_judgments(collection: CollectionFiles, whole: CollectionFiles, folder: Path) -> None:
    """Write the judgments of what was cut out of a whole, a file for each task and year."""
    folder.mkdir()
    for task, end in _ENDS.items():
        if task == "task2" and not collection.layout.has_formulas():
            continue
        years, _ = judgments_held(collection, task, whole)
        for year, qrels in years.items():
            rows = []
            for topic, grades in qrels.items():
                rows += [f"{topic}\t0\t{doc}\t{grade}\n" for doc, grade in grades.items()]
            (folder / f"{year}_{end}.tsv").write_text("".join(rows), encoding="utf-8")
