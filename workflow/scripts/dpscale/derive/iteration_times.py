"""S2: seconds of an iteration and of an epoch against workers, each with a batch of its own size.

As figure 7 of Goyal et al. (2017, arXiv:1706.02677), from the timed runs of Q2.
"""

import pandas as pd

from dpscale.derive.cells import first_known, in_study
from dpscale.derive.columns import Columns, as_table, flags, floats, integers, known, texts

COLUMNS: Columns = (
    integers("workers nodes per_worker_batch global_batch")
    | texts("status")
    | floats("iteration_s iteration_s_low iteration_s_high")
    | floats("epoch_s epoch_s_low epoch_s_high")
    | floats("efficiency_frac efficiency_frac_low efficiency_frac_high")
    | flags("oversubscribed")
    | texts("runs")
    | integers("repeats")
    | texts("base_runs")
)
BOUNDS = ("", "_low", "_high")


def iteration_times(scaling: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the weak rows of `scaling` with the seconds of one iteration of N workers.

    An epoch of D samples has D/(N b) full iterations, so an iteration takes epoch_s N b / D;
    efficiency_frac is that of one worker over that of N, loading and communication included.
    """
    samples = first_known(in_study(runs, "scaling")["train_samples"])
    rows = []
    for _, cell in scaling[scaling["kind"] == "weak"].iterrows():
        row = {name: cell[name] for name in COLUMNS if name in scaling}
        for bound in BOUNDS:
            seconds = known(cell[f"epoch_s{bound}"])
            row[f"iteration_s{bound}"] = (
                None
                if seconds is None or samples is None
                else seconds * int(cell["global_batch"]) / int(samples)
            )
        rows.append(row)
    return as_table(rows, COLUMNS)
