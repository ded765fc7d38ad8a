"""Q1: one device, growing batch."""

from dpscale.plan.spec import TIMED, Kind
from dpscale.records.schemas import INT, TEXT, typed
from dpscale.studies.study import Study

# Its probes are timed runs.
BOUNDARY = Kind(
    "boundary",
    TIMED.version,
    __name__,
    "measure:measure_boundary",
    "config:BoundaryProtocol",
    timed=True,
)
STUDY = Study(
    "batch_sweep",
    kinds=(BOUNDARY,),
    tidy={"probes": typed("per_worker_batch", INT) | typed("status", TEXT)},
    derived=("sweep", "boundary"),
    figures=("batch_sweep", "batch_memory"),
    questions=("Q1",),
    runs=("sweep",),
)
