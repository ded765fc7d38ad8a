"""What Slurm knows of a job and its nodes, asked with Slurm's own commands."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PATIENCE_S = 20


@dataclass(frozen=True)
class Job:
    """A waiting or running job that Snakemake submitted."""

    number: str
    state: str  # in Slurm's words: PENDING, RUNNING
    rule: str
    run: str  # empty for a rule that does no run
    reason: str  # in Slurm's words; None where there is none

    @property
    def waits(self) -> bool:
        """Whether the job has not started."""
        return self.state == "PENDING"


def ask(*words: str) -> str:
    """Return what a command of Slurm prints; empty where it is missing, fails or takes too long."""
    return _answer(*words) or ""


def _answer(*words: str) -> str | None:
    try:
        ended = subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout if ended.returncode == 0 else None


def node_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the nodes of the job or step that the environment describes, in order of rank."""
    # Snakemake's jobs have lost all of Slurm's variables but a few; the steps in them have all.
    nodelist = environment.get("SLURM_JOB_NODELIST") or (
        job_field(environment["SLURM_JOB_ID"], "NodeList") if "SLURM_JOB_ID" in environment else ""
    )
    return tuple(ask("scontrol", "show", "hostnames", nodelist).split()) if nodelist else ()


def head_address(environment: Mapping[str, str]) -> str:
    """Return the address of the job's first node."""
    return _address(node_names(environment)[0])


def peer_address(environment: Mapping[str, str]) -> str:
    """Return the address of another node of a step: the first one, which takes the second."""
    head, second, *_ = node_names(environment)
    return _address(second if environment["SLURM_NODEID"] == "0" else head)


def _address(node: str) -> str:
    """Slurm's own address of a node, else its name."""
    found = re.search(r"NodeAddr=(\S+)", ask("scontrol", "show", "node", node))
    return found[1] if found else node


def job_field(job: str, field: str) -> str:
    """Return a field of `scontrol show job`, for example JobState; empty where unknown."""
    found = re.search(rf"\b{field}=(\S+)", ask("scontrol", "--oneliner", "show", "job", job))
    return found[1] if found else ""


def nodes_up() -> list[str]:
    """Return the nodes that can take jobs, now or later."""
    lines = ask("sinfo", "--noheader", "--Node", "--responding", "--format=%N|%t").splitlines()
    rows = [line.split("|") for line in lines]
    return sorted({name for name, state in rows if not re.search(r"down|drain|fail|[*$]", state)})


@cache
def node_memory_mb() -> int | None:
    """Return the memory of the largest node; None where Slurm does not say."""
    sizes = ask("sinfo", "--noheader", "--format=%m").replace("+", "").split()
    return max(map(int, sizes), default=None)


def jobs_of(folder: Path) -> list[str]:
    """Return the numbers of this user's jobs that Snakemake submitted in a folder."""
    return [job.number for job in queue(folder) or []]


def queue(folder: Path) -> list[Job] | None:
    """Return this user's waiting and running jobs that Snakemake submitted in a folder.

    None where there is no Slurm, or it does not answer.
    """
    text = _answer("squeue", "--me", "--noheader", "--format=%i|%T|%k|%r|%Z")
    rows = [line.split("|", 4) for line in (text or "").splitlines()]
    jobs = [
        Job(row[0], row[1], *_rule_and_run(row[2]), reason=row[3])
        for row in rows
        if len(row) == 5 and row[2].startswith("rule_") and Path(row[4]) == folder
    ]
    return None if text is None else jobs


def _rule_and_run(comment: str) -> tuple[str, str]:
    """The rule of a job and its run, from the comment that Snakemake gives it."""
    rule, _, run = comment.removeprefix("rule_").partition("_wildcards_")
    return rule, run


def cancel(jobs: Sequence[str]) -> None:
    """Cancel jobs; those that have ended meanwhile do not matter."""
    if jobs:
        ask("scancel", *jobs)
