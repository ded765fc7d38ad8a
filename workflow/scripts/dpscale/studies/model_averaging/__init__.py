"""S3: synchronous model averaging."""

from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

AVERAGING = Kind(
    "averaging", 4, __name__, "measure.averaging:measure_averaging", "config:AveragingProtocol"
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
        "trials": columns("alpha target_accuracy_frac median_of"),
        # Timed repeats of so many learners that train side by side on one device.
        "throughputs": columns(
            "learners per_learner_batch repeat samples seconds threshold_frac stacked"
        ),
    },
    questions=("S3",),
)
