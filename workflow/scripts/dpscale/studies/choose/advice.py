"""E2: what a training to the goal trains: the best cell of its number of workers."""

from collections.abc import Mapping
from typing import Any

from dpscale.plan.spec import Spec
from dpscale.studies.choose import GRID
from dpscale.studies.choose.config import GoalProtocol
from dpscale.studies.study import Completion, Earlier

# Whose measurements decide what a training of the choice trains, of its network and optimiser.
ADVISERS = ("search", GRID.name)


def advised(spec: "Spec[GoalProtocol]", earlier: Earlier) -> Spec:
    """Return the spec with batch, rate and momentum of the measured cell of its N and rank.

    Withheld where no cell, or no further one, of that N has a time to the goal.
    """
    from dpscale.derive.columns import known  # not above: who plans needs no pandas

    cells = earlier.derived["time_to_goal"]
    rank = spec.protocol.rank_of_workers
    ranked = (cells["rank_of_workers"] == rank) & (cells["workers"] == spec.workers)
    if not ranked.any():
        notes = ", ".join(sorted(set(cells.loc[cells["workers"] == spec.workers, "note"].dropna())))
        batch = "no batch" if rank == 1 else "no second batch"
        why = f"{batch} of {spec.workers} workers has a time to the goal"
        why += f" ({notes})" if notes else ""
        return spec.model_copy(update={"per_worker_batch": 1, "withheld": why})
    row = cells[ranked].iloc[0]
    momentum = float(row["momentum"])
    training = spec.training.model_copy(
        update={
            "lr": float(row["lr"]),
            "momentum": momentum,
            "nesterov": spec.training.nesterov and momentum > 0,
        }
    )
    batch = known(row["per_worker_batch"])
    return spec.model_copy(update={"per_worker_batch": batch, "training": training})


def _advises(spec: Spec, other: Spec) -> bool:
    return other.kind in ADVISERS and (other.model, other.arm) == (spec.model, spec.arm)


def _limits(spec: "Spec[GoalProtocol]") -> Mapping[str, list[dict[str, Any]]]:
    """The rows of `limits` as far as they decide what is trained."""
    names = ("deadline_s", "worker_hours", "memory_bytes")
    return {"limits": [{name: getattr(spec.protocol, name) for name in names}]}


BY_ADVICE = Completion(_advises, advised, _limits)
