"""Trainings (Q4, Q5, Q7, H1 to H6): loss, accuracy and time of every epoch, seed by seed.

`wall_s` of an epoch is what a user waits for its training: loading, steps, and the slowest worker;
`evaluation_s` is what its evaluation takes.
"""

import hashlib
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dpscale.plan import Spec
from dpscale.plan.spec import TrainingProtocol
from dpscale.processes import age_s
from dpscale.records.columns import TableRow
from dpscale.train.data import Loader, Task
from dpscale.train.machine.device import Utilisation
from dpscale.train.machine.quiet import Quiet
from dpscale.train.measurement import (
    Measurement,
    StepLog,
    gather_steps,
    join_columns,
    mean_of_known,
)
from dpscale.train.progress import Meter
from dpscale.train.replica import ReplicaStepper
from dpscale.train.training import Training, Trial, divergence, epoch_stops, settings, tables
from dpscale.train.worker import Place, Replica, build_replica, usual_sync

FIRST_INDICES = 8  # of a sample order, enough to see that two orders are one


@dataclass
class _Trained:
    """What the training of a seed gave: its trial, its steps, and rows of further tables."""

    log: StepLog
    trials: list[Trial] = field(default_factory=list)
    replicas: list[TableRow] = field(default_factory=list)
    orders: list[TableRow] = field(default_factory=list)


def measure_trained(spec: "Spec[TrainingProtocol]", task: Task, place: Place) -> Measurement:
    """Trains once a seed; a loss that is not finite ends that seed and makes it `diverged`.

    Where times count, a training that others disturbed is made again, whole, since no epoch can be
    had again; at most as often as there are seeds. What a seed learns is the same.
    """
    seeds, timed = spec.seeds, spec.protocol.timed
    quiet = Quiet(place, again=len(seeds) if timed else 0)
    meter = Meter(spec.run, "epoch", spec.training.epochs, parts=len(seeds), shown=place.leads)
    startups_s: dict[int, float | None] = {}
    train = partial(_train, spec, task, place, meter, startups_s)
    made = [quiet.undisturbed(number, partial(train, seed)) for number, seed in enumerate(seeds)]
    trials = [trial for one in made for trial in one.trials]
    message = divergence(trials)
    return Measurement(
        status="diverged" if message else "complete",
        message=message,
        steps=join_columns([gather_steps(one.log, place) for one in made]),
        fields={
            **tables(trials),
            "replicas": [row for one in made for row in one.replicas],
            "orders": [row for one in made for row in one.orders],
            "startup_s": startups_s[seeds[0]] if spec.protocol.cold_start else None,
        }
        | ({"repeats": quiet.rows} if timed else {}),
    )


def _train(
    spec: "Spec[TrainingProtocol]",
    task: Task,
    place: Place,
    meter: Meter,
    startups_s: dict[int, float | None],
    seed: int,
) -> _Trained:
    """Train with a seed; startups_s gets the age of the process at the first step of each."""
    if seed in startups_s:
        meter.extend(1)
    meter.begin(f"seed {seed}" + (" again" if seed in startups_s else ""))
    made, epochs = _Trained(StepLog(place.rank)), spec.training.epochs
    stepper = _Observed(spec, task, place, seed, meter, made.log)
    made.trials = Training(
        [Trial(seed, settings(spec))],
        stepper,
        stepper.supply,
        epoch_stops(len(stepper.loader), epochs),
        max_steps=epochs * len(stepper.loader),
        each=True,
        meter=meter,
        after=partial(_observe, stepper, made),
    ).run()
    startups_s.setdefault(seed, stepper.startup_s)
    return made


class _Observed(ReplicaStepper):
    """A replica whose steps are kept, and of whose epochs the utilisation is known."""

    spec: "Spec[TrainingProtocol]"

    def __init__(
        self,
        spec: "Spec[TrainingProtocol]",
        task: Task,
        place: Place,
        seed: int,
        meter: Meter,
        log: StepLog,
    ) -> None:
        set_epoch = spec.protocol.set_epoch
        super().__init__(spec, task, place, seed, meter=meter, set_epoch=set_epoch)
        self.startup_s: float | None = None
        self._log, self._epochs = log, 0

    def build(self) -> Replica:
        """Return the replica that is trained, whose workers agree as the spec says."""
        sync = usual_sync(self.spec, broadcast_buffers=self.spec.protocol.broadcast_buffers)
        return build_replica(
            self.spec,
            self.task,
            self.place,
            seed=self.seed,
            steps_per_epoch=len(self.loader),
            sync=sync,
        )

    def meanwhile(self) -> Utilisation:
        """Return what watches the device while it trains."""
        self.startup_s = self.startup_s or age_s()
        self._utilisation = Utilisation(self.place.device, self.spec.hardware.threads_per_worker)
        return self._utilisation

    def columns(self) -> TableRow:
        """Keep the steps; returns columns of `curves`, of the utilisation the mean over workers."""
        self._epochs += 1
        self._log.add(self.epoch, seed=self.seed, arm=None, repeat=0, number=self._epochs)
        busy_frac = mean_of_known(self.place.share(self._utilisation.frac))
        return super().columns() | {"utilisation_frac": busy_frac}


def _observe(stepper: _Observed, made: _Trained, row: TableRow) -> None:
    """Add what replicas and orders of samples are after an epoch."""
    place, key = stepper.place, {"seed": stepper.seed, "epoch": round(row["epoch"])}
    if place.workers > 1:
        # Every worker evaluated with the running statistics that it holds itself.
        seen = {"test_accuracy_frac": row["test_accuracy_frac"]}
        everyone = place.gather(compare_to_first(stepper.replica.module, place) | seen)
        made.replicas += [key | other for other in everyone]
    made.orders += _order_rows(stepper.loader, key, place)


def _order_rows(loader: Loader, key: dict[str, int], place: Place) -> list[dict[str, Any]]:
    order = loader.order(key["epoch"])
    first = " ".join(str(int(i)) for i in order[:FIRST_INDICES])
    own = {"rank": place.rank, "digest": digest(order), "first_indices": first}
    return [key | other for other in place.gather(own)]


def flat_parameters(module: nn.Module) -> Tensor:
    """All parameters as one float32 vector."""
    return torch.cat([p.detach().float().reshape(-1) for p in module.parameters()])


def flat_running_statistics(module: nn.Module) -> Tensor:
    """All floating-point buffers (running means and variances) as one vector; may be empty.

    Entries that are not finite, such as those of a mask, are 0 in it.
    """
    buffers = [b.detach().float().reshape(-1) for b in module.buffers() if b.is_floating_point()]
    together = torch.cat(buffers) if buffers else torch.empty(0)
    return together.nan_to_num(0.0, 0.0, 0.0)


def digest(vector: Tensor) -> str:
    """SHA-256 of a tensor's bytes: equal on two workers where they agree bitwise."""
    return hashlib.sha256(vector.cpu().numpy().tobytes()).hexdigest()


def compare_to_first(module: nn.Module, place: Place) -> dict[str, Any]:
    """This worker's parameters and running statistics against rank 0's.

    Returns the digests, `parameter_difference_max` (largest absolute difference) and
    `buffer_difference_frac` (norm of the difference over the norm of rank 0's, null where that is
    0 and the difference is not).
    """
    parameters, buffers = flat_parameters(module), flat_running_statistics(module)
    first_parameters, first_buffers = _of_rank_0(parameters, place), _of_rank_0(buffers, place)
    apart, norm = (buffers - first_buffers).norm().item(), first_buffers.norm().item()
    difference_frac = apart / norm if norm else (0.0 if len(buffers) and not apart else None)
    return {
        "rank": place.rank,
        "parameter_digest": digest(parameters),
        "parameter_difference_max": (parameters - first_parameters).abs().max().item(),
        "buffer_digest": digest(buffers),
        "buffer_difference_frac": difference_frac,
    }


def _of_rank_0(vector: Tensor, place: Place) -> Tensor:
    copy = vector.clone()
    if place.workers > 1 and len(copy):
        dist.broadcast(copy, src=0)
    return copy
