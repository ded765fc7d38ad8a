"""Labs in which trainings went otherwise: the tidy tables change, and what is derived follows."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from builders import Tables, full_lab

APART = 0.01  # the seeds of the lab, as a share of a value
Given = float | Sequence[float]


def seeds_of(value: Given, count: int) -> Sequence[float]:
    """The values of the seeds: those given, or evenly around the one given."""
    if isinstance(value, Sequence):
        return value
    return [value * (1 + APART * (seed - (count - 1) / 2)) for seed in range(count)]


def trained(
    arms: Mapping[str, Mapping[str, Any]], seeds: int | None = None, prefix: str = "large_batch-"
) -> Callable[[], Tables]:
    """The lab where arms have other values, by measure; a value may be a list of the seeds'.

    Of the measures: those of `epochs`, after every epoch or after the one in `epoch`; any other
    name is a column of `runs`. seeds: how many of the lab's are left.
    """
    return functools.partial(_lab, arms, seeds, prefix)


def _lab(arms: Mapping[str, Mapping[str, Any]], seeds: int | None, prefix: str) -> Tables:
    return changed(full_lab(), arms, seeds, prefix)


def changed(
    tidy: Tables, arms: Mapping[str, Mapping[str, Any]], seeds: int | None, prefix: str
) -> Tables:
    """The tables of a lab in which arms have other values, as `trained` has it."""
    curves, trials, runs = (tidy[name] for name in ("curves", "trials", "runs"))
    own = runs["run"].str.startswith(prefix)
    if seeds is not None:
        curves, trials = (  # a seed's number is its trial's
            table[~(table["run"].str.startswith(prefix) & (table["trial"] >= seeds))]
            for table in (curves, trials)
        )
        runs = runs.assign(seeds=runs["seeds"].mask(own, seeds))
    for arm, given in arms.items():
        columns = dict(given)
        chosen = curves["run"] == prefix + arm
        if "epoch" in columns:
            chosen &= curves["epoch"].isin(columns.pop("epoch"))
        for name, value in columns.items():
            if name in curves:
                values = seeds_of(value, int(curves.loc[chosen, "trial"].nunique()))
                by_seed = curves["trial"].map(dict(enumerate(values)))
                curves = curves.assign(**{name: curves[name].mask(chosen, by_seed)})
            else:
                here = runs["run"] == prefix + arm
                runs = runs.assign(**{name: runs[name].mask(here, value)})
    return tidy | {"curves": curves, "trials": trials, "runs": runs}
