"""Labs some of whose runs came to nothing."""

from collections.abc import Sequence

from builders import MEASURED, Tables

STATUSES = ("out_of_memory", "diverged", "exceeds_dataset", "unavailable", "failed", "not run yet")


def failed(tidy: Tables, runs: Sequence[str], status: str) -> Tables:
    """The tables with some runs in a status, without anything that they measured."""
    kept = {
        name: rows[~rows["run"].isin(runs)] if "run" in rows else rows
        for name, rows in tidy.items()
    }
    every = tidy["runs"].copy()
    gone = every["run"].isin(runs)
    every[MEASURED] = every[MEASURED].mask(gone)
    return kept | {"runs": every.assign(status=every["status"].mask(gone, status))}
