"""Q5 and Q7: the order of samples, and what makes the workers agree."""

from dpscale.studies.study import Study

STUDY = Study("replicas", questions=("Q5", "Q7"))
