"""S9: how fast a trained network would answer, by the batch size."""

from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

INFERENCE = Kind(
    "inference", 1, __name__, "measure:measure_inference", "config:InferenceProtocol", timed=True
)
STUDY = Study(
    "inference", kinds=(INFERENCE,), tidy={"passes": columns("repeat forward_s")}, questions=("S9",)
)
