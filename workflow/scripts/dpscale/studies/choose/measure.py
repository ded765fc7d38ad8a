"""E2: seconds of a step over batches at one N, and the time of trainings to the goal."""

import math
import random
from dataclasses import replace
from functools import partial
from typing import Any

from dpscale.plan import Spec
from dpscale.records.columns import TableRow
from dpscale.studies.choose.config import GoalProtocol, GridProtocol
from dpscale.train.clock import make_clock
from dpscale.train.communication.sync import Silent, Sync
from dpscale.train.data import Dataset, Task
from dpscale.train.loop import Epoch, train_epoch
from dpscale.train.machine.memory import PeakMemory, give_back_what_is_freed
from dpscale.train.machine.quiet import Quiet
from dpscale.train.measurement import Measurement
from dpscale.train.progress import Meter
from dpscale.train.replica import ReplicaStepper
from dpscale.train.timed import bucket_rows, ready_batches
from dpscale.train.training import Goal, Supply, Training, Trial, goal_stops, settings, tables
from dpscale.train.worker import Place, Replica, build_replica, build_spec_loader

WARMUP_STEPS = 5  # DDP has rebuilt its buckets by then
FEWEST_STEPS = 5  # of a repeat
Rows = list[dict[str, Any]]


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
        self._supply = Supply(build_spec_loader(self._spec, task, place, seed=spec.seeds[0]))
        self._replicas: dict[str, Replica] = {}
        next(self._supply.take(1))  # what is there to load from is no memory of training
        peak = PeakMemory(place.device)
        self._add("ddp", None)
        self.steps = self._steps_of(repeat_s)
        self.peak_bytes = peak.bytes()  # before there is another replica
        if place.workers > 1:
            self._add("noop_hook", self._silent)

    def _add(self, arm: str, sync: Sync | None) -> None:
        """A replica, and steps that are not timed."""
        self._replicas[arm] = build_replica(
            self._spec,
            self._task,
            self._place,
            seed=self._spec.seeds[0],
            steps_per_epoch=1,
            sync=sync,
        )
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
        return train_epoch(self._replicas[arm], self._supply.take(steps), self._clock)

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
            rows.append(
                {
                    "timed_arm": arm,
                    "per_worker_batch": cell.batch,
                    "repeat": repeat,
                    "rank": place.rank,
                    "step_s": float(epoch.seconds["step_s"].mean()),
                    "backward_s": float(epoch.seconds["backward_s"].mean()),
                }
            )
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
    trials: list[Trial] = []
    quiet = Quiet(place, again=len(spec.seeds))
    for number, seed in enumerate(spec.seeds):
        meter.begin(f"seed {seed}")
        stepper = ReplicaStepper(spec, task, place, seed, count_correct=False)
        stepper.train(stepper.supply.take(WARMUP_STEPS))
        stepper.begin_again()
        (trial,) = _training(asked, stepper, settings(spec, role="goal", optimizer=spec.arm)).run()
        meter.step(note=f"{trial.status} after {trial.steps} steps")
        trial.wall_s = None
        if trial.status == "complete":
            trial.wall_s = quiet.undisturbed(number, partial(_seconds, stepper, trial.steps))
        meter.step(note="" if trial.wall_s is None else f"{trial.wall_s:.3g} s")
        trials.append(trial)
    return Measurement(fields=tables(trials) | {"repeats": quiet.rows})


def _training(asked: GoalProtocol, stepper: ReplicaStepper, given: TableRow) -> Training:
    """A training to the goal that looks for it as the search did."""
    batch, samples = given["global_batch"], len(stepper.task.train)
    return Training(
        [Trial(stepper.seed, given)],
        stepper,
        stepper.supply,
        goal_stops(max(1, asked.evaluation_samples // batch)),
        max_steps=min(asked.max_steps, asked.max_epochs * max(1, samples // batch)),
        goal=Goal(asked.goal_error_frac),
        splits=["validation"],
    )


def _seconds(stepper: ReplicaStepper, steps: int) -> float:
    """Seconds of so many steps from the start, of the slowest worker."""
    stepper.begin_again()
    stepper.place.wait()
    stepper.train(stepper.supply.take(steps))
    return float(stepper.columns()["steps_s"])
