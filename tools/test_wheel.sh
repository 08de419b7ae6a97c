#!/bin/sh
# Test the package that is installed, from a directory outside the checkout: what of it is compiled,
# the tests of that, and the sample, whose runs are left in the directory.
#   sh CHECKOUT/tools/test_wheel.sh CHECKOUT [pure]
set -eu
checkout=$1
ending=.so
[ "${2:-}" = pure ] && ending=.py
python - "$checkout" "$ending" <<'END'
import sys
from arqmath_bm25.analysis import latex, operator_tree, symbol_layout
for module in (latex, operator_tree, symbol_layout):
    assert module.__file__.endswith(sys.argv[2]), f"{module} does not end in {sys.argv[2]}"
    assert f"{sys.argv[1]}/arqmath_bm25/" not in module.__file__, f"{module} is not installed"
END
python -m arqmath_bm25 index all --engine flat
python -m arqmath_bm25 run all
python -m arqmath_bm25 eval
cd "$checkout/tests/analysis"
exec pytest -q -p no:cacheprovider test_latex.py test_operator_tree.py test_symbol_layout.py \
  test_analyzer.py test_term_numbers.py
