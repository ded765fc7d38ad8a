"""Every cell that two results have, the ratio of the second to the first, and what it says.

Cells of one arm are also taken together, which tells what is too small for a cell of few launches.
All that has an interval is one family, under Holm's correction.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import bdtrc

from dpscale.compare.differences import (
    Cells,
    Difference,
    cells_of,
    of_machines,
    of_outcomes,
    of_settings,
)
from dpscale.compare.observations import Quantity, Sample, Source, samples
from dpscale.compare.predictions import Predictions, predictions
from dpscale.compare.ratios import Ratio, ratio_of, spread_of, together
from dpscale.compare.results import Results
from dpscale.derive.contrasts import holm
from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.statistics import CONFIDENCE

LEVEL = 1 - CONFIDENCE
# A verdict of all cells together: rare enough to leave Holm the whole LEVEL.
TOGETHER = 0.001
LESS_IS_BETTER: tuple[Quantity, ...] = ("time", "memory")
SPEED: tuple[Quantity, ...] = ("time", "rate")

Key = tuple[tuple[str, Any], ...]
Schemas = Mapping[str, Mapping[str, str]]
Change = Literal["worse", "better", "indistinct", "unknown"]


@dataclass(frozen=True)
class Judged:
    """A cell, or all cells of an arm together (cell: empty), and what its ratio says.

    low, high: 95% interval. least: the least factor either way that is told from 1, were it alone
    in its family that differs. verdict, beyond (slower than the bound allows): after the correction
    for the family.
    """

    source: Source
    quantity: Quantity
    cell: str
    key: Key
    ratio: Ratio
    low: float | None = None
    high: float | None = None
    least: float | None = None
    verdict: Change = "unknown"
    beyond: bool = False

    @property
    def excess(self) -> float:
        """By what factor the second is worse than the first."""
        return self.ratio.value if self.quantity in LESS_IS_BETTER else 1 / self.ratio.value


@dataclass(frozen=True)
class Comparison:
    """Two results: what differs between them, what both have, and what one alone has.

    together: arms over their cells. only_a, only_b: names of cells. bound: None where nobody asked.
    """

    a: str
    b: str
    machine: list[Difference]
    settings: list[Difference]
    outcomes: list[Difference]
    together: list[Judged]
    cells: list[Judged]
    only_a: list[str]
    only_b: list[str]
    bound: float | None
    predictions: Predictions | None

    @property
    def family(self) -> list[Judged]:
        """All that has an interval."""
        return [one for one in (*self.together, *self.cells) if one.ratio.contrast]

    @property
    def slower(self) -> list[Judged]:
        """What is slower than the bound allows."""
        return [one for one in self.family if one.beyond]

    @property
    def chance(self) -> "Chance":
        """What the intervals of cells say before the correction."""
        return by_chance(self.cells)

    @property
    def least(self) -> list[float]:
        """The least factors that cells could show, in order."""
        return sorted(one.least for one in self.cells if one.least is not None)


class Chance(NamedTuple):
    """Of so many cells with an interval, those whose own leaves 1, and how many chance gives.

    more: than chance gives in one of 1,000 comparisons, had the cells nothing in common.
    """

    cells: int
    apart: int
    expected: float
    more: bool


def by_chance(cells: Iterable[Judged]) -> Chance:
    """Return how many cells differ before the correction, beside what chance gives."""
    ends = [(one.low, one.high) for one in cells if one.low is not None and one.high is not None]
    apart = sum(not low <= 1 <= high for low, high in ends)
    likely = float(bdtrc(apart - 1, len(ends), LEVEL)) if apart else 1.0
    return Chance(len(ends), apart, LEVEL * len(ends), likely < TOGETHER)


class _Place(NamedTuple):
    """What a sample is of: the cell, by the spec of its runs, the column, and the key."""

    identity: Key
    source: Source
    key: Key


_Found = dict[_Place, list[Sample]]


def compare(a: Results, b: Results, schemas: Schemas, bound: float | None = None) -> Comparison:
    """Return the second results against the first.

    bound: how much slower is still well, 0.05 for 5%. Raises MixedMachinesError where one of the
    results is itself of several machines.
    """
    for one in (a, b):
        require_same_machine(one.tables["runs"])
    here, there = cells_of(a, b)
    first, second = _placed(a, here, schemas), _placed(b, there, schemas)
    cells = _ratios(first, second, here)
    arms = _arms(cells)
    judged = with_verdicts([*arms, *cells], bound)
    return Comparison(
        a.folder,
        b.folder,
        of_machines(a, b),
        of_settings(a, b),
        of_outcomes(a, b),
        judged[: len(arms)],
        judged[len(arms) :],
        _alone(first, second, here),
        _alone(second, first, there),
        bound,
        predictions(a, b),
    )


def _placed(results: Results, cells: Cells, schemas: Schemas) -> _Found:
    identity_of = {run: identity for identity, runs in cells.items() for run in runs}
    found: _Found = {}
    for sample in samples(results.tables, schemas):
        place = _Place(identity_of[sample.run], sample.source, sample.key)
        found.setdefault(place, []).append(sample)
    return found


def _ratios(first: _Found, second: _Found, cells: Cells) -> list[Judged]:
    spreads = spread_of(first.values()), spread_of(second.values())
    found = []
    for place in first:
        if place in second and (ratio := ratio_of(first[place], second[place], spreads)):
            quantity, name = first[place][0].quantity, cells[place.identity][0]
            found.append(Judged(place.source, quantity, name, place.key, ratio))
    return found


def _arms(cells: Sequence[Judged]) -> list[Judged]:
    groups: dict[tuple[Source, Key], list[Judged]] = {}
    for one in cells:
        groups.setdefault((one.source, one.key), []).append(one)
    return [
        Judged(source, group[0].quantity, "", key, ratio)
        for (source, key), group in groups.items()
        if (ratio := together([one.ratio for one in group]))
    ]


def _alone(found: _Found, others: _Found, cells: Cells) -> list[str]:
    return [
        titled(cells[place.identity][0], place.key, place.source.column)
        for place in found
        if place not in others
    ]


def titled(cell: str, key: Key, column: str = "") -> str:
    """Return the name of a cell with what of it is meant; a key that is null or false is not."""
    words = [_word(name.replace("_", " "), value) for name, value in key if value not in (None, "")]
    return ", ".join(word for word in [cell, *words, column] if word)


def _word(name: str, value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return name if value else ""
    return value if isinstance(value, str) else f"{name} {value}"


def with_verdicts(judged: Iterable[Judged], bound: float | None = None) -> list[Judged]:
    """Return the same with intervals and verdicts; all with an interval are one family."""
    every = list(judged)
    told = _told(every)
    beyond = set() if bound is None else _beyond(every, math.log1p(bound))
    family = sum(one.ratio.contrast is not None for one in every)
    found = []
    for place, one in enumerate(every):
        low, high = _ends(one.ratio)
        slower = place in beyond and one.excess > 1 + (bound or 0)
        verdict: Change = "indistinct" if one.ratio.contrast else "unknown"
        if place in told:
            verdict = "worse" if one.excess > 1 else "better"
        least = _least(one.ratio, family)
        found.append(replace(one, low=low, high=high, least=least, verdict=verdict, beyond=slower))
    return found


def _told(judged: Sequence[Judged]) -> set[int]:
    """Where a ratio is told from 1."""
    contrasts = {n: one.ratio.contrast for n, one in enumerate(judged) if one.ratio.contrast}
    return _by_holm({place: contrast.p_value() for place, contrast in contrasts.items()})


def _beyond(judged: Sequence[Judged], slack: float) -> set[int]:
    """Where a speed is told to be worse by more than so much, as a logarithm: one side is asked."""
    p_values = {}
    for place, one in enumerate(judged):
        if one.ratio.contrast and one.quantity in SPEED:
            sign = 1 if one.quantity in LESS_IS_BETTER else -1
            worse = one.ratio.contrast._replace(difference=sign * one.ratio.contrast.difference)
            p_values[place] = worse.p_above(slack)
    return _by_holm(p_values)


def _by_holm(p_values: Mapping[int, float]) -> set[int]:
    told = holm(list(p_values.values()), LEVEL)
    return {place for place, is_told in zip(p_values, told, strict=True) if is_told}


def _least(ratio: Ratio, family: int) -> float | None:
    """The least factor that is told from 1 by the first step of Holm's correction."""
    if ratio.contrast is None:
        return None
    low, high = ratio.contrast.interval(1 - LEVEL / family)
    return math.exp(min((high - low) / 2, 700))


def _ends(ratio: Ratio) -> tuple[float | None, float | None]:
    if ratio.contrast is None:
        return None, None
    low, high = ratio.contrast.interval(CONFIDENCE)
    return math.exp(min(low, 700)), math.exp(min(high, 700))
