"""What is found once for all runs: the dataset's sizes, and the largest batch that fits."""

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from dpscale.records.record import Count


class DatasetFacts(BaseModel):
    """dataset.json: counts of samples, and what else the dataset says of itself."""

    model_config = ConfigDict(frozen=True, extra="allow")

    dataset: str
    train_samples: Count
    validation_samples: Count
    test_samples: Count


class Boundary(BaseModel):
    """boundary.json: the two sides of the boundary, null where unknown, and the runs that tried."""

    model_config = ConfigDict(frozen=True)

    largest_fit_batch: Count | None
    smallest_failed_batch: Count | None
    probes: tuple[str, ...]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        fits, fails = self.largest_fit_batch, self.smallest_failed_batch
        if fits is not None and fails is not None and fits >= fails:
            raise ValueError(f"largest_fit_batch is not below smallest_failed_batch, {fails}")
        return self
