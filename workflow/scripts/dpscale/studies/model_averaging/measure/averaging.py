"""S3: trainings of k learners by synchronous model averaging, or by synchronous SGD.

The arms of a run are trained in turn, from one evaluation to the next: what disturbs the machine
disturbs all of them, so that their seconds can be set against each other.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dpscale.plan import Spec
from dpscale.studies.model_averaging.config import AveragingArm, AveragingProtocol
from dpscale.studies.model_averaging.measure.trainees import Trainee, build_trainee
from dpscale.train.data import Batch, Task, build_loader, on_device
from dpscale.train.evaluate import evaluate
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.stacked import dealt
from dpscale.train.worker import Place

WARMUP_STEPS = 3  # of a trainee that is thrown away: the first steps build what later ones reuse


def measure_averaging(spec: "Spec[AveragingProtocol]", task: Task, place: Place) -> Measurement:
    """The trials of a run; a loss that is not finite ends that trial and makes it `diverged`."""
    protocol = spec.protocol
    if any(arm.role == "rate" for arm in protocol.arms):
        task.require_a_score("model_averaging.rates")
    planned = [(arm, seed) for seed in spec.seeds for arm in protocol.arms]
    trials = [
        Trial(number, arm, seed, spec, task, place) for number, (arm, seed) in enumerate(planned)
    ]
    rounds = max(len(trial.stops) for trial in trials) * spec.training.epochs
    meter = Meter(spec.run, "evaluation", rounds, shown=place.leads)
    while unfinished := [trial for trial in trials if not trial.ended]:
        for trial in unfinished:
            trial.advance()
        meter.step(note=unfinished[0].seen())
    diverged = [trial.arm.name for trial in trials if trial.status == "diverged"]
    return Measurement(
        message=f"the loss was not finite for {', '.join(diverged)}" if diverged else None,
        fields={
            "trials": [trial.row(protocol) for trial in trials],
            "evaluations": [row for trial in trials for row in trial.evaluations],
        },
    )


class Trial:
    """One arm in training from one evaluation to the next."""

    def __init__(
        self,
        number: int,
        arm: AveragingArm,
        seed: int,
        spec: "Spec[AveragingProtocol]",
        task: Task,
        place: Place,
    ) -> None:
        self.arm, self.status, self.evaluations = arm, "complete", list[dict[str, Any]]()
        self._number, self._seed = number, seed
        self._spec, self._task, self._place = spec, task, place
        # One loader for all that this process trains, so that loading costs every arm alike.
        self._loader = build_loader(
            task.train, task, loader="resident", workers=place.workers, rank=place.rank,
            batch=arm.learners * arm.batch // place.workers, seed=seed, augment=spec.data.augment,
            device=place.device,
        )  # fmt: skip
        self._steps_per_epoch = len(self._loader)
        evaluations = spec.protocol.evaluations_per_epoch
        self.stops = _stops(self._steps_per_epoch, evaluations)
        warming, supply = self._fresh(), self._batches(0)
        for _ in range(min(WARMUP_STEPS, self._steps_per_epoch)):
            warming.train(next(supply))
        self._trainee = self._fresh()
        self._step, self._wall_s = 0, 0.0
        self._supply: Iterator[Batch] = iter(())

    @property
    def ended(self) -> bool:
        """Whether nothing is left to train."""
        last = self._spec.training.epochs * self._steps_per_epoch
        return self.status == "diverged" or self._step == last

    def advance(self) -> None:
        """Trains up to the next evaluation and makes it."""
        epoch, done = divmod(self._step, self._steps_per_epoch)
        if done == 0:
            self._supply = self._batches(epoch + 1)
        count = next(stop for stop in self.stops if stop > done) - done
        self._place.wait()
        start, losses = time.perf_counter(), list[Tensor]()
        for _ in range(count):
            losses.append(self._trainee.train(next(self._supply)))
        self._place.wait()
        self._wall_s += time.perf_counter() - start
        self._step += count
        # Over these steps and all processes, not finite where any of them is not.
        loss = float(np.mean(self._place.share(float(torch.stack(losses).mean()))))
        if not np.isfinite(loss):
            self.status = "diverged"
        self._evaluate(loss)

    def seen(self) -> str:
        """The last test accuracy in words; empty where it is not known here."""
        found = self.evaluations[-1].get("test_accuracy_frac")
        return "" if found is None else f"{self.arm.name}: test accuracy {found:.1%}"

    def row(self, protocol: AveragingProtocol) -> dict[str, Any]:
        """The trial as a row of `trials`."""
        arm, trainee = self.arm, self._trainee
        return {
            "trial": self._number, "seed": self._seed, "role": arm.role, "arm": arm.name,
            "model": self._spec.model.name, "optimizer": arm.algorithm, "status": self.status,
            "learners": arm.learners, "per_learner_batch": arm.batch,
            "global_batch": arm.learners * arm.batch, "local_steps": arm.tau, "lr": arm.lr,
            "momentum": self._spec.training.momentum, "steps": self._step,
            "rounds": trainee.rounds, "sent_bytes": trainee.sent_bytes, "wall_s": self._wall_s,
            "alpha": arm.alpha, "target_accuracy_frac": protocol.target_accuracy_frac,
            "median_of": protocol.median_of,
        }  # fmt: skip

    def _evaluate(self, loss: float) -> None:
        network = self._trainee.evaluated()  # all processes take part in it
        finite = bool(np.isfinite(loss))
        row: dict[str, Any] = {
            "trial": self._number, "step": self._step, "epoch": self._step / self._steps_per_epoch,
            "lr": self._trainee.lr(), "train_loss": loss if finite else None,
            "wall_s": self._wall_s,
        }  # fmt: skip
        if self._place.leads and finite:
            validation, test = (
                evaluate(network, split, self._task, self._place.device, batch=self.arm.batch)
                for split in (self._task.validation, self._task.test)
            )
            row |= {"validation_loss": validation[0], "validation_accuracy_frac": validation[1],
                    "test_accuracy_frac": test[1]}  # fmt: skip
        self.evaluations.append(row)

    def _batches(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch: of learners [learners, b, ...], of one model [b, ...]."""
        device = self._place.device
        batches = (on_device(batch, device) for batch in self._loader.batches(epoch))
        if self.arm.algorithm == "sgd":
            return batches
        own = self.arm.learners // self._place.workers
        return (dealt(batch, own) for batch in batches)

    def _fresh(self) -> Trainee:
        network = seeded_network(self._spec, self._task, self._seed)
        return build_trainee(
            network, self._task, self.arm, self._spec.training, self._place, self._steps_per_epoch
        )


def _stops(steps: int, evaluations: int) -> list[int]:
    """Steps of an epoch after which is evaluated, the last of them included."""
    return sorted({max(1, round(steps * part / evaluations)) for part in range(1, evaluations + 1)})
