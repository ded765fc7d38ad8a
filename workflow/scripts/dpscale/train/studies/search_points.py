"""S1: the quasi-random points of a search.

Points of a scrambled Halton sequence cover a space more evenly than independent ones (Bousquet,
Gelly, Kurach, Teytaud and Vincent, Critical Hyper-Parameters: No Random, No Cry, 2017,
arXiv:1706.03200).
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from dpscale.plan.spec import Search


@dataclass(frozen=True)
class Point:
    """A learning rate and a momentum (0 for plain SGD)."""

    lr: float
    momentum: float


def draw_points(search: Search, batch: int) -> list[Point]:
    """The search's points for a batch size, other ones for each; the same for momentum's forms.

    The effective rate lr/(1 - momentum), and 1 - momentum where there is momentum, are uniform on
    a logarithmic axis: on the axes of rate and momentum the good points lie on a slope, and most
    of a rectangle around them would be wasted.
    """
    space = search.space
    dimensions = 1 if search.optimizer == "sgd" else 2
    rng = np.random.default_rng([search.selection_seeds[0], batch])
    units = qmc.Halton(dimensions, scramble=True, rng=rng).random(search.trials)
    rates = _log_uniform(units[:, 0], space.effective_lr_low, space.effective_lr_high)
    if search.optimizer == "sgd":
        return [Point(float(rate), 0.0) for rate in rates]
    rests = _log_uniform(units[:, 1], space.momentum_rest_low, 1.0)
    return [
        Point(float(rate * rest), 1 - float(rest)) for rate, rest in zip(rates, rests, strict=True)
    ]


def _log_uniform(units: np.ndarray, low: float, high: float) -> np.ndarray:
    return low * (high / low) ** units
