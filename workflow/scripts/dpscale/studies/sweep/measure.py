"""Q1: the record of the search for the largest batch."""

from dpscale.plan import Spec
from dpscale.studies.sweep.config import BoundaryProtocol
from dpscale.train.data import Task
from dpscale.train.measurement import Measurement
from dpscale.train.worker import Place


def measure_boundary(spec: "Spec[BoundaryProtocol]", task: Task, place: Place) -> Measurement:
    """Return what was tried before this run began (`boundary.search`), in rows of `probes`."""
    return Measurement(
        fields={"probes": [probe.model_dump() for probe in spec.protocol.probes or ()]}
    )
