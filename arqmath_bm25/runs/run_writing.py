"""Writing run files, their names, and the manifests beside them.

Writing is strict: TABs, scores without ties, ranks from 1, answers in quotes where they need them.

The manifest, RUN.manifest.json, says what a run was made of. It is a file of ir_metadata 0.1, a
standard of the field after PRIMAD, in the JSON that is YAML too. Its `resources` and the machine
are left out: the same run is to have the same manifest. Manifests that are broken, old
or of other programs are read in part.
"""

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from arqmath_bm25.analysis.answer_text import one_line
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.labs import RunTask
from arqmath_bm25.core.records import Hit, Json
from arqmath_bm25.core.writing import TEXTS, complete, has_digest, read_manifest, refuse_endings
from arqmath_bm25.runs.run import Run
from arqmath_bm25.runs.task_rules import RULES, DocumentRules
from arqmath_bm25.version import __version__

RunForm = Literal["lab", "trec"]  # columns of the guidelines, or of TREC
_TREC_LINE = RULES[DocumentRules.task].line
_IR_METADATA = (
    "schema-version",
    "run-version",
    "tag",
    "platform",
    "research goal",
    "implementation",
    "method",
    "actor",
    "data",
)

# Where runs of a task are submitted, if not to the ARQMath labs.
_VENUES = {"nlps": "TextGraphs-16", DocumentRules.task: ""}

_LOWEST = np.float32(-math.inf)


def separated(scores: Sequence[float], as_read: bool = False) -> list[float]:
    """Lower tied scores by the smallest step, so that every tool sees one order.

    `scores` are in rank order. trec_eval keeps them as 32-bit floats; the results are such
    floats, each below the one before it. With `as_read`, scores without a tie keep the digits that
    they had in a file.
    """
    if as_read:
        scores = [float(f"{score:.9g}") for score in scores]

    result = []
    above = math.inf
    with np.errstate(over="ignore"):
        rounded = np.asarray(scores, np.float32).tolist()
        for score, as_float in zip(scores, rounded, strict=True):
            is_tied = as_float >= above
            if is_tied:
                as_float = float(np.nextafter(np.float32(above), _LOWEST))
            above = as_float
            if as_read and not is_tied:
                result.append(score)
            else:
                result.append(as_float)

    return result


def file_name(run: str, task: RunTask, form: RunForm) -> str:
    """Return the name of the file of a run; Task 3 and NLPS have no TREC form."""
    if form == "trec" and RULES[task].trec_mark:
        return f"{run}.trec"
    return f"{run}{RULES[task].ending}"


def write_run(
    path: Path,
    rankings: Iterable[tuple[str, Sequence[Hit]]],
    tag: str,
    task: RunTask,
    form: RunForm = "lab",
    manifest: Mapping[str, Any] | None = None,
    *,
    by_user: bool = False,
    as_read: bool = False,
) -> int:
    """Write a run and return its number of rows; `path` appears only when it is complete.

    `rankings` holds the hits of each topic in rank order. `manifest` is written next to the run,
    with its tag and form; `by_user` says who named `path` (`complete`), `as_read` whether the
    scores were read from a file (`separated`). A name that ends in .zip gives an archive with the
    run alone.
    """
    if manifest is not None:
        manifest = {**manifest, "tag": tag, "form": form}

    if by_user:
        no_runs = TEXTS - {".tsv", ".trec"}
        refuse_endings(path, no_runs, "runs are .tsv, .trec or .txt, also with .gz, or .zip")

    if path.suffix.lower() != ".zip":
        with complete(path, manifest=manifest, by_user=by_user) as file:
            return write_rows(file, rankings, tag, task, form, as_read)

    member = ZipInfo(file_name(path.stem, task, form))  # of 1980, so that the bytes are the same
    member.compress_type = ZIP_DEFLATED
    with (
        complete(path, None, manifest, by_user=by_user) as packed,
        ZipFile(packed, "w") as archive,
        io.TextIOWrapper(archive.open(member, "w"), "utf-8", newline="\n") as file,
    ):
        return write_rows(file, rankings, tag, task, form, as_read)


def write_rows(
    file: IO[str],
    rankings: Iterable[tuple[str, Sequence[Hit]]],
    tag: str,
    task: RunTask,
    form: RunForm,
    as_read: bool = False,
) -> int:
    """Write the rows of a run as `write_run` does, and return their number."""
    rules = RULES[task]
    line = rules.line
    if form == "trec" and rules.trec_mark:
        line = _TREC_LINE

    count = 0
    for topic, hits in rankings:
        scores = separated([hit.score for hit in hits], as_read)
        ranked = zip(hits, scores, strict=True)
        for rank, (hit, score) in enumerate(ranked, 1):
            file.write(line(topic, hit, rank, score, tag))
            count += 1

    return count


def hits_of(run: Run) -> Iterator[tuple[str, list[Hit]]]:
    """Yield the hits of every topic that count, as they are written."""
    rankings = run.rankings(depth=None)
    for topic, rows in rankings.rows.items():
        hits = []
        for doc, row in rows.items():
            hits.append(Hit(doc, row.score, row.post_id, text=one_line(row.answer)))
        yield topic, hits


class Provenance(NamedTuple):
    """How a run was made, if its manifest says it."""

    # The name of the collection, the digest of its files, and the name of its judgments.
    collection: str
    sha256: str
    qrels: str

    # The topic file if it lies beside the run.
    topics: Path | None

    # The settings of the task's configuration.
    settings: Json

    # The variant of the ranking.
    variant: str

    # Whether the queries were written by hand.
    manual: bool


def provenance(run: Path) -> Provenance:
    """Read how a run was made from its manifest."""
    manifest = read_manifest(run)
    data = _part(manifest, "data")
    collection = _part(data, "test collection")
    return Provenance(
        collection=_text(collection, "name"),
        sha256=_text(collection, "sha256"),
        qrels=_text(_part(manifest, "qrels"), "name"),
        topics=_beside(run, _part(manifest, "topics")),
        settings=_part(manifest, "settings"),
        variant=_text(manifest, "variant"),
        manual=bool(manifest.get("queries")),
    )


def _part(manifest: Mapping[str, Any], name: str) -> Json:
    """Return a part of a manifest, nothing if it has another form."""
    part = manifest.get(name)
    if not isinstance(part, dict):
        return {}
    return part


def _text(part: Mapping[str, Any], name: str) -> str:
    """Return a text of a manifest, "" if there is none."""
    text = part.get(name)
    if not isinstance(text, str):
        return ""
    return text


def _beside(run: Path, described: Mapping[str, Any]) -> Path | None:
    """Return the file that a manifest describes, if it lies in the folder of the run."""
    with suppress(OSError, ValueError):  # it is no name of a file
        path = run.with_name(_text(described, "name"))
        if has_digest(path, described.get("sha256")):
            return path
    return None


def topics_of(runs: Iterable[Provenance]) -> list[str] | None:
    """Return the topic files of runs; None if one is part of the collection or missing."""
    files = {run.topics: str(run.topics) for run in runs}
    if None in files:
        return None
    return list(files.values())


def ir_metadata(
    task: str, tag: str, command: str, settings: Json, variant: str, data: dict[str, str]
) -> Json:
    """Describe a run: its name, the command and the settings that made it, and the test collection.

    Of the settings it has those for which the standard has a name.
    """
    # The software that decides rankings and terms: Python packages, Lucene's jar.
    libraries = _installed("lxml", "numpy", "PyStemmer", "scikit-learn", "scipy", "selectolax")
    toolkit = [f"arqmath_bm25=={__version__}", *_installed("pyserini")]
    metadata = {
        "schema-version": 0.1,
        "run-version": 1.0,
        "tag": tag,
        "platform": {
            "software": {"libraries": {"python": libraries}, "retrieval toolkit": toolkit}
        },
    }

    venue = _VENUES.get(task, "CLEF ARQMath")
    if venue:
        metadata["research goal"] = {"venue": {"name": venue}}

    metadata["implementation"] = {
        "executable": {"cmd": command},
        "source": {"lang": ["python", "java"]},
    }

    # Task 3 ranks with the settings of Task 1.
    ranking = settings.get("ranking", settings)
    text = ranking.get("analysis", {}).get("text", {})
    stop_words = "none"
    if text.get("stop_words"):
        stop_words = "arqmath_bm25.analysis.text"
    metadata["method"] = {
        "automatic": "-manual-" not in tag,
        "score ties": "descending id",
        "indexing": {
            "tokenizer": "arqmath_bm25.analysis",
            "stemmer": text.get("stemmer", "none"),
            "stopwords": stop_words,
        },
        "retrieval": _retrieval_metadata(ranking, variant),
    }

    run_settings = settings.get("run", {})
    metadata["actor"] = {
        "team": run_settings.get("team", ""),
        "role": "experimenter",
    }
    metadata["data"] = {"test collection": data}
    return metadata


def _retrieval_metadata(settings: Json, variant: str) -> list[Json]:
    """Describe the ranking of a variant, and its reranker if it has one."""
    params = settings.get("variants", {}).get(variant, {})
    method = params.get("method", settings.get("model", "bm25"))
    if method == "bm25":
        bm25 = dict(settings.get("bm25", {}))
        by_field = bm25.pop("fields", {})
        params = params | bm25
        if by_field:
            params = params | {"bm25 of fields": by_field}

    stages = [{"name": variant, "method": method, "params": params}]
    reranker = settings.get("rerank", {}).get(variant)
    if reranker:
        stages.append({"name": "second stage", "reranks": variant, "params": reranker})
    return stages


def ir_metadata_of(run: Path) -> Json:
    """Return the fields of ir_metadata in the manifest of a run; InputError if there are none."""
    manifest = read_manifest(run)
    metadata = Json()
    for field in _IR_METADATA:
        if field in manifest:
            metadata[field] = manifest[field]
    if "implementation" not in metadata:
        raise InputError(
            f"{run}: no manifest beside it says how it was made; expected "
            f"{run.name}.manifest.json, as `run` writes it"
        )
    return metadata


def _installed(*names: str) -> list[str]:
    installed = []
    for name in names:
        with suppress(PackageNotFoundError):
            installed.append(f"{name}=={version(name)}")
    return installed
