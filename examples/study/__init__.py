"""S9: how fast a trained network would answer, by the batch size."""

from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

KIND = Kind("inference", 1, __name__, "measure:measure", "config:InferenceProtocol", timed=True)
PASSES = columns("repeat forward_s")
STUDY = Study("inference", kinds=(KIND,), tidy={"inference_passes": PASSES}, questions=("S9",))
