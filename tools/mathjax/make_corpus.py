"""Write what MathJax makes of the formulas of tests/support/formulas.tsv into its last column.

Needs node, and `npm install` in this folder. Rows are: kind, LaTeX, structure.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SUPPORT = HERE.parent.parent / "tests" / "support"
ESCAPED_TWICE = re.compile(r"&(?:\\displaystyle\s*)?amp;")
CORPUS = SUPPORT / "formulas.tsv"


def mathml(formulas: list[str]) -> list[str | None]:
    """Return MathJax's MathML of formulas, None where it shows an error."""
    latex = [ESCAPED_TWICE.sub("&", formula) for formula in formulas]
    ran = subprocess.run(
        ["node", str(HERE / "mathml.js")],  # noqa: S607
        input=json.dumps(latex), capture_output=True, text=True, check=True,
    )  # fmt: skip
    written: list[str | None] = json.loads(ran.stdout)
    return written


def main() -> None:
    """Write the corpus anew."""
    sys.path.insert(0, str(SUPPORT))
    from mathml_structure import structure

    rows = [line.split("\t")[:2] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    drawn = mathml([latex for _, latex in rows])
    lines = [
        f"{kind}\t{latex}\t{structure(written)}\n"
        for (kind, latex), written in zip(rows, drawn, strict=True)
        if written
    ]
    CORPUS.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
