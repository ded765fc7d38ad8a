"""Numbers as people read them: a value, its unit and its interval as text."""

from dpscale.units.columns import ColumnFormat, column_format
from dpscale.units.scales import UNITS, Scale, Unit
from dpscale.units.text import format_value, group_digits, is_null, status_text

__all__ = [
    "UNITS",
    "ColumnFormat",
    "Scale",
    "Unit",
    "column_format",
    "format_value",
    "group_digits",
    "is_null",
    "status_text",
]
