"""Q1: one device, growing batch."""

from dpscale.plan.spec import TIMED, Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

BOUNDARY = Kind(  # its probes are timed runs
    "boundary", TIMED.version, __name__, "measure:measure_boundary", "config:BoundaryProtocol", True
)
STUDY = Study(
    "batch_sweep",
    kinds=(BOUNDARY,),
    tidy={"probes": columns("per_worker_batch status")},
    questions=("Q1",),
    runs=("sweep",),
)
