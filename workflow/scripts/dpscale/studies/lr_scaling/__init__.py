"""S2: the learning rate and the warm-up of a large batch."""

from dpscale.plan.spec import Kind
from dpscale.records.schemas import FLOAT, INT, TEXT, typed
from dpscale.studies.study import Study

SCALED = Kind("scaled", 2, __name__, "measure:measure_scaled", "config:RateProtocol")
STUDY = Study(
    "lr_scaling",
    kinds=(SCALED,),
    tidy={
        "runs": typed("role rule", TEXT)
        | typed("group_batch groups reference_groups", INT)
        | typed("base_lr margin_frac", FLOAT)
    },
    questions=("S2",),
)
