"""The bundled sample collection: a small, freely usable tree in the official ARQMath layout.

``source/`` is what people wrote, ``build.py`` turns it into the files below `SAMPLE`.
"""

from pathlib import Path

__all__ = ["SAMPLE"]

SAMPLE = Path(__file__).parent / "arqmath-sample"
