"""A server indexes what is saved in the folder that it serves, by itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from selectolax.lexbor import LexborHTMLParser
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("rings", "fields"):
        (folder / f"{name}.md").write_text(f"# About {name}\n\nAll {name} are primes, $x^2$.\n")
    return folder


@pytest.fixture
def address(notes: Path, tmp_path: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "arqmath_bm25", "serve", notes, "--port", "0"]
    with (
        (tmp_path / "said").open("w") as said,
        subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=said, text=True
        ) as server,
    ):
        assert server.stdout
        try:
            server.stdout.readline()
            found = re.search(r"http://[\d.:]+", server.stdout.readline())
            assert found
            yield found[0]
        finally:
            server.kill()


def got(address: str, path: str) -> dict[str, object]:
    with urlopen(f"{address}/api/{path}") as answer:  # noqa: S310
        found: dict[str, object] = json.load(answer)
    return found


def ids(address: str, query: str = "primes") -> set[str]:
    results: list[dict[str, str]] = got(address, f"search?q={query}")["results"]  # type: ignore[assignment]
    return {row["doc_id"] for row in results}


def test_what_is_saved_is_found_and_what_is_removed_is_not(notes: Path, address: str) -> None:
    with urlopen(f"{address}/?q=primes") as page:  # noqa: S310
        newer = LexborHTMLParser(page.read()).css_first("#newer")
    assert "hidden" in newer.attributes
    assert got(address, "results?q=primes")["index"] == newer.attributes["data-index"]

    (notes / "sums.md").write_text("# About sums\n\nAll sums are primes.\n")
    (notes / "fields.md").unlink()
    wait_until(lambda: ids(address) == {"rings.md#about-rings", "sums.md#about-sums"})
    assert got(address, "results?q=primes")["index"] != newer.attributes["data-index"]


def test_what_editors_leave_does_no_harm(notes: Path, address: str) -> None:
    (notes / ".#rings.md").symlink_to("nobody@nowhere.1:2")
    (notes / ".rings.md.swp").write_bytes(b"\0primes")
    (notes / "rings.md~").write_text("# Former\n\nprimes\n")
    (notes / "half.md").write_bytes("# About hälf\n\nprimes ä".encode()[:-1])
    wait_until(
        lambda: (
            "half.md#about-half" in {name.replace("ã¤", "a") for name in ids(address)}
            or len(ids(address)) == 3
        )
    )
    assert {"rings.md#about-rings", "fields.md#about-fields"} < ids(address)
    (notes / "half.md").write_text("# About half\n\nprimes\n")
    wait_until(lambda: len(ids(address)) == 3)
    assert {"rings.md#about-rings", "fields.md#about-fields"} < ids(address)
    (notes / "half.md").write_text("# About half\n\nprimes\n")
    wait_until(lambda: "half.md#about-half" in ids(address))
    assert len(ids(address)) == 3


def test_what_fails_is_said_once_and_the_former_index_answers(
    notes: Path, address: str, tmp_path: Path
) -> None:
    for file in notes.glob("*.md"):
        file.unlink()
    wait_until(lambda: "answers stay as they are" in (tmp_path / "said").read_text())
    time.sleep(2.5)
    assert (tmp_path / "said").read_text().count("answers stay as they are") == 1
    assert ids(address) == {"rings.md#about-rings", "fields.md#about-fields"}
    (notes / "sums.md").write_text("# About sums\n\nAll sums are primes.\n")
    wait_until(lambda: ids(address) == {"sums.md#about-sums"})
