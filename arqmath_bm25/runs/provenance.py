"""What a run was made of: the manifest beside it, NAME.manifest.json, written and read.

It is a file of ir_metadata 0.1, a standard of the field after PRIMAD, in the JSON that is YAML too.
Its `resources` are left out: they are times, and the same run is to have the same manifest.
Manifests of other programs, of older versions and broken ones tell what they can.
"""

import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple

from arqmath_bm25.core.files import read_manifest
from arqmath_bm25.core.system import memory
from arqmath_bm25.version import __version__


class Provenance(NamedTuple):
    """What a run was made of, as far as it is known."""

    data: Path | None  # root of the collection, if it is still there
    settings: dict[str, Any]  # of the task's configuration
    variant: str
    manual: bool  # whether its queries were written by hand


def provenance(run: Path) -> Provenance:
    """Tell what a run was made of, by the manifest beside it."""
    manifest = read_manifest(run)
    data, settings, variant = (manifest.get(name) for name in ("data", "settings", "variant"))
    if isinstance(data, dict) and isinstance(of_tests := data.get("test collection"), dict):
        data = of_tests.get("source")
    # Path.is_dir raises for a name that is too long.
    known = isinstance(data, str) and "\0" not in data and os.path.isdir(data)  # noqa: PTH112
    return Provenance(
        Path(data) if known else None,  # type: ignore[arg-type]
        settings if isinstance(settings, dict) else {},
        variant if isinstance(variant, str) else "",
        bool(manifest.get("queries")),
    )


# What else decides a ranking, or a term: distributions of Python, and the one with Lucene's jar.
_LIBRARIES: Final = ("lxml", "numpy", "PyStemmer", "scikit-learn", "scipy", "selectolax")
_TOOLKITS: Final = ("pyserini",)


def ir_metadata(
    task: str, tag: str, command: str, settings: dict[str, Any], variant: str, data: dict[str, str]
) -> dict[str, Any]:
    """Describe a run: its name, the command and the settings that made it, and the test collection.

    Of the settings of a task, those are told that the standard has a name for.
    """
    made = settings.get("ranking", {}).get("settings", settings)  # Task 3 ranks as Task 1 does
    text = made.get("analysis", {}).get("text", {})
    how = made.get("variants", {}).get(variant, {})
    method = how.get("method", made.get("model", "bm25"))
    params = how | (made.get("bm25", {}) if method == "bm25" else {})
    stage = made.get("stages", {}).get(variant)
    second = [{"name": "second stage", "reranks": variant, "params": stage}] if stage else []
    return {
        "schema-version": 0.1,
        "run-version": 1.0,
        "tag": tag,
        "platform": _platform(),
        "research goal": {"venue": {"name": "TextGraphs-16" if task == "nlps" else "CLEF ARQMath"}},
        "implementation": {
            "executable": {"cmd": command},
            "source": {"lang": ["python", "java"]},
        },
        "method": {
            "automatic": "-manual-" not in tag,
            "score ties": "descending id",
            "indexing": {
                "tokenizer": "arqmath_bm25.analysis",
                "stemmer": text.get("stemmer", "none"),
                "stopwords": "arqmath_bm25.analysis.text" if text.get("stop_words") else "none",
            },
            "retrieval": [{"name": variant, "method": method, "params": params}, *second],
        },
        "actor": {"team": settings.get("run", {}).get("team", ""), "role": "experimenter"},
        "data": {"test collection": data},
    }


def _platform() -> dict[str, Any]:
    """Describe this machine and what is installed on it."""
    distribution = platform.system()
    with suppress(OSError):
        distribution = platform.freedesktop_os_release()["PRETTY_NAME"]
    return {
        "hardware": {
            "cpu": {
                "model": platform.processor(),
                "architecture": platform.machine(),
                "operation mode": platform.architecture()[0].replace("bit", "-bit"),
                "number of cores": os.cpu_count(),
            },
            "ram": f"{memory() / 2**30:.2f} GB",
        },
        "operating system": {"kernel": platform.release(), "distribution": distribution},
        "software": {
            "libraries": {"python": _installed(_LIBRARIES)},
            "retrieval toolkit": [f"arqmath_bm25=={__version__}", *_installed(_TOOLKITS)],
        },
    }


def _installed(names: tuple[str, ...]) -> list[str]:
    found = []
    for name in names:
        with suppress(PackageNotFoundError):
            found.append(f"{name}=={version(name)}")
    return found
