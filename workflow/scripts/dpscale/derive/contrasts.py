"""A difference of means with what is known of its error, and which of many such are told apart.

Parts of the error come of samples of their own: each launch scatters, and so do test images. Of
three launches little is known of how they scatter: `Prior` has what like samples say of it.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, polygamma, stdtr, stdtrit

from dpscale.derive.columns import known

LEVEL = 0.05  # of a verdict by a 95% interval
BORROWED = 2  # with 4, what scatters more than the others is told apart too often
FEWEST_OTHERS = 10  # degrees of freedom of like samples that say how unlike their spreads are
EXACT = 1e-9  # below this an error, or a difference of logarithms, is one of rounding


class Part(NamedTuple):
    """Variance of a mean, and the degrees of freedom it was estimated with."""

    variance: float
    freedom: float


class Contrast(NamedTuple):
    """A difference, its standard error, and the degrees of freedom of that."""

    difference: float
    error: float
    freedom: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return Student's t interval of the difference."""
        half = float(stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return self.difference - half, self.difference + half

    def p_above(self, reference: float = 0.0) -> float:
        """Return how likely chance alone takes a difference no larger than the reference so far."""
        both = self.p_value(reference) / 2
        return both if self.difference > reference else 1 - both

    def p_value(self, reference: float = 0.0) -> float:
        """Return how likely chance alone takes the difference so far from the reference."""
        away = abs(self.difference - reference)
        if self.error < EXACT:
            return float(away < EXACT)
        return float(2 * stdtr(self.freedom, -away / self.error))


def contrast(difference: float, parts: Sequence[Part]) -> Contrast:
    """Return a difference whose error has independent parts.

    The degrees of freedom are Welch's (Biometrika 34, 1947), after Satterthwaite.
    """
    variances = np.array([part.variance for part in parts])
    weights = variances**2 / np.array([part.freedom for part in parts])
    total = float(variances.sum())
    freedom = total**2 / float(weights.sum()) if weights.any() else math.inf
    return Contrast(difference, math.sqrt(total), freedom)


class Prior(NamedTuple):
    """What like samples say of the variance of one of them: it counts as so much freedom.

    seen: the degrees of freedom of all the samples, that one too.
    """

    variance: float
    freedom: float
    seen: float

    def borrowed(self, values: np.ndarray) -> float:
        """Return the degrees of freedom that a sample borrows, half of the others' at the most.

        None where the others are few, and where its values are equal, which are no measurements.
        """
        others = self.seen - (len(values) - 1)
        enough = others >= FEWEST_OTHERS and values.std() > EXACT
        return min(self.freedom, others / 2) if enough else 0.0


NOTHING_LIKE = Prior(0.0, 0.0, 0.0)


def prior_of(samples: Iterable[np.ndarray]) -> Prior:
    """Return what samples with like spreads say of the variance of each.

    Variances are taken to be drawn from a scaled inverse chi-squared, whose degrees of freedom are
    few where they differ by more than chance makes them: from the mean and the variance of their
    logarithms (Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004, section
    6.2). A sample that several share counts once.
    """
    arrays = map(np.asarray, samples)
    each = {one.tobytes(): one for one in arrays if len(one) > 1 and one.std() > EXACT}
    freedom = np.array([len(one) - 1 for one in each.values()], dtype=float)
    if len(each) < 2:
        return NOTHING_LIKE
    logs = np.log([one.var(ddof=1) for one in each.values()])
    logs -= digamma(freedom / 2) - np.log(freedom / 2)
    unlike = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    half, seen = math.inf, float(freedom.sum())
    if unlike > polygamma(1, seen):  # as good as alike
        from scipy.optimize import brentq  # not above: a fifth of a second, of every reader

        half = brentq(lambda half: polygamma(1, half) - unlike, 1e-6, seen)
        logs += digamma(half) - np.log(half)
    return Prior(float(np.exp(logs.mean())), 2 * half, seen)


def part_of(values: np.ndarray, prior: Prior = NOTHING_LIKE) -> Part:
    """Return the part that the scatter of two or more values has in the error of their mean.

    With a prior its variance is the mean of both, weighted by their degrees of freedom, as in a
    moderated t.
    """
    freedom, borrowed = len(values) - 1, prior.borrowed(values)
    squares = float(values.var(ddof=1)) * freedom + prior.variance * borrowed
    return Part(squares / (freedom + borrowed) / len(values), freedom + borrowed)


def crossed(differences: np.ndarray) -> Contrast:
    """Return the mean of differences [seeds, images], of which rows and columns are samples.

    Its variance is that of the seeds' means and that of the images' means, less that of what is
    left, which both hold (Owen, The Pigeonhole Bootstrap, Annals of Applied Statistics 1, 2007,
    section 3). With one seed the images' part is that of McNemar's test.
    """
    seeds, images = differences.shape
    by_seed, by_image = differences.mean(1), differences.mean(0)
    rest = differences - by_seed[:, None] - by_image + differences.mean()
    free = (seeds - 1) * (images - 1)
    left = float((rest**2).sum()) / free / rest.size
    # Few seeds may happen to scatter less than their images alone make them.
    of_seeds = Part(max(part_of(by_seed).variance, left), seeds - 1)
    of_images = Part(part_of(by_image).variance + _rare(differences), images - 1)
    in_both = Part(-min(left, of_images.variance), free)
    return contrast(float(differences.mean()), [of_seeds, of_images, in_both])


def _rare(differences: np.ndarray) -> float:
    """What two images more, discordant once each way, add to the variance of a mean.

    Few discordant images do not show how many there may be (Bonett and Price, Journal of
    Educational and Behavioral Statistics 37, 2012). They count by how much of the discordance the
    seeds share: all of it, where there is none.
    """
    seeds, images = differences.shape
    squares, shared = (differences**2).sum() / seeds, (differences.mean(0) ** 2).sum()
    return float(2 * (shared + 2) / (squares + 2)) / (images + 2) ** 2


class Scatter(NamedTuple):
    """Squares about their means of samples with one spread, and the degrees of freedom."""

    squares: float
    freedom: int


def scatter_of(samples: Iterable[np.ndarray]) -> Scatter:
    """Return what samples scatter about their own means; a single value tells nothing."""
    several = [one for one in samples if len(one) > 1]
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in several)
    return Scatter(squares, sum(len(one) - 1 for one in several))


def steadied(values: np.ndarray, every: Scatter) -> Part | None:
    """Return the part of a few values, whose scatter is steadied by that of all the others like it.

    every: of all samples, these values included. The others count as BORROWED degrees of freedom at
    the most, as in a moderated t (Smyth, Statistical Applications in Genetics and Molecular Biology
    3, 2004), of which the weight is fixed and low: samples may well scatter differently. None where
    neither these nor others tell anything.
    """
    own = scatter_of([values])
    others = Scatter(max(0.0, every.squares - own.squares), every.freedom - own.freedom)
    borrowed = min(BORROWED, others.freedom)
    freedom = borrowed + own.freedom
    if not freedom:
        return None
    squares = own.squares + (borrowed * others.squares / others.freedom if borrowed else 0.0)
    return Part(squares / freedom / len(values), freedom)


def beside_chance(rows: Sequence[dict[str, Any]], *names: str) -> None:
    """Note in the rows that have an interval of columns what `by_chance` says of all of them."""
    found = [sum(known(row.get(f"{name}_low")) is not None for name in names) for row in rows]
    family = sum(found)
    for row, own in zip(rows, found, strict=True):
        row |= by_chance(family) if own else {}


def by_chance(family: int) -> dict[str, float]:
    """Return how many comparisons there are, and what chance does.

    chance_decides: of so many without any difference, those that 95% intervals decide all the same.
    """
    return {"family": family, "chance_decides": family * LEVEL}


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Return which of many differences are told from their references, in the order given.

    That one of those without a difference is among them has a chance of `level` at most, whatever
    they have in common (Holm, Scandinavian Journal of Statistics 6, 1979).
    """
    told = [False] * len(p_values)
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[place] > level / (len(p_values) - rank):
            break
        told[place] = True
    return told
