# Every target sets up what it needs first and does nothing that is already done.
# The work itself is in the command line program: .venv/bin/arqmath-bm25 --help

# .venv is made anew where PYTHON is given and is another one than it was made of.
which := -c 'import sys; print(sys.version_info, sys.base_prefix)'
ifdef PYTHON
ifneq ($(shell $(PYTHON) $(which) 2>&1 || true),$(shell .venv/bin/python $(which) 2>&1 || true))
.venv/.ready: another-python
endif
endif
PYTHON ?= python3
TASK   ?= all
# Of Lucene, so that stock Pyserini opens what `make index` built; flat is twice as fast.
ENGINE ?= lucene
READY  := .venv/.ready
# Tests start the program hundreds of times; without bytecode each start compiles it anew.
unexport PYTHONDONTWRITEBYTECODE
ARQ    := .venv/bin/arqmath-bm25

# DATA, YEAR, VARIANT and CONFIG are passed on when given; without DATA the bundled sample is used.
data   := $(if $(DATA),--data "$(DATA)")
topics := $(if $(YEAR),--topics "$(YEAR)")
variant := $(if $(VARIANT),--variant "$(VARIANT)")
config := $(if $(CONFIG),--config "$(CONFIG)")

# Tests of a file stay together; tests/conftest.py says which files start first.
# CPU=20 prints the 20 files and the 20 tests that take most CPU time.
parallel := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(if $(CPU),--cpu $(CPU))
quickly  := not slow and not extra and not nightly

.DEFAULT_GOAL := help
.PHONY: help setup demo index runs eval results test everything exhaustive extras first quick pythons another-python lowest lint docs wheel release release-pure audit mutants bench slowdown sample lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: $(READY) ## only the set-up: .venv from requirements.lock, compiled readers of formulas
	@.venv/bin/python -m tools.compile_readers

# Where Python comes without ensurepip (Debian without python3-venv), its own pip serves.
pip := pip="$$(test -x .venv/bin/pip && echo .venv/bin/python -m pip || echo $(PYTHON) -m pip --python .venv/bin/python)"

# The stamp is written last: an interrupted set-up starts anew.
# No code of a dependency runs at its installation, as only wheels are taken; of Pyserini there is
# none for every Python, so its source is, which is pinned by its hash.
$(READY): requirements.lock requirements-lucene.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || \
	  { echo "Python 3.11 to 3.14 is needed, as requirements.lock serves these; $(PYTHON) is" \
	  "$$($(PYTHON) --version 2>&1 | head -n 1). Try: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up .venv (once, one to two minutes) ..."
	@$(PYTHON) -m venv --clear .venv >/dev/null 2>&1 || \
	  { $(PYTHON) -m pip --version >/dev/null 2>&1 && $(PYTHON) -m venv --clear --without-pip .venv; } || \
	  { echo "$(PYTHON) has neither venv nor pip. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(pip); \
	  quietly="install --quiet --disable-pip-version-check --no-compile --no-deps"; \
	  $$pip $$quietly --require-hashes --only-binary :all: -r requirements.lock && \
	  $$pip $$quietly --require-hashes --no-build-isolation --ignore-requires-python -r requirements-lucene.lock && \
	  $$pip $$quietly --no-build-isolation --editable .
	@find .venv/lib \( -path '*/pandas/tests' -o -path '*/scipy/*/tests' -o -path '*/sklearn/*tests' \) \
	  -prune -exec rm -rf {} +  # 40 MB of upstream's own tests
	@.venv/bin/python -m tools.compile_readers
	@touch $(READY)

demo: $(READY) ## the whole main job on the bundled sample: index, runs, scores, report
	$(ARQ) index all --engine $(ENGINE) --overwrite
	$(ARQ) run all --overwrite
	$(ARQ) eval
	$(ARQ) report runs/arqmath-sample/2021/*task1*.tsv -o report
	@echo "The sample was written for this project: its scores mean nothing. Open report/index.html"

index: $(READY) ## build an index:     make index TASK=task1 DATA=/path/to/ARQMath [ENGINE=flat]
	$(ARQ) index $(TASK) $(data) $(config) --engine $(ENGINE) --overwrite

runs: $(READY) ## write the run files: make runs TASK=task1 DATA=... [YEAR=2021]
	$(ARQ) run $(TASK) $(data) $(topics) $(config) $(variant)

eval: $(READY) ## score the run files: make eval TASK=task1 DATA=... [YEAR=2021]
	$(ARQ) eval --task $(TASK) $(data) $(topics)

results: $(READY) ## make all results again and compare: make results [DATA=...]
	.venv/bin/python -m experiments reproduce $(data) -o results

test: lint ## lint, type check and every test that a clone can run
	.venv/bin/pytest $(parallel) -m "not extra and not nightly"

# BY=… runs the quick ones by another Python on the packages of .venv; CI by Debian's own.
everything: lint extras $(BY) ## … and those of browser, clusters, notebook, peers, installations
	$(or $(BY),.venv/bin/python) -m pytest $(parallel) -m "$(quickly)"
	.venv/bin/pytest $(parallel) -m "(slow or extra) and not nightly"

exhaustive: lint extras $(BY) ## … at every place of a kill or damage, drawn anew: every night
	ARQMATH_EXHAUSTIVE=1 $(or $(BY),.venv/bin/python) -m pytest $(parallel) -m "$(quickly)"
	ARQMATH_EXHAUSTIVE=1 .venv/bin/pytest $(parallel) -m "slow or extra or nightly"

# The files are chosen by tools/first_tests.py.
first: $(READY) ## a first look of 15 seconds: files of tests that reach most lines
	@head -n 1 tests/first.txt
	@.venv/bin/pytest -q -n 2 --dist loadfile -m "$(quickly)" $$(grep -v '^#' tests/first.txt)

quick: $(READY) ## all tests but the slow ones: make quick [PYTHON=python3.13] [CPU=20], the costliest
	.venv/bin/pytest $(parallel) --minutes 45 -m "$(quickly)"

pythons: ## the quick tests by every Python that is here, each in a copy: make pythons [ONLY=3.14]
	$(PYTHON) tools/pythons.py $(ONLY)

lint: $(READY) ## ruff and mypy
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy & .venv/bin/mypy --platform darwin --cache-dir .mypy_cache/darwin && wait $$!

# Debian's own Python on the packages of .venv: both are 3.11, so the ABI is the same. The 3.11.2 of
# Debian 12 has errors in `re` that no newer one has.
.venv-debian/bin/python: $(READY)
	@/usr/bin/python3 -m venv --clear --without-pip .venv-debian
	@packages=$$(echo "$(CURDIR)"/.venv/lib/python3.11/site-packages); test -d "$$packages" && \
	  echo "import site; site.addsitedir('$$packages')" \
	  >.venv-debian/lib/python3.11/site-packages/environment.pth

# What makes the site has an environment of its own.
.venv-docs/.ready: requirements-docs.lock
	@$(PYTHON) -m venv --clear .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  --no-deps --require-hashes --only-binary :all: -r requirements-docs.lock && touch $@

docs: .venv-docs/.ready ## the guides and the library's docstrings as a site: site/index.html
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict --config-file tools/site/mkdocs.yml

# In a copy, as nothing compiled may stand beside the sources: Python would import it in their place.
wheel: $(READY) ## a wheel whose builds are faster; needs a C compiler: make wheel [WHEELS=dist]
	@command -v cc >/dev/null || \
	  { echo "A C compiler is needed. On Debian or Ubuntu: apt install gcc python3-dev" >&2; exit 1; }
	@$(pip); work=$$(mktemp -d); trap 'rm -r $$work' EXIT; \
	  cp -r pyproject.toml LICENSE arqmath_bm25 configs docs $$work && \
	  HATCH_BUILD_HOOK_ENABLE_MYPYC=1 $$pip wheel --quiet --disable-pip-version-check --no-deps \
	  --wheel-dir "$(or $(WHEELS),dist)" $$work

# What builds, checks and audits a release has an environment of its own.
.venv-release/.ready: requirements-release.lock
	@$(PYTHON) -m venv --clear .venv-release
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
	  --no-deps --require-hashes --only-binary :all: -r requirements-release.lock && touch $@

# In a copy, as for `wheel`; each is installed into an environment that has nothing else of ours.
built := .venv-release/bin/python tools/release.py

release-pure: .venv-release/.ready $(READY)
	$(built) --pure

release: .venv-release/.ready $(READY) ## build sdist and wheels into dist/ and check them; uploads nothing
	$(built)

audit: .venv-release/.ready ## does a locked package have a known hole? Asks the advisory database
	@for lock in requirements*.lock; do echo "$$lock"; .venv-release/bin/pip-audit --progress-spinner off \
	  --disable-pip --no-deps --requirement $$lock || exit 1; done

mutants: $(READY) ## break lines one at a time: do the tests notice? make mutants [RANDOM=60]
	.venv/bin/python tools/$(if $(RANDOM),random_mutants.py --number $(RANDOM),mutants.py)

sample: $(READY) ## write the bundled sample anew from its source
	.venv/bin/python -m tools.sample.build
	.venv/bin/python -m tools.sample.build_premises

bench: $(READY) ## time and memory over size, half an hour: make bench [SIZES=0.1,0.3]
	.venv/bin/python benchmarks/bench.py $(if $(SIZES),--sizes "$(SIZES)")

slowdown: $(READY) ## does this tree take more CPU time than its parent? make slowdown [BASE=v0.4.0]
	.venv/bin/python benchmarks/slowdown.py $(if $(BASE),--base "$(BASE)")

# What tests of browser, clusters and notebook import; .ci/run installs the programs.
extras: .venv/.extras .venv-bench/.ready

.venv/.extras: requirements-browser.lock requirements-notebook.lock requirements-opensearch.lock \
  requirements-pdf.lock requirements-spark.lock | $(READY)
	@$(pip); quietly="install --quiet --disable-pip-version-check --no-compile --no-deps"; \
	  for lock in browser notebook opensearch pdf; do \
	  $$pip $$quietly --require-hashes --only-binary :all: -r requirements-$$lock.lock || exit 1; done; \
	  $$pip $$quietly --require-hashes -r requirements-spark.lock  # published as source alone
	@touch $@

# The peers have an environment of their own, which nothing else needs. Where they cannot be
# installed, the table names them as not installed.
.venv-bench/.ready: requirements-bench.lock | $(READY)
	@echo "Setting up .venv-bench (once, about a minute) ..."
	@$(PYTHON) -m venv --clear --without-pip .venv-bench
	@pip="$$(test -x .venv/bin/pip && echo .venv/bin/python || echo $(PYTHON)) -m pip"; \
	  $$pip --python .venv-bench/bin/python install --quiet --disable-pip-version-check \
	  --no-deps --require-hashes --only-binary :all: -r requirements-bench.lock && \
	  touch $@ || \
	  echo "The peers could not be installed; the comparison goes without them." >&2

# Nothing but the versions differs: the jar is the one in .venv.
lowest: $(READY) ## the demo and quick tests with the oldest dependencies that pyproject.toml allows
	@$(PYTHON) -m venv --clear --without-pip .venv-lowest
	@pip="$$(test -x .venv/bin/pip && echo .venv/bin/python || echo $(PYTHON)) -m pip"; \
	  $$pip --python .venv-lowest/bin/python install --quiet --disable-pip-version-check \
	  --no-compile --no-deps --require-hashes --only-binary :all: -r requirements-lowest.lock
	@work=$$(mktemp -d); export PYTHONPATH="$(CURDIR)" ARQMATH_SHARED=none ANSERINI_CLASSPATH="$$(echo \
	  "$(CURDIR)"/.venv/lib/python*/site-packages/pyserini/resources/jars)"; \
	  arq="$(CURDIR)/.venv-lowest/bin/python -m arqmath_bm25 --quiet"; \
	  (cd $$work && $$arq index all && $$arq run all && $$arq eval >/dev/null && \
	  $$arq compare runs/*/2021/*task1*both*.tsv runs/*/2021/*task1*text*.tsv >/dev/null && \
	  $$arq report runs/*/2021/*task1*.tsv -o report) && rm -r $$work && \
	  .venv-lowest/bin/python -m pytest -q -p no:cacheprovider -m "not slow" \
	  -W ignore::DeprecationWarning $(lowest)  # old versions call what newer ones no longer do
lowest := $(addprefix tests/,evaluation/test_comparing.py evaluation/test_score.py \
  analysis/test_html.py analysis/test_latex.py)

export := uv export --quiet --no-emit-project --no-annotate --no-header
lock: ## resolve the lock files anew (needs uv)
	uv lock --upgrade --quiet
	$(export) --extra lucene --extra nlps --group dev -o requirements.lock
	echo pyserini==2.4.0 | uv pip compile --quiet --no-deps --generate-hashes --python-version 3.12 \
	  --no-annotate --no-header -o requirements-lucene.lock -
	uv pip compile --quiet --resolution lowest-direct --generate-hashes --no-annotate --no-header \
	  --python-version 3.11 --extra lucene --extra nlps --group lowest -o requirements-lowest.lock \
	  pyproject.toml
	$(export) --only-group browser -o requirements-browser.lock
	$(export) --only-group bench -o requirements-bench.lock
	$(export) --only-group notebook -o requirements-notebook.lock
	$(export) --only-group opensearch -o requirements-opensearch.lock
	$(export) --only-group pdf -o requirements-pdf.lock
	$(export) --only-group spark -o requirements-spark.lock
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
	  --python-version 3.11 --group release -o requirements-release.lock
	uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
	  --python-version 3.11 --group docs -o requirements-docs.lock

clean: ## remove what the targets made, except indexes and runs
	rm -rf .venv .venv-bench .venv-debian .venv-lowest .venv-release .venv-docs site dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
