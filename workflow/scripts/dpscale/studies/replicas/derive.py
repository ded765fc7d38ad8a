"""The order of samples in each epoch, and whether the workers' replicas stay the same."""

from operator import itemgetter
from typing import Any

import pandas as pd

from dpscale.derive.accuracy import DIFFERENCES, Pair, differences
from dpscale.derive.cells import Launches, cells, first_known, in_study
from dpscale.derive.columns import as_table
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.split import DDP
from dpscale.derive.statistics import (
    interval_columns,
    median,
    median_ratio,
    paired_median_difference,
    verdict,
)
from dpscale.derive.tables import Table
from dpscale.derive.verdicts import lies, side
from dpscale.records.columns import Columns, columns, intervals
from dpscale.vocabulary import words

ORDER_COLUMNS: Columns = columns(
    "arm seed epoch rank digest same_as_first first_indices workers status runs"
)
# The baseline serves two questions: it tells the sampler the epoch, and broadcasts the buffers.
REPEATS_COLUMNS: Columns = (
    columns("arm compared repeated") | words("repeating", ("every", "some", "no")) | columns("runs")
)
ORDER_ARMS = {"baseline": "with_set_epoch", "without_set_epoch": "without_set_epoch"}


def order(orders: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the digest of each epoch's index order and whether it is that of the first epoch.

    One row for each (arm, seed, epoch, rank), compared within its run, seed and rank; an arm
    without a record is one row with its status and nulls.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "replicas")
    planned = planned[planned["arm"].isin(ORDER_ARMS)]
    require_same_machine(planned)
    own = planned[["run", "arm", "workers", "status"]].assign(arm=planned["arm"].map(ORDER_ARMS))
    joined = own.merge(orders, on="run", how="left")
    first = joined.sort_values("epoch").drop_duplicates(["run", "seed", "rank"])
    of_first = first[["run", "seed", "rank", "digest"]].rename(columns={"digest": "first_digest"})
    joined = joined.merge(of_first, on=["run", "seed", "rank"], how="left")
    same = (joined["digest"] == joined["first_digest"]).astype("boolean")
    joined["same_as_first"] = same.mask(joined["digest"].isna())
    joined = joined.rename(columns={"run": "runs"})
    ordered = joined.sort_values(["arm", "seed", "epoch", "rank"])
    return as_table(ordered[list(ORDER_COLUMNS)].to_dict("records"), ORDER_COLUMNS)


def order_repeats(order: pd.DataFrame) -> pd.DataFrame:
    """Return for each arm how many orders of later epochs there are, and how many are the first's.

    Null where none was compared.
    """
    rows = []
    for arm in order["arm"].unique():
        later = order[(order["arm"] == arm) & (order["epoch"] > 1)].dropna(subset="same_as_first")
        compared, repeated = len(later), int(later["same_as_first"].sum())
        row = {"arm": arm, "runs": " ".join(sorted(set(later["runs"])))}
        row["repeating"] = "every" if repeated == compared else "some" if repeated else "no"
        rows.append(row | ({"compared": compared, "repeated": repeated} if compared else {}))
    return as_table(rows, REPEATS_COLUMNS)


def set_epoch(trials: pd.DataFrame, curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return how far the training without set_epoch is from the one with it, a row an epoch.

    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "replicas")
    planned = planned[planned["arm"].isin(ORDER_ARMS)]
    require_same_machine(planned)
    epochs = sorted(set(curves[curves["run"].isin(planned["run"])]["epoch"]))
    pairs = [Pair("without_set_epoch", "baseline", epoch, epoch) for epoch in epochs]
    return differences(pairs, trials, curves, planned)


REPLICAS_COLUMNS: Columns = (
    columns("arm seed epoch workers parameters_identical parameter_difference_max")
    | columns("buffer_difference_frac_max test_accuracy_frac_min test_accuracy_frac_max")
    | columns("test_accuracy_spread_frac status runs")
    | words("evaluation", ("yes", "no", "unmeasured"))
    | words("to_broadcast")
)
REPLICAS_ARMS = {"baseline": "broadcast", "no_broadcast": "no_broadcast"}


def _across_ranks(group: pd.DataFrame) -> dict[str, Any]:
    lowest, highest = group["test_accuracy_frac"].min(), group["test_accuracy_frac"].max()
    digests = group["parameter_digest"]
    return {
        "parameters_identical": None if digests.isna().any() else digests.nunique() == 1,
        "parameter_difference_max": group["parameter_difference_max"].max(),
        "buffer_difference_frac_max": group["buffer_difference_frac"].max(),
        "test_accuracy_frac_min": lowest,
        "test_accuracy_frac_max": highest,
        "test_accuracy_spread_frac": highest - lowest,
    }


def replicas(replicas: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return, for each (arm, seed, epoch), how far apart the ranks' replicas are.

    parameters_identical compares digests of every rank's parameters (bitwise); buffers differ by
    norm(rank - rank 0) / norm(rank 0), the largest of the ranks; test_accuracy_spread_frac is the
    difference between the best and the worst rank's statistics. An arm without a record is one
    row with its status and nulls. Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "replicas")
    planned = planned[planned["arm"].isin(REPLICAS_ARMS)]
    require_same_machine(planned)
    rows: list[dict[str, Any]] = []
    for _, run in planned.iterrows():
        whole = {
            "arm": REPLICAS_ARMS[run["arm"]],
            "workers": run["workers"],
            "status": run["status"],
            "runs": run["run"],
        }
        own = replicas[replicas["run"] == run["run"]]
        if own.empty:
            rows.append(whole)
        for (seed, epoch), group in own.groupby(["seed", "epoch"]):
            rows.append(whole | {"seed": seed, "epoch": epoch} | _across_ranks(group))
    return as_table(rows, REPLICAS_COLUMNS)


DRIFT = "buffer_difference_frac_max"


def judge_replicas(rows: list[dict[str, Any]]) -> None:
    """Notes in an arm's rows what the drift of its statistics says, the largest of the last epochs.

    evaluation: whether gradients alone leave the workers one model to evaluate, statistics
    included; to_broadcast: where the range over the seeds lies beside that with the broadcast.
    """
    ranges = {}
    for arm in REPLICAS_ARMS.values():
        own = [row for row in rows if row["arm"] == arm and row["epoch"] is not None]
        own.sort(key=itemgetter("epoch"))
        last = {row["seed"]: row[DRIFT] for row in own}.values()
        drifts = [drift for drift in last if drift is not None]
        ranges[arm] = (min(drifts), max(drifts)) if drifts else None
    for row in rows:
        drift = ranges[row["arm"]]
        row["evaluation"] = "unmeasured" if drift is None else "no" if drift[1] else "yes"
        row["to_broadcast"] = lies(drift, ranges["broadcast"])


SPREADS_COLUMNS: Columns = (
    columns("seeds test_samples one_image_frac")
    | intervals("spread_difference_frac")
    | words("verdict")
    | columns("status runs base_runs")
)
SPREAD = "test_accuracy_spread_frac"
ROUNDING = 1e-9  # of a difference of two fractions


def spreads(by_rank: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return by how much more the test accuracy spreads over the ranks without the broadcast.

    One row, after the last epoch, paired by seed; none where an arm has no spread. verdict: above
    or below where the interval lies beyond one test image, which is all that the set resolves.
    """
    ends = replicas(by_rank, runs).dropna(subset=["epoch", SPREAD]).sort_values("epoch")
    ends = ends.drop_duplicates(["arm", "seed"], keep="last")
    off, on = (ends[ends["arm"] == arm] for arm in ("no_broadcast", "broadcast"))
    if off.empty or on.empty:
        return as_table([], SPREADS_COLUMNS)
    both = in_study(runs, "replicas")
    images = first_known(both[both["arm"] == "no_broadcast"]["test_samples"])
    apart = paired_median_difference(*(own.set_index("seed")[SPREAD] for own in (off, on)))
    row = {
        "seeds": apart.repeats,
        "test_samples": images,
        "one_image_frac": 1 / images if images else None,
        "verdict": _resolved(apart.low, apart.high, 1 / images if images else 0.0),
        "status": "complete",
        "runs": " ".join(dict.fromkeys(off["runs"])),
        "base_runs": " ".join(dict.fromkeys(on["runs"])),
    }
    return as_table([row | interval_columns("spread_difference_frac", apart)], SPREADS_COLUMNS)


def _resolved(low: float | None, high: float | None, image: float) -> str:
    """Where an interval lies of which less than an image on either side of zero says nothing."""
    beyond = image * (1 + ROUNDING)
    if verdict(low, high, beyond) == "above":
        return "above"
    found = verdict(low, high, -beyond)
    return "indistinct" if found == "above" else found


WRAPPERS_COLUMNS: Columns = (
    columns("arm workers global_batch")
    | intervals("epoch_s slower_ratio")
    | columns("repeats launches launch_spread_frac status message runs base_runs")
    | side("slower_side", "slower_ratio", 1.0)
)
WRAPPERS = ("data_parallel", "distributed")


def wrappers(epoch_times: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the epoch of D samples without loading with DataParallel and with DDP, a row each.

    Medians over launches. slower_ratio: DataParallel's over that of DistributedDataParallel, in
    its row, null where either has no time. Raises MixedMachinesError for runs of different
    machines.
    """
    planned = in_study(runs, "data_parallel")
    require_same_machine(planned)
    times = Launches(epoch_times)
    found = {arm: own[0] for arm in WRAPPERS if (own := cells(planned[planned["arm"] == arm]))}
    epochs = {arm: times.epoch_s(cell, DDP) for arm, cell in found.items()}
    rows = []
    for arm, cell in found.items():
        of_arm = planned[planned["run"].isin(cell.runs)]
        row = cell.columns() | {"arm": arm, "message": first_known(of_arm["message"])}
        epoch = median(epochs[arm])
        row |= {"repeats": epoch.repeats, **times.columns(cell, DDP)}
        row |= interval_columns("epoch_s", epoch)
        if arm == WRAPPERS[0] and len(found) == len(WRAPPERS):
            row |= interval_columns("slower_ratio", median_ratio(*epochs.values()))
            row["base_runs"] = " ".join(found[WRAPPERS[1]].runs)
        rows.append(row)
    return as_table(rows, WRAPPERS_COLUMNS)


TABLES = {
    "order": Table(order, ["orders", "runs"], ORDER_COLUMNS),
    "order_repeats": Table(order_repeats, ["order"], REPEATS_COLUMNS),
    "set_epoch": Table(set_epoch, ["trials", "curves", "runs"], DIFFERENCES),
    "replicas": Table(replicas, ["replicas", "runs"], REPLICAS_COLUMNS, judge_replicas),
    "spreads": Table(spreads, ["replicas", "runs"], SPREADS_COLUMNS),
    "wrappers": Table(wrappers, ["epoch_times", "runs"], WRAPPERS_COLUMNS),
}
