"""What is known of a workflow at one moment: plain values, made by the observer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dpscale.attempts import Attempt, Progress
from dpscale.launch.slurm import Job
from dpscale.plan import Spec


class State(StrEnum):
    """Where a planned run stands."""

    DONE = "done"  # it has a record, whatever its status
    RUNNING = "running"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True)
class Run:
    """A planned run. `reason`: why it failed, or why it is done without being complete."""

    spec: Spec
    state: State
    status: str = ""  # of its record
    reason: str = ""
    measured: tuple[float, float] | None = None  # from when to when, by its record; Unix time
    attempt: Attempt | None = None
    progress: Progress | None = None
    job: Job | None = None


@dataclass(frozen=True)
class Overview:
    """A workflow at one moment. Times in seconds, moments in Unix time."""

    name: str
    runs: tuple[Run, ...]
    jobs: tuple[Job, ...]  # of Slurm, those of no run too
    called_at_s: float | None  # since when a snakemake runs; null: none does
    elapsed_s: float | None
    cores: int  # that snakemake shares among trainings on this machine

    def among(self, state: State) -> list[Run]:
        """Return the runs in a state, in the order of the plan."""
        return [run for run in self.runs if run.state == state]

    def over(self) -> bool:
        """Return whether every planned run has its record."""
        return all(run.state == State.DONE for run in self.runs)


def moment_s(text: str) -> float | None:
    """Return a moment of a record or an attempt in Unix time; None where it is no moment."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
