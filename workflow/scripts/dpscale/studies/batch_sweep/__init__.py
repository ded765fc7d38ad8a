"""Q1: one device, growing batch."""

from dpscale.studies.study import Study

STUDY = Study("batch_sweep", questions=("Q1",), runs=("sweep",))
