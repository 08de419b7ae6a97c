"""A disk that fills up during a build: a message, the earlier index as it was, and room again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from configs import edited

ARQMATH = f'"{sys.executable}" -m arqmath_bm25'
# In a mount namespace of its own: `indexes` is a disk of 8 MB, of which $1 kB are left.
SCRIPT = rf"""
set -e
mkdir indexes
mount -t tmpfs -o size=8m tmpfs indexes
{ARQMATH} index task1 --engine $2 >/dev/null 2>&1
free=$(df --output=avail indexes | tail -1)
dd if=/dev/zero of=indexes/filler bs=1k count=$((free - $1)) status=none
status=0
{ARQMATH} index task1 --engine $2 --config other.yaml >/dev/null 2>message || status=$?
echo "status $status, left: $(ls -A indexes/arqmath-sample/task1 | wc -l)"
{ARQMATH} search task1 'differential equation' --depth 1
rm indexes/filler
{ARQMATH} index task1 --engine $2 --config other.yaml
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("unshare"), reason="needs Linux namespaces")
@pytest.mark.parametrize(
    ("kilobytes", "expected"),
    [
        (60, r"task1/flat-\w{16}: the disk is full"),  # no room for the documents
        (500, r"task1/flat-\w{16}: the disk is full"),  # nor for a file that is mapped
        (520, "Lucene indexed 0 of 221 documents. Check that the disk has room"),
    ],
)
def test_a_full_disk_leaves_the_earlier_index(
    tmp_path: Path, kilobytes: int, expected: str
) -> None:
    changed = edited("task1", ("stop_words: true", "stop_words: false"))
    (tmp_path / "other.yaml").write_text(changed)
    engine = "lucene" if "Lucene" in expected else "flat"
    script = ["sh", "-c", SCRIPT, "sh", str(kilobytes), engine]
    command = ["unshare", "--map-root-user", "--mount", *script]
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}  # as in conftest
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    if "unshare failed" in done.stderr:
        pytest.skip("this machine allows no namespaces")
    assert done.returncode == 0, done.stderr
    assert "status 1, left: 1\n" in done.stdout
    assert re.search(expected, (tmp_path / "message").read_text())
