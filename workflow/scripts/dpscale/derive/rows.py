"""Rows of a table by key, found without reading all of it."""

from collections.abc import Hashable

import numpy as np
import pandas as pd


class RowsByKey:
    """A table in which the rows of a key are found at once.

    A comparison of a whole column for each of n runs takes n² steps.
    """

    def __init__(self, table: pd.DataFrame, *columns: str) -> None:
        """columns: one or several columns, or levels of the index, that are the key."""
        self._table = table
        by = list(columns) if len(columns) > 1 else columns[0]
        self._places = table.groupby(by, sort=False).indices
        self._found: dict[tuple[Hashable, ...], pd.DataFrame] = {}

    def of(self, *keys: Hashable) -> pd.DataFrame:
        """Return the rows with any of these keys (tuples of several columns), in their order.

        All who ask for the same get the same table: leave it as it is.
        """
        present = tuple(key for key in dict.fromkeys(keys) if key in self._places)
        if present not in self._found:  # many ask for an arm that was not run
            places = np.concatenate([np.empty(0, dtype=int), *map(self._places.get, present)])
            self._found[present] = self._table.iloc[np.sort(places)]
        return self._found[present]
