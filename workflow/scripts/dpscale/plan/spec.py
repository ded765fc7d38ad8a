"""One run as a value: everything that is needed to start it, and to replay it by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple

from pydantic import Field, SerializeAsAny
from typing_extensions import TypeVar

from dpscale.config.own import source_digest
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
from dpscale.plan.names import LAUNCH
from dpscale.plan.ways import WAYS


class Kind(NamedTuple):
    """What a run does.

    version: raised by hand when what is measured changes, which makes every record stale; package:
    that of measure, module and function, imported when a run asks for them, and of protocol, module
    and class of the section that its specs have; timed: nothing is learnt, so that learning rates
    do not concern it.
    """

    name: str
    version: int
    package: str
    measure: str
    protocol: str
    timed: bool = False


TIMED = Kind(
    "timed", 4, "dpscale", "train.timed:measure_timed", "plan.spec:TimedProtocol", timed=True
)
TRAINING = Kind(
    "training", 4, "dpscale", "train.trained:measure_trained", "plan.spec:TrainingProtocol"
)
LINK = Kind(
    "link",
    2,
    "dpscale",
    "train.communication.link:measure_link",
    "plan.spec:LinkProtocol",
    timed=True,
)
KINDS = (TIMED, TRAINING, LINK)

# Timed runs are not there to learn: a rate so small that no network diverges.
TIMING_LR = 1e-3

TimedArm = Literal[
    "with_loading",
    "without_loading",  # as the spec's workers agree: DDP where there are several
    "solo",  # rank 0 alone, without DDP, while the others wait
    "reference",  # copies without DDP, side by side, which do not communicate
    "noop_hook",  # DDP that sends nothing
    "buckets",  # the all-reduce of DDP's buckets, without training
    "no_broadcast",  # DDP that sends gradients and no buffers
    "ddp_of_one",  # DDP around one worker
    "fp16",  # DDP with gradients compressed on the way
    "bf16",
    "powersgd",
]


if TYPE_CHECKING:
    Arm = str
else:
    Arm = TimedArm | Literal[tuple(WAYS)]
DIRECT_ARMS: tuple[TimedArm, ...] = ("solo", "reference", "noop_hook", "buckets")


class Timing(Section):
    """What a timed run repeats."""

    arms: tuple[Arm, ...] = Field(
        description="Arms, interleaved in random order; those of `plan.ways` too."
    )
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


class Needs(NamedTuple):
    """What a run needs beside its workers, as whoever starts it has to know.

    memory_budget_bytes: that training may add to a worker's process on a CPU, None without a
    limit; scatter_devices: GPUs that its one process splits each batch over; alone: nothing may
    run beside it on the machine; cold_start: the start of its workers is timed, so that none is
    forked from a warm process; min_updates_per_epoch: of a batch that is yet to be measured.
    """

    memory_budget_bytes: int | None = None
    scatter_devices: int | None = None
    alone: bool = False
    cold_start: bool = False
    min_updates_per_epoch: int = 1


class RunProtocol(Section):
    """What a run of one kind is to do: its kind's section of a spec.

    columns: the fields that are columns of the tidy table `runs`.
    """

    columns: ClassVar[tuple[str, ...]] = ()

    @property
    def needs(self) -> Needs:
        """What whoever starts the run has to know."""
        return Needs()


class TimedProtocol(RunProtocol):
    """A timed run: its arms, and how they are wrapped."""

    columns: ClassVar = ("memory_budget_bytes",)

    timing: Timing
    broadcast_buffers: bool = True
    scatter_devices: PositiveInt | None = Field(
        None, description="GPUs that DataParallel splits each batch over, in one process."
    )
    micro_batches: PositiveInt | None = Field(
        None, description="Parts of a worker's batch where gradients are accumulated."
    )
    memory_budget_bytes: PositiveInt | None = Field(
        None, description="Memory that training may add to the process; null: the device's own."
    )

    @property
    def needs(self) -> Needs:
        """See RunProtocol."""
        return Needs(self.memory_budget_bytes, self.scatter_devices)


class TrainingProtocol(RunProtocol):
    """A training, seed by seed."""

    set_epoch: bool = True
    broadcast_buffers: bool = True
    timed: bool = Field(False, description="Its time counts, so that it is alone on the machine.")
    cold_start: bool = Field(False, description="So does the start of its workers.")
    min_updates_per_epoch: PositiveInt = Field(
        1, description="Updates that an epoch keeps where the batch is yet to be measured."
    )
    lr_reference_batch: PositiveInt | None = Field(
        None, description="Scale the rate linearly from this global batch to the large one."
    )

    @property
    def needs(self) -> Needs:
        """See RunProtocol."""
        updates = self.min_updates_per_epoch
        cold = self.cold_start
        return Needs(alone=self.timed, cold_start=cold, min_updates_per_epoch=updates)


class LinkProtocol(RunProtocol):
    """What a link run sends."""

    bytes: tuple[PositiveInt, ...] = Field(
        description="Sizes of the messages; empty: shares of the model's largest bucket."
    )
    repeats: PositiveInt = Field(description="Repeats of each size.")
    budget_s: float = Field(description="No further repeat after this time, 5 at least.")


class OwnFile(OwnConfig):
    """A user's file as it was when the run was planned."""

    digest: str = Field(
        description="SHA-256 of its code, without comments: an edit makes the run stale."
    )


# Covariant: what reads the sections of any run takes the spec of each.
P = TypeVar("P", bound=RunProtocol, covariant=True, default=RunProtocol)


class Spec(Section, Generic[P]):
    """One run. `per_worker_batch` is null until the largest batch that fits is known."""

    run: str = Field(description="Readable name of the run; never parsed.")
    kind: str
    study: str
    arm: str | None = None
    version: int
    workers: PositiveInt
    nodes: PositiveInt = 1
    per_worker_batch: PositiveInt | None
    seeds: tuple[int, ...] = (0,)
    hardware: HardwareConfig
    data: DataConfig
    model: ModelConfig
    training: TrainingConfig
    own: OwnFile | None = None
    protocol: SerializeAsAny[P] = Field(description="The section of the run's kind.")
    completed_by: str | None = Field(
        None,
        description="Module and name of the Completion that makes it whole from records of "
        "earlier runs; null: it is.",
    )
    withheld: str | None = Field(
        None, description="Why a completed run has nothing to do: it is recorded as unavailable."
    )


def build_spec(config: Config, kind: Kind, **fields: Any) -> Spec[Any]:
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
    return OwnFile(**dict(config.own), digest=source_digest(Path(config.own.file)))


def network_of(config: Config, name: str | None) -> ModelConfig:
    """Return the network that a study names, or the configuration's where it names none."""
    if name is None:
        return config.model
    return config.model.model_copy(update={"name": name, "zero_gamma": False})


def launches(config: Config, spec: Spec, count: int | None = None) -> Iterator[Spec]:
    """The spec once for each launch that a timed cell is measured in; count: not as configured."""
    yield spec
    for number in range(2, (count or config.launches) + 1):
        yield spec.model_copy(update={"run": f"{spec.run}{LAUNCH}{number}"})


def timing_only(training: TrainingConfig) -> TrainingConfig:
    """The part of the training section that a step's time depends on.

    The learning rate is not in it, so that an edit of the rate leaves timed runs fresh.
    """
    return training.model_copy(update={"lr": TIMING_LR, "epochs": 1, "schedule": ScheduleConfig()})


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
