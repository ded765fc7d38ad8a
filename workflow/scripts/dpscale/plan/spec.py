"""One run as a value: everything that is needed to start it, and to replay it by hand."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import Field, field_validator

from dpscale.config.root import ArmsSection, Config
from dpscale.config.sections import (
    DataConfig,
    HardwareConfig,
    ModelConfig,
    OwnConfig,
    PositiveInt,
    ScheduleConfig,
    Section,
    TrainingConfig,
)


class Kind(NamedTuple):
    """What a run does.

    version: raised by hand when what is measured changes, which makes every record stale;
    measure: module and function, imported when a run asks for them; timed: nothing is learnt, so
    that learning rates do not concern it; advice: module and function that complete the spec of a
    run with `advised_by` from the derived tables of those runs.
    """

    name: str
    version: int
    measure: str
    timed: bool = False
    advice: str | None = None


TIMED = Kind("timed", 4, "dpscale.train.timed:measure_timed", timed=True)
TRAINING = Kind("training", 3, "dpscale.train.trained:measure_trained")
LINK = Kind("link", 2, "dpscale.train.link:measure_link", timed=True)
KINDS = (TIMED, TRAINING, LINK)

# Q1 finds the largest batch without DDP, which keeps a second copy of the gradients and buffers.
DDP_SHARE = 0.9
# Timed runs are not there to learn: a rate so small that no network diverges.
TIMING_LR = 1e-3

Protocol = TypeVar("Protocol", bound=Section)
TimedArm = Literal[
    "with_loading",
    "without_loading",  # as the spec's workers agree: DDP where there are several
    "solo",  # rank 0 alone, without DDP, while the others wait
    "reference",  # copies without DDP, side by side, which do not communicate
    "noop_hook",  # DDP that sends nothing
    "buckets",  # the all-reduce of DDP's buckets, without training
    "ddp_of_one",  # DDP around one worker
    "fp16",  # DDP with gradients compressed on the way
    "bf16",
    "powersgd",
    "accumulation",  # DDP whose batch comes in micro-batches
    "zero1",  # DDP with the optimiser's state sharded
    "fsdp",  # parameters, gradients and optimiser's state sharded, gathered twice a step
    "fsdp_kept",  # the same, gathered once a step
]


DIRECT_ARMS: tuple[TimedArm, ...] = ("solo", "reference", "noop_hook", "buckets")


class Timing(Section):
    """What a timed run repeats."""

    arms: tuple[TimedArm, ...] = Field(description="Arms, interleaved in random order.")
    repeats: int = Field(description="Timed repeats of each arm.")
    min_steps: int = Field(description="Steps of a repeat at least.")
    warmup_steps: int = Field(description="Steps before the first timed one.")
    max_steps: int | None = Field(None, description="Steps of an epoch at most; null: all.")
    direct_steps: PositiveInt | None = Field(
        None, description="Steps of a repeat of the arms that measure communication directly."
    )
    interval_frac: float | None = Field(
        None, description="Repeat until differences of arms are known to this share of a step."
    )
    budget_s: float | None = Field(None, description="No further repeat after this time.")


class Messages(Section):
    """What a link run sends."""

    bytes: tuple[PositiveInt, ...] = Field(
        description="Sizes of the messages; empty: shares of the model's largest bucket."
    )
    repeats: PositiveInt = Field(description="Repeats of each size.")
    budget_s: float = Field(description="No further repeat after this time, 5 at least.")


class OwnFile(OwnConfig):
    """A user's file as it was when the run was planned."""

    digest: str = Field(description="SHA-256 of its content: an edit makes the run stale.")


class Spec(Section):
    """One run. `per_worker_batch` is null until the largest batch that fits is known."""

    run: str = Field(description="Readable name of the run; never parsed.")
    kind: str
    study: str
    arm: str | None = None
    version: int
    workers: PositiveInt
    nodes: PositiveInt = 1
    per_worker_batch: PositiveInt | None
    min_updates_per_epoch: PositiveInt = 1
    lr_reference_batch: PositiveInt | None = Field(
        None, description="Scale the rate linearly from this global batch when resolved."
    )
    seeds: tuple[int, ...] = (0,)
    hardware: HardwareConfig
    data: DataConfig
    model: ModelConfig
    training: TrainingConfig
    own: OwnFile | None = None
    timing: Timing | None = None
    steady_steps: PositiveInt | None = None
    messages: Messages | None = None
    set_epoch: bool = True
    broadcast_buffers: bool = True
    scatter_devices: PositiveInt | None = Field(
        None, description="GPUs that DataParallel splits each batch over, in one process."
    )
    micro_batches: PositiveInt | None = Field(
        None, description="Parts of a worker's batch where gradients are accumulated."
    )
    advised_by: tuple[str, ...] | None = Field(
        None,
        description="Kinds of run, of the same network and arm, whose measurements decide its "
        "batch and rate. It has the machine alone.",
    )
    withheld: str | None = Field(
        None, description="Why an advised run has nothing to train: it is recorded as unavailable."
    )
    memory_budget_bytes: int | None = None
    timed_training: bool = Field(
        False,
        description="The training is timed, from the start of its workers on: none is forked from "
        "a warm one, and nothing runs beside them.",
    )
    protocol: dict[str, Any] | None = Field(
        None, description="What the run's study asks of it, a section of the study's own."
    )

    @field_validator("protocol", mode="before")
    @classmethod
    def _as_in_json(cls, value: object) -> object:
        return value.model_dump(mode="json") if isinstance(value, Section) else value

    def protocol_as(self, model: type[Protocol]) -> Protocol:
        """Return the protocol as a section of a study."""
        return model.model_validate_json(json.dumps(self.protocol))


def build_spec(config: Config, kind: Kind, **fields: Any) -> Spec:
    """A spec with the configuration's sections, `fields` replacing or adding to them."""
    shared: dict[str, Any] = {
        # How many devices there should be is checked at planning and concerns no run.
        "hardware": config.hardware.model_copy(update={"devices": None, "workers_per_node": None}),
        "nodes": -(-fields["workers"] // (config.hardware.workers_per_node or fields["workers"])),
        "data": config.data,
        "model": config.model,
        "own": own_file(config),
        "training": timing_only(config.training) if kind.timed else config.training,
    }
    return Spec(**{**shared, "kind": kind.name, "version": kind.version, **fields})


def own_file(config: Config) -> OwnFile | None:
    """Return the configuration's file as it is now; None where it trains what is built in."""
    if config.own is None:
        return None
    digest = hashlib.sha256(Path(config.own.file).read_bytes()).hexdigest()
    return OwnFile(**dict(config.own), digest=digest)


def network_of(config: Config, name: str | None) -> ModelConfig:
    """Return the network that a study names, or the configuration's where it names none."""
    if name is None:
        return config.model
    return config.model.model_copy(update={"name": name, "zero_gamma": False})


def launches(config: Config, spec: Spec, count: int | None = None) -> Iterator[Spec]:
    """The spec once for each launch that a timed cell is measured in; count: not as configured."""
    yield spec
    for number in range(2, (count or config.launches) + 1):
        yield spec.model_copy(update={"run": f"{spec.run}-launch{number}"})


def timing_only(training: TrainingConfig) -> TrainingConfig:
    """The part of the training section that a step's time depends on.

    The learning rate is not in it, so that an edit of the rate leaves timed runs fresh.
    """
    return training.model_copy(update={"lr": TIMING_LR, "epochs": 1, "schedule": ScheduleConfig()})


def resolve(spec: Spec, *, largest_fit_batch: int | None, train_samples: int) -> Spec:
    """The spec with the batch and the learning rate that the measured boundary allows.

    largest_fit_batch: the largest batch that fits one device (Q1), None where none does;
    train_samples: D. With several workers a share of it is left to DDP, and the batch is cut so
    that an epoch keeps `min_updates_per_epoch` updates. The rate follows the linear scaling rule
    (Goyal et al. 2017, section 2.1) from `lr_reference_batch` where the spec asks for it.
    """
    batch = spec.per_worker_batch
    if batch is None:
        fits = largest_fit_batch or 1  # with no batch that fits, the run itself says why not
        if spec.workers > 1:
            fits = max(1, int(fits * DDP_SHARE))
        most = train_samples // (spec.workers * spec.min_updates_per_epoch)
        batch = max(1, min(fits, most))
    training = spec.training
    if spec.lr_reference_batch is not None:
        scale = batch * spec.workers / spec.lr_reference_batch
        training = training.model_copy(update={"lr": training.lr * scale})
    return spec.model_copy(
        update={"per_worker_batch": batch, "training": training, "lr_reference_batch": None}
    )


def with_direct_arms(timing: Timing, workers: int, asked: ArmsSection) -> Timing:
    """The timing with the arms that split a step into computation and communication.

    One worker has nobody to communicate with: there DDP itself is measured, which needs no further
    repeats.
    """
    if workers == 1:
        return timing.model_copy(update={"arms": (*timing.arms, "ddp_of_one")})
    return timing.model_copy(
        update={
            "arms": (*timing.arms, *DIRECT_ARMS),
            "repeats": max(timing.repeats, asked.repeats),
            "direct_steps": asked.steps,
            "interval_frac": asked.interval_frac,
            "budget_s": asked.budget_s,
        }
    )
