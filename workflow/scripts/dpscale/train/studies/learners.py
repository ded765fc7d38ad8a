"""S3: throughput against the number of learners on a device."""

from dpscale.plan import Spec
from dpscale.train.data import Dataset
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place


def measure_learners(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """The trials of a run."""
    raise NotImplementedError
