# make report   install what it needs, measure, and render results/laptop/report.{html,pdf}
# make test     install what it needs and run the tests; some of them: TESTS=tests/unit
# make test-gpu install what it needs and run the tests of real GPUs: benchmarks/gpu.json
# make bench    install the peers and run the benchmarks: benchmarks/results.json, docs/benchmarks.md
# make lint     format and type checks, as in continuous integration
# make smoke    every part in 2 to 4 minutes: results/smoke/
# make clean    delete tables, figures and reports, which a call makes again; measurements stay
# make delete-measurements   delete all results, with what was measured: hours of work
#
# VENV=DIR uses an environment that exists, and installs nothing there: it says what is missing.
# PYTHON=... makes .venv with another interpreter.

VENV ?= .venv
PYTHON ?= python3
CONFIG ?= config/config.yaml
TESTS ?= tests
PYTEST_OPTIONS ?=
BENCH_OPTIONS ?=

BIN := $(VENV)/bin
# Something is installed into .venv, where make made it, and into an environment that is not there yet;
# any other one is looked at and left alone.
MARK := $(VENV)/.dpscale
MADE := $(if $(filter file,$(origin VENV)),$(wildcard $(VENV)/.dpscale*))
OURS := $(or $(MADE),$(if $(wildcard $(BIN)/python),,new))
READY = $(if $(OURS),$(VENV)/.dpscale-$(1),look-$(1))
REPORT_STAMP := $(call READY,report)
TEST_STAMP := $(call READY,test)
BENCH_STAMP := $(call READY,bench)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c envs/constraints.txt
# Absolute, and right in a folder with a space in its name.
export PATH := $(if $(filter /%,$(VENV)),,$(CURDIR)/)$(BIN):$(PATH)

# Hundreds of processes of the tests import the library: it is compiled once.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := OMP_NUM_THREADS=1 python -m pytest $(PYTEST_OPTIONS)
# One more at a time than there are cores: many wait for what they started. No more than 16, which is
# as many as there are long files, and a gigabyte each.
SIDE_BY_SIDE = --numprocesses $$(env -u OMP_NUM_THREADS nproc | awk '{print ($$1 < 16 ? $$1 + 1 : 16)}') \
	--dist loadscope --no-loadscope-reorder
# TESTS and options may select tests of one kind alone: none of the other (status 5) is no failure.
OR_NONE := status=$$?; test $$status -eq 0 -o $$status -eq 5

.DELETE_ON_ERROR:
.PHONY: help report smoke test test-gpu bench lint clean delete-measurements \
	look-report look-test look-bench
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

report: $(REPORT_STAMP)
	@sh envs/install_pango.sh
	@name=$$(python workflow/scripts/check_config.py "$(CONFIG)") || exit 1; \
	snakemake --configfile "$(CONFIG)" || exit 1; \
	echo "The report: results/$$name/report.html and results/$$name/report.pdf"

smoke:
	@$(MAKE) --no-print-directory report CONFIG=config/smoke.yaml

test: $(TEST_STAMP)
	@sh envs/install_pango.sh
	@$(PYTEST) -m "not alone and not slow and not gpu" $(SIDE_BY_SIDE) $(TESTS); $(OR_NONE)
	@$(PYTEST) -m "alone and not slow" $(TESTS); $(OR_NONE)

test-gpu: $(TEST_STAMP)
	@python -m pytest -m gpu tests/gpu

bench: $(BENCH_STAMP)
	@sh envs/install_pango.sh
	@OMP_NUM_THREADS=1 python benchmarks/run.py $(BENCH_OPTIONS)

lint: $(TEST_STAMP)
	@ruff check . && ruff format --check . && snakefmt --check Snakefile rules && mypy

clean:
	rm -rf $(foreach made,tables derived figures partial answers.json report.html report.pdf,results/*/$(made))

delete-measurements:
	rm -rf .snakemake results

look-report:
	@python envs/missing.py envs/requirements.txt

look-test:
	@python envs/missing.py envs/requirements-dev.txt

look-bench:
	@python envs/missing.py envs/requirements-bench.txt

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "dpscale needs Python 3.11 or newer; set PYTHON=..." >&2; exit 1; }
	@echo "Making the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $(MARK)

$(VENV)/.dpscale-report: envs/requirements.txt envs/constraints.txt | $(BIN)/python
	@echo "Installing the pinned requirements (6 GB, a few minutes)"
	@$(INSTALL) -r envs/requirements.txt
	@touch $@

$(VENV)/.dpscale-test: envs/requirements-dev.txt $(VENV)/.dpscale-report
	@$(INSTALL) -r envs/requirements-dev.txt
	@touch $@

$(VENV)/.dpscale-bench: envs/requirements-bench.txt $(VENV)/.dpscale-report
	@$(INSTALL) -r envs/requirements-bench.txt
	@touch $@
