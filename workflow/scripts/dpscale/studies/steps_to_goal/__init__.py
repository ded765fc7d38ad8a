"""S1: steps to a goal error against the batch size."""

from dpscale.plan.spec import Kind
from dpscale.records.schemas import FLOAT, INT, TEXT, typed
from dpscale.studies.study import Study

NO_BEND, TOO_FEW = "no bend", "too few batch sizes"  # statuses of a fit
SEARCH = Kind("search", 3, __name__, "measure.search:measure_search", "config:Search")
STUDY = Study(
    "steps_to_goal",
    kinds=(SEARCH,),
    tidy={
        # Mean squared norms of gradients: of small batches, and of a big one of all of them.
        "gradient_squares": typed("run", TEXT)
        | typed("trial step small_batch big_batch", INT)
        | typed("small_gradient_square big_gradient_square", FLOAT),
        # What a search was told to look for, and where: its protocol.
        "searches": typed("model optimizer", TEXT)
        | typed("goal_error_frac effective_lr_low effective_lr_high momentum_rest_low", FLOAT)
        | typed("max_steps max_epochs", INT)
        | typed("patience", FLOAT)
        | typed("evaluation_samples planned_trials finalists stacked_samples noise_batch", INT)
        | typed("batch_sizes expected", TEXT),
    },
    questions=("S1",),
)  # fmt: skip
