"""Q3: computation, communication, bandwidth, and links that were not measured."""

from dpscale.studies.study import Study

STUDY = Study("communication", questions=("Q3.1", "Q3.2"), runs=("scaling",))
