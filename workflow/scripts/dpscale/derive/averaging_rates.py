"""S3: rates tried on validation data, beside those that the arms were given."""

from typing import Any

import pandas as pd

from dpscale.derive.averaging_trials import averaging_trials
from dpscale.derive.columns import Columns, as_table, floats, integers, texts

COLUMNS: Columns = (
    texts("optimizer")
    | integers("learners global_batch seeds")
    | floats("lr")
    | texts("status")
    | floats("validation_mean_frac")
    | dict.fromkeys(["best", "at_border", "configured"], "boolean")
    | floats("epochs")
    | texts("runs")
)


def rates(trials: pd.DataFrame, evaluations: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rates tried on validation data: which is best, and which the arms were given.

    The best has the highest validation accuracy, mean over evaluations and seeds: a rate that
    learns early counts for more than one that ends well. `at_border`: no rate beyond it was tried.
    """
    tried = averaging_trials(trials, evaluations, runs, role="rate")
    used = averaging_trials(trials, evaluations, runs)
    rows: list[dict[str, Any]] = []
    for (optimizer, batch), group in tried.groupby(["optimizer", "global_batch"], sort=False):
        alike = used[(used["optimizer"] == optimizer) & (used["global_batch"] == batch)]
        whole = group.groupby("lr")["status"].agg(_worst)
        scores = group.groupby("lr")["validation_mean_frac"].mean().where(whole == "complete")
        for lr, score in scores.items():
            own = group[group["lr"] == lr]
            rows.append({
                "optimizer": optimizer, "global_batch": batch, "lr": lr, "status": whole[lr],
                "learners": own["learners"].iloc[0], "validation_mean_frac": score,
                "best": bool(score == scores.max()), "seeds": len(own),
                "at_border": lr in (scores.index.min(), scores.index.max()),
                "configured": lr in set(alike["lr"]), "epochs": own["epochs"].max(),
                "runs": " ".join(dict.fromkeys(own["run"])),
            })  # fmt: skip
    return as_table(rows, COLUMNS)


def _worst(statuses: pd.Series) -> str:
    return "diverged" if (statuses == "diverged").any() else "complete"
