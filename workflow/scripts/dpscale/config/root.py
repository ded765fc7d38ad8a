"""The configuration without the sections of studies, which `dpscale.studies` adds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

from pydantic import Field, PrivateAttr

from dpscale.config.audit import AuditConfig
from dpscale.config.bounds import written
from dpscale.config.goal import Goal
from dpscale.config.own import OwnFacts
from dpscale.config.sections import (
    DataConfig,
    HardwareConfig,
    Launches,
    Minutes,
    ModelConfig,
    OwnConfig,
    PositiveFloat,
    Repeats,
    ReportConfig,
    Seconds,
    Section,
    Steps,
    TrainingConfig,
)

Configured = TypeVar("Configured", bound="Config")
Problem = tuple[str, str]
"""The dotted key of a setting, and what is wrong with it and what to do, as one clause.

Both make a line, `config: KEY = VALUE: REASON`, so that the reason names the nearest valid value.
"""
NAME = written(
    "[A-Za-z0-9][A-Za-z0-9_-]{0,99}", "must be of letters, digits, - and _ alone, at most 100"
)


class Config(Section):
    """Everything that a workflow run needs to know; a study set to null is left out."""

    name: Annotated[str, NAME] = Field(
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
    launches: Launches = Field(
        5,
        description="Launches that each timed cell is measured in, in processes of its own: "
        "intervals are over them.",
    )
    repeat_minutes: Minutes = Field(
        0.0,
        description="Minutes of a call in which cells of Q2 and Q3 are launched again, round by "
        "round, where a speed-up is open, above or below one, or a part of a step, neither told "
        "from zero nor below 5% of it; one round at the least. 0: none is. Above 0 the intervals "
        "are wider, so that they hold although somebody looked.",
    )
    audit: AuditConfig | None = Field(
        AuditConfig(), description="Tables of timings collected by hand, to check."
    )

    _own_facts: OwnFacts | None = PrivateAttr(None)
    _left_out: tuple[str, ...] = PrivateAttr(())

    @property
    def own_facts(self) -> OwnFacts | None:
        """What a look at the user's own file found; None where nobody looked."""
        return self._own_facts

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the rest of the file does not allow of the defaults, and why: a line each."""
        return self._left_out

    def with_facts(self: Configured, own: OwnFacts | None) -> Configured:
        """Return the configuration with what a look at the user's own file found."""
        if own is None:
            return self
        samples = self.data.samples or own.train_samples
        data = self.data.model_copy(update={"samples": samples})
        config = self.model_copy(update={"data": data})
        config._own_facts = own
        return config

    def with_left_out(self: Configured, lines: Sequence[str]) -> Configured:
        """Return the configuration with what it leaves out of the defaults."""
        config = self.model_copy()
        config._left_out = tuple(lines)
        return config

    def section(self, name: str) -> Any:
        """Return a study's section; None where the configuration leaves the study out."""
        return getattr(self, name)

    def sections(self) -> Iterator[tuple[str, "StudySection"]]:
        """Yield the sections of the studies that are not left out, by name."""
        for name in type(self).model_fields:
            if isinstance(section := getattr(self, name), StudySection):
                yield name, section

    def goals(self) -> list[Goal]:
        """Return the goals that trainings are searched for."""
        return [goal for _, section in self.sections() for goal in section.goals(self)]


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
    """A section that plans runs, and what it asks of the rest of the configuration.

    Of its fields `epochs`, `warmup_epochs` and `decay_epochs` no warm-up may be longer than the
    training and no decay come after its end.
    """

    of_accuracy: ClassVar[bool] = False  # synthetic images have no meaning to be learnt
    follows_schedule: ClassVar[bool] = False  # its trainings have the schedule of `training`
    built_in: ClassVar[str] = ""  # why it cannot train a user's own network
    tries: ClassVar[str] = ""  # how it trains a user's own: "stacked", several as one; "sharded"
    needs_correct: ClassVar[bool] = False  # of a user's own, without which no goal is seen

    def defaults(self, config: Config) -> Mapping[str, object]:
        """Return values of fields that a file may leave open and that other settings decide."""
        return {}

    def data(self, config: Config) -> DataConfig:
        """Return the data that its runs train on, as far as their number matters."""
        return config.data

    def worker_counts(self) -> Iterator[tuple[str, int]]:
        """Yield (field, workers) for each number of workers that runs are planned with."""
        workers: int | tuple[int, ...] = getattr(self, "workers", ())
        for count in (workers,) if isinstance(workers, int) else workers:
            yield "workers", count

    def batches(self, config: Config) -> Iterator[tuple[str, int, int]]:
        """Yield (field, workers, batch of each) for steps that the training images must fill."""
        yield from ()

    def goals(self, config: Config) -> Sequence[Goal]:
        """Return the goals that it searches trainings for."""
        return ()

    def unfollowed(self) -> Sequence[Unfollowed]:
        """Return the settings of `training` that the study's runs would not follow."""
        return ()

    def problems(self, config: Config) -> Iterator[Problem]:
        """Yield what else cannot be combined."""
        yield from ()


class ArmsSection(StudySection):
    """A section that plans runs whose arms split a step, until their differences are known."""

    repeats: Repeats = Field(
        1,
        description="Repeats of each arm in a launch at least; from 2 on more until the "
        "interval is narrow enough.",
    )
    steps: Steps = Field(20, description="Steps of an arm in one repeat.")
    interval_frac: PositiveFloat = Field(
        0.05,
        description="Narrow enough: 95% intervals of differences between arms, as a share of "
        "the step.",
    )
    budget_s: Seconds = Field(
        20.0, description="Seconds after which a launch starts no further repeat."
    )
