"""E2: seconds of a step over batches at one N, and the time of trainings to the goal."""

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from dpscale.plan import Spec
from dpscale.studies.choose.config import GoalProtocol, GridProtocol
from dpscale.train.clock import make_clock
from dpscale.train.data import Batch, Dataset, Task
from dpscale.train.evaluate import evaluate
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.measurement import Measurement
from dpscale.train.memory import PeakMemory, give_back_what_is_freed
from dpscale.train.network import seeded_network
from dpscale.train.progress import Meter
from dpscale.train.quiet import Quiet
from dpscale.train.sync import Silent, Sync
from dpscale.train.timed import bucket_rows, ready_batches
from dpscale.train.worker import Place, Replica, build_replica, build_spec_loader

WARMUP_STEPS = 5  # DDP has rebuilt its buckets by then
FEWEST_STEPS = 5  # of a repeat
Rows = list[dict[str, Any]]


def endless(spec: Spec, task: Task, place: Place, *, seed: int) -> Iterator[Batch]:
    """Full batches of this worker, epoch after epoch in new orders."""
    loader = build_spec_loader(spec, task, place, seed=seed)
    for epoch in itertools.count(1):
        yield from loader.batches(epoch)


def resident(spec: Spec, task: Task, place: Place) -> Task:
    """The task with its train split on the device, where its batches are made there."""
    if not isinstance(task, Dataset) or spec.data.loader != "resident":
        return task
    return replace(task, train=task.train.on(place.device))


class _Cell:
    """One batch size: DDP and, of several workers, DDP that sends nothing, with their batches.

    task: its train split is where the batches are made, one for all cells.
    """

    def __init__(self, spec: Spec, task: Task, place: Place, batch: int, repeat_s: float) -> None:
        self.batch, self._place, self._task = batch, place, task
        self._spec = spec.model_copy(update={"per_worker_batch": batch})
        self._clock, self._silent = make_clock(place.device), Silent()
        self._supply = endless(self._spec, task, place, seed=spec.seeds[0])
        self._replicas: dict[str, Replica] = {}
        next(self._supply)  # what is there to load from is no memory of training
        peak = PeakMemory(place.device)
        self._add("ddp", None)
        self.steps = self._steps_of(repeat_s)
        self.peak_bytes = peak.bytes()  # before there is another replica
        if place.workers > 1:
            self._add("noop_hook", self._silent)

    def _add(self, arm: str, sync: Sync | None) -> None:
        """A replica, and steps that are not timed."""
        self._replicas[arm] = build_replica(
            self._spec, self._task, self._place, seed=self._spec.seeds[0], steps_per_epoch=1,
            sync=sync,
        )  # fmt: skip
        self.train(arm, WARMUP_STEPS)

    def _steps_of(self, repeat_s: float) -> int:
        """Steps that take about so long, the same on all workers."""
        seconds = self.train("ddp", FEWEST_STEPS).seconds["step_s"].sum() / FEWEST_STEPS
        slowest = max(self._place.share(float(seconds)))
        return max(FEWEST_STEPS, math.ceil(repeat_s / slowest))

    @property
    def arms(self) -> list[str]:
        """Names of the arms."""
        return list(self._replicas)

    def train(self, arm: str, steps: int) -> Epoch:
        """So many steps of an arm."""
        self._place.wait()
        batches = itertools.islice(self._supply, steps)
        return train_epoch(self._replicas[arm], batches, self._clock)

    def buckets(self, task: Task) -> Rows:
        """DDP's buckets and when they are full; none of one worker. task: in host memory."""
        if "noop_hook" not in self._replicas:
            return []
        ready = ready_batches(self._spec, task, self._place)
        return bucket_rows(self._replicas["noop_hook"], self._silent, ready)


def measure_grid(spec: "Spec[GridProtocol]", task: Task, place: Place) -> Measurement:
    """Seconds of some steps of each batch size and arm, in random order, and what they need."""
    asked = spec.protocol
    meter = Meter(spec.run, "repeat", 1 + asked.repeats, shown=place.leads)
    give_back_what_is_freed()  # from now on
    shared = resident(spec, task, place)
    # What the libraries take at first is no cell's memory.
    _Cell(spec, shared, place, min(asked.per_worker_batches), 0.0)
    cells, memory, buckets = [], Rows(), Rows()
    for batch in asked.per_worker_batches:
        cell = _Cell(spec, shared, place, batch, asked.repeat_s)
        peaks = enumerate(place.gather(cell.peak_bytes))
        memory += [
            {"per_worker_batch": batch, "rank": rank, "peak_bytes": size} for rank, size in peaks
        ]
        buckets += [{"per_worker_batch": batch, **row} for row in cell.buckets(task)]
        cells.append(cell)
    meter.step(note=f"{len(cells)} batch sizes are warm")
    rows: Rows = []
    order = random.Random(spec.run)  # of each launch another order, the same on all workers
    every = [(cell, arm) for cell in cells for arm in cell.arms]
    quiet = Quiet(place, again=asked.repeats)

    def repeated() -> list[tuple[_Cell, str, Epoch]]:
        """Each cell and arm once."""
        shuffled = order.sample(every, len(every))
        return [(cell, arm, cell.train(arm, cell.steps)) for cell, arm in shuffled]

    for repeat in range(asked.repeats):
        for cell, arm, epoch in quiet.undisturbed(repeat, repeated):
            rows.append({
                "timed_arm": arm, "per_worker_batch": cell.batch, "repeat": repeat,
                "rank": place.rank, "step_s": float(epoch.seconds["step_s"].mean()),
                "backward_s": float(epoch.seconds["backward_s"].mean()),
            })  # fmt: skip
        meter.step()
    of_all = [row for own in place.gather(rows) for row in own]
    fields = {"grid": of_all, "grid_memory": memory, "grid_buckets": buckets}
    fields["repeats"] = quiet.rows
    return Measurement(fields=fields)


def measure_goal(spec: "Spec[GoalProtocol]", task: Task, place: Place) -> Measurement:
    """Trainings to the goal, a seed each, and the time that their steps take.

    A first training looks after the steps of the search whether it is at the goal. It is then
    timed in a second one from the same start, which does not stop to look.
    """
    asked = spec.protocol
    task.require_a_score("choose")
    meter = Meter(spec.run, "training", 2, parts=len(spec.seeds), shown=place.leads)
    trials: Rows = []
    quiet = Quiet(place, again=len(spec.seeds))
    for number, seed in enumerate(spec.seeds):
        meter.begin(f"seed {seed}")
        training = _Training(spec, task, place, seed)
        steps, status = training.to_goal(asked)
        meter.step(note=f"{status} after {steps} steps")
        wall_s = None
        if status == "complete":
            wall_s = quiet.undisturbed(number, partial(training.seconds, steps))
        meter.step(note="" if wall_s is None else f"{wall_s:.3g} s")
        trials.append({
            "trial": number, "seed": seed, "role": "goal", "arm": spec.arm,
            "model": spec.model.name, "optimizer": spec.arm, "status": status,
            "learners": spec.workers, "per_learner_batch": spec.per_worker_batch,
            "global_batch": spec.workers * (spec.per_worker_batch or 0),
            "lr": spec.training.lr, "momentum": spec.training.momentum, "steps": steps,
            "steps_to_goal": steps if status == "complete" else None, "wall_s": wall_s,
        })  # fmt: skip
    return Measurement(fields={"trials": trials, "repeats": quiet.rows})


class _Training:
    """A replica that begins again and again as its seed has it; what DDP prepares is kept."""

    def __init__(self, spec: Spec, task: Task, place: Place, seed: int) -> None:
        self._spec, self._task, self._place, self._seed = spec, task, place, seed
        self._clock = make_clock(place.device)
        self._replica = build_replica(spec, task, place, seed=seed, steps_per_epoch=1)
        train_epoch(self._replica, self._begin(WARMUP_STEPS), self._clock)

    def _begin(self, steps: int | None = None) -> Iterator[Batch]:
        """Back to the start of the seed; its batches, so many of them."""
        begin_again(self._replica, self._spec, self._task, self._seed)
        supply = endless(self._spec, self._task, self._place, seed=self._seed)
        self._place.wait()
        return itertools.islice(supply, steps)

    def to_goal(self, asked: GoalProtocol) -> tuple[int, str]:
        """Steps that were made, and the status of a trial: at the goal it is complete."""
        supply = self._begin()
        for start, stop in itertools.pairwise((0, *looks(self._spec, self._task, asked))):
            part = itertools.islice(supply, stop - start)
            losses = train_epoch(self._replica, part, self._clock).losses
            finite = all(self._place.share(bool(torch.tensor(losses).isfinite().all())))
            if not finite:
                return stop, "infeasible"
            if self._place.agree(self._place.leads and self._at_goal(asked.goal_error_frac)):
                return stop, "complete"
        return stop, "incomplete"

    def _at_goal(self, error_frac: float) -> bool:
        module, device = self._replica.module, self._place.device
        batch = self._spec.per_worker_batch or 1
        _, accuracy = evaluate(module, self._task.validation, self._task, device, batch=batch)
        return accuracy is not None and 1 - accuracy <= error_frac

    def seconds(self, steps: int) -> float:
        """Seconds of so many steps from the start, of the slowest worker."""
        own = train_epoch(self._replica, self._begin(steps), self._clock).seconds["step_s"].sum()
        return float(max(self._place.share(float(own))))


def begin_again(replica: Replica, spec: Spec, task: Task, seed: int) -> None:
    """Gives a replica the values of its seed, and forgets what its optimiser has seen."""
    start = seeded_network(spec, task, seed).state_dict()
    replica.module.load_state_dict(start)
    replica.optimizer.state.clear()


def looks(spec: Spec, task: Task, asked: GoalProtocol) -> Iterator[int]:
    """Steps after which a search looks at the validation error, up to its last.

    After 1, 2, 4, 8 ... and whenever so many samples have been trained on.
    """
    batch = spec.workers * (spec.per_worker_batch or 0)
    last = min(asked.max_steps, asked.max_epochs * max(1, len(task.train) // batch))
    interval = max(1, asked.evaluation_samples // batch)
    for step in range(1, last + 1):
        if step == last or step % interval == 0 or step.bit_count() == 1:
            yield step
