"""S1: steps to a goal error against the batch size."""

from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

NO_BEND, TOO_FEW = "no bend", "too few batch sizes"  # statuses of a fit
SEARCH = Kind("search", 3, __name__, "measure.search:measure_search", "config:Search")
STUDY = Study(
    "steps_to_goal",
    kinds=(SEARCH,),
    tidy={
        "gradient_squares": columns(
            "run trial step small_batch big_batch small_gradient_square big_gradient_square"
        ),
        "searches": columns("model optimizer goal_error_frac effective_lr_low effective_lr_high")
        | columns(
            "momentum_rest_low max_steps max_epochs patience evaluation_samples planned_trials"
        )
        | columns("finalists stacked_samples noise_batch batch_sizes expected"),
        "goal_margins": columns("equivalent_factor"),  # as the configuration has it, of no run
    },
    questions=("S1",),
)
