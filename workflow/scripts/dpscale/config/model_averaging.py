"""Section of the configuration that describes the study S3."""

from pydantic import Field

from dpscale.config.sections import Section
from dpscale.config.studies import Seeds


class ModelAveragingConfig(Section):
    """S3: synchronous model averaging with several learners a device."""

    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
