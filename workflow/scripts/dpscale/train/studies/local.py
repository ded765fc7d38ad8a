"""S4: trainings of K workers by mini-batch, local and post-local SGD."""

from dpscale.plan import Spec
from dpscale.train.data import Dataset
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place


def measure_local(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """The trials of a run."""
    raise NotImplementedError
