"""The configuration without the sections of studies, which `dpscale.studies` adds."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from dpscale.config.audit import AuditConfig
from dpscale.config.sections import (
    DataConfig,
    HardwareConfig,
    ModelConfig,
    OwnConfig,
    PositiveFloat,
    PositiveInt,
    ReportConfig,
    Section,
    TrainingConfig,
)

Problem = tuple[str, str]
"""The dotted key of a setting, and what is wrong with it and what to do, as one clause.

Both make a line, `config: KEY: REASON`, so that the reason names the nearest valid value.
"""


class Config(Section):
    """Everything that a workflow run needs to know; a study set to null is left out."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")] = Field(
        description="Folder under results/; letters, digits, - and _."
    )
    report: ReportConfig = Field(ReportConfig(), description="Title block of the report.")
    hardware: HardwareConfig = Field(HardwareConfig(), description="Devices of the workers.")
    data: DataConfig = Field(DataConfig(), description="Dataset and loading.")
    model: ModelConfig = Field(ModelConfig(), description="Network.")
    own: OwnConfig | None = Field(
        None, description="A training of your own: network, dataset, loss; null: built-in ones."
    )
    training: TrainingConfig = Field(TrainingConfig(), description="Optimiser and precision.")
    launches: Annotated[int, Field(ge=3)] = Field(
        5,
        description="Launches that each timed cell is measured in, in processes of its own: "
        "intervals are over them.",
    )
    audit: AuditConfig | None = Field(
        AuditConfig(), description="Tables of timings collected by hand, to check."
    )

    def section(self, name: str) -> Any:
        """Return a study's section; None where the configuration leaves the study out."""
        return getattr(self, name)

    def sections(self) -> Iterator[tuple[str, "StudySection"]]:
        """Yield the sections of the studies that are not left out, by name."""
        for name in type(self).model_fields:
            if isinstance(section := getattr(self, name), StudySection):
                yield name, section


class Unfollowed(NamedTuple):
    """A value of a setting of `training` that a study would not follow; key: what asks for it."""

    setting: str
    value: object
    why: str
    key: str = ""


# A stack of trainings in one process has no use for these.
STACKED = (
    Unfollowed("precision", "bf16", "trains in fp32 or tf32"),
    Unfollowed("channels_last", True, "keeps no images in channels-last format"),
    Unfollowed("compile", True, "compiles no network"),
)


class StudySection(Section):
    """A section that plans runs, and what it asks of the rest of the configuration."""

    of_accuracy: ClassVar[bool] = False  # synthetic images have no meaning to be learnt
    built_in: ClassVar[str] = ""  # why it cannot train a user's own network
    tries: ClassVar[str] = ""  # how it trains a user's own: "stacked", several as one; "sharded"

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield (field, workers) for each number of workers that runs are planned with."""
        yield from ()

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield (field, workers, batch of each) for steps that the training images must fill."""
        yield from ()

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return the settings of `training` that the study's runs would not follow."""
        return ()

    def problems(self, config: Config) -> Iterator[Problem]:
        """Yield what else cannot be combined."""
        yield from ()


class ArmsSection(StudySection):
    """A section that plans runs whose arms split a step, until their differences are known."""

    repeats: PositiveInt = Field(
        1,
        description="Repeats of each arm in a launch at least; from 2 on more until the "
        "interval is narrow enough.",
    )
    steps: PositiveInt = Field(20, description="Steps of an arm in one repeat.")
    interval_frac: PositiveFloat = Field(
        0.05,
        description="Narrow enough: 95% intervals of differences between arms, as a share of "
        "the step.",
    )
    budget_s: PositiveFloat = Field(
        20.0, description="Seconds after which a launch starts no further repeat."
    )
