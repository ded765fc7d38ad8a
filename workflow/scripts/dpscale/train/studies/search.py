"""S1: steps to a goal error, trial by trial."""

from dpscale.plan import Spec
from dpscale.train.data import Dataset
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place


def measure_search(spec: Spec, dataset: Dataset, place: Place) -> Measurement:
    """The trials of a run."""
    raise NotImplementedError
