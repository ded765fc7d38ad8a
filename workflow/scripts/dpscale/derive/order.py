"""The order of samples in each epoch, with and without telling the sampler the epoch."""

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, flags, integers, texts
from dpscale.derive.same_machine import require_same_machine

COLUMNS: Columns = (
    texts("arm")
    | integers("seed epoch rank")
    | texts("digest")
    | flags("same_as_first")
    | texts("first_indices")
    | integers("workers")
    | texts("status runs")
)
# The baseline serves two studies; here it is the arm that tells the sampler the epoch.
ARMS = {
    "baseline": "with_set_epoch",
    "with_set_epoch": "with_set_epoch",
    "without_set_epoch": "without_set_epoch",
}


def order(orders: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the digest of each epoch's index order and whether it is that of the first epoch.

    One row for each (arm, seed, epoch, rank), compared within its run, seed and rank; an arm
    without a record is one row with its status and nulls.
    Raises MixedMachinesError for runs of different machines.
    """
    planned = in_study(runs, "replicas", "order")
    planned = planned[planned["arm"].isin(ARMS)]
    require_same_machine(planned)
    own = planned[["run", "arm", "workers", "status"]].assign(arm=planned["arm"].map(ARMS))
    joined = own.merge(orders, on="run", how="left")
    first = joined.sort_values("epoch").drop_duplicates(["run", "seed", "rank"])
    of_first = first[["run", "seed", "rank", "digest"]].rename(columns={"digest": "first_digest"})
    joined = joined.merge(of_first, on=["run", "seed", "rank"], how="left")
    same = (joined["digest"] == joined["first_digest"]).astype("boolean")
    joined["same_as_first"] = same.mask(joined["digest"].isna())
    joined = joined.rename(columns={"run": "runs"})
    ordered = joined.sort_values(["arm", "seed", "epoch", "rank"])
    return as_table(ordered[list(COLUMNS)].to_dict("records"), COLUMNS)
