"""Lean read as words; the expected words are written by hand from the rules in `lean`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.kinds import kind_of
from arqmath_bm25.analysis.lean import (
    formula_words,
    is_lean,
    lean_words,
    query_words,
    read_declaration,
)

COMMUTES = """/-- The least common multiple commutes. -/
@[simp] protected theorem Nat.lcm_swap {k : ℕ} [Fact k.Prime] (a b : ℕ) (h : a ≤ b) :
    lcm a b = lcm b a := by
  rw [mul_comm]"""


@pytest.mark.parametrize(
    "text",
    [
        COMMUTES,
        "theorem double_self (n : ℕ) : n + n = 2 * n",
        "lemma exercise_7\n  {G: Type*} [group G] (a : G) :\n  a = a :=",
        "instance : AddGroup Point := ⟨zero⟩",
        "noncomputable def halfPlane : Set ℂ",
        "structure Point where\n  x : ℝ",
        "inductive Tree\n  | leaf : Tree",
        "abbrev Graph.Walk",
        "class Ordered (α : Type u) extends LE α",
        "/-- A - B. -/ example (p q : Prop) : p ∧ q → p := fun h => h.1",
    ],
)
def test_a_declaration_is_lean(text: str) -> None:
    assert kind_of(text) == "lean"


@pytest.mark.parametrize(
    "text",
    [
        "theorem A : every compact space is complete",
        "theorem 2 (Bolzano): a bounded sequence has a limit",
        "lemma of Zorn",
        "structure theorem for modules over a ring",
        "class of groups (finite ones): examples",
        "def f(x):\n    return x",
        "def mean_of(values: list) -> float:\n    return 0",
        "class TreeNode:\n    pass",
        "class TreeNode { int value; }",
        "class TreeNode {\n  int value;\n}",
        "Theorem plus_zero : forall n : nat, n + 0 = n.",
        r"theorem $x \le y$ implies $y \ge x$",
        "<p>theorem foo_bar (n : ℕ) : n = n</p>",
        "Is theorem foo_bar (n : ℕ) : n = n true?",
    ],
)
def test_other_texts_are_not_lean(text: str) -> None:
    assert kind_of(text) != "lean"


def test_a_declaration_has_parts() -> None:
    comment, name, implicit, statement, proof = read_declaration(COMMUTES)
    assert comment.strip() == "The least common multiple commutes."
    assert name == "Nat.lcm_swap"
    assert implicit == "{k : ℕ} [Fact k.Prime]"
    assert statement.split() == "(a b : ℕ) (h : a ≤ b) : lcm a b = lcm b a".split()
    assert proof == ":= by\n  rw [mul_comm]"


@pytest.mark.parametrize(
    ("text", "proof"),
    [
        ("theorem a_b (f := id) : f = {x // x = 1}\n  := rfl", ":= rfl"),
        ("instance A.b : Group A where\n  one := 1", "where\n  one := 1"),
        ("def a_b : ℕ → ℕ\n  | 0 => 1\n  | n => n", "\n  | 0 => 1\n  | n => n"),
        ("theorem a_b (x : ℝ) : x ≤\n  |x| + 1 := by simp", ":= by simp"),
        ("structure A_b where\n  x : ℕ := 0", ""),
        ("theorem a_b (n : ℕ : n = n := rfl", ""),
    ],
)
def test_a_proof_begins_after_the_statement(text: str, proof: str) -> None:
    assert read_declaration(text).proof == proof


def test_names_are_parts_and_wholes() -> None:
    words = lean_words("abbrev Nat.gcd_comm").split()
    last = ["gcd", "comm", "gcdcomm"]
    assert words == ["nat", "gcd", "comm", "nat", "gcdcomm", "natgcdcomm", *last]


def test_capitals_cut_names() -> None:
    assert query_words("IsOpenMap CStarAlgebra map₂") == (
        "is open map isopenmap c star algebra cstaralgebra map 2"
    )


def test_words_of_implicit_arguments_count_once_where_no_others_are() -> None:
    words = lean_words("theorem same (b : ℕ) {a : ℤ} {c : ℤ} : b = b").split()
    assert words.count("int") == 1
    assert words.count("a") == 1
    words = lean_words("theorem same (b : ℤ) {a : ℤ} : b = b").split()
    assert words.count("int") == 1


def test_proofs_count_only_when_asked_for() -> None:
    assert "mul" not in lean_words(COMMUTES).split()
    assert "mul" in lean_words(COMMUTES, proofs=True).split()


def test_a_title_is_the_full_name_or_words_of_its_own() -> None:
    text = "theorem gcd_comm (m n : ℕ) : gcd m n = gcd n m"
    assert lean_words(text, "Nat.gcd_comm") == lean_words(text.replace("gcd_c", "Nat.gcd_c"))
    assert "symmetry" in lean_words(text, "Symmetry of divisors").split()


@pytest.mark.parametrize(
    ("unicode", "latex", "word"),
    [
        ("∑", r"\sum", "sum"),
        ("≤", r"\leq", "le"),
        ("ℝ", r"\mathbb{R}", "real"),
        ("∈", r"\in", "mem"),
        ("⊆", r"\subseteq", "subset"),
        ("∘", r"\circ", "comp"),
        ("α", r"\alpha", "alpha"),
    ],
)
def test_a_symbol_is_one_word(unicode: str, latex: str, word: str) -> None:
    assert formula_words(latex) == word
    assert query_words(unicode) == word
    assert word in lean_words(f"theorem a_b : x {unicode} y").split()


def test_a_formula_is_its_letters_and_symbols() -> None:
    assert formula_words(r"\frac{a}{b_1} \le \sqrt{x}") == "div a b 1 le sqrt x"


@given(st.text("theorm def_ab.AB :=(){}[]⦃⦄|∑≤\\-/@\n where"))
def test_any_text_is_read(text: str) -> None:
    is_lean(text)
    parts = read_declaration(f"theorem a_b {text}")
    assert set(lean_words(text, proofs=True)) <= set(lean_words(text, proofs=True).lower())
    assert len("".join(parts)) <= len(text) + 99
