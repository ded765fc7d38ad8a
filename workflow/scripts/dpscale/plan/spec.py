"""One run as a value: everything that is needed to start it, and to replay it by hand."""

from typing import Any, Literal

from pydantic import Field

from dpscale.config.local_sgd import LocalProtocol
from dpscale.config.lr_scaling import ScalingProtocol
from dpscale.config.model_averaging import AveragingProtocol, LearnersProtocol
from dpscale.config.root import Config
from dpscale.config.sections import (
    DataConfig,
    HardwareConfig,
    ModelConfig,
    PositiveInt,
    ScheduleConfig,
    Section,
    TrainingConfig,
)
from dpscale.config.steps_to_goal import Budget, NoiseScale, SearchOptimizer, SearchSpace

# Raised by hand when what a run measures changes: every record of the kind becomes stale.
MEASUREMENT_VERSIONS = {
    "timed": 2, "training": 2, "ledger": 2, "link": 1,
    "search": 2, "scaled": 1, "averaging": 2, "learners": 1, "local": 2,
}  # fmt: skip

# Q1 finds the largest batch without DDP, which keeps a second copy of the gradients and buffers.
DDP_SHARE = 0.9
# Timed runs are not there to learn: a rate so small that no network diverges.
TIMING_LR = 1e-3

Kind = Literal[
    "timed", "training", "ledger", "link", "search", "scaled", "averaging", "learners", "local"
]  # fmt: skip
TIMED_KINDS = ("timed", "ledger", "link", "learners")  # learning rates do not concern them
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
]


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


class Search(Section):
    """What a search run (S1) looks for, at each of its batch sizes anew."""

    optimizer: SearchOptimizer
    batch_sizes: tuple[PositiveInt, ...]
    goal_error_frac: float
    trials: PositiveInt
    space: SearchSpace
    budget: Budget
    finalists: PositiveInt
    selection_seeds: tuple[int, ...]
    stacked_samples: PositiveInt
    noise: NoiseScale
    expected: str = Field("", description="The outcome expected, stated before the run.")


class Spec(Section):
    """One run. `per_worker_batch` is null until the largest batch that fits is known."""

    run: str = Field(description="Readable name of the run; never parsed.")
    kind: Kind
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
    timing: Timing | None = None
    steady_steps: PositiveInt | None = None
    messages: Messages | None = None
    averaging: AveragingProtocol | LearnersProtocol | None = None
    scaled: ScalingProtocol | None = None
    local: LocalProtocol | None = None
    set_epoch: bool = True
    broadcast_buffers: bool = True
    scatter_devices: PositiveInt | None = Field(
        None, description="GPUs that DataParallel splits each batch over, in one process."
    )
    memory_budget_bytes: int | None = None
    search: Search | None = Field(None, description="The protocol of a search run.")


def build_spec(config: Config, kind: Kind, **fields: Any) -> Spec:
    """A spec with the configuration's sections, `fields` replacing or adding to them."""
    shared: dict[str, Any] = {
        # How many devices there should be is checked at planning and concerns no run.
        "hardware": config.hardware.model_copy(update={"devices": None, "workers_per_node": None}),
        "nodes": -(-fields["workers"] // (config.hardware.workers_per_node or fields["workers"])),
        "data": config.data,
        "model": config.model,
        "training": timing_only(config.training) if kind in TIMED_KINDS else config.training,
    }
    return Spec(**{**shared, "kind": kind, "version": MEASUREMENT_VERSIONS[kind], **fields})


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
