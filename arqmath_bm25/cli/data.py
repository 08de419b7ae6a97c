"""The commands `fetch`, `inspect` and `verify`: the files of DATA, and what was made from them."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from arqmath_bm25.analysis.html import Delimiters
from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import THREADS, Place, out, results
from arqmath_bm25.cli.shared.tables import ScoreTable, print_table
from arqmath_bm25.collection import fetching, published
from arqmath_bm25.collection.collection import INDEXES, CollectionFiles
from arqmath_bm25.collection.file_collection import is_file_collection, plan_lines
from arqmath_bm25.collection.inspection import FileReport, files_in
from arqmath_bm25.collection.inspection import inspect as inspect_file
from arqmath_bm25.collection.layout import Layout
from arqmath_bm25.collection.published import PUBLISHED, DataPart
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import LabTask
from arqmath_bm25.core.manifest import LOCAL_INDEX, MANIFEST, Manifest
from arqmath_bm25.core.progress import progress
from arqmath_bm25.core.sample_data import SAMPLE
from arqmath_bm25.core.stores import is_store, stores
from arqmath_bm25.core.workers.local import Processes
from arqmath_bm25.tasks import trust
from arqmath_bm25.tasks.verification import first_ranked, verify_from_data, verify_run

# The outcomes of a download, in words.
_OUTCOMES = {
    "fetched": "fetched",
    "there": "already there",
    "differs": "already there, but not as published (SHA-256); remove it to fetch it anew",
    "absent": "not found",
}
_MB = 1_000_000


@command
def fetch(
    data: Path = Path("ARQMath"),
    only: str = ",".join(published.DEFAULT_PARTS),
    task: LabTask | None = None,
    source: str = PUBLISHED,
) -> None:
    """Download the official collection, topics and judgments (about 1.3 GB, 6 GB unpacked).

    Files that exist already are skipped; an interrupted download resumes; optional files may be
    missing. `inspect` says what the files hold. The data may be used for research with
    attribution, not commercially; the texts are CC BY-SA.

    Example: arqmath-bm25 fetch --data /data/ARQMath --task task1

    Example: arqmath-bm25 fetch --data /data/ARQMath --only topics,qrels --from /media/usb/ARQMath
    """
    files = published.needed(_parts(only), task)
    if not files:
        raise InputError(f"--task {task} reads nothing of --only {only}")
    origin = fetching.origin_of(source)
    if data.exists() and not data.is_dir():
        raise InputError(f"--data {data}: it is a file; expected a directory, or a new name")

    missing = [file for file in files if not (data / file.target).exists()]
    packed = sum(file.size for file in missing) / _MB
    unpacked = sum(file.archive.size for file in missing if file.archive) / _MB
    sizes = ""
    if packed:
        sizes = f", about {packed:,.0f} MB, {unpacked:,.0f} MB unpacked"
    if missing:
        out.print(f"{len(missing)} files from {source}{sizes}")

    outcomes = Counter[str]()
    absent = 0
    with fetching.alone_in(data):
        for file in files:
            outcome = fetching.fetch(file, origin, data)
            outcomes[outcome] += 1
            note = ""
            if outcome == "absent" and file.optional:
                note = " (optional)"
            elif outcome == "absent":
                absent += 1
            out.print(f"{file.target}: {_OUTCOMES[outcome]}{note}")

    existing = outcomes["there"] + outcomes["differs"]
    out.print(f"{data}: {outcomes['fetched']} fetched, {existing} already there")
    if absent:
        raise InputError(
            f"{source} does not have {absent} of the {len(files)} files (named above); "
            f"expected the paths of {PUBLISHED}"
        )


def _parts(only: str) -> list[DataPart]:
    """Return the parts of the data that `--only` names; InputError for an unknown part."""
    names = [part.strip() for part in only.split(",")]
    for part in names:
        if part not in published.PARTS:
            raise InputError(
                f"--only {part}: expected any of {', '.join(published.PARTS)}, between commas"
            )
    return [part for part in published.PARTS if part in names]


@command
def inspect(
    data: Path = SAMPLE,
    as_json: bool = False,
    text: bool = False,
    kinds: bool = False,
    everything: bool = False,
    threads: int = THREADS,
) -> None:
    """Count the contents of every file of DATA, and say whether it is the published file.

    The table has rows, their kinds, dates and defects. A file is `as published` if its SHA-256 is
    known and the same. If DATA is an index, every file is compared with its manifest; the exit
    status is 1 if one differs. Of a folder of your own it lists the main files with the files that
    they include, and the files that are left out, with the reason. Nothing is changed.

    Example: arqmath-bm25 inspect /data/ARQMath

    Example: arqmath-bm25 inspect indexes/ARQMath/task1

    Example: arqmath-bm25 inspect notes --text
    """
    if text or kinds:
        _print_documents(data, text, everything)
        return

    found = stores(data)
    if (data / MANIFEST).exists():
        found = [data]
    for store in found:
        _check_store(store)
    if found:
        return

    files = files_in(Layout(data).data)
    if not files and is_file_collection(data, INDEXES, everything):
        plan = list(plan_lines(data, INDEXES, everything))
        if as_json:
            typer.echo(json.dumps(plan, ensure_ascii=False, indent=1))
        else:
            results.print("\n".join(plan))
        return
    if not files:
        raise InputError(
            f"{data}: no files of the labs, and no index; `arqmath-bm25 index docs --data {data}` "
            "counts documents of your own, `inspect INDEXES/NAME/TASK` checks an index"
        )

    reports = []
    with (
        closing(Processes(threads)) as workers,
        progress(f"reading {data}", len(files), "files") as advance,
    ):
        for path, file in files.items():
            reports.append(inspect_file(data, path, file, workers))
            advance(1)

    if as_json:
        typer.echo(json.dumps(list(map(vars, reports)), indent=1))
    else:
        _print(reports)


def _print_documents(data: Path, text: bool, everything: bool) -> None:
    """Print the words and formulas of each own document, or the kinds of doubtful ones."""
    with TemporaryDirectory() as place:
        collection = CollectionFiles(str(data), Path(place), everything=everything).imported()
        if collection.corpus is None:
            raise InputError(
                f"{data}: there are no documents of your own; --text and --kinds print these"
            )
        delimiters: Delimiters = "auto"
        if collection.is_mostly_latex:
            delimiters = "auto_latex"
        for document in collection.own_documents():
            if text:
                typer.echo(json.dumps(document.as_read(delimiters), ensure_ascii=False))
            elif document.is_doubtful:
                typer.echo(f"{document.doc_id}: {document.kind_under(delimiters)}")


def _check_store(store: Path) -> None:
    """Compare the files of an index with its manifest; InputError if one differs."""
    manifest = Manifest.read(store)
    damages = list(manifest.damages(store, read_all=True))
    if damages:
        raise InputError(f"{store}: {'; '.join(damages)}; `index` builds it again")

    size = sum(size for size, _ in manifest.files.values())
    out.print(f"{store}: made with {json.dumps(manifest.recipe)}")
    out.print(f"{store}: {len(manifest.files)} files, {size:,} bytes, all as they were written")
    if (store / LOCAL_INDEX).is_dir():
        out.print(f"{store / LOCAL_INDEX}: Lucene's directory, which Pyserini opens")


@command
def verify(
    runs: list[Path],
    place: Place,
    quick: bool = False,
    build: bool = False,
    config: list[Path] | None = None,
) -> None:
    """Prove that runs are what their manifests say: rank, or fuse, again and compare every byte.

    Before that, the SHA-256 digests of each run, of every file of the index, and of DATA are
    compared; with --quick nothing else is. Of an index, every file is. The message names the first
    thing that differs; the exit status is then 1.

    Example: arqmath-bm25 verify runs/*/2021/*.tsv
    """
    trust(config or ())
    for run in runs:
        if is_store(str(run)):
            _check_store(run)
            continue
        place.provenance([first_ranked(run)])
        with place.naming_the_build():
            if build:
                proof = verify_from_data(run, place.collection, quick)
            else:
                proof = verify_run(run, place.collection, quick)

        how = "ranked by the index that lies here: the same bytes"
        if build:
            how = "built again from DATA: the same bytes"
        if quick:
            how = "nothing was ranked again"
        said = f"{run}: as it was made {proof.made}; {how}"
        if proof.claims:
            said += f"; claimed, not proved: {', '.join(proof.claims)}"
        results.print(said)


def _print(reports: Sequence[FileReport]) -> None:
    """Print a table of the existing files, the names of the missing ones, and a summary."""
    rows = []
    missing = []
    statuses = Counter[str]()
    for report in reports:
        statuses[report.status] += 1
        if report.status == "missing":
            missing.append(report)
            continue

        dates = ""
        if report.first:
            dates = f"{report.first} … {report.last}"
        counts, defects = [
            ", ".join(f"{count:,} {name}" for name, count in counted.most_common())
            for counted in (report.counts, report.defects)
        ]
        status = ": ".join(filter(None, (report.status, report.problem)))
        rows.append([report.path, f"{report.rows:,}", counts, dates, defects, status])

    if rows:
        texts = ["of these", "dates", "defects", "official"]
        header = ["file", "rows", *texts]
        print_table(ScoreTable(caption="", header=header, rows=rows, left=texts))

    for report in missing:
        optional = " (optional)" if report.optional else ""
        results.print(f"missing{optional}: {report.path}")

    summary = [f"{count} {status}" for status, count in statuses.items()]
    results.print(", ".join(summary))
