"""Units and their scales.

Prefixes mean what they say: kB, MB, GB are powers of 1000, KiB, MiB, GiB powers of 1024.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A prefix of a unit: `factor` base units make one `symbol`."""

    symbol: str
    factor: float = 1.0


@dataclass(frozen=True)
class Unit:
    """How a quantity is written: its scales in ascending order, and its style.

    style: `measured` (three significant digits), `count` (whole where it is whole), `setting`
    (as it was given), `flag` (yes or no) or `duration` (hours and minutes).
    """

    scales: tuple[Scale, ...]
    style: str = "measured"


def _scales(symbols: Sequence[str], base: float) -> tuple[Scale, ...]:
    return tuple(Scale(symbol, base**power) for power, symbol in enumerate(symbols))


UNITS: dict[str, Unit] = {
    "s": Unit((Scale("µs", 1e-6), Scale("ms", 1e-3), Scale("s"))),
    "duration": Unit((Scale("s"),), "duration"),
    "bytes": Unit(_scales(["B", "kB", "MB", "GB", "TB"], 1e3)),
    "bytes_binary": Unit(_scales(["B", "KiB", "MiB", "GiB", "TiB"], 1024.0)),
    "bytes_exact": Unit((Scale("B"),), "count"),
    "bytes/s": Unit(_scales(["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], 1e3)),
    "samples/s": Unit((Scale("samples/s"),)),
    "fraction": Unit((Scale("%", 0.01),)),
    "points": Unit((Scale("percentage points", 0.01),)),  # a difference of two fractions
    "ratio": Unit((Scale("×"),)),
    "number": Unit((Scale(""),)),
    "count": Unit((Scale(""),), "count"),
    "setting": Unit((Scale(""),), "setting"),
    "flag": Unit((Scale(""),), "flag"),
}


def scale_of(value: float, unit: Unit) -> Scale:
    """Return the largest scale that the value reaches once it is rounded to three digits."""
    if value == 0:
        return base(unit)
    reached = [scale for scale in unit.scales if abs(value) * 1.0005 >= scale.factor]
    return reached[-1] if reached else unit.scales[0]


def base(unit: Unit) -> Scale:
    """Return the scale of one base unit, else the smallest one."""
    return next((scale for scale in unit.scales if scale.factor == 1.0), unit.scales[0])
