"""Which runs a configuration asks for: a pure function from the configuration to specs.

A spec holds just the sections that concern its run, so that an edit of the configuration makes
exactly the runs stale whose spec it changes.
"""

from dpscale.config.root import Config
from dpscale.plan.assignment import assignment
from dpscale.plan.batch_sweep import sweep, sweep_probe
from dpscale.plan.check import check_spec, needs_check
from dpscale.plan.communication import compression, link_rows, links
from dpscale.plan.local_sgd import local_sgd
from dpscale.plan.lr_scaling import lr_scaling
from dpscale.plan.model_averaging import model_averaging
from dpscale.plan.spec import Spec, resolve
from dpscale.plan.steps_to_goal import steps_to_goal
from dpscale.plan.trainings import large_batch, replicas
from dpscale.plan.workers import data_parallel, ledger, scaling

__all__ = [
    "Spec", "check_spec", "link_rows", "needs_check", "planned_runs", "resolve", "sweep_probe",
]  # fmt: skip


def planned_runs(config: Config) -> dict[str, Spec]:
    """Every run of a configuration by name, in the order of the lab's questions."""
    specs = [
        *sweep(config),
        *scaling(config),
        *links(config),
        *compression(config),
        *large_batch(config),
        *replicas(config),
        *ledger(config),
        *data_parallel(config),
        *assignment(config),
        *steps_to_goal(config),
        *lr_scaling(config),
        *model_averaging(config),
        *local_sgd(config),
    ]
    return {spec.run: spec for spec in specs}
