"""Let tests import the sources: tools/test_wheel.sh tests what `make setup` compiles of them."""

import os

os.environ["ARQMATH_SOURCES"] = "1"
