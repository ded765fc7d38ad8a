"""Q1: one device, growing batch."""

from dpscale.plan.spec import TIMED, Kind
from dpscale.records.schemas import INT, TEXT, typed
from dpscale.studies.study import Study

BOUNDARY = Kind(  # its probes are timed runs
    "boundary", TIMED.version, __name__, "measure:measure_boundary", "config:BoundaryProtocol", True
)
PROBES = typed("per_worker_batch", INT) | typed("status", TEXT)
STUDY = Study(
    "batch_sweep", kinds=(BOUNDARY,), tidy={"probes": PROBES}, questions=("Q1",), runs=("sweep",)
)
