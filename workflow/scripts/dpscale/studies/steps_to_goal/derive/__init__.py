"""The derived tables of the study."""

from dpscale.derive.tables import Table
from dpscale.studies.steps_to_goal import published
from dpscale.studies.steps_to_goal.derive import fit, lessons, searches

TABLES = {
    "noise_scale": Table(
        fit.noise_scale, ["gradient_squares", "trials", "runs"], fit.NOISE_COLUMNS
    ),
    "goal_fit": Table(fit.goal_fit, ["trials", "gradient_squares", "runs"], fit.FIT_COLUMNS),
    "goal_contrasts": Table(
        fit.goal_contrasts, ["trials", "goal_fit", "goal_margins"], fit.CONTRAST_COLUMNS
    ),
    "steps_to_goal": Table(
        searches.steps_to_goal,
        ["trials", "curves", "searches", "goal_fit", "runs"],
        searches.STEPS_COLUMNS,
    ),
    "published_steps_to_goal": Table(
        published.published_steps_to_goal, ["goal_fit", "goal_contrasts"], published.COLUMNS
    ),
    "goal_searches": Table(
        lessons.goal_searches,
        ["goal_fit", "steps_to_goal", "published_steps_to_goal"],
        lessons.COLUMNS,
    ),
    "budget": Table(
        searches.budget, ["trials", "curves", "searches", "runs"], searches.BUDGET_COLUMNS
    ),
    "budget_ends": Table(searches.budget_ends, ["budget"], searches.ENDS_COLUMNS),
    "trial_outcomes": Table(searches.trial_outcomes, ["steps_to_goal"], searches.OUTCOMES_COLUMNS),
}
