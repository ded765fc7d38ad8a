"""S3: throughput against the number of learners that train side by side on one device."""

import itertools
import random
import time
from copy import deepcopy
from typing import Any

from torch import nn
from torch.utils.data import default_collate

from dpscale.plan import Spec
from dpscale.studies.model_averaging.config import Algorithm, AveragingArm, LearnersProtocol
from dpscale.studies.model_averaging.measure.trainees import build_trainee
from dpscale.train.data import Batch, Task, build_loader, on_device, samples_of
from dpscale.train.machine.device import synchronise
from dpscale.train.machine.quiet import Quiet
from dpscale.train.measurement import Measurement
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.worker import Place

WARMUP_STEPS = 5
READY_BATCHES = 8  # of each learner, on the device: loading is not what is timed


def measure_learners(spec: "Spec[LearnersProtocol]", task: Task, place: Place) -> Measurement:
    """Times 1 to `max_learners` learners, interleaved in random order in every repeat.

    A step is the gradients of all learners, their updates and one averaging. Plain SGD of one
    network, unstacked and without averaging, is timed among them: what a stack costs by itself.
    A repeat takes about `repeat_s` seconds.
    """
    protocol = spec.protocol
    assert spec.per_worker_batch is not None
    loader = build_loader(
        task.train,
        task,
        loader="resident",
        batch=spec.per_worker_batch,
        workers=1,
        rank=0,
        seed=spec.seeds[0],
        augment=False,
        device=place.device,
    )
    some = itertools.islice(loader.batches(0), READY_BATCHES)
    ready = [on_device(batch, place.device) for batch in some]
    network = seeded_network(spec, task, spec.seeds[0])
    timed = [_Timed(k, network, task, ready, spec, place) for k in range(protocol.max_learners + 1)]
    # Of each launch another order.
    order, rows = random.Random(f"{spec.run} {spec.seeds[0]}"), list[dict[str, Any]]()
    quiet = Quiet(place, again=protocol.repeats)
    meter = Meter(spec.run, "repeat", protocol.repeats, shown=place.leads)

    def repeated() -> list[tuple[_Timed, int, float]]:
        """Each number of learners once: samples, and the seconds that they took."""
        shuffled = order.sample(timed, len(timed))
        return [(cell, *cell.repeat(protocol.repeat_s)) for cell in shuffled]

    for repeat in range(protocol.repeats):
        for cell, samples, seconds in quiet.undisturbed(repeat, repeated):
            rows.append(
                {
                    "learners": cell.learners,
                    "per_learner_batch": spec.per_worker_batch,
                    "stacked": cell.stacked,
                    "repeat": repeat,
                    "samples": samples,
                    "seconds": seconds,
                    "threshold_frac": protocol.threshold_frac,
                }
            )
        meter.step(samples_per_s=rows[-1]["samples"] / rows[-1]["seconds"])
    return Measurement(fields={"throughputs": rows, "repeats": quiet.rows})


class _Timed:
    """So many stacked learners, or with 0 one plain network; warm, their batches at hand."""

    def __init__(
        self,
        stacked: int,
        network: nn.Module,
        task: Task,
        ready: list[Batch],
        spec: Spec,
        place: Place,
    ) -> None:
        self.stacked, self.learners, batch = stacked > 0, max(stacked, 1), samples_of(ready[0])
        algorithm: Algorithm = "sma" if self.stacked else "sgd"
        arm = AveragingArm(
            name=algorithm,
            algorithm=algorithm,
            learners=self.learners,
            tau=1,
            batch=batch,
            lr=spec.training.lr,
            alpha=1 / self.learners,
        )
        self._trainee = build_trainee(deepcopy(network), task, arm, spec.training, place, 1)
        self._batches = itertools.cycle(_stacked(ready, stacked) if stacked else ready)
        self._samples, self._device = self.learners * batch, place.device
        self._train(WARMUP_STEPS)
        self._step_s = self._train(WARMUP_STEPS) / WARMUP_STEPS

    def repeat(self, least_s: float) -> tuple[int, float]:
        """(samples, seconds) of steps that take about `least_s`; one before them warms caches."""
        steps = max(WARMUP_STEPS, round(least_s / self._step_s))
        self._train(1)
        return steps * self._samples, self._train(steps)

    def _train(self, steps: int) -> float:
        synchronise(self._device)
        start = time.perf_counter()
        for _ in range(steps):
            self._trainee.learn(next(self._batches))
        synchronise(self._device)
        return time.perf_counter() - start


def _stacked(ready: list[Batch], learners: int) -> list[Batch]:
    """Batches [learners, b, ...]: each learner begins with another of the batches at hand."""
    turns = [[(one + start) % len(ready) for one in range(learners)] for start in range(len(ready))]
    return [default_collate([ready[place] for place in turn]) for turn in turns]
