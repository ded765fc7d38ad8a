"""How quiet the machine was: of each timed run, what others used of the cores meanwhile."""

import numpy as np
import pandas as pd

from dpscale.derive.columns import as_table
from dpscale.records.quiet import COLUMNS, DISTURBED_FRAC, TICK_S


def quiet(repeats: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row a run that times repeats, the most disturbed first.

    Beyond DISTURBED_FRAC in the mean over the repeats that count a run is disturbed; of repeats so
    short that a tick of the kernel's clock is as much, that is unknown.
    """
    planned = runs.set_index("run")
    rows = []
    for run, of_run in repeats.groupby("run", sort=False):
        counted = of_run[of_run.kept.astype(bool)]
        seen = counted[counted.others_frac.notna()]
        seen_s = seen.wall_s.sum()
        share = np.average(seen.others_frac, weights=seen.wall_s) if seen_s else None
        rows.append(
            {
                "run": run,
                "study": planned.study[run],
                "workers": planned.workers[run],
                "repeats": len(counted),
                "repeated": len(of_run) - len(counted),
                "others_frac": share,
                "quietness": _quietness(share, seen_s),
            }
        )
    return as_table(rows, COLUMNS).sort_values("others_frac", ascending=False, ignore_index=True)


def _quietness(share: float | None, seen_s: float) -> str:
    """The verdict on a share of so many seconds, which a tick of a core may hide."""
    if share is None:
        return "unknown"
    hidden = TICK_S / seen_s
    if share > DISTURBED_FRAC + hidden:
        return "disturbed"
    return "quiet" if hidden <= DISTURBED_FRAC else "unknown"
