"""Q1: one device, growing batch."""

from dpscale.plan.spec import TIMED, Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

BOUNDARY = Kind(  # its probes are timed runs
    "boundary", TIMED.version, __name__, "measure:measure_boundary", "config:BoundaryProtocol", True
)
TIDY = {"probes": columns("per_worker_batch status")}
STUDY = Study("sweep", kinds=(BOUNDARY,), tidy=TIDY, questions=("Q1",))
