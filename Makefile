# `make` alone lists the targets. Every target sets up what it needs.
BIN := .venv/bin
READY := .venv/.ready
COMPILED := .venv/.compiled
SKIPS := build/skipped
MINIMUM_COVERAGE := 95
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Tests wait more than they work, so more of them than cores fit side by side. Of too many each waits for the others, first of
# all of those that start engines, containers and browsers.
HANDS := $(shell expr $(CORES) '*' 2 + 2)
COVERED := tests/architecture tests/unit
# The official suite runs all its scenarios at once, which is as much as a small machine can do.
ALONE := tests/conformance
# Tests that start programs: every line is counted where it is tested piece by piece, and counting doubles the time. Those
# that take longest come first, so that no hand is left with them when the others have ended.
LONG := tests/integration tests/chaos tests/hostile tests/behaviour
THROUGH := $(LONG) $(filter-out $(COVERED) $(ALONE) $(LONG),$(patsubst %/,%,$(sort $(dir $(wildcard tests/*/test_*.py)))))
SOAKED := $(wildcard tests/chaos tests/hostile tests/behaviour tests/integration/test_texts_of_real_servers.py)

# Tests that start programs, and kill engines, containers and processes at random, share a machine with others that do: on CI
# what fails is tried once more, and told as RERUN at the end. At home nothing is: a test that fails now and then is a defect.
AGAIN := $(if $(CI),--reruns 1 -rR)

# CI runs all cases of all tests, which takes three times as long as the sample of them that `make test` is.
ALL := $(CI)

# Which branches were taken is counted on CI: counting doubles the time of the tests that it is done for.
COUNTED := $(BIN)/$(if $(CI),coverage run,python)

# The tests start thousands of programs; where nothing is written, each of them compiles all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run demo test check tidy bench soak conformance docs

help:
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name line; do \
		printf '  make %-12s %s\n' "$$name" "$$line"; done

setup: $(READY) ## make .venv from uv.lock; needs Python 3.11 or newer

$(READY): uv.lock pyproject.toml .ci/setup
	@.ci/setup
	@touch $@

# Programs that may write nothing, and many that start at once, would each compile what they import anew: in all three times
# as much as there is.
$(COMPILED): $(READY)
	@.ci/setup --compile-bytecode
	@touch $@

run: setup ## the gateway on the built-in servers with a few small agents at work; Ctrl-C ends it
	@$(BIN)/bascule serve --demo $(OPTIONS)

demo: setup ## watch an agent read private data, go on working, and fail to leak it; takes seconds
	@$(BIN)/bascule demo

test: ## format, lint, layers, the first case of each test but the longest; ALL=1 runs all, CI has types and coverage too
	@.ci/parts $(if $(ALL),--all) & parts=$$!; status=0; $(MAKE) --no-print-directory tidy || status=$$?; wait $$parts && exit $$status
	@mkdir -p build && rm -f $(SKIPS)*
	@$(if $(ALL),$(whole),BASCULE_SKIP_REPORT=$(SKIPS)-1 $(BIN)/python -m pytest --sample --hands $(HANDS) $(COVERED) $(THROUGH))

# Types take a minute and a half of one processor: they have what the tests leave idle, and are told at the end.
define whole
$(BIN)/coverage erase; \
	$(if $(CI),nice -n 19 $(BIN)/basedpyright,:) >build/types 2>&1 & types=$$!; \
	status=0; \
	BASCULE_SKIP_REPORT=$(SKIPS)-1 $(COUNTED) -m pytest $(AGAIN) --hands $(HANDS) $(COVERED) || status=$$?; \
	BASCULE_SKIP_REPORT=$(SKIPS)-2 $(BIN)/python -m pytest $(AGAIN) --hands $(HANDS) $(THROUGH) || status=$$?; \
	BASCULE_SKIP_REPORT=$(SKIPS)-3 $(BIN)/python -m pytest $(AGAIN) $(ALONE) || status=$$?; \
	$(if $(CI),$(BIN)/coverage combine --quiet; $(BIN)/coverage report --fail-under=$(MINIMUM_COVERAGE) || status=$$?;) \
	wait $$types || status=$$?; cat build/types; \
	sort -u $(SKIPS)-1 $(SKIPS)-2 $(SKIPS)-3 || status=1; \
	exit $$status
endef

check: tidy ## what is quick: format, lint, types, layers, each unit test once
	@mkdir -p build
	@nice -n 19 $(BIN)/basedpyright >build/types 2>&1 & types=$$!; \
	status=0; \
	$(BIN)/python -m pytest --sample --hands $(HANDS) tests/architecture tests/unit || status=$$?; \
	wait $$types || status=$$?; cat build/types; \
	exit $$status

tidy: $(COMPILED)
	@$(BIN)/ruff format --check --quiet . || { echo "Not formatted; run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/lint-imports --no-cache --no-logo

bench: setup ## measure against peers, in one run on this machine, as ratios
	@$(BIN)/python -m bench

soak: setup ## the tests whose counts matter, with ten times the counts of `make test`
	@BASCULE_SOAK=1 $(BIN)/python -m pytest $(SOAKED)

conformance: setup ## the official conformance suite: every client and server scenario of both eras
	@PYTHONPATH=tests $(BIN)/python -m support.conformance

docs: setup ## the documentation site, in build/site; a link that leads nowhere fails it
	@$(BIN)/python -m handbook
