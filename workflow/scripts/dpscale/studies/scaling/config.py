"""Sections of the configuration for Q2 and Q3: N workers, communication, links to predict."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, field_validator

from dpscale.config.bounds import DISTINCT, at_most, written
from dpscale.config.root import ArmsSection, Config, Problem, StudySection
from dpscale.config.sections import (
    MOST_STEPS,
    Batches,
    Counts,
    Launches,
    Line,
    PositiveInt,
    Repeats,
    Section,
    Steps,
)
from dpscale.plan.spec import RunProtocol, Timing

Hook = Literal["fp16", "bf16", "powersgd"]
BytesPerS = Annotated[float, Field(ge=1), at_most(10**15, "no link carries a petabyte a second")]


class ScalingConfig(StudySection):
    """Q2 and Q3: timed runs of N workers."""

    workers: Counts = Field(
        (1, 2, 4),
        description="Numbers of workers N; 1 is the base of every speed-up. Without it those of "
        "these that have devices.",
    )
    per_worker_batches: Batches = Field(
        (32, 128, 512),
        description="Batch sizes per worker b; without it those of these that the data fill.",
    )
    strong: bool = Field(
        True, description="Measure the fixed global batch too (b = B/N for each B above)."
    )
    launches: Launches | None = Field(
        None,
        description="Launches of each cell, and of the link and compressed gradients of "
        "communication; null: as many as of other timed cells. Steps of a few milliseconds differ "
        "more from process to process: give them 6 or more.",
    )
    repeats: Repeats = Field(1, description="Timed repeats of a cell in each launch.")
    min_steps: Steps = Field(
        10, description="Steps of a repeat at least; short epochs are run several times."
    )
    warmup_steps: Annotated[int, Field(ge=10), MOST_STEPS] = Field(
        10,
        description="Steps of each arm before the first timed one; of plain DDP at least an epoch.",
    )

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield each batch on the most workers."""
        for batch in self.per_worker_batches:
            yield "per_worker_batches", max(self.workers), batch

    def problems(self, config: Config) -> Iterator[Problem]:
        """No base of the speed-ups, or nothing that is set against it."""
        if 1 not in self.workers:
            yield "scaling.workers", "leaves out 1, the base of every speed-up; add it"
        if max(self.workers) == 1:
            yield (
                "scaling.workers",
                "has nothing to set against 1; add a number, or set scaling to null",
            )


class LinkConfig(Section):
    """A link that the report asks "what if" about; nothing is measured on it."""

    name: Annotated[str, written(r"[^\n]{1,40}", "must be of 1 to 40 letters")] = Field(
        description="Name of the link in the report."
    )
    bytes_per_s: BytesPerS = Field(
        description="Rate of one worker's link in one direction, bytes per second."
    )
    latency_s: Annotated[float, Field(ge=0), at_most(3600, "no message takes an hour")] = Field(
        description="Time of one message without its bytes, seconds."
    )
    source: Line = Field("", description="Where rate and latency come from.")


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


class CommunicationConfig(ArmsSection):
    """Q3: communication measured directly, beside the lab's subtraction."""

    hooks: Annotated[tuple[Hook, ...], DISTINCT] = Field(
        ("fp16", "bf16", "powersgd"),
        description="Compression of gradients to measure, at the fewest workers.",
    )
    link_bytes_per_s: BytesPerS | None = Field(
        None,
        description="Known rate of the link between workers in one direction, bytes per second; "
        "null: what raw TCP reaches is measured (gloo).",
    )
    links: Annotated[tuple[LinkConfig, ...], Field(max_length=100)] = Field(
        NAMED_LINKS, description="Links to predict speed-ups on, up to 1,024 workers."
    )

    @field_validator("links")
    @classmethod
    def _named_once(cls, links: tuple[LinkConfig, ...]) -> tuple[LinkConfig, ...]:
        names = [link.name for link in links]
        if len(set(names)) < len(names):
            raise ValueError("give each link a name of its own")
        return links

    def problems(self, config: Config) -> Iterator[Problem]:
        """Yield that there are no cells to measure communication in."""
        if config.section("scaling") is None:
            yield (
                "communication",
                "splits the steps of scaling, which is null; ask both, or neither",
            )


# Why nothing is launched any more: nothing is open, each open cell has the most launches, or time.
Ended = Literal["decided", "launches", "budget"]
ENDED: tuple[Ended, ...] = get_args(Ended)


class LookedCell(Section):
    """A cell as a further launch of it is timed."""

    workers: PositiveInt
    nodes: PositiveInt
    per_worker_batch: PositiveInt
    timing: Timing  # for a speed-up
    split_timing: Timing  # for the parts of its epoch too


class LooksProtocol(RunProtocol):
    """Looks at speed-ups and parts: what shares a base with an open one is launched again."""

    columns: ClassVar = ("first_launches", "repeat_budget_s", "looks_ended")

    cells: tuple[LookedCell, ...] = Field(description="What may be launched again.")
    first_launches: int = Field(description="Launches of each cell at the first look.")
    repeat_budget_s: float = Field(description="No round of launches that would end after it.")
    further: tuple[str, ...] | None = Field(None, description="Runs that were launched.")
    looks_ended: Ended | None = Field(None, description="Why no more were.")


SECTIONS = {
    "scaling": (ScalingConfig | None, Field(ScalingConfig(), description="Q2, Q3: N workers.")),
    "communication": (
        CommunicationConfig | None,
        Field(
            CommunicationConfig(), description="Q3: communication measured directly; needs scaling."
        ),
    ),
}
