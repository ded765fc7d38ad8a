"""Which numbers of a derived table lie outside what their columns may hold."""

import pandas as pd

from dpscale.records.columns import bounds

ROUNDING = 1e-9


def outside(table: pd.DataFrame) -> dict[str, list[float]]:
    """Return by column the numbers that no such column may hold."""
    found = {}
    for name, values in table.select_dtypes("number").items():
        low, high = bounds(str(name))
        wrong = pd.Series(False, values.index)
        if low is not None:
            wrong |= (values < low - ROUNDING).fillna(False)
        if high is not None:
            wrong |= (values > high + ROUNDING).fillna(False)
        if wrong.any():
            found[str(name)] = values[wrong].tolist()
    return found
