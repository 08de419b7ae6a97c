"""The bundled samples: a small tree in the official ARQMath layout, and a premise collection.

``source/`` is what people wrote; ``read_source.py`` reads it, ``build.py`` and
``build_premises.py`` turn it into the files.
"""

from pathlib import Path

__all__ = ["NLPS_SAMPLE", "SAMPLE"]

SAMPLE = Path(__file__).parent / "arqmath-sample"
NLPS_SAMPLE = SAMPLE.with_name("nlps-sample")
