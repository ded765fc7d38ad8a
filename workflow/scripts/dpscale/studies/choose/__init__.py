"""E2: how many workers and which batch size, from steps to the goal and seconds of a step."""

from dpscale.plan.spec import Kind
from dpscale.records.schemas import FLOAT, INT, TEXT, typed
from dpscale.studies.study import Study

GRID = Kind("grid", 3, __name__, "measure:measure_grid", "config:GridProtocol", timed=True)
GOAL = Kind("goal", 3, __name__, "measure:measure_goal", "config:GoalProtocol")
STUDY = Study(
    "choose",
    kinds=(GRID, GOAL),
    tidy={
        # What a worker took for a step, the mean of a repeat; DDP, and DDP that sends nothing.
        "grid": typed("timed_arm", TEXT)
        | typed("per_worker_batch repeat rank", INT)
        | typed("step_s backward_s", FLOAT),
        "grid_memory": typed("per_worker_batch rank peak_bytes", INT),
        "grid_buckets": typed("per_worker_batch index bytes", INT) | typed("ready_frac", FLOAT),
        # What the configuration wants of the choice.
        "limits": typed("aim", TEXT)
        | typed("deadline_s worker_hours price_per_worker_hour", FLOAT)
        | typed("memory_bytes", INT)
        | typed("predicted_workers", TEXT),
    },
    questions=("E2",),
)  # fmt: skip
