"""S3: synchronous model averaging."""

from dpscale.plan.spec import Kind
from dpscale.records.schemas import BOOL, FLOAT, INT, typed
from dpscale.studies.study import Study

_MEASURE = "dpscale.studies.model_averaging.measure"
AVERAGING = Kind("averaging", 3, f"{_MEASURE}.averaging:measure_averaging")
LEARNERS = Kind("learners", 2, f"{_MEASURE}.learners:measure_learners", timed=True)
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
