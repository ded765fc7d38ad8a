"""What is found once for all runs: the dataset's sizes."""

from pydantic import BaseModel, ConfigDict

from dpscale.records.record import Count


class DatasetFacts(BaseModel):
    """dataset.json: counts of samples, and what else the dataset says of itself."""

    model_config = ConfigDict(frozen=True, extra="allow")

    dataset: str
    train_samples: Count
    validation_samples: Count
    test_samples: Count
