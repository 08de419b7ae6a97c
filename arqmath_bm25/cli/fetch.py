"""The command `fetch`: the official files, from the organisers' site to DATA."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import out
from arqmath_bm25.collection import fetching, published
from arqmath_bm25.collection.published import PUBLISHED, Part, PublishedFile
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import LabTask

_SAID = {
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
    place = fetching.read_source(source)
    if data.exists() and not data.is_dir():
        raise InputError(f"--data {data}: it is a file; expected a directory, or a new name")
    _announce(files, data, source)
    outcomes: Counter[str] = Counter()
    lacking = 0
    with fetching.alone(data):
        for file in files:
            outcome = fetching.fetch(file, place, data)
            outcomes[outcome] += 1
            lacking += outcome == "absent" and not file.optional
            note = " (optional)" if file.optional and outcome == "absent" else ""
            out.print(f"{file.target}: {_SAID[outcome]}{note}", markup=False)
    there = outcomes["there"] + outcomes["differs"]
    out.print(f"{data}: {outcomes['fetched']} fetched, {there} already there", markup=False)
    if lacking:
        raise InputError(
            f"{source} does not have {lacking} of the {len(files)} files (named above); "
            f"expected the paths of {PUBLISHED}"
        )


def _parts(only: str) -> list[Part]:
    chosen = [part.strip() for part in only.split(",")]
    for part in chosen:
        if part not in published.PARTS:
            raise InputError(
                f"--only {part}: expected some of {', '.join(published.PARTS)}, between commas"
            )
    return [part for part in published.PARTS if part in chosen]


def _announce(files: Sequence[PublishedFile], data: Path, source: str) -> None:
    missing = [file for file in files if not (data / file.target).exists()]
    packed = sum(file.size for file in missing) / _MB
    unpacked = sum(file.archive.size for file in missing if file.archive) / _MB
    sizes = f", about {packed:,.0f} MB, {unpacked:,.0f} MB unpacked" if packed else ""
    if missing:
        out.print(f"{len(missing)} files from {source}{sizes}", markup=False)
