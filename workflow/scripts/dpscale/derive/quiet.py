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
    planned = runs.set_index("run")[["study", "workers"]].to_dict("index")
    counts = repeats.kept.to_numpy(bool)
    others_frac, wall_s = repeats.others_frac.to_numpy(float), repeats.wall_s.to_numpy(float)
    rows = []
    for run, places in repeats.groupby("run", sort=False).indices.items():
        counted = places[counts[places]]
        seen = counted[~np.isnan(others_frac[counted])]
        seen_s = wall_s[seen].sum()
        share = np.average(others_frac[seen], weights=wall_s[seen]) if seen_s else None
        rows.append(
            {
                "run": run,
                **planned[run],
                "repeats": len(counted),
                "repeated": len(places) - len(counted),
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
