"""Is a run the file that its manifest describes, made by this index, of these data?

A chain of SHA-256 digests that were written when the run and the index were made. Nothing is ranked
again: that the index gives this run, `run` shows, which writes the same bytes.
"""

from pathlib import Path

from arqmath_bm25.collection.collection import Collection
from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.writing import digests, is_as_written, manifest_path, read_manifest
from arqmath_bm25.runs.run_writing import topics_of
from arqmath_bm25.tasks import task_class
from arqmath_bm25.tasks.index import Index, why_stale


def verify_run(run: Path, collection: Collection) -> str:
    """Return which index and data a run was made from.

    Raises InputError that names the first link from the run to its data that breaks.
    """
    manifest = read_manifest(run)
    if not manifest:
        raise InputError(f"{run}: no manifest is beside it, so nothing says how it was made")
    if not is_as_written(run):
        raise InputError(f"{run}: not the file that its manifest describes (another SHA-256)")
    try:
        if "runs" in manifest:
            for source in manifest["runs"]:
                path = run.with_name(source["name"])
                if not path.is_file() or digests([path]) != [source["sha256"]]:
                    raise InputError(f"{path}: not the run of which {run.name} was fused")
                verify_run(path, collection)
            return f"fused from {', '.join(source['name'] for source in manifest['runs'])}"
        task = task_class(manifest["task"]).of(manifest["settings"], run)
        made_of = [source["sha256"] for source in manifest["collection"]]
        topics = manifest.get("topics", {}).get("sha256")
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{manifest_path(run)}: not a manifest of this version") from None
    index = Index.of(task, collection)
    if reason := why_stale(task.index_task, collection, index.manifest, read_all=True):
        raise InputError(f"{index.directory}: {reason}")
    if made_of != [source.sha256 for source in index.manifest.sources]:
        raise InputError(f"{index.directory}: built from other data than {run} was made of")
    files = task.topic_files(collection, topics_of(run)) if topics else []
    if topics and topics not in digests(path for _, path in files):
        raise InputError(f"{collection.layout.data}: no topic file is the one of {run}")
    return f"by {index.directory}, of {collection.layout.data}"
