"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Final

from arqmath_bm25.core.system import processors
from arqmath_bm25.engines.lucene.jvm import java_home

_PACKAGES: Final = (
    "arqmath_bm25 pyserini lxml selectolax beautifulsoup4 PyStemmer numpy pyjnius"
).split()


def describe() -> dict[str, str]:
    """Return name → value: the machine, its load, and the versions of the measured programs."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "CPU": cpu[1] if cpu else platform.machine(),
        "cores": str(processors()),
        "memory": f"{memory / 1e9:.0f} GB",
        "OS": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "kernel": platform.release(),
        "load at the start": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        "Java": _java_version(),
        **{package: version(package) for package in _PACKAGES},
    }


def _java_version() -> str:
    found = re.search(r'JAVA_VERSION="(.*?)"', (java_home() / "release").read_text())
    return found[1] if found else "?"
