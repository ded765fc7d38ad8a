"""S3: trainings of k learners by synchronous model averaging, or by synchronous SGD.

The arms of a run are trained in turn, from one evaluation to the next: what disturbs the machine
disturbs all of them, so that their seconds can be set against each other.
"""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dpscale.config.model_averaging import AveragingArm, AveragingProtocol
from dpscale.plan import Spec
from dpscale.train.data import Batch, Dataset, Loader, build_loader
from dpscale.train.evaluate import evaluate
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.stacked import dealt
from dpscale.train.studies.averaging_learners import Trainee, build_trainee
from dpscale.train.worker import Place

WARMUP_STEPS = 3  # of a trainee that is thrown away: the first steps build what later ones reuse


def measure_averaging(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """The trials of a run; a loss that is not finite ends that trial and makes it `diverged`."""
    protocol = spec.averaging
    assert isinstance(protocol, AveragingProtocol)
    planned = [(arm, seed) for seed in spec.seeds for arm in protocol.arms]
    trials = [
        Trial(number, arm, seed, spec, dataset, place) for number, (arm, seed) in enumerate(planned)
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
        self, number: int, arm: AveragingArm, seed: int, spec: Spec, dataset: Dataset, place: Place
    ) -> None:
        assert isinstance(spec.averaging, AveragingProtocol)
        self.arm, self.status, self.evaluations = arm, "complete", list[dict[str, Any]]()
        self._number, self._seed = number, seed
        self._spec, self._dataset, self._place = spec, dataset, place
        self._loader = _loader(arm, seed, spec, dataset, place)
        self._steps_per_epoch = len(self._loader)
        self.stops = _stops(self._steps_per_epoch, spec.averaging.evaluations_per_epoch)
        self._warm_up()
        self._trainee = self._fresh()
        self._epoch, self._step, self._wall_s = 0, 0, 0.0
        self._supply: Iterator[Batch] = iter(())

    @property
    def ended(self) -> bool:
        """Whether nothing is left to train."""
        last = self._spec.training.epochs * self._steps_per_epoch
        return self.status == "diverged" or self._step == last

    def advance(self) -> None:
        """Trains up to the next evaluation and makes it."""
        done = self._step % self._steps_per_epoch
        if done == 0:
            self._epoch += 1
            self._supply = self._batches(self._epoch)
        count = next(stop for stop in self.stops if stop > done) - done
        self._place.wait()
        start, losses = time.perf_counter(), list[Tensor]()
        for _ in range(count):
            losses.append(self._trainee.train(next(self._supply)))
        self._place.wait()
        self._wall_s += time.perf_counter() - start
        self._step += count
        mean = self._mean(torch.stack(losses))
        if not np.isfinite(mean):
            self.status = "diverged"
        self._evaluate(mean)

    def seen(self) -> str:
        """The last test accuracy in words; empty where it is not known here."""
        found = self.evaluations[-1].get("test_accuracy_frac")
        return "" if found is None else f"{self.arm.name}: test accuracy {found:.1%}"

    def row(self, protocol: AveragingProtocol) -> dict[str, Any]:
        """The trial as a row of `trials`."""
        arm, training = self.arm, self._spec.training
        return {
            "trial": self._number,
            "seed": self._seed,
            "role": arm.role,
            "arm": arm.name,
            "model": self._spec.model.name,
            "optimizer": arm.algorithm,
            "status": self.status,
            "learners": arm.learners,
            "per_learner_batch": arm.batch,
            "global_batch": arm.learners * arm.batch,
            "local_steps": arm.tau,
            "lr": arm.lr,
            "momentum": training.momentum,
            "steps": self._step,
            "rounds": self._trainee.rounds,
            "sent_bytes": self._trainee.sent_bytes,
            "wall_s": self._wall_s,
            "alpha": arm.alpha,
            "target_accuracy_frac": protocol.target_accuracy_frac,
            "median_of": protocol.median_of,
        }

    def _mean(self, losses: Tensor) -> float:
        """Mean loss over these steps and all processes, not finite where any of them is not."""
        values = self._place.share(float(losses.mean()))
        return float(np.mean(values))

    def _evaluate(self, loss: float) -> None:
        network = self._trainee.evaluated()  # all processes take part in it
        row: dict[str, Any] = {
            "trial": self._number,
            "step": self._step,
            "epoch": self._step / self._steps_per_epoch,
            "lr": self._trainee.lr(),
            "train_loss": loss if np.isfinite(loss) else None,
            "wall_s": self._wall_s,
        }
        if self._place.leads and np.isfinite(loss):
            row |= _accuracies(network, self._dataset, self._place)
        self.evaluations.append(row)

    def _batches(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch: of learners [learners, b, ...], of one model [b, ...]."""
        batches = self._loader.batches(epoch)
        if self.arm.algorithm == "sgd":
            return batches
        own = self.arm.learners // self._place.workers
        return (dealt(batch, own) for batch in batches)

    def _fresh(self) -> Trainee:
        network = seeded_network(self._spec, self._dataset, self._seed)
        return build_trainee(
            network, self.arm, self._spec.training, self._place, self._steps_per_epoch
        )

    def _warm_up(self) -> None:
        trainee, supply = self._fresh(), self._batches(0)
        for _ in range(min(WARMUP_STEPS, self._steps_per_epoch)):
            trainee.train(next(supply))


def _loader(arm: AveragingArm, seed: int, spec: Spec, dataset: Dataset, place: Place) -> Loader:
    """One loader for all that this process trains, so that loading costs every arm alike."""
    return build_loader(
        dataset.train, dataset, loader="resident", batch=arm.learners * arm.batch // place.workers,
        workers=place.workers, rank=place.rank, seed=seed, augment=spec.data.augment,
        device=place.device,
    )  # fmt: skip


def _accuracies(network: nn.Module, dataset: Dataset, place: Place) -> dict[str, float | None]:
    validation = evaluate(network, dataset.validation, dataset, place.device)
    test = evaluate(network, dataset.test, dataset, place.device)
    return {
        "validation_loss": validation[0] if validation else None,
        "validation_accuracy_frac": validation[1] if validation else None,
        "test_accuracy_frac": test[1] if test else None,
    }


def _stops(steps: int, evaluations: int) -> list[int]:
    """Steps of an epoch after which is evaluated, the last of them included."""
    return sorted({max(1, round(steps * part / evaluations)) for part in range(1, evaluations + 1)})
