"""The bundled samples: a small tree in the official ARQMath layout, and a premise collection.

`tools/sample/` builds both from real posts. (The folder `sample` is no package, since
`arqmath_bm25.sample` is a function.)
"""

from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "sample" / "arqmath-sample"
NLPS_SAMPLE = SAMPLE.with_name("nlps-sample")
