"""Section of the configuration that describes the study S2."""

from pydantic import Field

from dpscale.config.sections import Section
from dpscale.config.studies import Seeds


class LrScalingConfig(Section):
    """S2: rules that scale the learning rate with the batch, and its warm-up."""

    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
