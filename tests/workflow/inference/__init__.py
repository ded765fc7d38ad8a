"""S9: how fast a trained network would answer, by the batch size."""

from dpscale.plan.spec import Kind
from dpscale.studies.study import Study

INFERENCE = Kind(
    "inference",
    1,
    __name__,
    "measure:measure_inference",
    "config:InferenceProtocol",
    timed=True,
)
STUDY = Study(
    "inference",
    kinds=(INFERENCE,),
    tidy={"passes": {"run": "str", "repeat": "Int64", "forward_s": "float64"}},
    questions=("S9",),
)
