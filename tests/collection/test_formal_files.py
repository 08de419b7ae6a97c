"""Files of formal languages split into declarations; expected parts are written by hand."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from arqmath_bm25.analysis.formal import FORMAL, language_of
from arqmath_bm25.collection.formal_files import formal_parts
from tests.support.importing import imported

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
    parts = formal_parts(LATTICE, "lean")
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
    assert parts[4].title == "Inhabited Point"
    assert parts[4].text == "instance : Inhabited Point := ⟨0, 0⟩"


def test_a_folder_refers_by_the_names_in_proofs(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Lattice.lean").write_text(LATTICE, encoding="utf-8")
    corpus = imported(folder, tmp_path / "i") / "corpus.jsonl"
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]

    by_id = {row["doc_id"]: row for row in rows}
    assert set(by_id) == {
        "Lattice.lean#lattices-of-points",
        "Lattice.lean#Lattice.Point",
        "Lattice.lean#Lattice.Point.plus",
        "Lattice.lean#Lattice.plus_swap",
        "Lattice.lean#inhabited-point",
        "Lattice.lean#outer_law",
        "Lattice.lean#after_all",
    }
    swap = by_id["Lattice.lean#Lattice.plus_swap"]
    assert swap["kind"] == "lean"
    assert swap["title"] == "Lattice.plus_swap"
    assert swap["references"] == ["Lattice.lean#Lattice.Point.plus"]
    assert by_id["Lattice.lean#outer_law"]["references"] == ["Lattice.lean#Lattice.plus_swap"]


THEORY = """theory Lists
  imports Main "HOL-Library.Multiset"
begin

section \\<open>Turned lists\\<close>

text \\<open>Nothing depends on this. (* It is text. *)\\<close>

declare [[show_types]]

fun turn :: "'a list \\<Rightarrow> 'a list" where
  "turn [] = []"
| "turn (x # xs) = turn xs @ [x]"

(* lemma never_read: "False" *)
text \\<open>The lemma turns twice.\\<close>
lemma turn_turn [simp]: "turn (turn xs) = xs"
proof (induction xs)
  case Nil show ?case by simp
qed (simp add: turn_append)

lemma "turn [] = []" by simp

end
"""
SCRIPT = """(** * Turned lists *)
From Coq Require Import List.

Module Turned.
Section Lists.
Variable A : Type.

(** It turns a list. *)
Definition turn (l : list A) : list A := rev l.

(* Lemma never_read : False. *)
  #[local] Lemma turn_turn : forall l : list A, turn (turn l) = l.
  Proof. intros l. unfold turn. apply rev_involutive. Qed.
End Lists.
End Turned.

Theorem after_all : Turned.turn_turn = Turned.turn_turn.
Proof. reflexivity. Qed.
"""


def test_a_theory_is_its_declarations() -> None:
    parts = formal_parts(THEORY, "isabelle")
    assert [part.name for part in parts] == ["", "turn", "turn_turn", ""]
    assert parts[0].text == "Nothing depends on this. (* It is text. *)"
    assert parts[1].text.startswith("fun turn ::")
    assert parts[2].text.startswith("text \\<open>The lemma turns twice.")
    assert parts[2].text.endswith("turn_append)")
    assert "turn_append" in parts[2].used
    assert parts[3].text == 'lemma "turn [] = []" by simp'


def test_a_script_of_coq_is_its_declarations() -> None:
    parts = formal_parts(SCRIPT, "coq")
    assert [part.name for part in parts] == ["", "Turned.turn", "Turned.turn_turn", "after_all"]
    assert parts[0].title == "Turned lists"
    assert parts[1].text.startswith("(** It turns a list. *)\nDefinition")
    assert "Turned.turn" in parts[2].used
    assert "Turned.turn_turn" in parts[2].used or "turn" in parts[2].used


def test_verilog_and_outputs_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "project"
    (folder / "build").mkdir(parents=True)
    (folder / "lakefile.lean").write_text("")
    (folder / "build" / "Copy.lean").write_text("theorem copied : 1 = 1 := rfl")
    (folder / "Turned.v").write_text(SCRIPT)
    (folder / "adder.v").write_text("/* An adder. */\n// one bit\nmodule adder(input a);\n")
    (folder / "clock.v").write_text("`timescale 1ns / 1ps\n")
    corpus = imported(folder, tmp_path / "i") / "corpus.jsonl"

    ids = [json.loads(line)["doc_id"] for line in corpus.read_text().splitlines()]
    assert ids == [
        "Turned.v#turned-lists",
        "Turned.v#Turned.turn",
        "Turned.v#Turned.turn_turn",
        "Turned.v#after_all",
    ]
    said = "left out, this is Verilog; a file of Coq was expected: adder.v, clock.v"
    assert said in caplog.text


def test_faulty_files_are_read() -> None:
    (whole,) = formal_parts("/-- never closed\ntheorem a_b : True", "lean")
    assert whole.text == "never closed\ntheorem a_b : True"
    assert [part.name for part in formal_parts('theorem a_b : "open = 1', "lean")] == ["a_b"]
    assert [part.name for part in formal_parts("end\nend A\ntheorem a_b : 1 = 1", "lean")] == [
        "a_b"
    ]


def test_time_is_linear() -> None:
    def seconds(text: str) -> float:
        begin = time.process_time()
        for language in FORMAL:
            formal_parts(text, language)
        language_of(text)
        return time.process_time() - begin

    pieces = [
        "/---/", "/-", "-- x\n", '"', "theorem a_b (", "@[", "namespace A\n", "\n |", "(*", "*)",
        "\\<open>", "text ‹", "Lemma a (", "lemma a: \"", "\nlemma a [", "Module A.\n", "#[", "‹",
        "Require A.\n", "Require ", "theory A imports ", "section\n", "\n  fixes", "open A\n ",
        "def a :", "Definition a. ", "\ntheorem a (x : ℕ) : x",
    ]  # fmt: skip
    for piece in pieces:
        assert seconds(piece * 20_000) < 4
