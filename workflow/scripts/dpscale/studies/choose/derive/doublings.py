"""E2: what more workers buy, factor by factor."""

from collections import Counter
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from dpscale.derive.columns import as_table
from dpscale.derive.contrasts import beside_chance
from dpscale.derive.statistics import (
    Estimate,
    estimate_of,
    exactly,
    interval_columns,
    inverse,
    product,
    verdict,
)
from dpscale.records.columns import Columns, columns, intervals
from dpscale.studies.choose.derive.goal import cost_ratio, time_ratio
from dpscale.vocabulary import words

LOSSES = ("batch", "sharing", "communication", "samples")
DOUBLING_COLUMNS: Columns = (
    columns("workers per_worker_batch global_batch next_workers next_per_worker_batch")
    | columns("next_global_batch predicted adjacent stops")
    | intervals("time_ratio worker_s_ratio")
    | words("footing", ("global_batch", "per_worker_batch"))
    | intervals("batch_ratio sharing_ratio communication_ratio samples_ratio retuned_ratio")
    | words("pays")
    | words("blame", LOSSES)
    | columns("shared_s silent_s sent_s added_s paying_step_s nearest_batch too_short")
    | columns("family chance_decides runs")
)


def doublings(time_to_goal: pd.DataFrame, step_grid: pd.DataFrame) -> pd.DataFrame:
    """Return what larger numbers of workers buy, from best cell to best cell.

    A row for each two measured N, `adjacent` if none lies between, and from N to N where one is
    predicted. pays: whether the time falls (`below`); null for a predicted one, which was not
    measured. Its time is compared at equal `footing` first, of the same global batch B (what the
    step costs) or, where that was not measured with more workers, of the same b (what the samples
    cost), and then with the best batch of the more workers (retuned_ratio). time_ratio times the
    growth of N is the product of what the step of fewer samples costs (batch_ratio), workers beside
    each other that send nothing (sharing_ratio), communication_ratio, samples_ratio of larger
    batches, and retuned_ratio. blame: `dominant` of the four losses; too_short: see `_spared`.
    """
    timed = time_to_goal.dropna(subset="time_to_goal_s")
    chosen = (timed["rank_of_workers"] == 1) | timed["predicted"]
    best = [
        cells.loc[cells["time_to_goal_s"].idxmin()].to_dict()
        for _, cells in timed[chosen].groupby("workers")
    ]
    pairs = [(fewer, more) for fewer, more in combinations(best, 2) if not more["predicted"]]
    pairs += [(fewer, more) for fewer, more in pairwise(best) if more["predicted"]]
    adjacent = [(fewer["workers"], more["workers"]) for fewer, more in pairwise(best)]
    solo = step_grid[step_grid["workers"] == 1].set_index("per_worker_batch").to_dict("index")
    alone = {batch: estimate_of(row, "step_s") for batch, row in solo.items()}
    cells = timed.to_dict("records")
    rows = [_doubling(fewer, more, cells, alone) for fewer, more in pairs]
    for row in rows:
        row["adjacent"] = (row["workers"], row["next_workers"]) in adjacent
    return as_table(rows, DOUBLING_COLUMNS)


def judge_doublings(rows: list[dict[str, Any]]) -> None:
    """Notes which is the step from the fewest workers that no larger number is faster than.

    None where that is the largest number of workers that was measured. And what chance decides.
    """
    measured = [row for row in rows if not row["predicted"]]
    beside_chance(measured, "time_ratio")
    paying = {row["workers"] for row in measured if row["pays"] == "below"}
    last = [row for row in measured if row["adjacent"] and row["workers"] not in paying]
    for row in rows:
        row["stops"] = any(row is stop for stop in last[:1])


def _doubling(
    fewer: dict[str, Any],
    more: dict[str, Any],
    cells: list[dict[str, Any]],
    alone: dict[Any, Estimate],
) -> dict[str, Any]:
    """The row of two best cells; cells: with a time; alone: the step of one worker by b."""
    time = time_ratio(more, fewer)
    predicted = fewer["predicted"] or more["predicted"]
    footing, factors = at_equal_footing(fewer, more, cells, alone)
    losses = {name: factors[name] for name in LOSSES if name in factors}
    return {
        **{name: fewer[name] for name in ("workers", "per_worker_batch", "global_batch")},
        **{f"next_{name}": more[name] for name in ("workers", "per_worker_batch", "global_batch")},
        "predicted": predicted,
        **interval_columns("time_ratio", time),
        **interval_columns("worker_s_ratio", cost_ratio(more, fewer)),
        "footing": footing,
        **{
            key: end
            for name, factor in factors.items()
            for key, end in interval_columns(f"{name}_ratio", factor).items()
        },
        "pays": None if predicted else verdict(time.low, time.high, 1.0),
        "blame": None if predicted else dominant(losses),
        **({} if predicted else _spared(fewer, more, cells)),
        "runs": f"{fewer['runs']} {more['runs']}",
    }


def _spared(
    fewer: dict[str, Any], more: dict[str, Any], cells: list[dict[str, Any]]
) -> dict[str, Any]:
    """What more workers save of a step at most, and what they send, at each global batch of both.

    too_short: at every batch they send for longer than a step of the fewer and than what sharing it
    evenly saves, by the ends of the intervals, so that they cannot pay; then, at nearest_batch,
    where they come nearest: shared_s, a step of the fewer, silent_s, of the more that send nothing,
    sent_s, what sending adds, added_s, what all adds to an even share of the step, and
    paying_step_s, a step of which sharing evenly saves as much.
    """
    share = 1 - fewer["workers"] / more["workers"]
    pairs = {
        cell["global_batch"]: (
            estimate_of(cell, "step_s"),
            estimate_of(other, "step_s"),
            estimate_of(other, "silent_step_s"),
        )
        for cell in cells
        for other in cells
        if (cell["workers"], other["workers"]) == (fewer["workers"], more["workers"])
        and cell["global_batch"] == other["global_batch"]
    }
    if not pairs or any(None in one for pair in pairs.values() for one in pair):
        return {"too_short": False}
    steps, sending, silent = (
        np.array(one, dtype=float).T for one in zip(*pairs.values(), strict=True)
    )
    saved_s, sent_s = share * steps[0], sending[0] - silent[0]
    needed_s = np.maximum(share * steps[2] + silent[2], steps[2])  # no gain beyond an even share
    if not (sending[1] > needed_s).all():
        return {"too_short": False}
    nearest = np.argmax(saved_s / sent_s)
    return {
        "too_short": True,
        "shared_s": steps[0][nearest],
        "silent_s": silent[0][nearest],
        "sent_s": sent_s[nearest],
        "added_s": (added_s := (sending[0] - (1 - share) * steps[0])[nearest]),
        "paying_step_s": added_s / share,
        "nearest_batch": list(pairs)[nearest],
    }


def at_equal_footing(
    fewer: dict[str, Any],
    more: dict[str, Any],
    cells: list[dict[str, Any]],
    alone: dict[Any, Estimate],
) -> tuple[str | None, dict[str, Estimate]]:
    """Return the batch that is kept, global or per worker, and the factors; see `doublings`.

    None and no factors where the larger number of workers has a time with neither, or one worker
    was not timed with both batches.
    """
    for footing in ("global_batch", "per_worker_batch"):
        for cell in cells:
            same = cell["workers"] == more["workers"] and cell[footing] == fewer[footing]
            if same and {cell["per_worker_batch"], fewer["per_worker_batch"]} <= alone.keys():
                factors = step_factors(fewer, cell, alone)
                samples = exactly(1)
                if footing == "per_worker_batch":
                    grown = exactly(cell["global_batch"] / fewer["global_batch"])
                    steps = [estimate_of(row, "steps_to_goal") for row in (cell, fewer)]
                    samples = product(steps[0], inverse(steps[1]), grown)
                retuned = exactly(1) if _same_cell(cell, more) else time_ratio(more, cell)
                return footing, factors | {"samples": samples, "retuned": retuned}
    return None, {}


def _same_cell(row: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(row[key] == other[key] for key in ("workers", "global_batch"))


def step_factors(
    fewer: dict[str, Any], more: dict[str, Any], alone: dict[Any, Estimate]
) -> dict[str, Estimate]:
    """Return what a sample of a worker costs more in a cell of more workers, in three factors.

    alone: the step of one worker by b. Their product is (t'/b') / (t/b), t the seconds of a step.
    What stands above and below a line cancels, noise and all.
    """
    batches = [row["per_worker_batch"] for row in (fewer, more)]
    base, base_more = (alone[batch] for batch in batches)
    step, step_more = (estimate_of(row, "step_s") for row in (fewer, more))
    silent, silent_more = (
        base_of_row if row["workers"] == 1 else estimate_of(row, "silent_step_s")
        for row, base_of_row in ((fewer, base), (more, base_more))
    )
    return {
        "batch": _quotient([base_more], [base], batches[0] / batches[1]),
        "sharing": _quotient([silent_more, base], [base_more, silent]),
        "communication": _quotient([step_more, silent], [silent_more, step]),
    }


def _quotient(above: list[Estimate], below: list[Estimate], factor: float = 1.0) -> Estimate:
    """Return products above and below a line over each other, without what is in both."""
    left, right = Counter(above), Counter(below)
    rest = [*(left - right).elements(), *map(inverse, (right - left).elements())]
    return product(exactly(factor), *rest)


def dominant(losses: dict[str, Estimate]) -> str | None:
    """Return the loss that is at least half of the logarithm of all of them, by its interval.

    It is where it is more than the product of the others (of those that are gains too). None where
    none is, or where all of them together may be no loss.
    """
    if not losses or (product(*losses.values()).low or 0) <= 1:
        return None
    for name, loss in losses.items():
        others = [other for key, other in losses.items() if key != name]
        if (product(loss, *map(inverse, others)).low or 0) >= 1:
            return name
    return None
