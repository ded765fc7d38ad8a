"""Q2: the speed-up of N workers."""

from dpscale.studies.study import Study

STUDY = Study("scaling", questions=("Q2",))
