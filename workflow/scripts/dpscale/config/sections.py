"""Sections of the configuration that no study owns, and the types of their fields.

A run's spec (`dpscale.plan`) holds these same sections, so that a spec is as strictly typed as
the configuration it was planned from.
"""

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
)

from dpscale.config.bounds import ASCENDING, DISTINCT, at_most, written

DatasetName = Literal[
    "digits", "cifar10", "cifar100", "mnist", "fashion_mnist", "image_folder", "synthetic", "own"
]
ModelName = Literal[
    "resnet18_cifar",
    "resnet18",
    "resnet20",
    "resnet_8x8",
    "mlp",
    "mlp_4x512",
    "softmax",
    "mnist_cnn",
    "own",
]
ReportPart = Literal["lab", "assignment", "studies", "engineering", "audit"]

PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, lt=1)]

# Sizes beyond what a machine could do are slips: they would plan for minutes, or run for years.
MOST_DEVICES = at_most(100_000, "no cluster lends more to one training")
MOST_BATCH = at_most(2**20, "no device takes more samples in a step")
MOST_SAMPLES = at_most(10**9, "no machine holds more")
MOST_STEPS = at_most(10**7, "more would take weeks")
MOST_EPOCHS = at_most(10_000, "more would take weeks")
MOST_PROCESSES = at_most(10_000, "no machine has the cores for more")
Devices = Annotated[int, Field(ge=1), MOST_DEVICES]
Workers = Annotated[int, Field(ge=2), MOST_DEVICES]
Batch = Annotated[int, Field(ge=1), MOST_BATCH]
Samples = Annotated[int, Field(ge=1), MOST_SAMPLES]
Pixels = Annotated[int, Field(ge=1), at_most(10_000, "no network trains on larger images")]
Repeats = Annotated[int, Field(ge=1), at_most(1_000, "no interval is seen to narrow by more")]
Launches = Annotated[int, Field(ge=3), at_most(100, "intervals hardly narrow beyond")]
Steps = Annotated[int, Field(ge=1), MOST_STEPS]
Epochs = Annotated[int, Field(ge=1), MOST_EPOCHS]
EpochsFloat = Annotated[float, Field(ge=0), MOST_EPOCHS]
Processes = Annotated[int, Field(ge=0), MOST_PROCESSES]
Minutes = Annotated[float, Field(ge=0), at_most(24 * 60, "nobody waits a day for a verdict")]
Seconds = Annotated[float, Field(gt=0), at_most(10**7, "nobody waits for more than four months")]
Rate = Annotated[float, Field(ge=1e-12), at_most(10**6, "no training learns at more")]
WeightDecay = Annotated[float, Field(ge=0), at_most(1_000, "the weights would be gone in a step")]
Seed = Annotated[int, Field(ge=0), at_most(2**32 - 1, "some generators take no larger seed")]
Line = Annotated[str, written(r"[^\n]{0,500}", "must be one line of at most 500 letters")]
Text = Annotated[str, written(r"[^\0]{0,5000}", "must have at most 5,000 letters")]
Counts = Annotated[tuple[Devices, ...], Field(min_length=1, max_length=100), DISTINCT]
WorkerCounts = Annotated[tuple[Workers, ...], Field(min_length=1, max_length=100), DISTINCT]
Batches = Annotated[tuple[Batch, ...], Field(min_length=1, max_length=2_000), DISTINCT]
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1, max_length=1_000), DISTINCT]
DecayEpochs = Annotated[tuple[Epochs, ...], Field(max_length=100), ASCENDING]
Rates = Annotated[tuple[Rate, ...], Field(max_length=100), DISTINCT]


def _with_its_unit(value: object) -> object:
    if value is None or (isinstance(value, str) and not value.strip().isdigit()):
        return value
    raise ValueError("give a size with its unit, for example 256 MiB")


MemorySize = Annotated[
    Annotated[ByteSize, Field(gt=0), at_most(2**50, "no device has a pebibyte of memory")] | None,
    BeforeValidator(_with_its_unit),
    PlainSerializer(lambda value: None if value is None else f"{int(value)} B"),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),  # a bare number is refused
]


class Section(BaseModel):
    """A part of the configuration: frozen, no unknown keys, no silent conversion of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class HardwareConfig(Section):
    """The devices that the workers use."""

    device: Literal["cpu", "cuda"] = Field(
        "cpu", description="Kind of device of a worker: cpu or cuda."
    )
    backend: Literal["gloo", "nccl"] = Field(
        "gloo", description="Communication backend of torch.distributed; nccl needs cuda."
    )
    devices: Devices | None = Field(
        None,
        description="Devices that the machine or the cluster profile offers; "
        "null: unknown until a run counts them.",
    )
    workers_per_node: Devices | None = Field(
        None,
        description="Workers on one node of a cluster; more of them take more nodes. null: all "
        "workers of a run share one node.",
    )
    allow_oversubscription: bool = Field(
        False,
        description="Run more workers than devices, sharing them; the report marks such numbers. "
        "Without it true on a CPU, where `devices` is left out too.",
    )
    threads_per_worker: Annotated[int, Field(ge=1), MOST_PROCESSES] = Field(
        1, description="Compute threads of one worker (OMP_NUM_THREADS)."
    )


def expanded(path: str) -> str:
    """A path with the home of a user in the place of ~; raises ValueError where there is none."""
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        name = path.split("/", 1)[0].removeprefix("~") or "who calls"
        raise ValueError(f"there is no home of {name}; write the whole path") from None


class DataConfig(Section):
    """The dataset and the way it is loaded."""

    @field_validator("root")
    @classmethod
    def _expanded(cls, value: str) -> str:
        return expanded(value)

    dataset: DatasetName = Field(
        "digits", description="Name of the dataset; own: that of own.file."
    )
    root: Annotated[
        str, written(r"[^{}<>\n]{1,1000}", "must name a folder, without <, > and braces")
    ] = Field(
        "data", description="Folder that holds the datasets; no braces and no < or > in its name."
    )
    loader: Literal["dataloader", "resident"] = Field(
        "dataloader",
        description="dataloader: torchvision transforms in a DataLoader; "
        "resident: the split on the device, augmented there batch by batch.",
    )
    loader_workers: Processes = Field(
        0, description="Processes of the DataLoader of one worker; resident data need none."
    )
    augment: bool = Field(
        False, description="Random crop with padding, and horizontal flip where it makes sense."
    )
    validation_frac: Fraction = Field(
        0.1,
        description="Share of the training images set apart for validation; your own dataset "
        "splits itself.",
    )
    image_size: Pixels | None = Field(
        None,
        description="Height and width in pixels; for image_folder and synthetic alone, which "
        "need it.",
    )
    channels: Pixels | None = Field(
        None, description="Colour channels; for synthetic alone, which needs it."
    )
    classes: Annotated[int, Field(ge=1), at_most(10**6, "no dataset has more")] | None = Field(
        None, description="Classes; for synthetic alone, which needs it."
    )
    samples: Samples | None = Field(
        None, description="Training samples; synthetic images need it, your own are counted."
    )
    repeats: Repeats = Field(
        1, description="Training images repeated this many times; for timing only."
    )


class ModelConfig(Section):
    """The network."""

    name: ModelName = Field("resnet_8x8", description="Name of the network; own: that of own.file.")
    zero_gamma: bool = Field(
        False, description="Start the last batch-norm gain of each residual block at zero."
    )


class OwnConfig(Section):
    """A training of the user's, in place of the built-in networks and datasets."""

    file: Annotated[str, written(r"[^\n]{1,1000}", "must name a file")] = Field(
        description="Python file with model, dataset and perhaps loss, correct, optimizer; beside "
        "the configuration, or an absolute path."
    )
    arguments: dict[str, JsonValue] = Field(
        {}, description="Passed to each function of the file that names them."
    )

    @field_validator("arguments")
    @classmethod
    def _is_json(cls, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        try:
            json.dumps(arguments, allow_nan=False)
        except ValueError:
            raise ValueError("holds .nan or .inf, and must hold finite numbers") from None
        return arguments


class ScheduleConfig(Section):
    """How the learning rate moves during training."""

    warmup: Literal["none", "constant", "gradual"] = Field(
        "none", description="Warm-up of the learning rate."
    )
    warmup_epochs: EpochsFloat = Field(0.0, description="Length of the warm-up in epochs.")
    warmup_start_factor: Annotated[float, Field(gt=0, le=1)] = Field(
        0.1, description="Rate at the start of the warm-up, as a share of the full rate."
    )
    decay: Literal["none", "step", "cosine"] = Field("none", description="Decay of the rate.")
    decay_epochs: DecayEpochs = Field(
        (), description="Epochs, from the start of training, at which a step decay falls."
    )
    decay_factor: Share = Field(0.1, description="Factor of each step of the decay.")


class TrainingConfig(Section):
    """Optimiser, precision and length of training."""

    optimizer: Literal["sgd", "adam"] = Field("sgd", description="Optimiser.")
    lr: PositiveFloat = Field(0.1, description="Learning rate.")
    momentum: Fraction = Field(0.9, description="Momentum of SGD.")
    nesterov: bool = Field(False, description="Nesterov's form of the momentum.")
    weight_decay: WeightDecay = Field(5e-4, description="Weight decay.")
    precision: Literal["fp32", "tf32", "bf16"] = Field(
        "fp32", description="fp32; tf32: matrix products in TF32 on CUDA; bf16: bfloat16 autocast."
    )
    channels_last: bool = Field(False, description="Keep images in channels-last memory format.")
    compile: bool = Field(False, description="Compile the network with torch.compile.")
    compile_mode: Literal["default", "reduce-overhead", "max-autotune"] = Field(
        "default",
        description="Mode of torch.compile. reduce-overhead: its kernels replayed as CUDA graphs; "
        "max-autotune: that, and the fastest of several kernels each. CUDA alone; needs compile.",
    )
    fused: bool = Field(
        False, description="torch's fused SGD or Adam: all parameters updated by one kernel."
    )
    cudnn_benchmark: bool = Field(
        False,
        description="cuDNN times its algorithms at the first step of each shape and takes the "
        "fastest, which may hold more memory. CUDA alone.",
    )
    epochs: Epochs = Field(
        5, description="Epochs of training; in a configuration each study sets its own."
    )
    schedule: ScheduleConfig = Field(
        ScheduleConfig(), description="Warm-up and decay of the learning rate."
    )


class ReportConfig(Section):
    """The title block of the report, and what is handed in."""

    title: Line = Field("Data-parallel training, measured", description="Title of the report.")
    course: Line = Field("High-performance machine learning", description="Name of the course.")
    institution: Line = Field("", description="School or company; empty: left out.")
    authors: Annotated[tuple[Line, ...], Field(max_length=100)] = Field(
        (), description="Names of the authors; none: left out."
    )
    parts: Annotated[tuple[ReportPart, ...], Field(min_length=1), DISTINCT] | None = Field(
        None, description="Parts of the report that are handed in; null: all that is planned."
    )
    runs: bool = Field(
        False, description="Whether the PDF lists the runs and links to them, as the HTML does."
    )
