"""On your cluster: what of this report carries over to the lab as asked, and what is left to it."""

from dpscale.studies.study import Study

STUDY = Study("cluster", closing="cluster")  # of what others measured
