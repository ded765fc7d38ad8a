"""Units that people write beside times, rates and ratios: their size in base units."""

import re

TIMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "microseconds"), 1e-6),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
}
RATIOS = {"%": 0.01, "x": 1.0, "×": 1.0, "percent": 0.01}
COUNTS = dict.fromkeys(("gpu", "gpus", "worker", "workers", "images", "steps"), 1.0)
POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_RATE = re.compile(
    r"(?P<prefix>[kKmMgGtT]?)(?P<binary>i?)(?P<item>[Bb]its?|[Bb]ytes?|[Bb])"
    r"(?P<per>ps|PS|[\s_]*(?:/|per[\s_]+)[\s_]*s(?:ec|econd)?)?"
)


def time_scale(text: str) -> float | None:
    """Return the seconds of a unit of time; None where it is none."""
    return TIMES.get(text.strip().lower())


def ratio_scale(text: str) -> float | None:
    """Return the size of a unit of a ratio, such as a percent; None where it is none."""
    return RATIOS.get(text.strip().lower())


def count_scale(text: str) -> float | None:
    """Return 1 for what is counted; None for any other word."""
    return COUNTS.get(text.strip().lower())


def rate_scale(text: str) -> float | None:
    """Return the bytes per second of a unit of a rate; None where it is none.

    GB is 10^9 bytes and GiB 2^30; b beside a capital prefix (Gb/s), and bps, are bits.
    """
    match = _RATE.fullmatch(text.strip())
    if not match:
        return None
    prefix, item = match["prefix"], match["item"]
    single_bit = item == "b" and (prefix.isupper() or match["per"] == "ps")
    bits = single_bit or item.lower().startswith("bit")
    size = (1024.0 if match["binary"] else 1000.0) ** POWERS[prefix.lower()]
    return size / 8 if bits else size


RATES = {
    unit: scale
    for prefix in ("G", "M", "k", "")
    for unit in (f"{prefix}B/s", f"{prefix.upper()}iB/s", f"{prefix}bit/s")
    if (scale := rate_scale(unit))
}


def rate_name(scale: float) -> str:
    """Return the unit of a rate of so many bytes per second."""
    return next((unit for unit, size in RATES.items() if size == scale), f"{scale:g} B/s")
