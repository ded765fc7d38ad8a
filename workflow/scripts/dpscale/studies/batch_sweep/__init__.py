"""Q1: one device, growing batch."""

from dpscale.studies.study import Study

STUDY = Study(
    "batch_sweep",
    derived=("sweep", "boundary"),
    figures=("batch_sweep", "batch_memory"),
    questions=("Q1",),
    runs=("sweep",),
)
