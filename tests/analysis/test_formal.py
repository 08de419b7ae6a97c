"""Formal languages as words; the expected words are written by hand from the rules in `formal`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arqmath_bm25.analysis.formal import (
    FORMAL,
    Declaration,
    LanguageName,
    formal_words,
    formula_words,
    language_of,
    query_words,
    read_formal,
)
from arqmath_bm25.analysis.kinds import kind_of

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
        "import Mathlib\n\nopen Nat Real\n\n/- Why? -/\ntheorem two (n : ℕ) : n = n := rfl",
        "namespace A\nvariable {G : Type*}\n  [Group G]\n\n@[simp] lemma one_a : (1 : G) = 1",
        "private abbrev w : R",
        "def C : Set X",
        "theorem «Facts» : Facts G [1] [2]",
        "@[to_additive (attr := simp)] theorem mul_a : a * 1 = a",
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
        "import csv\n\ndef read (path : str) :\n    return path",
        "class (Eq a) => Ordered a where",
        "class Container (f :: Type -> Type) where",
        "class stack (init : int list) = object end",
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


@pytest.mark.parametrize(
    "text",
    [
        "Fixpoint theorems := theorems which say that f(x) = x.",
        "Function f : A -> B is injective if f(a) = f(b) implies a = b.",
        "Variable stars are studied: Type I and Type II.",
        'Fun facts: 1 = 0.999... and "most" numbers are normal.',
        r"Theorem : $\forall x, x = x$",
        r"Definition $f : A \to B$ of type \emph{nat}",
        "Lemma : `forall x, x = x`",
        "example: int = 3\ntheorem: str = 'a'",
        'instance Show T where\n  show _ = "T"',
        "open List\nlet f x = x + 1",
        "module M = struct let x = 1 end",
        "Definition VARCHAR(10) := 'x'",
        "OPEN c; FETCH c INTO x;",
    ],
)
def test_other_texts_are_of_no_formal_language(text: str) -> None:
    assert language_of(text) is None


def declaration(text: str, language: LanguageName = "lean") -> Declaration:
    (found,) = read_formal(text, language).declarations
    return found


def test_a_declaration_has_parts() -> None:
    found = declaration(COMMUTES)
    assert found.comment.strip() == "The least common multiple commutes."
    assert found.name == "Nat.lcm_swap"
    assert found.implicit.split() == "{k : ℕ} [Fact k.Prime]".split()
    assert found.statement.split() == "(a b : ℕ) (h : a ≤ b) : lcm a b = lcm b a".split()
    assert found.proof == ":= by\n  rw [mul_comm]"


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
    assert declaration(text).proof == proof


def test_docstrings_of_fields_end_no_structure() -> None:
    text = "structure Point where\n  /-- The first. -/\n  x : ℝ\n  /-- The last. -/\n  y : ℝ"
    assert declaration(text).statement.split() == text.split()[2:]
    assert "last" in formal_words(" ".join(text.split())).split()


@pytest.mark.parametrize("comment", ["/- the zebra -/", "-- the zebra", "/-! the zebra -/"])
def test_a_comment_after_a_structure_is_no_part_of_it(comment: str) -> None:
    text = f"structure Point where\n  x : ℝ -- first\n{comment}\n"
    assert formal_words(text) == formal_words("structure Point where\n  x : ℝ -- first")


def test_names_are_parts_and_wholes() -> None:
    words = formal_words("abbrev Nat.gcd_comm").split()
    last = ["gcd", "comm", "gcdcomm"]
    assert words == ["nat", "gcd", "comm", "nat", "gcdcomm", "natgcdcomm", *last]


def test_capitals_cut_names() -> None:
    assert query_words("IsOpenMap CStarAlgebra map₂") == (
        "is open map isopenmap c star algebra cstaralgebra map 2"
    )


def test_words_of_implicit_arguments_count_once_where_no_others_are() -> None:
    words = formal_words("theorem same (b : ℕ) {a : ℤ} {c : ℤ} : b = b").split()
    assert words.count("int") == 1
    assert words.count("a") == 1
    words = formal_words("theorem same (b : ℤ) {a : ℤ} : b = b").split()
    assert words.count("int") == 1


def test_proofs_count_only_when_asked_for() -> None:
    assert "mul" not in formal_words(COMMUTES).split()
    assert "mul" in formal_words(COMMUTES, proofs=True).split()


def test_a_title_is_the_full_name_or_words_of_its_own() -> None:
    text = "theorem gcd_comm (m n : ℕ) : gcd m n = gcd n m"
    assert formal_words(text, "Nat.gcd_comm") == formal_words(text.replace("gcd_c", "Nat.gcd_c"))
    assert "symmetry" in formal_words(text, "Symmetry of divisors").split()


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
    assert word in formal_words(f"theorem a_b : x {unicode} y").split()


def test_a_formula_is_its_letters_and_symbols() -> None:
    assert formula_words(r"\frac{a}{b_1} \le \sqrt{x}") == "div a b 1 le sqrt x"
    assert formula_words("f''(x) + f'(x)") == "f x"
    assert formula_words(r"V^* \cdot V^{2}") == "v pow 2"


@pytest.mark.parametrize("language", FORMAL)
@given(text=st.text('theorm Tdef_ab.AB :=(){}[]⦃⦄|∑≤\\\\-/@*"‹›\n where'))
def test_any_text_is_read(text: str, language: LanguageName) -> None:
    language_of(text)
    declarations, _ = read_formal(f"theorem a_b {text}", language)
    assert sum(len(each.text) for each in declarations) <= len(text) + 12
    words = formal_words(text, proofs=True, kind=language)
    assert words == words.lower()
