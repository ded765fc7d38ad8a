"""Whether the workers' replicas stay the same, with and without broadcasting the buffers."""

from typing import Any

import pandas as pd

from dpscale.derive.cells import in_study
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, texts
from dpscale.derive.same_machine import require_same_machine

COLUMNS: Columns = (
    texts("arm")
    | integers("seed epoch workers")
    | flags("parameters_identical")
    | floats("parameter_difference_max buffer_difference_frac_max")
    | floats("test_accuracy_frac_min test_accuracy_frac_max test_accuracy_spread_frac")
    | texts("status runs")
)
# The baseline serves two studies; here it is the arm that broadcasts the buffers.
ARMS = {"baseline": "broadcast", "broadcast": "broadcast", "no_broadcast": "no_broadcast"}


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
    planned = in_study(runs, "replicas", "buffers")
    planned = planned[planned["arm"].isin(ARMS)]
    require_same_machine(planned)
    rows: list[dict[str, Any]] = []
    for _, run in planned.iterrows():
        whole = {"arm": ARMS[run["arm"]], "workers": run["workers"], "status": run["status"],
                 "runs": run["run"]}  # fmt: skip
        own = replicas[replicas["run"] == run["run"]]
        if own.empty:
            rows.append(whole)
        for (seed, epoch), group in own.groupby(["seed", "epoch"]):
            rows.append(whole | {"seed": seed, "epoch": epoch} | _across_ranks(group))
    return as_table(rows, COLUMNS)
