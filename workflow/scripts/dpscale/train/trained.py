"""Trainings (Q4, Q5, Q7, H1 to H6): loss, accuracy and time of every epoch, seed by seed.

`wall_s` of an epoch is what a user waits for its training: loading, steps, and the slowest worker;
`evaluation_s` is what its evaluation takes.
"""

import hashlib
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
from dpscale.train.measurement import Measurement, StepLog, gather_steps, mean_of_known
from dpscale.train.progress import Meter
from dpscale.train.replica import ReplicaStepper
from dpscale.train.training import Training, Trial, divergence, epoch_stops, settings, tables
from dpscale.train.worker import Place, Replica, build_replica, usual_sync

FIRST_INDICES = 8  # of a sample order, enough to see that two orders are one


def measure_trained(spec: "Spec[TrainingProtocol]", task: Task, place: Place) -> Measurement:
    """Trains once a seed; a loss that is not finite ends that seed and makes it `diverged`."""
    log, quiet = StepLog(place.rank), Quiet(place, again=0)  # no epoch can be had again
    rows: dict[str, list[TableRow]] = {"replicas": [], "orders": []}
    epochs, trials = spec.training.epochs, list[Trial]()
    meter = Meter(spec.run, "epoch", epochs, parts=len(spec.seeds), shown=place.leads)
    startup_s: float | None = None
    for seed in spec.seeds:
        meter.begin(f"seed {seed}")
        stepper = _Observed(spec, task, place, seed, meter, log)
        trials += Training(
            [Trial(seed, settings(spec))],
            stepper,
            stepper.supply,
            epoch_stops(len(stepper.loader), epochs),
            max_steps=epochs * len(stepper.loader),
            each=True,
            meter=meter,
            quiet=quiet,
            after=partial(_observe, stepper, rows),
        ).run()
        if spec.protocol.cold_start:
            startup_s = startup_s or stepper.startup_s
    message = divergence(trials)
    return Measurement(
        status="diverged" if message else "complete",
        message=message,
        steps=gather_steps(log, place),
        fields={**tables(trials), **rows, "startup_s": startup_s}
        | ({"repeats": quiet.rows} if spec.protocol.timed else {}),
    )


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


def _observe(stepper: _Observed, rows: dict[str, list[TableRow]], row: TableRow) -> None:
    """Add what replicas and orders of samples are after an epoch."""
    place, key = stepper.place, {"seed": stepper.seed, "epoch": round(row["epoch"])}
    if place.workers > 1:
        # Every worker evaluated with the running statistics that it holds itself.
        seen = {"test_accuracy_frac": row["test_accuracy_frac"]}
        everyone = place.gather(compare_to_first(stepper.replica.module, place) | seen)
        rows["replicas"] += [key | other for other in everyone]
    rows["orders"] += _order_rows(stepper.loader, key, place)


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
