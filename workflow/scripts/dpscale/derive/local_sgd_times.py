"""S4 against the communication model: time of an epoch by the local steps between averages."""

from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, floats, integers, known, texts
from dpscale.derive.formulas import iterations_per_epoch
from dpscale.derive.local_sgd import results

COLUMNS: Columns = (
    texts("link")
    | floats("bytes_per_s latency_s")
    | integers("workers per_worker_batch local_steps")
    | floats("epoch_s communication_epoch_s synchronous_epoch_s speedup_ratio")
    | texts("status note runs")
)
LOCAL_STEPS = {"none": 1, "local_4": 4, "local_16": 16}  # variants of `what_if`


def local_sgd_times(
    what_if: pd.DataFrame, trials: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return the predicted epoch of as many workers as the study has, for H = 1, 4 and 16.

    From the steps of `what_if`: the measured computation of Part 1 and a ring of the link's latency
    and rate. H = 1 is DDP, which hides part of the transfer; averages of parameters hide nothing.
    speedup_ratio: over H = 1 on the same link. Refused with the reason as there.
    """
    learners = results(trials, runs)["learners"].dropna()
    if learners.empty:
        return as_table([], COLUMNS)
    of_size = what_if[
        (what_if["workers"] == int(learners.max())) & what_if["variant"].isin(list(LOCAL_STEPS))
    ]
    rows: list[dict[str, Any]] = []
    for _, group in of_size.groupby(["link", "per_worker_batch"], sort=False):
        base = group[group["variant"] == "none"].iloc[0]
        rows += [_row(row, base, runs) for _, row in group.iterrows()]
    return as_table(rows, COLUMNS)


def _row(row: pd.Series, base: pd.Series, runs: pd.DataFrame) -> dict[str, Any]:
    columns = "link bytes_per_s latency_s workers per_worker_batch status note runs"
    made = {name: row[name] for name in columns.split()}
    made["local_steps"] = LOCAL_STEPS[str(row["variant"])]
    samples = runs.loc[runs["run"].isin(str(row["runs"]).split()), "train_samples"].dropna()
    step_s, base_s = known(row["step_s"]), known(base["step_s"])
    if samples.empty or step_s is None or base_s is None:
        return made
    iterations = iterations_per_epoch(
        float(samples.iloc[0]), int(row["workers"]), int(row["per_worker_batch"])
    )
    return made | {
        "epoch_s": step_s * iterations, "synchronous_epoch_s": base_s * iterations,
        "communication_epoch_s": row["exposed_step_s"] * iterations,
        "speedup_ratio": base_s / step_s,
    }  # fmt: skip
