"""A value with its unit and its interval as one piece of text."""

import math

from dpscale.units.scales import UNITS, Unit, scale_of

GROUP = "\u202f"  # narrow no-break space between groups of three digits
SPACE = "\u00a0"  # between a number and its unit
MINUS = "\u2212"
UNKNOWN = "unknown"
INFINITE = "infinite"
SIGNIFICANT_DIGITS = 3
MOST_DECIMALS = 6
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_null(value: object) -> bool:
    """Return whether a value is unknown: None or a float that is not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def status_text(status: str | None) -> str:
    """Return a run's status in words (`out_of_memory` -> `out of memory`), else `unknown`."""
    return status.replace("_", " ") if status and status != "complete" else UNKNOWN


def exponent_of(value: float, digits: int) -> int:
    """Return the power of ten of a value rounded to some digits: 9.996, 3 -> 1."""
    return int(f"{value:.{digits - 1}e}".split("e")[1])


def decimals_of(value: float) -> int:
    """Return the decimals that show three significant digits; none where all shown would be 0."""
    if round(value, MOST_DECIMALS) == 0:
        return 0
    places = SIGNIFICANT_DIGITS - 1 - exponent_of(value, SIGNIFICANT_DIGITS)
    return min(max(places, 0), MOST_DECIMALS)


def _interval_decimals(value: float, low: float, high: float) -> int:
    """Decimals that show at least one digit of the interval's width, two more at the most."""
    fewest = decimals_of(value)
    if high <= low:
        return fewest
    return max(fewest, min(-exponent_of(high - low, 1), fewest + 2))


def group_digits(value: float, decimals: int = 0) -> str:
    """Return a number with grouped thousands and a true minus: 12345.67, 1 -> `12 345.7`."""
    text = f"{value:,.{decimals}f}"
    if text.startswith("-"):
        text = text[1:] if float(text.replace(",", "")) == 0 else MINUS + text[1:]
    return text.replace(",", GROUP)


def _scientific(value: float) -> str:
    mantissa, exponent = f"{value:.{SIGNIFICANT_DIGITS - 1}e}".split("e")
    power = str(int(exponent)).translate(_SUPERSCRIPT)
    return f"{mantissa.replace('-', MINUS)}{SPACE}×{SPACE}10{power}"


def _with_symbol(text: str, symbol: str) -> str:
    if not symbol:
        return text
    return text + symbol if symbol in "%×" else text + SPACE + symbol


def _duration(seconds: float) -> str:
    if seconds < 60:
        return format_value(seconds, "s")
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes}{SPACE}min"
    return f"{group_digits(minutes // 60)}{SPACE}h{SPACE}{minutes % 60}{SPACE}min"


def styled_text(value: float, unit: Unit) -> str | None:
    """Return the text of a value whose style is not `measured`; None when it is."""
    if unit.style == "flag":
        return "yes" if value else "no"
    if unit.style == "duration":
        return _duration(value)
    if unit.style == "setting":
        return f"{value:.12g}".replace("-", MINUS)
    if unit.style == "count":
        return _with_symbol(
            group_digits(value, 0 if float(value).is_integer() else 1), unit.scales[0].symbol
        )
    return None


def format_value(
    value: float | None,
    unit: str,
    *,
    low: float | None = None,
    high: float | None = None,
    status: str | None = None,
) -> str:
    """Return a value with its unit, and with its 95% interval when it has one.

    `format_value(1.234, "s", low=1.2, high=1.27)` is `1.23 s (1.20 to 1.27)`; ends that print alike
    are no interval. A value that is
    None or not a number gives the words of `status`, or `unknown`. `unit` is a key of UNITS.
    """
    if value is None or is_null(value):
        return status_text(status)
    if math.isinf(value):
        return INFINITE if value > 0 else MINUS + INFINITE
    styled = styled_text(value, UNITS[unit])
    if styled is not None:
        return styled
    if unit == "number" and value != 0 and abs(value) < 1e-4:
        return _scientific(value)
    scale = scale_of(value, UNITS[unit])
    shown = value / scale.factor
    if scale.symbol == "B" and float(shown).is_integer():
        return _with_symbol(group_digits(shown), "B")  # there is no part of a byte
    if low is None or high is None or is_null(low) or is_null(high):
        return _with_symbol(group_digits(shown, decimals_of(shown)), scale.symbol)
    ends = low / scale.factor, high / scale.factor
    places = _interval_decimals(shown, *ends)
    text = _with_symbol(group_digits(shown, places), scale.symbol)
    first, last = (group_digits(end, places) for end in ends)
    if first == last:
        return _with_symbol(group_digits(shown, decimals_of(shown)), scale.symbol)
    return f"{text} ({first} to {last})"
