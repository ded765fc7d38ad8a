"""Numbers in plain characters, for logs and terminals, where grep should find them."""


def duration(seconds: float) -> str:
    """Return a time in whole units: 4.2 -> `4 s`, 250 -> `4 min`, 7500 -> `2 h 5 min`."""
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def count(value: float) -> str:
    """Return a whole number with grouped thousands: 1562 -> `1,562`."""
    return f"{round(value):,}"


def rounded(value: float) -> str:
    """Return a number of three significant digits, grouped: 11342 -> `11,300`, 0.5118 -> `0.512`.

    A value that is not finite is named: `nan`, `inf`.
    """
    short = float(f"{value:.3g}")
    return f"{short:,.0f}" if 100 <= abs(short) < 1e15 else f"{short:.3g}"
