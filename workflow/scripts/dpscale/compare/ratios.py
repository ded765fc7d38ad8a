"""The ratio of what two results measured of one cell, and how far chance alone could move it.

Launches, and seeds, are the repeats of a cell: the interval is Welch's of the logarithms of two
independent samples. They are few, so their scatter is steadied by that of the other cells of the
same results and quantity; of one launch alone it is theirs. Where no cell has two launches it is
that of the repeats. The test images are a part of an accuracy's error.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from dpscale.compare.observations import Quantity, Sample
from dpscale.derive.contrasts import (
    Contrast,
    Part,
    Scatter,
    contrast,
    part_of,
    scatter_of,
    steadied,
)

FEWEST_TOGETHER = 3  # cells that can be judged together

Basis = Literal["launches", "others", "repeats", "none", "cells"]
Spread = Mapping[Quantity, Scatter]


class Ratio(NamedTuple):
    """The second over the first.

    basis: what its error is made of, "others" where a side has one launch, or seed. a, b: geometric
    means, null of cells taken together; n_a, n_b: the launches, seeds or cells behind them.
    contrast: of the logarithms; None where there is none.
    """

    value: float
    basis: Basis
    contrast: Contrast | None
    a: float | None
    b: float | None
    n_a: int
    n_b: int


def spread_of(found: Iterable[Sequence[Sample]]) -> Spread:
    """Return how logarithms of launches, or seeds, scatter in the cells of one results folder."""
    logs: dict[Quantity, list[np.ndarray]] = {}
    for samples in found:
        logs.setdefault(samples[0].quantity, []).append(_logs(samples))
    return {quantity: scatter_of(of_cells) for quantity, of_cells in logs.items()}


def _logs(samples: Sequence[Sample], *, repeats: bool = False) -> np.ndarray:
    """Logarithms of the values above zero."""
    values = np.concatenate([one.repeats if repeats else one.values for one in samples])
    return np.log(values[values > 0])


def ratio_of(
    a: Sequence[Sample], b: Sequence[Sample], spreads: tuple[Spread, Spread]
) -> Ratio | None:
    """Return the ratio of a cell, each side its launches; None where a side has no value above 0.

    spreads: of the results of each side.
    """
    logs = [_logs(side) for side in (a, b)]
    if not all(map(len, logs)):
        return None
    means = [float(one.mean()) for one in logs]
    basis, parts = _scatter((a, b), logs, [spread[a[0].quantity] for spread in spreads])
    if parts and a[0].quantity == "accuracy":
        parts += [
            _of_images(np.exp(mean), side[0].images)
            for mean, side in zip(means, (a, b), strict=True)
        ]
    difference = means[1] - means[0]
    found = contrast(difference, parts) if parts else None
    value, first, second = np.exp([difference, *means]).tolist()
    return Ratio(value, basis, found, first, second, *map(len, logs))


def _scatter(
    sides: Sequence[Sequence[Sample]], logs: Sequence[np.ndarray], spreads: Sequence[Scatter]
) -> tuple[Basis, list[Part]]:
    """What is known of how each side scatters; no part where nothing is."""
    parts = [steadied(one, spread) for one, spread in zip(logs, spreads, strict=True)]
    known = [part for part in parts if part]
    if len(known) == len(parts):
        return "launches" if min(map(len, logs)) > 1 else "others", known
    within = [_logs(side, repeats=True) for side in sides]
    if min(map(len, within)) > 1:
        return "repeats", list(map(part_of, within))
    return "none", []


def _of_images(share: float, images: float | None) -> Part:
    """The part that so many test images have in the error of the logarithm of an accuracy.

    The variance of a share p of n is p(1-p)/n, that of its logarithm (1-p)/(p n).
    """
    return Part(max(0.0, 1 - share) / (share * images) if images else 0.0, np.inf)


def together(ratios: Sequence[Ratio]) -> Ratio | None:
    """Return what several cells say together: the geometric mean of their ratios.

    What lies between them is its error, so that cells which changed by different factors make the
    interval wide. None for fewer than FEWEST_TOGETHER.
    """
    if len(ratios) < FEWEST_TOGETHER:
        return None
    logs = np.log([one.value for one in ratios])
    found = contrast(float(logs.mean()), [part_of(logs)])
    return Ratio(float(np.exp(logs.mean())), "cells", found, None, None, len(logs), len(logs))
