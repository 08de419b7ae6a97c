"""The program in a process of its own, without the lines that it writes every ten seconds."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM: Final = (
    "from arqmath_bm25.core import progress; progress._PAUSE = 3600;"  # a busy machine is slow
    "from arqmath_bm25.cli import main; main()"
)


def arqmath(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
