"""Sections of the configuration that no study owns, and the types of their fields.

A run's spec (`dpscale.plan`) holds these same sections, so that a spec is as strictly typed as
the configuration it was planned from.
"""

import os
from typing import Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
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

PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
Value = TypeVar("Value")


def distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values; raises ValueError where one is named twice."""
    if len(set(values)) < len(values):
        raise ValueError("name each value once: a repeated one is no repeat of a measurement")
    return values


def _with_its_unit(value: object) -> object:
    if value is None or (isinstance(value, str) and not value.strip().isdigit()):
        return value
    raise ValueError("give a size with its unit, for example 256 MiB")


MemorySize = Annotated[
    Annotated[ByteSize, Field(gt=0)] | None,
    BeforeValidator(_with_its_unit),
    PlainSerializer(lambda value: None if value is None else f"{int(value)} B"),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),  # a bare number is refused
]
Workers = Annotated[int, Field(ge=2)]
Counts = Annotated[tuple[PositiveInt, ...], Field(min_length=1), AfterValidator(distinct)]
Seed = Annotated[int, Field(ge=0)]
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(distinct)]


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
    devices: PositiveInt | None = Field(
        None,
        description="Devices that the machine or the cluster profile offers; "
        "null: unknown until a run counts them.",
    )
    workers_per_node: PositiveInt | None = Field(
        None,
        description="Workers on one node of a cluster; more of them take more nodes. null: all "
        "workers of a run share one node.",
    )
    allow_oversubscription: bool = Field(
        False,
        description="Run more workers than devices, sharing them; the report marks such numbers.",
    )
    threads_per_worker: PositiveInt = Field(
        1, description="Compute threads of one worker (OMP_NUM_THREADS)."
    )


class DataConfig(Section):
    """The dataset and the way it is loaded."""

    @field_validator("root")
    @classmethod
    def _expanded(cls, value: str) -> str:
        return os.path.expanduser(value)

    dataset: DatasetName = Field(
        "digits", description="Name of the dataset; own: that of own.file."
    )
    root: Annotated[str, Field(pattern=r"^[^{}<>\n]+$")] = Field(
        "data", description="Folder that holds the datasets; no braces and no < or > in its name."
    )
    loader: Literal["dataloader", "resident"] = Field(
        "dataloader",
        description="dataloader: torchvision transforms in a DataLoader; "
        "resident: the split on the device, augmented there batch by batch.",
    )
    loader_workers: Annotated[int, Field(ge=0)] = Field(
        0, description="Processes of the DataLoader of one worker."
    )
    augment: bool = Field(
        False, description="Random crop with padding, and horizontal flip where it makes sense."
    )
    validation_frac: Fraction = Field(
        0.1, description="Share of the training images set apart for validation."
    )
    image_size: PositiveInt | None = Field(
        None, description="Height and width in pixels; needed by image_folder and synthetic."
    )
    channels: PositiveInt | None = Field(
        None, description="Colour channels; needed by synthetic, 3 for image_folder."
    )
    classes: PositiveInt | None = Field(None, description="Classes; needed by synthetic.")
    samples: PositiveInt | None = Field(
        None, description="Training images; needed by synthetic, else known from the dataset."
    )
    repeats: PositiveInt = Field(
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

    file: str = Field(
        description="Python file with model, dataset and perhaps loss, correct, optimizer; beside "
        "the configuration, or an absolute path."
    )
    arguments: dict[str, JsonValue] = Field(
        {}, description="Passed to each function of the file that names them."
    )


class ScheduleConfig(Section):
    """How the learning rate moves during training."""

    warmup: Literal["none", "constant", "gradual"] = Field(
        "none", description="Warm-up of the learning rate."
    )
    warmup_epochs: Annotated[float, Field(ge=0)] = Field(
        0.0, description="Length of the warm-up in epochs."
    )
    warmup_start_factor: Annotated[float, Field(gt=0, le=1)] = Field(
        0.1, description="Rate at the start of the warm-up, as a share of the full rate."
    )
    decay: Literal["none", "step", "cosine"] = Field("none", description="Decay of the rate.")
    decay_epochs: tuple[PositiveInt, ...] = Field(
        (), description="Epochs, from the start of training, at which a step decay falls."
    )
    decay_factor: PositiveFloat = Field(0.1, description="Factor of each step of the decay.")


class TrainingConfig(Section):
    """Optimiser, precision and length of training."""

    optimizer: Literal["sgd", "adam"] = Field("sgd", description="Optimiser.")
    lr: PositiveFloat = Field(0.1, description="Learning rate.")
    momentum: Fraction = Field(0.9, description="Momentum of SGD.")
    nesterov: bool = Field(False, description="Nesterov's form of the momentum.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(5e-4, description="Weight decay.")
    precision: Literal["fp32", "tf32", "bf16"] = Field(
        "fp32",
        description="fp32; tf32: matrix products in TF32 on CUDA; bf16: bfloat16 autocast.",
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
    epochs: PositiveInt = Field(
        5, description="Epochs of training; in a configuration each study sets its own."
    )
    schedule: ScheduleConfig = Field(
        ScheduleConfig(), description="Warm-up and decay of the learning rate."
    )


class ReportConfig(Section):
    """The title block of the report, and what is handed in."""

    title: str = Field("Data-parallel training, measured", description="Title of the report.")
    course: str = Field("High-performance machine learning", description="Name of the course.")
    institution: str = Field("", description="School or company; empty: left out.")
    authors: tuple[str, ...] = Field(("Unnamed author",), description="Names of the authors.")
    parts: tuple[Literal["lab", "assignment", "studies", "engineering", "audit"], ...] | None = (
        Field(
            None, description="Parts of the report that are handed in; null: all that is planned."
        )
    )
