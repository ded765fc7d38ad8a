"""S3: synchronous model averaging."""

from dpscale.plan.spec import Kind
from dpscale.records.schemas import BOOL, FLOAT, INT, typed
from dpscale.studies.study import Study

AVERAGING = Kind(
    "averaging", 3, __name__, "measure.averaging:measure_averaging", "config:AveragingProtocol"
)
LEARNERS = Kind(
    "learners",
    2,
    __name__,
    "measure.learners:measure_learners",
    "config:LearnersProtocol",
    timed=True,
)
STUDY = Study(
    "model_averaging",
    kinds=(AVERAGING, LEARNERS),
    tidy={
        "trials": typed("alpha target_accuracy_frac", FLOAT) | typed("median_of", INT),
        # Timed repeats of so many learners that train side by side on one device.
        "throughputs": typed("learners per_learner_batch repeat samples", INT)
        | typed("seconds threshold_frac", FLOAT)
        | typed("stacked", BOOL),
    },
    questions=("S3",),
)  # fmt: skip
