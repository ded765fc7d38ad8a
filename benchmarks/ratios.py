"""Interleaved repeats as ratios: what a benchmark says, for people and for programs."""

import os
import random
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np
from scipy.stats import bootstrap, trim_mean

MANY = 20  # ratios, of whose middle half the mean scatters a quarter less than the median of all


@dataclass(frozen=True)
class Ratio:
    """Ours beside a peer: medians in `unit`, and the ratio with its 95% interval.

    A ratio above 1 means that ours is better; null where there is no such figure.
    """

    benchmark: str
    case: str
    ours: float | None
    peer: float | None
    peer_name: str
    unit: str
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None

    def row(self) -> dict[str, Any]:
        """Its entry in results.json."""
        return asdict(self)


Reading = TypeVar("Reading")


def interleaved(
    measures: Mapping[str, Callable[[], Reading]], rounds: int, seed: int = 0
) -> dict[str, list[Reading]]:
    """Return what each measure gave in each round; every round calls all in random order."""
    order, found = random.Random(seed), {name: [] for name in measures}
    for _ in range(rounds):
        for name in order.sample(list(measures), len(measures)):
            found[name].append(measures[name]())
    return found


def compare(
    benchmark: str,
    case: str,
    peer_name: str,
    unit: str,
    ours: Iterable[float],
    peer: Iterable[float],
    *,
    less_is_better: bool = False,
) -> Ratio:
    """Return what the ratio within a round is, with its bootstrap interval: of many rounds the
    mean of the middle half, of few their median.

    A round's two measurements lie side by side in time, so that a slow moment of the machine is in
    both.
    """
    mine, theirs = np.array(list(ours)), np.array(list(peer))
    ratios = theirs / mine if less_is_better else mine / theirs
    middle = partial(trim_mean, proportiontocut=0.25) if len(ratios) >= MANY else np.median
    low = high = None
    if len(ratios) > 1:
        interval = bootstrap((ratios,), middle, method="percentile", rng=0).confidence_interval
        low, high = float(interval.low), float(interval.high)
    return Ratio(
        benchmark,
        case,
        statistics.median(mine),
        statistics.median(theirs),
        peer_name,
        unit,
        float(middle(ratios)),
        low,
        high,
    )


def spread_frac(values: Iterable[float]) -> float:
    """Return the interquartile range over the median."""
    low, middle, high = np.percentile(list(values), [25, 50, 75])
    return float((high - low) / middle)


def number(value: float | None, unit: str = "") -> str:
    """Return a figure with at least three significant digits and its unit; a dash for none."""
    if value is None:
        return "–"
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"
    return f"{digits} {unit}".rstrip()


def ratio_text(one: Ratio) -> str:
    """Return the ratio with its interval, where there are such."""
    if one.ratio_low is None or one.ratio_high is None:
        return number(one.ratio)
    return f"{number(one.ratio)} ({number(one.ratio_low)} to {number(one.ratio_high)})"


def told(one: Ratio, *, ours: Iterable[float] = (), peer: Iterable[float] = ()) -> str:
    """Return a line of medians, the ratio with its interval, and the spreads of both series."""
    spreads = [spread_frac(values) for values in (list(ours), list(peer)) if len(values) > 1]
    apart = f"  spread {' and '.join(f'{spread:.1%}' for spread in spreads)}" if spreads else ""
    return (
        f"{one.case:34} ours {number(one.ours):>9}  {one.peer_name:26} {number(one.peer):>9} "
        f"{one.unit}  ratio {ratio_text(one)}{apart}"
    )


def machine() -> str:
    """Return the machine in words: processor, cores, torch, and the GPUs where there are any."""
    import torch

    from dpscale.provenance import cpu_model

    gpus = [torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())]
    kinds = [f"{gpus.count(name)} x {name}" for name in dict.fromkeys(gpus)]
    return ", ".join([cpu_model(), f"{os.cpu_count()} cores", f"torch {version('torch')}", *kinds])
