"""H1 to H6: the cluster-training assignment."""

from dpscale.studies.study import Study

STUDY = Study("assignment", questions=("H1", "H2", "H3", "H4", "H5", "H6"))
