"""S3: throughput against the number of learners on a device, and the number that is chosen."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import UNKNOWN, median, paired_median_ratio

COLUMNS: Columns = (
    texts("model")
    | integers("per_learner_batch learners")
    | flags("stacked")
    | texts("status")
    | floats("samples_per_s samples_per_s_low samples_per_s_high")
    | floats("gain_frac gain_frac_low gain_frac_high")
    | floats("against_one_ratio against_one_ratio_low against_one_ratio_high")
    | floats("against_plain_ratio against_plain_ratio_low against_plain_ratio_high")
    | flags("chosen")
    | floats("threshold_frac")
    | integers("repeats")
    | texts("runs message")
)


def chosen_learners(rates: Mapping[int, float], threshold_frac: float) -> int:
    """Return the number of learners that tuning by throughput settles on.

    A learner is added while it raises throughput by more than the threshold, and taken back at
    the first failure (Koliousis et al. 2019, section 4.3). rates: throughput by number, from 1 on.
    """
    learners = 1
    while learners + 1 in rates and rates[learners + 1] / rates[learners] - 1 > threshold_frac:
        learners += 1
    return learners


def learners(throughputs: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each (model, batch) and number of learners; one without, if not timed.

    gain_frac: throughput over that of one learner fewer, minus 1; against_one_ratio: over one
    stacked learner; against_plain_ratio: over the network trained by itself, which is the row
    that is not `stacked`. Repeats of one round are resampled together.
    Raises MixedMachinesError for runs of different machines.
    """
    timed = runs[runs["kind"] == "learners"]
    require_same_machine(timed)
    rows: list[dict[str, Any]] = []
    for _, run in timed.iterrows():
        key = {name: run[name] for name in ("model", "per_learner_batch") if name in run}
        key |= {"per_learner_batch": run["per_worker_batch"], "status": run["status"]}
        key |= {"runs": run["run"], "message": known(run["message"])}
        own = throughputs[throughputs["run"] == run["run"]]
        rows += [key | row for row in _of_cell(own)] or [key]
    return as_table(rows, COLUMNS)


def _of_cell(own: pd.DataFrame) -> list[dict[str, Any]]:
    if own.empty:
        return []
    speed = own.assign(rate=own["samples"] / own["seconds"]).set_index("repeat")
    plain = speed.loc[~speed["stacked"].astype(bool), "rate"]
    stacked = speed[speed["stacked"].astype(bool)]
    rates = {int(count): group["rate"] for count, group in stacked.groupby("learners")}
    threshold = float(own["threshold_frac"].iloc[0])
    chosen = chosen_learners({count: rate.median() for count, rate in rates.items()}, threshold)
    rows = [_row(plain, 1, plain, rates[1], None) | {"stacked": False}] if len(plain) else []
    rows += [
        _row(rate, count, plain, rates[1], rates.get(count - 1))
        | {"stacked": True, "chosen": count == chosen}
        for count, rate in rates.items()
    ]
    return [row | {"threshold_frac": threshold} for row in rows]


def _row(
    rate: pd.Series, count: int, plain: pd.Series, one: pd.Series, fewer: pd.Series | None
) -> dict[str, Any]:
    speed = median(rate.to_numpy(float))
    row: dict[str, Any] = {"learners": count, "repeats": speed.repeats}
    gain = paired_median_ratio(rate, fewer) if fewer is not None else UNKNOWN
    for name, base in (("against_one_ratio", one), ("against_plain_ratio", plain)):
        ratio = paired_median_ratio(rate, base) if len(base) else UNKNOWN
        row |= {name: ratio.value, f"{name}_low": ratio.low, f"{name}_high": ratio.high}
    row |= {"samples_per_s": speed.value, "samples_per_s_low": speed.low,
            "samples_per_s_high": speed.high}  # fmt: skip
    for end in ("value", "low", "high"):
        value = getattr(gain, end)
        name = "gain_frac" if end == "value" else f"gain_frac_{end}"
        row[name] = None if value is None else value - 1
    return row
