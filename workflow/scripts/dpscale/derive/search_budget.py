"""Solution quality at the same budget, read in steps and in epochs."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import Columns, as_table, flags, floats, integers, texts
from dpscale.derive.searches import of_role, search_runs

POWER = 4  # budgets are powers of it, of steps or of samples
CURVE = ["step", "error_frac", "trial", "steps_to_goal", "global_batch"]
COLUMNS: Columns = (
    texts("model optimizer kind")
    | floats("budget epochs")
    | integers("steps global_batch trials")
    | floats("validation_error_frac goal_error_frac")
    | flags("reached")
    | texts("status runs")
)


def _best(curves: pd.DataFrame, steps: int) -> tuple[float, int]:
    """The least error of all trials, each where it stands after so many steps, and their number.

    curves: in the order of the steps.
    """
    count = int(np.searchsorted(curves["step"], steps, side="right"))
    latest_first = curves.iloc[:count][::-1]
    _, last = np.unique(latest_first["trial"], return_index=True)
    return float(latest_first["error_frac"].to_numpy()[last].min()), len(last)


def _budgets(largest: int) -> list[int]:
    found, budget = [], 1
    while budget <= largest:
        found.append(budget)
        budget *= POWER
    return found


def _run_rows(
    own: dict[str, Any], curves: pd.DataFrame, goal: float, train_samples: int
) -> list[dict[str, Any]]:
    """curves: the columns CURVE of a run's search, in the order of the steps."""
    rows = []
    most = curves.groupby("global_batch")["step"].max()
    samples = int((most * most.index).max())
    by_batch = {int(str(batch)): frame for batch, frame in curves.groupby("global_batch")}
    for kind, budgets in (("steps", _budgets(int(most.max()))), ("epochs", _budgets(samples))):
        for budget in budgets:
            for batch, of_batch in by_batch.items():
                steps = budget if kind == "steps" else budget // batch
                if steps < 1:
                    continue
                error, count = _best(of_batch, steps)
                reached = bool((of_batch["steps_to_goal"] <= steps).any())
                epochs = steps * batch / train_samples
                rows.append(own | {
                    "kind": kind, "global_batch": batch, "steps": steps,
                    "budget": budget if kind == "steps" else budget / train_samples,
                    "epochs": epochs, "trials": count, "validation_error_frac": error,
                    "goal_error_frac": goal, "reached": reached,
                })  # fmt: skip
    return rows


def budget(
    trials: pd.DataFrame, evaluations: pd.DataFrame, searches: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each (model, optimiser, kind and size of the budget, batch size).

    kind `steps`: `budget` counts steps; `epochs`: passes over the training samples.
    validation_error_frac: of the best trial of the search, chosen at that budget. Trials stop at
    the goal, so an error is at most known to be below it (`reached`).
    """
    goals = dict(zip(searches["run"], searches["goal_error_frac"], strict=True))
    rows: list[dict[str, Any]] = []
    for key, run in search_runs(runs):
        name = run["run"]
        own = key | {"status": run["status"], "runs": name}
        searched = of_role(trials, name, "search")[["trial", "global_batch", "steps_to_goal"]]
        curves = evaluations[(evaluations["run"] == name)].dropna(subset="validation_accuracy_frac")
        curves = curves.merge(searched, on="trial")
        if run["status"] != "complete" or curves.empty or name not in goals:
            rows.append(own)
            continue
        curves = curves.assign(error_frac=1 - curves["validation_accuracy_frac"])
        curves["global_batch"] = curves["global_batch"].astype(int)
        curves = curves[CURVE].sort_values("step")
        rows += _run_rows(own, curves, goals[name], int(run["train_samples"]))
    return as_table(rows, COLUMNS)
