"""Files of Lean split into declarations; expected parts are written by hand from the sources."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from arqmath_bm25.collection.imports import imported
from arqmath_bm25.collection.lean_files import lean_parts

if TYPE_CHECKING:
    from pathlib import Path

LATTICE = """import Base

/-!
# Lattices of points
Points `p` and their sums.
-/

namespace Lattice

/-- A point. /- Comments nest. -/ -- and this is still one -/
structure Point where
  x : ℤ
  y : ℤ

section
variable (p q : Point)

/-- The sum of points. -/
@[simp, ext [first]]
def Point.plus : Point :=
  ⟨p.x + q.x, "end Lattice", p.y⟩

-- theorem never_read : 1 = 2

theorem plus_swap : p.plus q = q.plus p := by
  simp [Point.plus, Int.add_comm]

end

instance : Inhabited Point := ⟨0, 0⟩

theorem _root_.outer_law (n : ℕ) : n = n :=
  Point.plus_swap n (plus_swap n)

end Lattice

lemma after_all : True := trivial
"""


def test_each_declaration_is_a_part() -> None:
    parts = lean_parts(LATTICE)
    assert [part.name for part in parts] == [
        "",
        "Lattice.Point",
        "Lattice.Point.plus",
        "Lattice.plus_swap",
        "",
        "outer_law",
        "after_all",
    ]
    assert parts[0].title == "Lattices of points"
    assert parts[0].text == "Points `p` and their sums."
    assert parts[1].text.startswith("/-- A point. /- Comments")
    assert parts[1].text.endswith("y : ℤ")
    assert parts[2].text.startswith("/-- The sum of points. -/\n@[simp, ext [first]]\ndef")
    assert parts[2].text.endswith("p.y⟩\n\n-- theorem never_read : 1 = 2")
    assert parts[4].text == "instance : Inhabited Point := ⟨0, 0⟩"


def test_a_folder_refers_by_the_names_in_proofs(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Lattice.lean").write_text(LATTICE, encoding="utf-8")
    corpus = imported(folder, tmp_path / "i", False) / "corpus.jsonl"
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]

    by_id = {row["doc_id"]: row for row in rows}
    assert set(by_id) == {
        "Lattice.lean#lattices-of-points",
        "Lattice.lean#Lattice.Point",
        "Lattice.lean#Lattice.Point.plus",
        "Lattice.lean#Lattice.plus_swap",
        "Lattice.lean",
        "Lattice.lean#outer_law",
        "Lattice.lean#after_all",
    }
    swap = by_id["Lattice.lean#Lattice.plus_swap"]
    assert swap["kind"] == "lean"
    assert swap["title"] == "Lattice.plus_swap"
    assert swap["references"] == ["Lattice.lean#Lattice.Point.plus"]
    assert by_id["Lattice.lean#outer_law"]["references"] == ["Lattice.lean#Lattice.plus_swap"]


def test_faulty_files_are_read() -> None:
    assert lean_parts("/-- never closed\ntheorem a_b : True") == []
    assert [part.name for part in lean_parts('theorem a_b : "open = 1')] == ["a_b"]
    assert [part.name for part in lean_parts("end\nend A\ntheorem a_b : 1 = 1")] == ["a_b"]


def test_time_is_linear() -> None:
    def seconds(text: str) -> float:
        begin = time.process_time()
        lean_parts(text)
        return time.process_time() - begin

    for piece in ("/---/", "/-", "-- x\n", '"', "theorem a_b (", "@[", "namespace A\n", "\n |"):
        assert seconds(piece * 20_000) < 2
