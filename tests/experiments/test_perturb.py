"""Topics asked in other ways, experiments/perturb.py; letters are compared by hand."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from program import arqmath

from arqmath_bm25.core.records import Topic
from experiments.perturb import WAYS

if TYPE_CHECKING:
    from pathlib import Path

FORMULA = r'<span class="math-container">$\frac{a}{b}+a\text{ if }B$</span>'
TOPIC = Topic("A.1", f"Sum {FORMULA}", f"<p>Does {FORMULA} vanish everywhere?</p>", ("sums",))


def test_renamed_variables_keep_their_places_and_commands_their_names() -> None:
    topic = WAYS["variables renamed"](TOPIC)
    match = re.search(r"\$\\frac\{(\w)\}\{(\w)\}\+(\w)\\text\{ if \}(\w)\$", topic.question)
    assert match
    a, b, again, large = match.groups()
    assert a == again != b
    assert large == b.upper()
    assert {a, b} != {"a", "b"}
    assert re.sub(r"<span.*?</span>", "", topic.question) == "<p>Does  vanish everywhere?</p>"


def test_typos_change_no_formula_and_no_letter_but_its_place() -> None:
    text = " ".join(["wonderful"] * 100)
    topic = WAYS["typos in 30 % of the words"](TOPIC._replace(question=f"<p>{FORMULA} {text}</p>"))
    assert FORMULA in topic.question
    words = topic.question.removeprefix(f"<p>{FORMULA} ").removesuffix("</p>").split()
    assert all(Counter(word) == Counter("wonderful") for word in words)
    assert 15 < sum(word != "wonderful" for word in words) < 45


def test_dollars_words_and_formulas_are_taken_away() -> None:
    assert WAYS["dollars lost"](TOPIC).title == r"Sum \frac{a}{b}+a\text{ if }B"
    alone = WAYS["formulas alone"](TOPIC)
    assert (alone.title, alone.question, alone.tags) == (FORMULA, FORMULA, ())
    assert WAYS["title alone"](TOPIC) == TOPIC._replace(question="", tags=())
    assert len(WAYS["first 200 characters"](TOPIC).title) <= 200


def test_the_command_compares_every_way_with_the_topics_as_given(
    sample_indexes: Path, tmp_path: Path
) -> None:
    file = tmp_path / "table.json"
    table = arqmath("perturb", "--on", "2020", "--indexes", sample_indexes, "--json", file).stdout
    rows = json.loads(file.read_text())
    assert list(rows) == list(WAYS)
    assert all(rows[way].keys() == rows["as given"].keys() for way in WAYS)
    means = {way: sum(values.values()) / len(values) for way, values in rows.items()}
    difference = means["title alone"] - means["as given"]
    line = next(line for line in table.splitlines() if "title alone" in line)
    assert f"{means['title alone']:.3f}" in line
    assert f"{difference:+.3f}" in line
