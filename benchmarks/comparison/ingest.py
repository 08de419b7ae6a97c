"""Reading posts: beside BeautifulSoup, the same terms; and how it scales over processes."""

from __future__ import annotations

import json
import shutil
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from comparison.children import run_module
from comparison.results import Goal, Part, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from arqmath_bm25.collection.layout import Layout
    from comparison.results import Value

_SHOWN: Final = 5  # differences


def beside_soup(timed: Layout, others: Sequence[Layout], work: Path, repeats: int) -> Part:
    """Compare the package with the same pipeline on BeautifulSoup (see soup.py).

    On `timed`, both run in turn, `repeats` times, in one process each; seconds are medians. There
    and on `others` the documents of both are compared, field by field.
    """
    seconds: dict[str, list[dict[str, float]]] = {"package": [], "soup": []}
    for _ in range(repeats):
        for way, of_way in seconds.items():
            of_way.append(_run(way, timed, work))
    agreement = [_agreement(timed, work)]
    for layout in others:
        for way in seconds:
            _run(way, layout, work)
        agreement.append(_agreement(layout, work))
    size = timed.posts().stat().st_size / 1e6
    clock, cpu = (
        {way: median(of[kind] for of in of_way) for way, of_way in seconds.items()}
        for kind in ("clock", "cpu")
    )
    rows: list[dict[str, Value]] = [
        {"way": name, "seconds": clock[way], "CPU seconds": cpu[way], "MB/s": size / clock[way]}
        for way, name in (("package", "this"), ("soup", "BeautifulSoup (lxml)"))
    ]
    ratios = [
        {kind: slow[kind] / fast[kind] for kind in ("clock", "cpu")}
        for fast, slow in zip(seconds["package"], seconds["soup"], strict=True)
    ]
    ratio = median(of["clock"] for of in ratios)
    rows.append({
        "way": "ratio", "seconds": ratio, "CPU seconds": median(of["cpu"] for of in ratios),
        "MB/s": None,
    })  # fmt: skip
    differ = sum(int(row["differ"]) for row, _ in agreement)
    return Part(
        [
            Table(
                f"Posts.xml → terms, {size:,.0f} MB of generated posts, one process", rows,
                "Both read the rows, make the terms and write the documents in the same way; "
                f"BeautifulSoup reads the HTML of the second. Medians of {repeats}.",
            ),
            Table(
                "The same terms from both", [row for row, _ in agreement],
                "\n".join(chain.from_iterable(shown for _, shown in agreement)),
            ),
        ],
        [
            Goal("Posts.xml → terms, times as fast as with BeautifulSoup", ratio, 8, at_least=True),
            Goal("documents with other terms than with BeautifulSoup", differ, 0),
        ],
    )  # fmt: skip


def _run(way: str, layout: Layout, work: Path, *options: object) -> dict[str, float]:
    """Run a pipeline; its documents are in work/WAY until the next run."""
    shutil.rmtree(work / way, ignore_errors=True)
    return dict(run_module("comparison.pipelines", way, layout.data, work / way, *options))


def _agreement(layout: Layout, work: Path) -> tuple[dict[str, Any], list[str]]:
    """Compare the documents that both ways wrote last; return a row and the first differences."""
    compared = differing = 0
    shown: list[str] = []
    pairs = zip(_documents(work / "package"), _documents(work / "soup"), strict=True)
    for ours, reference in pairs:
        compared += 1
        if ours != reference:
            differing += 1
            if len(shown) < _SHOWN:
                shown.append(f"* {layout.name}, {difference(ours, reference)}")
    row = {"collection": layout.name, "answers with their questions": compared, "differ": differing}
    return row, shown


def _documents(directory: Path) -> Iterator[dict[str, str]]:
    for path in sorted((directory / "documents").glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def difference(ours: Mapping[str, str], reference: Mapping[str, str]) -> str:
    """Tell where two documents first differ."""
    for field in dict.fromkeys((*ours, *reference)):
        left, right = ours.get(field, "").split(), reference.get(field, "").split()
        if left != right:
            place = next(
                (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
                min(len(left), len(right)),
            )
            terms = " ".join(left[place : place + 5]), " ".join(right[place : place + 5])
            return f"answer {ours['id']}, {field}, term {place}: `{terms[0]}`, but `{terms[1]}`"
    return f"answer {ours['id']}: no term differs"


def scaling(layouts: Sequence[Layout], work: Path, repeats: int) -> Part:
    """Measure the package over one process and over two, in turn; the last collection counts."""
    rows: list[dict[str, Value]] = []
    ratio = 0.0
    for layout in layouts:
        pairs = [
            [_run("package", layout, work, "--processes", n) for n in (1, 2)]
            for _ in range(repeats)
        ]
        for what, kind in (("Posts.xml → terms", "clock"), ("analysis alone", "analysis")):
            ratio = median(one[kind] / two[kind] for one, two in pairs)
            rows.append(
                {
                    "GB of posts": layout.posts().stat().st_size / 1e9,
                    "what": what,
                    "one process, s": median(one[kind] for one, _ in pairs),
                    "two, s": median(two[kind] for _, two in pairs),
                    "ratio": ratio,
                }
            )
    note = f"With the start of the processes. Medians of {repeats}."
    return Part(
        [Table("Posts.xml → terms over two processes", rows, note)],
        [Goal("analysis, two processes beside one", ratio, 1.8, at_least=True)],
    )
