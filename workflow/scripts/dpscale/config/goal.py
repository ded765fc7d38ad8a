"""A goal that trainings are to reach: what the study that searches for it tells the others."""

from typing import Annotated, NamedTuple

from pydantic import Field

from dpscale.config.bounds import at_most
from dpscale.config.sections import DataConfig, Epochs, ModelName, Samples, Section, Steps


class Budget(Section):
    """When a trial that has not reached the goal ends."""

    max_steps: Steps = Field(4000, description="Steps of a trial at most.")
    max_epochs: Epochs = Field(400, description="Epochs of a trial at most.")
    patience: Annotated[float, Field(ge=1), at_most(10**6, "no search has so many steps")] = Field(
        3.0,
        description="A search ends at this multiple of the steps of the first trial that "
        "reached the goal, or as soon as there are enough finalists.",
    )
    evaluation_samples: Samples = Field(
        32, description="Training samples from one evaluation to the next, one step at least."
    )


class Goal(NamedTuple):
    """A validation error that trainings of a network are to reach.

    model: as a study names it, None for the configuration's; network: its name; optimizers and
    batch_sizes: global ones, of which the best rates and the steps to the goal are searched;
    budget: how a trial looks for the goal, and when it ends.
    """

    model: ModelName | None
    network: str
    error_frac: float
    optimizers: tuple[str, ...]
    batch_sizes: tuple[int, ...]
    budget: Budget
    weight_decay: float
    data: DataConfig
