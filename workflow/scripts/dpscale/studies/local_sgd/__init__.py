"""S4: local and post-local SGD."""

from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

LOCAL = Kind("local", 4, __name__, "measure.runs:measure_local", "config:LocalProtocol")
STUDY = Study(
    "local_sgd",
    kinds=(LOCAL,),
    tidy={"trials": columns("label_noise_frac rate_factor local_from_step")},
    questions=("S4",),
)
