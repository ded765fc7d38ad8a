"""What a figure shows, in words, for who cannot see it: told from the frame of what it shows."""

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from dpscale.records.tidy import NOT_RUN
from dpscale.units import format_value, unit_of, without_unit

MOST_ROWS = 12  # that are told one by one; of more, the ends of each curve
ENDS = ("low", "high")
WHOLE = {"seconds": "s", "bytes": "bytes"}  # units of columns that are named by them


def described(drawn: pd.DataFrame) -> str:
    """Return the rows of a figure's frame in words, each value with its unit and interval."""
    measured = [name for name in drawn if _measures(drawn, name)]
    known = drawn[drawn[measured].notna().any(axis=1)] if measured else drawn
    if "status" in known:
        known = known[known["status"] != NOT_RUN]
    if known.empty:
        return "Nothing measured yet."
    names = [name for name in known if name != "runs" and _is_name(known[name])]
    if len(known) <= MOST_ROWS:
        curves = [known.iloc[[row]] for row in range(len(known))]
    elif names:
        curves = [rows for _, rows in known.groupby(names, sort=False, dropna=False)]
    else:
        curves = [known]
    return "; ".join(_curve(rows, names) for rows in curves) + "."


def _is_name(column: pd.Series) -> bool:
    """Whether a column holds texts or flags."""
    known = column.dropna()
    return (
        len(known) > 0 and known.map(lambda value: isinstance(value, str | bool | np.bool_)).all()
    )


def _measures(drawn: pd.DataFrame, name: str) -> bool:
    return is_numeric_dtype(drawn[name]) and _unit(name) not in ("", "setting")


def _unit(name: str) -> str:
    return WHOLE.get(name) or unit_of(name)


def _curve(rows: pd.DataFrame, names: list[str]) -> str:
    """What rows of the same names say: their names, and each number from the first to the last."""
    first = rows.iloc[0]
    said = [_name(name, first[name]) for name in names if pd.notna(first[name])]
    for name in rows:
        if name not in (*names, "runs") and not name.endswith(ENDS) and rows[name].notna().any():
            told = dict.fromkeys(_text(rows.loc[at], name) for at in _ends(rows[name]))
            said.append(f"{_words(name)} {' to '.join(told)}")
    return ", ".join(filter(None, said))


def _name(column: str, value: object) -> str:
    """A text as it is, a flag by its column's name where it is set."""
    if isinstance(value, str):
        return value.replace("_", " ")
    return _words(column) if value else ""


def _words(column: str) -> str:
    """The name of a column without its unit, which stands with its numbers."""
    return without_unit(column).replace("_", " ")


def _ends(column: pd.Series) -> list[object]:
    """The places of the first and the last value that is known."""
    known = column.dropna().index
    return [known[0], known[-1]]


def _text(row: pd.Series, name: str) -> str:
    unit = _unit(name)
    if unit in ("", "setting"):
        whole = float(row[name]).is_integer()
        return f"{row[name]:.0f}" if whole else format_value(row[name], "number")
    low, high = (row.get(f"{name}_{end}") for end in ENDS)
    return format_value(row[name], unit, low=low, high=high)
