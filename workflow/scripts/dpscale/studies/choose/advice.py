"""E2: what a training to the goal trains: the best cell of its number of workers."""

from collections.abc import Mapping
from typing import Any

from dpscale.plan.spec import Spec
from dpscale.studies.choose import GRID
from dpscale.studies.choose.config import GoalProtocol
from dpscale.studies.study import Completion, Earlier

# Whose measurements decide what a training of the choice trains, of its network and optimiser.
ADVISERS = ("search", GRID.name)


def advised(spec: Spec, earlier: Earlier) -> Spec:
    """Return the spec with batch, rate and momentum of the best measured cell of its N.

    Withheld where no cell of that N has a time to the goal.
    """
    from dpscale.derive.columns import known  # not above: who plans needs no pandas

    cells = earlier.derived["time_to_goal"]
    best = cells["best_of_workers"].fillna(False) & (cells["workers"] == spec.workers)
    if not best.any():
        notes = ", ".join(sorted(set(cells.loc[cells["workers"] == spec.workers, "note"].dropna())))
        why = f"no batch of {spec.workers} workers has a time to the goal"
        why += f" ({notes})" if notes else ""
        return spec.model_copy(update={"per_worker_batch": 1, "withheld": why})
    row = cells[best].iloc[0]
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
    return {"limits": [{"memory_bytes": spec.protocol.memory_bytes}]}


BY_ADVICE = Completion(_advises, advised, _limits)
