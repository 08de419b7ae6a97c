"""Files to read: packed or not, and what is wrong with one as a whole."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.reading import open_bytes, parse_json, read_bytes, read_csv, read_text

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "één\r\ntwo\n" * 9


@pytest.mark.parametrize("before", ["", "\ufeff"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])  # contents tell, not names
def test_gzip_is_unpacked_and_a_byte_order_mark_goes(
    tmp_path: Path, name: str, before: str
) -> None:
    path = tmp_path / name
    for content in ((before + TEXT).encode(), gzip.compress((before + TEXT).encode())):
        path.write_bytes(content)
        assert read_text(path) == TEXT
        with open_bytes(path) as file:
            assert b"".join(file) == (before + TEXT).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\ntwo\n\xffthree", r"row 3: not UTF-8 text \(byte 0xff"),
        (gzip.compress(b"one\n\xc3", mtime=0), r"row 2: not UTF-8 text \(byte 0xc3"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], "damaged gzip data"),
        (gzip.compress(TEXT.encode(), mtime=0)[:12] + b"\xff" * 30, "damaged gzip data"),
        (b"PK\x03\x04", "this is a zip archive; unpack it first"),
        (b"BZh91AY", "this is a bzip2 archive"),
        (b"\xfd7zXZ\0", "this is a xz archive"),
    ],
)
def test_what_is_no_text_is_named_with_its_place(
    tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "input").write_bytes(content)
    with pytest.raises(InputError, match=rf"input: {message}"):
        read_text(tmp_path / "input")


def test_a_file_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a directory; expected a run file"):
        read_bytes(tmp_path, "run file")
    with pytest.raises(InputError, match="absent: no such run file"):
        read_bytes(tmp_path / "absent", "run file")


def test_what_gzip_packed_is_read_in_bounded_memory(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(1 << 24)) * 64  # 1 GiB in 1 MB
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from arqmath_bm25.core.errors import InputError\n"
        "from arqmath_bm25.core.reading import read_csv\n"
        "from arqmath_bm25.runs.task_rules import RULES\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))\n"
        "def rows(path): list(RULES['task1'].read(path))\n"
        "for read in (rows, lambda p: read_csv(p, 'batch', 'a')):\n"
        "    try: read(Path(sys.argv[1]))\n"
        "    except InputError as error: print(error)\n"
    )
    path = tmp_path / "run.tsv.gz"
    path.write_bytes(bomb)
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    line, whole = done.stdout.splitlines()
    assert "run.tsv.gz: row 1: a binary file" in line
    assert whole.endswith("536,870,912 bytes or more; no batch unpacks to that")


def test_rows_of_a_csv_are_read_by_the_names_in_its_header(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes('\ufefftopic,label\r\nA.1,"High, ""sure"""\r\nA.2\r\n'.encode())
    assert read_csv(path, "batch", "topic", "label") == [
        {"topic": "A.1", "label": 'High, "sure"'},
        {"topic": "A.2", "label": ""},
    ]
    with pytest.raises(InputError, match=r"labels\.csv: row 1: no column post; expected a batch"):
        read_csv(path, "batch", "topic", "post")
    path.write_bytes(b"")
    with pytest.raises(InputError, match="row 1: no column topic"):
        read_csv(path, "batch", "topic")


@pytest.mark.parametrize("begin", ["[", '{"a":'])
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-16"])
def test_json_of_others_has_at_most_200_levels(begin: str, encoding: str | None) -> None:
    """Python 3.13.0 dies of 10,000 where a JVM has shortened its stack."""

    def nested(levels: int) -> str | bytes:
        text = begin * levels + "1" + {"[": "]"}.get(begin, "}") * levels
        return text.encode(encoding) if encoding else text

    assert parse_json(nested(200)) == json.loads(nested(200))
    for levels in (201, 100_000):
        with pytest.raises(ValueError, match="nested deeper than 200 levels"):
            parse_json(nested(levels))


def test_brackets_in_texts_and_beside_each_other_are_no_levels() -> None:
    for content in (["[{" * 500, '\\"' + "[" * 500, "\\"], [[]] * 500, {"a": {}, "b": [{}] * 300}):
        assert parse_json(json.dumps(content)) == content
    with pytest.raises(json.JSONDecodeError):
        parse_json('"' + "[" * 500)


def test_hooks_are_those_of_json() -> None:
    assert parse_json("[1, 2.5]", parse_int=str, parse_float=str) == ["1", "2.5"]
