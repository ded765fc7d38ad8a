"""Q1: one device, growing batch."""

from dpscale.plan.spec import TIMED, Kind
from dpscale.records.schemas import INT, TEXT, typed
from dpscale.studies.study import Study

_HERE = "dpscale.studies.batch_sweep"
# Its probes are timed runs.
BOUNDARY = Kind(
    "boundary", TIMED.version, f"{_HERE}.measure:measure_boundary",
    f"{_HERE}.config:BoundaryProtocol", timed=True,
)  # fmt: skip
STUDY = Study(
    "batch_sweep",
    kinds=(BOUNDARY,),
    tidy={"probes": typed("per_worker_batch", INT) | typed("status", TEXT)},
    derived=("sweep", "boundary"),
    figures=("batch_sweep", "batch_memory"),
    questions=("Q1",),
    runs=("sweep",),
)
