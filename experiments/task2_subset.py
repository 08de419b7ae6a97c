"""Task 2 on the subset `arqmath-lite`: what each choice of configs/task2.yaml is worth.

    python -m experiments.task2_subset [DATA]

DATA (default: data/arqmath-lite below ARQMATH_SHARED) is a real subset of the collection in the
official layout, with `qrels_lite/`: the official judgments by visual id (v3), cut to its posts.
Rankings of visual ids are compared by nDCG and MAP over the whole subset, with unjudged formulas as
not relevant, on topics with a formula of grade 2 or more (26 and 52); nDCG' of the prime run and
judged@10 stand in brackets. The scores are NOT comparable to published ones. One configuration
serves all years; differences below .01 mean nothing with so few topics. Takes three minutes.
"""

from __future__ import annotations

from typing import Any

from arqmath_bm25.tasks import configured
from arqmath_bm25.tasks.formulas.formula_retrieval import FormulaRetrieval
from arqmath_bm25.tasks.settings import Task2Settings
from experiments.subset import grid, subset


def varied(default: Task2Settings, variant: dict[str, Any], **parts: Any) -> Task2Settings:
    """Return the settings with one variant, `both`, and other `parts`."""
    raw = default.model_dump()
    for part, keys in parts.items():
        raw[part].update(keys)
    return Task2Settings.model_validate({**raw, "variants": {"both": variant}})


def conditions(default: Task2Settings) -> list[tuple[str, Task2Settings]]:
    """Name the settings to compare; of each the variant `both` is run."""
    math, both = (default.variants[name].model_dump() for name in ("math", "both"))

    def fields(**weights: float) -> dict[str, Any]:
        return {"fields": weights}

    return [
        ("both (default, primary)", varied(default, both)),
        ("math (default)", varied(default, math)),
        ("context x 2", varied(default, {**both, "context": 2 * both["context"]})),
        ("context x 4", varied(default, {**both, "context": 4 * both["context"]})),
        ("single tokens", varied(default, fields(symbols=1))),
        ("2-3-grams", varied(default, fields(ngrams=1))),
        ("single tokens + 2-3-grams", varied(default, fields(symbols=1, ngrams=1))),
        ("layout pairs", varied(default, fields(contents=1), analysis={"layout": (2, 2)})),
        ("layout pairs and triples", varied(default, fields(contents=1))),
        ("patterns", varied(default, fields(patterns=1))),
        ("2-3-grams + layout", varied(default, fields(ngrams=1, contents=1))),
        ("2-3-grams + patterns", varied(default, fields(ngrams=1, patterns=1))),
        ("layout + patterns", varied(default, fields(contents=1, patterns=1))),
        ("operators", varied(default, fields(operators=1))),
        ("layout + operators", varied(default, fields(contents=1, operators=1))),
        ("math, LaTeX from SLT files", varied(default, math, analysis={"source": "slt"})),
        ("math, layout 2-4", varied(default, math, analysis={"layout": (2, 4)})),
        ("math, patterns 3-5", varied(default, math, analysis={"patterns": (3, 5)})),
        ("math, operators x 0.5", varied(default, fields(contents=1, patterns=1, operators=0.5))),
        ("math, operators x 2", varied(default, fields(contents=1, patterns=1, operators=2))),
        ("math, b = 0.4", varied(default, math, bm25={"b": 0.4})),
        ("math, b = 1", varied(default, math, bm25={"b": 1})),
        ("math, k1 = 0.6", varied(default, math, bm25={"k1": 0.6})),
        ("math, k1 = 1.2", varied(default, math, bm25={"k1": 1.2})),
    ]


if __name__ == "__main__":
    found = conditions(configured("task2").settings)
    grid("Task 2", ((name, FormulaRetrieval(one), "both") for name, one in found), "t2v3", subset())
