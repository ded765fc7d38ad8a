"""Section of the configuration that describes the study S1."""

from pydantic import Field

from dpscale.config.sections import Section
from dpscale.config.studies import Seeds


class StepsToGoalConfig(Section):
    """S1: steps to a goal error against the batch size, metaparameters searched anew at each."""

    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
