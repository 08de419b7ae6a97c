"""Content → index terms, of prose and of LaTeX. Pure functions, no I/O.

Where there is a C compiler, `make setup` compiles the modules that read formulas into the virtual
environment (tools/compile_readers.py). They are imported instead of the sources as long as these
are the ones that were compiled; the environment variable ARQMATH_SOURCES=1 imports the sources.
"""

import hashlib
import os
import sys
from pathlib import Path


def compiled_directory() -> Path:
    """Return the directory of the modules that were compiled of these sources, if any were."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.iterdir()):
        if source.suffix in (".py", ".toml"):
            digest.update(source.read_bytes())
    return Path(sys.prefix) / "arqmath_bm25_compiled" / digest.hexdigest()[:16]


def _import_compiled() -> None:
    """Let modules of this package be looked for among the compiled ones first."""
    directory = compiled_directory()
    if directory.is_dir():
        sys.path.append(str(directory))  # for the module that all compiled ones share
        __path__.insert(0, str(directory / "arqmath_bm25" / "analysis"))


if not os.environ.get("ARQMATH_SOURCES"):
    _import_compiled()
