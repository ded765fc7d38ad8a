"""Q2: the speed-up of N workers."""

from dpscale.studies.study import Study

STUDY = Study(
    "scaling",
    derived=("scaling",),
    figures=("speedup", "speedup_brief"),
    questions=("Q2",),
)
