"""What the searches found: their winners' steps to the goal, and errors at equal budgets."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dpscale.derive.columns import as_table, known
from dpscale.derive.formulas import log_slope
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import (
    CONFIDENCE,
    TAIL,
    about_neighbours,
    censored_median,
    interval_columns,
    median,
)
from dpscale.records.columns import Columns, columns, intervals, reals
from dpscale.studies.steps_to_goal.config import SearchOptimizer
from dpscale.vocabulary import words

BORDER_SHARE = 0.1  # of a logarithmic range, at each end: as near as that is on the border
# Regimes part at this factor below and above B_crit: up to there doubling the batch cuts the steps
# nearly in half, from there on it hardly helps.
REGIME_FACTOR = 4.0
PERFECT_SLOPE, MAXIMAL_SLOPE = log_slope(REGIME_FACTOR, 1.0), log_slope(1.0, REGIME_FACTOR)
BUDGETS = [4**power for power in range(32)]  # of steps or of samples
OUTCOMES = ("complete", "incomplete", "infeasible")

STEPS_COLUMNS: Columns = (
    columns("model")
    | words("optimizer", SearchOptimizer)
    | columns("global_batch status")
    | intervals("steps_to_goal searched_steps")
    | columns("repeats repeats_reached perfect_scaling_steps samples_to_goal epochs_to_goal")
    | columns("regime lr momentum effective_lr at_border trials complete_trials incomplete_trials")
    | columns("infeasible_trials search_steps")
    | intervals("test_error_frac")
    | columns("goal_error_frac step_resolution runs")
)
BUDGET_COLUMNS: Columns = (
    columns("model optimizer kind budget epochs steps global_batch trials validation_error_frac")
    | columns("goal_error_frac goal_reached status runs")
    | reals("epochs")
)
ENDS_COLUMNS: Columns = (
    columns("kind") | words("end", ("small", "large")) | columns("wins of by_chance runs")
)
OUTCOMES_COLUMNS: Columns = words("outcome", OUTCOMES) | columns("trials of share_frac runs")


def search_rows(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return of each search what its rows share, and the size of its training split.

    Raises MixedMachinesError for runs of different machines.
    """
    searches = runs[runs["kind"] == "search"]
    require_same_machine(searches)
    return [
        {
            "model": run.model,
            "optimizer": run.arm,
            "status": run.status,
            "runs": run.run,
            "train_samples": run.train_samples,
        }
        for run in searches.itertuples()
    ]


def of_role(trials: pd.DataFrame, run: str, role: str) -> pd.DataFrame:
    """Return the trials of a run that play a role: search, final or repeat."""
    return trials[(trials["run"] == run) & (trials["role"] == role)]


def batch_medians(trials: pd.DataFrame, run: str) -> dict[int, float]:
    """Return the median steps to the goal of a run's repeats by batch size, the known ones."""
    repeats = of_role(trials, run, "repeat").groupby("global_batch")["steps_to_goal"]
    medians = {int(known(batch)): censored_median(steps).value for batch, steps in repeats}
    return {batch: steps for batch, steps in medians.items() if steps is not None}


def at_border(lr: float, momentum: float, space: dict[str, Any]) -> bool:
    """Return whether a point lies in the outer tenth of the search space, on logarithmic axes.

    The end of the space at no momentum is none of it: there is nothing beyond.
    """
    low, high = np.log([space["effective_lr_low"], space["effective_lr_high"]])
    place = (np.log(lr / (1 - momentum)) - low) / (high - low)
    outside = place < BORDER_SHARE or place > 1 - BORDER_SHARE
    if momentum > 0:
        outside |= np.log(1 - momentum) < np.log(space["momentum_rest_low"]) * (1 - BORDER_SHARE)
    return bool(outside)


def _regime(b_crit: float | None, batch: int) -> str | None:
    if b_crit is None:
        return None
    slope = log_slope(b_crit, float(batch))
    if slope <= PERFECT_SLOPE:
        return "perfect scaling"
    return "diminishing returns" if slope < MAXIMAL_SLOPE else "maximal data parallelism"


def _of_repeats(
    repeats: pd.DataFrame, curves: pd.DataFrame, protocol: dict[str, Any], samples: int
) -> dict[str, Any]:
    """What the repeats of the winner at one batch size say; samples: of an epoch."""
    if repeats.empty:
        return {"status": "incomplete"}
    steps = censored_median(repeats["steps_to_goal"])
    tests = curves[curves["trial"].isin(repeats["trial"])]["test_accuracy_frac"]
    batch, lr, momentum = repeats[["global_batch", "lr", "momentum"]].iloc[0]
    seen = None if steps.value is None else steps.value * batch
    return {
        "status": "incomplete" if seen is None else "complete",
        **interval_columns("steps_to_goal", steps),
        "repeats": len(repeats),
        "repeats_reached": repeats["steps_to_goal"].notna().sum(),
        "samples_to_goal": seen,
        "epochs_to_goal": seen and seen / samples,
        "lr": lr,
        "momentum": momentum,
        "effective_lr": lr / (1 - momentum),
        "at_border": at_border(lr, momentum, protocol),
        **interval_columns("test_error_frac", median(1 - tests.to_numpy(dtype=float))),
    }


def steps_to_goal(
    trials: pd.DataFrame,
    curves: pd.DataFrame,
    searches: pd.DataFrame,
    goal_fit: pd.DataFrame,
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Return one row for each (model, optimiser, batch size).

    steps_to_goal: median over the winner's repeats; status incomplete and null where half of them
    or more, or every trial of the search, ended before the goal. perfect_scaling_steps: those of
    the smallest batch that reached it, divided by the growth of the batch. search_steps: fewest
    steps in the search, which flatter its winner. searched_steps: steps_to_goal with an interval
    that holds the luck of the search too (`with_luck`). A run without a record is one row with its
    status. Raises MixedMachinesError for runs of different machines.
    """
    b_crits = dict(zip(goal_fit["runs"], goal_fit["b_crit"], strict=True))
    protocols = {row["run"]: row for row in searches.to_dict("records")}
    rows: list[dict[str, Any]] = []
    for own in search_rows(runs):
        run, protocol = own["runs"], protocols.get(own["runs"])
        if own["status"] != "complete" or protocol is None:
            rows.append(own)
            continue
        seen = curves[curves["run"] == run]
        for batch, of_batch in trials[trials["run"] == run].groupby("global_batch"):
            searched = of_batch[of_batch["role"] == "search"]
            ended = searched["status"].replace("diverged", "infeasible").value_counts()
            repeats = of_batch[of_batch["role"] == "repeat"]
            rows.append(
                {
                    **own,
                    "global_batch": batch,
                    "goal_error_frac": protocol["goal_error_frac"],
                    "step_resolution": max(1, protocol["evaluation_samples"] // batch),
                    "regime": _regime(known(b_crits.get(run)), batch),
                    "trials": len(searched),
                    "search_steps": searched["steps_to_goal"].min(),
                    **{f"{outcome}_trials": ended.get(outcome, 0) for outcome in OUTCOMES},
                    **_of_repeats(repeats, seen, protocol, own["train_samples"]),
                }
            )
    table = with_luck(as_table(rows, STEPS_COLUMNS))
    first = table.groupby("runs")["samples_to_goal"].transform("first")
    return table.assign(perfect_scaling_steps=(first / table["global_batch"]).astype("float64"))


def with_luck(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with searched_steps, which another search of a batch size may have given.

    Each batch size is searched anew, so searches scatter as medians do about a smooth curve of the
    batch size, both logarithmic (`about_neighbours`); by Student's t, and not narrower than the
    interval over seeds. Of fewer than 3 batch sizes the luck is unknown, and so are the ends.
    """
    for _, own in table.dropna(subset="steps_to_goal").groupby("runs"):
        own = own.sort_values("global_batch")
        steps = own["steps_to_goal"].to_numpy(float)
        scatter, freedom = about_neighbours(
            np.log(own["global_batch"].to_numpy(float)), np.log(steps)
        )
        factor = np.exp(stdtrit(freedom, 1 - TAIL) * scatter)
        table.loc[own.index, "searched_steps"] = steps
        table.loc[own.index, "searched_steps_low"] = np.minimum(
            steps / factor, own["steps_to_goal_low"]
        )
        table.loc[own.index, "searched_steps_high"] = np.maximum(
            steps * factor, own["steps_to_goal_high"]
        )
    return table


def trial_outcomes(steps_to_goal: pd.DataFrame) -> pd.DataFrame:
    """Return how many trials of all searches ended how, and their share; no row without a trial."""
    rows = steps_to_goal.dropna(subset="global_batch")
    counts = {name: rows[f"{name}_trials"].sum() for name in OUTCOMES}
    total, runs = sum(counts.values()), " ".join(rows["runs"].unique())
    found = [
        {"outcome": name, "trials": count, "of": total, "share_frac": count / total, "runs": runs}
        for name, count in counts.items()
        if total
    ]
    return as_table(found, OUTCOMES_COLUMNS)


def _at_budgets(curves: pd.DataFrame, samples: int) -> Iterator[dict[str, Any]]:
    """Of each budget and batch size the best error, of all trials where they stand after it.

    curves: the evaluations of a search's trials in the order of the steps; samples: of an epoch.
    """
    by_batch = curves.groupby("global_batch")
    most = by_batch["step"].max()
    # Arrays: thousands of looks at frames take a second of a small report.
    seen = {
        batch: (
            own["step"].to_numpy(),
            own["trial"].factorize()[0],
            1 - own["validation_accuracy_frac"].to_numpy(float),
            min(own["steps_to_goal"].dropna(), default=np.inf),
        )
        for batch, own in by_batch
    }
    for kind, largest in (("steps", most.max()), ("epochs", (most * most.index).max())):
        for size in (one for one in BUDGETS if one <= largest):
            for batch, (step, trial, error, goal) in seen.items():
                steps = size if kind == "steps" else size // batch
                if steps < 1:
                    continue
                count = np.searchsorted(step, steps, side="right")
                latest = {one: at for at, one in enumerate(trial[:count])}
                yield {
                    "kind": kind,
                    "global_batch": batch,
                    "steps": steps,
                    "budget": size if kind == "steps" else size / samples,
                    "epochs": steps * batch / samples,
                    "trials": len(latest),
                    "validation_error_frac": min(error[list(latest.values())], default=np.nan),
                    "goal_reached": goal <= steps,
                }


def told_apart(wins: int, of: int) -> bool:
    """Return whether chance would seldom give so many wins: the two-sided sign test at 5%.

    Conover, Practical Nonparametric Statistics, 1999, section 3.4.
    """
    from scipy.stats import binomtest  # not above: it takes half a second, of every reader

    return bool(binomtest(wins, of).pvalue < 1 - CONFIDENCE)


def budget(
    trials: pd.DataFrame, curves: pd.DataFrame, searches: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each (model, optimiser, kind and size of the budget, batch size).

    kind `steps`: `budget` counts steps; `epochs`: passes over the training samples.
    validation_error_frac: of the best trial of the search, chosen at that budget. Trials stop at
    the goal, so an error is at most known to be below it (`goal_reached`).
    """
    goals = dict(zip(searches["run"], searches["goal_error_frac"], strict=True))
    rows: list[dict[str, Any]] = []
    for own in search_rows(runs):
        run = own["runs"]
        searched = of_role(trials, run, "search")[["trial", "global_batch", "steps_to_goal"]]
        seen = curves[curves["run"] == run].dropna(subset="validation_accuracy_frac")
        seen = seen.merge(searched, on="trial").sort_values("step")
        if own["status"] != "complete" or seen.empty or run not in goals:
            rows.append(own)
            continue
        own["goal_error_frac"] = goals[run]
        rows += [own | row for row in _at_budgets(seen, own["train_samples"])]
    return as_table(rows, BUDGET_COLUMNS)


def budget_ends(budget: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each kind of budget: in how many searches which end of the batches wins.

    The end with the lower error wins a budget; one that both reach the goal in tells nothing. A
    search counts once, by most of its budgets: they share its trials. by_chance: whether a sign
    test leaves it to chance.
    """
    at = budget.dropna(subset="budget").sort_values("global_batch", kind="stable")
    ends = at.groupby(["kind", "runs", "budget"], sort=False)
    error, reached = ends["validation_error_frac"], ends["goal_reached"]
    gain = np.sign(error.last(skipna=False) - error.first(skipna=False))
    gain = gain.mask(reached.first() & reached.last(), 0)
    votes = gain.groupby(level=["kind", "runs"], sort=False).sum()
    rows = []
    for kind, cast in votes[votes != 0].groupby(level="kind"):
        small, of = int((cast > 0).sum()), len(cast)
        wins = max(small, of - small)
        rows.append(
            {
                "kind": kind,
                "end": "small" if small == wins else "large",
                "wins": wins,
                "of": of,
                "by_chance": not told_apart(wins, of),
                "runs": " ".join(cast.index.get_level_values("runs")),
            }
        )
    return as_table(rows, ENDS_COLUMNS)
