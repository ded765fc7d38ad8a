"""A table's column: one scale and one number of decimals for all its numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpscale.units.scales import UNITS, Scale, Unit, base, scale_of
from dpscale.units.text import (
    MOST_DECIMALS,
    SIGNIFICANT_DIGITS,
    decimals_of,
    exponent_of,
    format_value,
    group_digits,
    is_null,
    status_text,
    styled_text,
)

_SETTINGS = ("workers", "per_worker_batch", "global_batch", "base_batch")
_MEMORY = ("memory_bytes", "peak_bytes", "budget_bytes")  # in powers of 1024, as machines have it
# The unit of what a column measures, by the end of its name; the longest first.
_UNITS = {
    "_bytes_per_s": "bytes/s",
    "samples_per_s": "samples/s",
    "_bytes": "bytes",
    "_ratio": "ratio",
    "_frac": "fraction",
    "_s": "s",
}


@dataclass(frozen=True)
class ColumnFormat:
    """One scale and one number of decimals for all numbers of a table's column."""

    unit: str
    scale: Scale
    decimals: int

    @property
    def symbol(self) -> str:
        """Unit to print in the column's head; empty where the cells need none."""
        return self.scale.symbol

    def text(self, value: float | None, *, status: str | None = None) -> str:
        """Return the number alone, in the column's scale; a null as words."""
        if value is None or is_null(value):
            return status_text(status)
        if math.isinf(value):
            return format_value(value, self.unit)
        styled = styled_text(value, Unit((Scale(""),), UNITS[self.unit].style))
        return styled or group_digits(value / self.scale.factor, self.decimals)

    def of_interval(self, value: float, low: float, high: float) -> "ColumnFormat":
        """Return the format for a value with an interval: three digits, as in prose.

        None beyond the third digit of the interval's width, which would say nothing.
        """
        width = (high - low) / self.scale.factor
        if not math.isfinite(value) or not 0 < width < math.inf:
            return self
        digits = min(
            decimals_of(value / self.scale.factor), SIGNIFICANT_DIGITS - 1 - exponent_of(width, 1)
        )
        return replace(self, decimals=max(self.decimals, digits))


def column_format(
    values: Sequence[float | None], unit: str, *, scale: Scale | None = None
) -> ColumnFormat:
    """Return the format that suits all values of a column: the scale of the largest one (or the
    one given), and decimals that give the median three significant digits and the smallest at
    least one."""
    known = sorted(
        abs(value)
        for value in values
        if value is not None and not is_null(value) and math.isfinite(value)
    )
    sizes = [size for size in known if size > 0]
    if not sizes:
        return ColumnFormat(unit, scale or base(UNITS[unit]), 0)
    scale = scale or scale_of(sizes[-1], UNITS[unit])
    center = round(sizes[len(sizes) // 2] / scale.factor, MOST_DECIMALS)
    # One more where three digits would print 99.97 beside 99.8 as 100.
    middle = decimals_of(center) + (0 < center < 10 ** exponent_of(center, 3))
    smallest = -exponent_of(sizes[0] / scale.factor, 1)
    return ColumnFormat(unit, scale, min(max(middle, smallest, 0), middle + 2, MOST_DECIMALS))


def unit_of(column: str) -> str:
    """Return the unit of a column of derived tables; empty where its name tells none."""
    if column in _SETTINGS:
        return "setting"
    if column.endswith(_MEMORY):
        return "bytes_binary"
    return next((unit for end, unit in _UNITS.items() if column.endswith(end)), "")


def without_unit(column: str) -> str:
    """Return the name of a column without the unit at its end; a rate keeps it."""
    end = next((end for end in _UNITS if column.endswith(end)), "")
    return column.removesuffix(end) if end.startswith("_") else column
