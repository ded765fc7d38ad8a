"""Sections of the configuration that describe one study of the lab each."""

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, ByteSize, Field, field_serializer, field_validator

from dpscale.config.sections import PositiveFloat, PositiveInt, Section

Value = TypeVar("Value")


def distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values; raises ValueError where one is named twice."""
    if len(set(values)) < len(values):
        raise ValueError("name each value once: a repeated one is no repeat of a measurement")
    return values


Workers = Annotated[int, Field(ge=2)]
Counts = Annotated[tuple[PositiveInt, ...], Field(min_length=1), AfterValidator(distinct)]
Seed = Annotated[int, Field(ge=0)]
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(distinct)]
Remedy = Literal["linear_scaling", "warmup", "zero_gamma", "more_epochs"]
Hook = Literal["fp16", "bf16", "powersgd"]


class ReportConfig(Section):
    """The title block of the report."""

    title: str = Field("Data-parallel training, measured", description="Title of the report.")
    course: str = Field("High-performance machine learning", description="Name of the course.")
    institution: str = Field("", description="School or company; empty: left out.")
    authors: tuple[str, ...] = Field(("Unnamed author",), description="Names of the authors.")


class SweepConfig(Section):
    """Q1: one worker, growing batch, to the boundary of memory or of the dataset."""

    first_batch: PositiveInt = Field(32, description="Smallest batch of the sweep.")
    factor: Annotated[int, Field(ge=2)] = Field(4, description="Factor between two batches.")
    data_repeats: PositiveInt = Field(
        1,
        description="Training images repeated this many times, so that a small dataset "
        "lets the sweep reach the memory boundary; for timing only.",
    )
    memory_budget: ByteSize | None = Field(
        None,
        description="Memory that training may add to a worker's process on a CPU, "
        "for example 256 MiB; an allocation beyond it fails. null: the device's own memory.",
    )
    repeats: Annotated[int, Field(ge=1)] = Field(
        3, description="Timed epochs at each batch, after one epoch of warm-up."
    )
    resolution_frac: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.05, description="Bisection of the boundary stops at this relative width."
    )
    confirmations: Annotated[int, Field(ge=0)] = Field(
        2, description="Fresh processes that confirm each side of the boundary."
    )

    @field_validator("memory_budget", mode="before")
    @classmethod
    def _needs_a_unit(cls, value: object) -> object:
        if value is None or (isinstance(value, str) and not value.strip().isdigit()):
            return value
        raise ValueError("give a size with its unit, for example 256 MiB")

    @field_serializer("memory_budget")
    def _with_its_unit(self, value: ByteSize | None) -> str | None:
        return None if value is None else f"{int(value)} B"


class ScalingConfig(Section):
    """Q2 and Q3: timed runs of N workers."""

    workers: Counts = Field(
        (1, 2, 4), description="Numbers of workers N; 1 is the base of every speed-up."
    )
    per_worker_batches: Counts = Field((32, 128, 512), description="Batch sizes per worker b.")
    strong: bool = Field(
        True, description="Measure the fixed global batch too (b = B/N for each B above)."
    )
    repeats: Annotated[int, Field(ge=5)] = Field(5, description="Timed repeats of each cell.")
    min_steps: PositiveInt = Field(
        10, description="Steps of a repeat at least; short epochs are run several times."
    )
    warmup_steps: Annotated[int, Field(ge=10)] = Field(
        10, description="Steps before the first timed one, at least one epoch."
    )


class LinkConfig(Section):
    """A link that the report asks "what if" about; nothing is measured on it."""

    name: Annotated[str, Field(min_length=1, max_length=40)] = Field(
        description="Name of the link in the report."
    )
    bytes_per_s: PositiveFloat = Field(
        description="Rate of one worker's link in one direction, bytes per second."
    )
    latency_s: Annotated[float, Field(ge=0)] = Field(
        description="Time of one message without its bytes, seconds."
    )
    source: str = Field("", description="Where rate and latency come from.")


NAMED_LINKS = (
    LinkConfig(
        name="NVLink in one node",
        bytes_per_s=450e9,
        latency_s=5e-6,
        source="NVLink 4, 900 GB/s in both directions together (NVIDIA H100 data sheet)",
    ),
    LinkConfig(
        name="100 Gbit/s between nodes",
        bytes_per_s=12.5e9,
        latency_s=10e-6,
        source="the line rate of a 100 Gbit/s adapter; its latency is assumed",
    ),
    LinkConfig(
        name="1 Gbit/s across the internet",
        bytes_per_s=125e6,
        latency_s=20e-3,
        source="the line rate; a one-way latency of 20 ms is assumed",
    ),
)


class CommunicationConfig(Section):
    """Q3: communication measured directly, beside the lab's subtraction."""

    repeats: Annotated[int, Field(ge=5)] = Field(
        5, description="Repeats of each arm at least; more until the interval is narrow enough."
    )
    steps: PositiveInt = Field(20, description="Steps of an arm in one repeat.")
    interval_frac: PositiveFloat = Field(
        0.05,
        description="Narrow enough: 95% intervals of differences between arms, as a share of "
        "the step.",
    )
    budget_s: PositiveFloat = Field(
        20.0, description="Seconds after which a run starts no further repeat."
    )
    hooks: Annotated[tuple[Hook, ...], AfterValidator(distinct)] = Field(
        ("fp16", "bf16", "powersgd"),
        description="Compression of gradients to measure, at the fewest workers.",
    )
    link_bytes_per_s: PositiveFloat | None = Field(
        None,
        description="Known rate of the link between workers in one direction, bytes per second; "
        "null: what raw TCP reaches is measured (gloo).",
    )
    links: tuple[LinkConfig, ...] = Field(
        NAMED_LINKS, description="Links to predict speed-ups on, up to 1,024 workers."
    )

    @field_validator("links")
    @classmethod
    def _named_once(cls, links: tuple[LinkConfig, ...]) -> tuple[LinkConfig, ...]:
        names = [link.name for link in links]
        if len(set(names)) < len(names):
            raise ValueError("give each link a name of its own")
        return links


class LargeBatchConfig(Section):
    """Q4: a large batch against a small one, and remedies."""

    workers: PositiveInt = Field(4, description="Number of workers N.")
    small_per_worker_batch: PositiveInt = Field(128, description="Small batch per worker.")
    large_per_worker_batch: PositiveInt | None = Field(
        None, description="Large batch per worker; null: the largest that Q1 found to fit."
    )
    min_updates_per_epoch: PositiveInt = Field(
        1, description="The largest batch is cut so that an epoch keeps this many updates."
    )
    epochs: PositiveInt = Field(5, description="Epochs of training; the last one is compared.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
    remedies: Annotated[tuple[Remedy, ...], Field(min_length=2)] = Field(
        ("linear_scaling", "warmup", "zero_gamma", "more_epochs"),
        description="Remedies to run at the large batch.",
    )
    warmup_epochs: Annotated[float, Field(ge=0)] = Field(
        2.0, description="Length of the gradual warm-up, in epochs."
    )
    more_epochs: PositiveInt = Field(15, description="Epochs of the remedy more_epochs.")


class ReplicasConfig(Section):
    """Q5 and Q7: the sampler's epoch number, and the broadcast of buffers."""

    workers: Workers = Field(2, description="Number of workers N.")
    per_worker_batch: PositiveInt = Field(32, description="Batch per worker.")
    epochs: Annotated[int, Field(ge=2)] = Field(5, description="Epochs of training.")
    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")


class LedgerConfig(Section):
    """Q6: the collectives of construction, first and steady iterations."""

    workers: Annotated[tuple[Workers, ...], Field(min_length=1), AfterValidator(distinct)] = Field(
        (2, 4), description="Numbers of workers N."
    )
    per_worker_batch: PositiveInt = Field(32, description="Batch per worker.")
    steady_steps: PositiveInt = Field(10, description="Iterations counted in the steady state.")


class DataParallelConfig(Section):
    """Q5: torch's DataParallel timed against DistributedDataParallel; needs several GPUs."""

    devices: Workers = Field(2, description="GPUs that take part.")
    per_worker_batch: PositiveInt = Field(32, description="Batch per GPU.")
    repeats: Annotated[int, Field(ge=5)] = Field(5, description="Timed repeats.")
