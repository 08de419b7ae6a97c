"""Cut the math font of the pages out of STIX Two Math: python -m tools.math_font FONT.ttf

Needs fonttools and brotli, which nothing else does. The bundled file was made of version 2.11
(https://github.com/stipub/stixfonts, in the wheel of ziamath 0.13). Its licence, which it also
names, is in `pages/static/OFL.txt`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools.subset import main  # type: ignore[import-not-found]

OUTPUT = Path(__file__).parents[1] / "arqmath_bm25" / "pages" / "static" / "math.woff2"
# The blocks of Unicode that math-core writes; what stretches and is drawn small goes with them.
BLOCKS = (
    "0020-007E 00A0-00FF 0131 0237 02C6-02DD 0300-0338 0370-03FF 2000-209F 20D0-20F0 2100-214F "
    "2190-23FF 25A0-25FF 2605-2606 2660-2667 266D-266F 2713 2720 27C0-27FF 2900-2AFF 1D400-1D7FF"
)

if __name__ == "__main__":
    main(
        [
            sys.argv[1], f"--unicodes={BLOCKS}", "--layout-features=ssty,dtls,flac,ccmp",
            "--no-hinting", "--name-IDs=*", "--flavor=woff2", f"--output-file={OUTPUT}",
        ]
    )  # fmt: skip
