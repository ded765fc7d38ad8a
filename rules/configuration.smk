# Reads and checks the configuration, plans the runs, and says how a run is launched.

import json
import os
import re
import subprocess
import sys
from pathlib import Path

if not Path.cwd().samefile(workflow.basedir):
    sys.exit(
        f"dpscale: its rules work in their own folder, and this is {Path.cwd()}; "
        f"call snakemake without --directory in {workflow.basedir}"
    )

SCRIPTS = Path(workflow.basedir) / "workflow/scripts"
sys.path.insert(0, str(SCRIPTS))
# `python` and `torchrun` in the rules are those of the environment that runs Snakemake.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import ExecMode
from snakemake.utils import update_config

from dpscale import imports, studies
from dpscale.config import ConfigError
from dpscale.config.datasets import DOWNLOADED
from dpscale.config.reading import read_argument, read_mapping
from dpscale.plan import check_spec, needs_check
from dpscale.plan.names import pattern_of
from dpscale.plan.spec import own_file
from dpscale.studies.completion import earlier_runs

# A configuration given on the command line stands alone: nothing of the default leaks into it.
if not workflow.overwrite_configfiles:

    configfile: "config/config.yaml"


def configured():
    """The configuration of the files and of --config, read by dpscale's own reader.

    Of a key that a file names twice Snakemake keeps the last, and 1.0e9 is text to it.
    """
    read = {}
    for path in workflow.configfiles:
        update_config(read, read_mapping(Path(path)))
    for argument in workflow.config_settings.config_args or ():
        update_config(read, read_argument(argument))
    return studies.load_config(read, folder=Path(workflow.configfiles[-1]).parent)


try:
    CONFIG = configured()
    PLANNED = studies.planned_runs(CONFIG)
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


PLAN = Plan(PLANNED)
# Runs by each run that their records complete.
EARLIER = {
    run: found for run, spec in PLAN.items() if (found := earlier_runs(spec, PLAN))
}
JOBS = Plan(PLAN)  # with the check of the machine, which is no run of the plan
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


def modules(script):
    """A script of the analysis with what it imports: an edit of one makes its tables anew."""
    root = imports.SCRIPTS.parents[1]
    return lambda _: [
        str(path.relative_to(root))
        for path in imports.imported_files(imports.SCRIPTS / f"{script}.py")
    ]
