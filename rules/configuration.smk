# Reads and checks the configuration, plans the runs, and says how a run is launched.

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

# Where the repository is: this file is in its rules/. Another folder may be worked in
# (--directory), or another workflow use the rules (module).
HOME = Path(str(workflow.current_basedir)).parent
BASE = Path() if Path.cwd().samefile(HOME) else HOME
SCRIPTS = BASE / "workflow/scripts"
sys.path.insert(0, str(HOME / "workflow/scripts"))
# `python` and `torchrun` in the rules are those of the environment that runs Snakemake.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
)

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import ExecMode
from snakemake.settings.types import DeploymentMethod
from snakemake.utils import min_version, update_config

min_version("9.27")  # that of envs/requirements.txt

from dpscale import imports, studies
from dpscale.arguments import RESOLVED, looked_config
from dpscale.config import ConfigError
from dpscale.config.datasets import DOWNLOADED
from dpscale.config.reading import read_argument, read_mapping
from dpscale.plan import check_spec, needs_check
from dpscale.plan.names import launch_of, pattern_of
from dpscale.plan.spec import own_file
from dpscale.processes import collect_garbage_rarely
from dpscale.records.storage import write_text
from dpscale.studies.completion import earlier_runs

collect_garbage_rarely()  # of thousands of jobs that live as long as the call
IS_MAIN = workflow.exec_mode == ExecMode.DEFAULT  # not the snakemake inside a job
IS_MODULE = not workflow.modifier.is_main_snakefile()

# A configuration given on the command line stands alone: nothing of the default leaks into it.
if not workflow.overwrite_configfiles and not IS_MODULE:

    configfile: str(BASE / "config/config.yaml")


def configured():
    """The configuration of the files and of --config, read by dpscale's own reader.

    Of a key that a file names twice Snakemake keeps the last, and 1.0e9 is text to it. To a module
    the other workflow gives it.
    """
    if IS_MODULE:
        return looked_config(config)
    read = {}
    for path in workflow.configfiles:
        update_config(read, read_mapping(Path(path)))
    for argument in workflow.config_settings.config_args or ():
        update_config(read, read_argument(argument))
    return looked_config(read, folder=Path(workflow.configfiles[-1]).parent)


try:
    CONFIG = configured()
    PLANNED = studies.planned_runs(CONFIG)
except ConfigError as error:
    sys.exit(str(error))

if IS_MAIN:
    for line in CONFIG.left_out:
        print(f"dpscale: {line}", file=sys.stderr)

RESULTS = f"results/{CONFIG.name}"
# What --sdm conda makes for the jobs; without it they have the environment that calls snakemake.
ENVIRONMENT = f"../envs/conda{'-cpu' * (CONFIG.hardware.device == 'cpu')}.yaml"
DEPLOYED = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
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
ASKED_FIRST = {run for earlier in EARLIER.values() for run in earlier}
STUDIES = list(dict.fromkeys(spec.study for spec in PLAN.values()))
JOBS = Plan(PLAN)  # with the check of the machine, which is no run of the plan
if PLAN and needs_check(check := check_spec(CONFIG, PLAN)):
    JOBS["check"] = check
# Everything but the report's title block and other people's tables, which concern no run.
CONFIG_JSON = CONFIG.model_dump_json(exclude={"report", "audit"})
NEVER = "(?!)"  # matches no run: the study is left out of the configuration


def note_configuration():
    """Leave the configuration as it is resolved beside its results; commands read it there."""
    values = yaml.safe_dump(CONFIG.model_dump(mode="json"), sort_keys=False)
    write_text(Path(RESULTS, RESOLVED), f"# As the last call resolved it.\n{values}")


def only(runs):
    """A wildcard constraint that matches these of the planned runs."""
    return pattern_of(runs, PLAN) or NEVER


def spec_json(wildcards):
    """The spec of a run: the slice of the configuration that concerns it, as one string."""
    return PLAN[wildcards.run].model_dump_json()


def turn(wildcards):
    """A priority. First what completes the specs of others, and of that the first launches of all.

    The machine's pace changes for minutes: launches of one number lie close to each other, study by
    study, so that cells are compared launch by launch.
    """
    run = wildcards.run
    study = STUDIES.index(PLAN[run].study) / 1e6  # there are up to 100 launches
    place = 1 / launch_of(run) - study
    return 20 + 10 * (run in ASKED_FIRST) + place


def modules(script):
    """A script of the analysis with what it imports: an edit of one makes its tables anew."""
    return lambda _: [
        str(BASE / path.relative_to(imports.SCRIPTS.parents[1]))
        for path in imports.imported_files(imports.SCRIPTS / f"{script}.py")
    ]


def command(script):
    """The beginning of a shell command that calls a script."""
    quoted = shlex.quote(str(SCRIPTS / f"{script}.py"))
    return f"python {quoted.replace('{', '{{').replace('}', '}}')} "
