"""How many formulas of a collection are drawn as MathJax draws them.

python tools/mathjax/mathjax_agreement.py DATA [STEP]; needs node, and `npm install` in this folder.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from make_corpus import mathml  # type: ignore[import-not-found]  # noqa: E402
from mathml_structure import structure  # noqa: E402

from arqmath_bm25.collection.formulas import read_formulas  # noqa: E402
from arqmath_bm25.collection.layout import Layout  # noqa: E402
from arqmath_bm25.pages.latex_to_mathml import render  # noqa: E402

BATCH = 4000


def main() -> None:
    """Print the share of distinct formulas, of those that MathJax itself can read."""
    step = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rows = read_formulas(Layout(Path(sys.argv[1])).formulas())
    formulas = sorted({row.latex for row in rows})[::step]
    counts: Counter[str] = Counter()
    for start in range(0, len(formulas), BATCH):
        batch = formulas[start : start + BATCH]
        for latex, expected in zip(batch, mathml(batch), strict=True):
            if expected is None:
                continue
            html = render(latex, True)
            same = not html.startswith("<code") and structure(html) == structure(expected)
            counts["equal" if same else "code" if html.startswith("<code") else "different"] += 1
    for name, count in counts.most_common():
        print(f"{name}: {count:,} of {counts.total():,}, {count / counts.total():.2%}")


if __name__ == "__main__":
    main()
