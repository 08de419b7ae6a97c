"""Lucene's explanation of a score as what each term gave: a tree, whose leaves this module skips.

Lucene and OpenSearch give it in the same words: `weight(FIELD:TERM in NUMBER) [SIMILARITY], …`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from arqmath_bm25.engines.engine import TermScores

_TERM: Final = re.compile(r"weight\(([^:]+):(.+) in \d+\) \[", re.DOTALL)


def term_scores(explanation: dict[str, Any]) -> TermScores:
    """Return field → term → what it gave."""
    found: TermScores = defaultdict(dict)
    nodes = [explanation]
    for node in nodes:  # grows while it is read
        if term := _TERM.match(node["description"]):
            found[term[1]][term[2]] = float(np.float32(node["value"]))
        else:
            nodes += node["details"]
    return dict(found)
