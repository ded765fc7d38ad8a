# Reads and checks the configuration, plans the runs, and says how a run is launched.

import json
import os
import re
import sys
from pathlib import Path

SCRIPTS = Path(workflow.basedir) / "workflow/scripts"
sys.path.insert(0, str(SCRIPTS))
# `python` and `torchrun` in the rules are those of the environment that runs Snakemake.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import ExecMode

from dpscale import studies
from dpscale.config import ConfigError
from dpscale.config.datasets import DOWNLOADED
from dpscale.plan import check_spec, needs_check
from dpscale.plan.names import pattern_of
from dpscale.plan.spec import own_file
from dpscale.studies.batch_sweep.plan import sweep_probe

# A configuration given on the command line stands alone: nothing of the default leaks into it.
if not workflow.overwrite_configfiles:

    configfile: "config/config.yaml"


try:
    CONFIG = studies.load_config(
        config,
        folder=(
            Path(workflow.configfiles[-1]).parent if workflow.configfiles else Path()
        ),
    )
except ConfigError as error:
    sys.exit(str(error))

RESULTS = f"results/{CONFIG.name}"
RUN = f"{RESULTS}/runs/{{run}}"


class Plan(dict):
    """Specs by run; a rule's pattern may match a run that nobody planned."""

    def __missing__(self, run):
        raise WorkflowError(
            f"{RESULTS}/runs/{run}: the configuration plans no such run"
        )


PLAN = Plan(studies.planned_runs(CONFIG))
# Jobs that are no run of the plan: the check of the machine exchanges messages, and the search of
# the boundary (sweep.smk) runs probes of one spec.
JOBS = Plan(PLAN)
SWEEP = [run for run, spec in PLAN.items() if spec.study == "sweep"]
if SWEEP:
    JOBS["boundary"] = sweep_probe(CONFIG, 1, run="boundary", study="boundary")
if PLAN and needs_check(check := check_spec(CONFIG, PLAN)):
    JOBS["check"] = check
# Everything but the report's title block and other people's tables, which concern no run.
CONFIG_JSON = CONFIG.model_dump_json(exclude={"report", "audit"})
NEVER = "(?!)"  # matches no run: the study is left out of the configuration


def only(runs):
    """A wildcard constraint that matches these of the planned runs."""
    return pattern_of(runs, PLAN) or NEVER


def spec_json(wildcards):
    """The spec of a run: the slice of the configuration that concerns it, as one string."""
    return PLAN[wildcards.run].model_dump_json()


def modules(*parts):
    """The library modules that an analysis rule uses: an edit of one makes its tables anew."""
    library = Path(workflow.basedir, "workflow/scripts/dpscale")
    found = [path for part in parts for path in library.glob(part)]
    files = [
        p for path in found for p in ([path] if path.suffix else path.rglob("*.py"))
    ]
    return sorted(str(p.relative_to(workflow.basedir)) for p in files)
