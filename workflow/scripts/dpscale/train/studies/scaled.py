"""S2: trainings with groups of batch norm, by rules of rate and warm-up."""

from dpscale.plan import Spec
from dpscale.train.data import Dataset
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place


def measure_scaled(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """The trials of a run."""
    raise NotImplementedError
