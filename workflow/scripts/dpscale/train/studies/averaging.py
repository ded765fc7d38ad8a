"""S3: trainings of k learners by synchronous model averaging, or by synchronous SGD."""

from dpscale.plan import Spec
from dpscale.train.data import Dataset
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place


def measure_averaging(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """The trials of a run."""
    raise NotImplementedError
