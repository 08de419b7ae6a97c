"""Write the sample premises in the form of PS-ProofWiki from their readable source.

The source is ``source/premises.yaml``: definitions, and theorems with the names of what they cite.
`build` checks it and writes the four files of the shared task. Ids are numbers of 38 or 39 digits,
computed from the names. The same source always gives the same bytes. Run it with
``python -m tools.sample.build_premises [OUTPUT]``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.sample_data import NLPS_SAMPLE

SOURCE = Path(__file__).parent / "source" / "premises.yaml"

_SETS = ("train", "dev", "test")
_LEAST_ID = 10**37  # 38 digits
_IDS = 2**128 - _LEAST_ID


def premise_id(name: str) -> int:
    """Return the id of a definition or theorem: a hash of its name of 38 or 39 digits."""
    return _LEAST_ID + int.from_bytes(hashlib.sha256(name.encode()).digest()) % _IDS


def build(output: Path = NLPS_SAMPLE, source: Path = SOURCE) -> None:
    """Write the files; InputError if a name is there twice, or cited and not there."""
    loaded = yaml.safe_load(source.read_text(encoding="utf-8"))
    definitions, theorems = loaded["definitions"], loaded["theorems"]
    names = [*definitions, *(theorem["name"] for theorem in theorems)]
    texts = [*definitions.values(), *(theorem["text"] for theorem in theorems)]
    if len(set(names)) < len(names):
        raise InputError(f"{source}: {max(names, key=names.count)!r} is defined twice")
    statements: dict[str, dict[int, Any]] = {name: {} for name in _SETS}
    for theorem in theorems:
        cited = theorem.get("cites", [])
        if unknown := sorted(set(cited) - set(names)):
            raise InputError(f"{source}: {theorem['name']} cites unknown {', '.join(unknown)}")
        statements[theorem["set"]][premise_id(theorem["name"])] = {
            "text": theorem["text"],
            "premises": [premise_id(name) for name in cited],
        }
    output.mkdir(parents=True, exist_ok=True)
    knowledge_base = {premise_id(n): text for n, text in zip(names, texts, strict=True)}
    _write(output / "knowledge_base.json", knowledge_base)
    for name in _SETS:
        _write(output / f"{name}_set.json", statements[name])


def _write(path: Path, value: dict[int, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else NLPS_SAMPLE)
