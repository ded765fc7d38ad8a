"""S2: the learning rate and the warm-up of a large batch."""

from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

SCALED = Kind("scaled", 3, __name__, "measure:measure_scaled", "config:RateProtocol")
STUDY = Study(
    "lr_scaling",
    kinds=(SCALED,),
    tidy={"runs": columns("role rule group_batch groups reference_groups base_lr margin_frac")},
    questions=("S2",),
)
