"""S2: training and validation error of every epoch, median and interval over seeds."""

from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.statistics import UNKNOWN, median

ERRORS = {
    "train_error_frac": "train_accuracy_frac",
    "validation_error_frac": "validation_accuracy_frac",
}
OF_ARM = [
    "arm",
    "role",
    "rule",
    "warmup",
    "zero_gamma",
    "optimizer",
    "global_batch",
    "large",
    "runs",
]
COLUMNS: Columns = (
    texts("arm role rule warmup")
    | flags("zero_gamma")
    | texts("optimizer")
    | integers("global_batch epoch seeds")
    | floats(" ".join(f"{name} {name}_low {name}_high" for name in ERRORS))
    | floats("lr")
    | texts("runs")
    | flags("large")
)


def curves(
    lr_scaling: pd.DataFrame, trials: pd.DataFrame, evaluations: pd.DataFrame
) -> pd.DataFrame:
    """Return a row for each epoch of each run of S2 that has any.

    train_error_frac is of the epoch's samples while the model learns, validation_error_frac of
    the epoch's end, both medians over seeds, null from the epoch on in which a seed diverged.
    """
    rows: list[dict[str, Any]] = []
    for _, arm in lr_scaling.iterrows():
        own = evaluations[evaluations["run"] == arm["runs"]]
        seeds = int((trials["run"] == arm["runs"]).sum())
        for epoch, of_epoch in own.groupby("epoch"):
            row = {name: known(arm[name]) for name in OF_ARM}
            row |= {"epoch": int(known(epoch)), "seeds": seeds, "lr": of_epoch["lr"].iloc[0]}
            for name, accuracy in ERRORS.items():
                values = 1 - of_epoch[accuracy].to_numpy(dtype=float, na_value=np.nan)
                whole = len(values) == seeds and bool(np.isfinite(values).all())
                found = median(values) if whole else UNKNOWN
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
            rows.append(row)
    return as_table(rows, COLUMNS)
