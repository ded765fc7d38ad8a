"""Q2, Q3: speed-up of N workers, computation, communication, bandwidth, links not measured."""

from dpscale.studies.study import Study

STUDY = Study("scaling", questions=("Q2", "Q3.1", "Q3.2"))
