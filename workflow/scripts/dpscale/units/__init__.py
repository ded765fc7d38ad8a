"""Numbers as people read them: a value, its unit and its interval as text."""

from dpscale.units.columns import ColumnFormat, column_format, unit_of, without_unit
from dpscale.units.scales import UNITS, Scale, Unit
from dpscale.units.text import MOST_DECIMALS, format_value, group_digits, is_null, status_text

__all__ = [
    "MOST_DECIMALS",
    "UNITS",
    "ColumnFormat",
    "Scale",
    "Unit",
    "column_format",
    "format_value",
    "group_digits",
    "is_null",
    "status_text",
    "unit_of",
    "without_unit",
]
