"""The derived tables of the study."""

from dpscale.derive.tables import Table
from dpscale.studies.choose.derive import doublings, goal, grid, trainings

TABLES = {
    "step_grid": Table(grid.step_grid, ["grid", "grid_memory", "runs"], grid.GRID_COLUMNS),
    "step_prediction": Table(
        grid.step_prediction,
        ["step_grid", "grid_buckets", "link", "limits", "runs"],
        grid.PREDICTION_COLUMNS,
    ),
    "time_to_goal": Table(
        goal.time_to_goal,
        ["step_grid", "step_prediction", "steps_to_goal", "limits", "runs"],
        goal.GOAL_COLUMNS,
    ),
    "advice": Table(goal.advice, ["time_to_goal", "limits"], goal.ADVICE_COLUMNS),
    "doublings": Table(
        doublings.doublings,
        ["time_to_goal", "step_grid"],
        doublings.DOUBLING_COLUMNS,
        doublings.judge_doublings,
    ),
    "goal_trainings": Table(
        trainings.goal_trainings,
        ["time_to_goal", "trials", "advice", "limits", "runs"],
        trainings.TRAINED_COLUMNS,
        trainings.judge_trainings,
    ),
}
