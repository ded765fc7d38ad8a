"""The commands that start a run's workers, as lists of words: no shell reads them."""

import sys
from collections.abc import Mapping
from pathlib import Path

from dpscale.launch.node import cpus_per_node
from dpscale.plan import Spec

SCRIPTS = Path(__file__).resolve().parents[2]
# Set where snakemake runs a job of Slurm: in its batch step, which has all cores of an exclusive
# node, where a step has those that the run asks for.
BATCH_STEP = "DPSCALE_BATCH_STEP"


class LaunchError(ValueError):
    """A run that cannot be started here; the text says what to do."""


def command(spec: Spec, path: Path, history: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the command that starts all workers of a spec: one process, one node, or many.

    path: the spec's file; history: the folder of the run's attempts. Raises LaunchError where
    several nodes are asked for outside a job of Slurm.
    """
    words = [sys.executable, str(SCRIPTS / "run.py"), str(path)]
    if spec.workers > 1:
        words = [
            sys.executable,
            str(SCRIPTS / "agent.py"),
            "--nodes",
            str(spec.nodes),
            "--workers",
            str(spec.workers),
            "--history",
            str(history),
            str(path),
        ]
    return on_nodes(spec, words, environment)


def on_nodes(spec: Spec, words: list[str], environment: Mapping[str, str]) -> list[str]:
    """Return the command that runs `words` once on each node of a spec; raises as `command`.

    In a job that snakemake submitted it is a step, of one node as of many: a worker has the same
    cores whatever the number of nodes, and its times hold no more and no less of them.
    """
    if spec.nodes == 1 and BATCH_STEP not in environment:
        return words
    if "SLURM_JOB_ID" not in environment:
        raise LaunchError(
            f"{spec.run} is planned on {spec.nodes} nodes, and this is no job of Slurm; use "
            "--profile slurm, or set hardware.workers_per_node to null to use this machine alone"
        )
    return [
        "srun",
        f"--nodes={spec.nodes}",
        f"--ntasks={spec.nodes}",
        "--ntasks-per-node=1",
        # Said explicitly, it is exact: all that the one task, the agent, and its workers get.
        f"--cpus-per-task={cpus_per_node(spec)}",
        "--kill-on-bad-exit=1",
        *(["--label"] if spec.nodes > 1 else []),
        *words,
    ]


def may_fork(spec: Spec) -> bool:
    """Return whether workers may be forks of a process that has torch at hand.

    Not on a GPU: torchrun asks torch for GPUs, and none can be used in a fork of who did.
    """
    return spec.hardware.device == "cpu"


def torchrun_arguments(nodes: int, workers: int) -> list[str]:
    """Return torchrun's arguments for this node's share of the workers.

    Ranks follow the nodes: with W workers a node, node k has ranks k*W to (k+1)*W - 1. Raises
    LaunchError where the workers do not divide among the nodes.
    """
    if workers % nodes:
        raise LaunchError(f"{workers} workers cannot be shared by {nodes} nodes evenly")
    return [f"--nnodes={nodes}", f"--nproc-per-node={workers // nodes}", "--max-restarts=0"]
