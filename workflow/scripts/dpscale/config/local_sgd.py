"""Section of the configuration that describes the study S4."""

from pydantic import Field

from dpscale.config.sections import Section
from dpscale.config.studies import Seeds


class LocalSgdConfig(Section):
    """S4: local and post-local SGD."""

    seeds: Seeds = Field((0, 1, 2), description="Seeds of the repeated trainings.")
