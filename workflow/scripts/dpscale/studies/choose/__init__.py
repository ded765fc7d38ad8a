"""E2: how many workers and which batch size, from steps to the goal and seconds of a step."""

from dpscale.plan.spec import Kind
from dpscale.records.columns import columns
from dpscale.studies.study import Study

GRID = Kind("grid", 3, __name__, "measure:measure_grid", "config:GridProtocol", timed=True)
GOAL = Kind("goal", 3, __name__, "measure:measure_goal", "config:GoalProtocol")
STUDY = Study(
    "choose",
    kinds=(GRID, GOAL),
    tidy={
        # What a worker took for a step, the mean of a repeat; DDP, and DDP that sends nothing.
        "grid": columns("timed_arm per_worker_batch repeat rank step_s backward_s"),
        "grid_memory": columns("per_worker_batch rank peak_bytes"),
        "grid_buckets": columns("per_worker_batch index bytes ready_frac"),
        # What the configuration wants of the choice.
        "limits": columns(
            "aim deadline_s worker_hours price_per_worker_hour memory_bytes predicted_workers "
            "prediction_factor"
        ),
    },
    questions=("E2",),
)
