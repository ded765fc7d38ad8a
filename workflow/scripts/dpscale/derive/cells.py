"""Cells: the planned runs of one (workers, nodes, per-worker batch), taken together."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from dpscale.derive.columns import known
from dpscale.derive.contrasts import NOTHING_LIKE, Prior
from dpscale.derive.formulas import iterations_per_epoch
from dpscale.derive.rows import RowsByKey
from dpscale.derive.statistics import (
    CONFIDENCE,
    Estimate,
    finite,
    median_of_ratios,
    median_ratio,
    middle,
)
from dpscale.plan.names import launch_end

Repeats = TypeVar("Repeats", pd.Series, pd.DataFrame)
CELL = ["workers", "nodes", "per_worker_batch"]

# What a cell without a complete run is called, the most telling outcome first.
_BY_WEIGHT = [
    "complete",
    "out_of_memory",
    "exceeds_dataset",
    "diverged",
    "failed",
    "unavailable",
    "not run yet",
]


class Cell(NamedTuple):
    """One cell: its status, the runs of that status, and what they say (None: unknown)."""

    workers: int
    nodes: int | None
    per_worker_batch: int
    status: str
    runs: tuple[str, ...]
    train_samples: int | None
    payload_bytes: int | None
    oversubscribed: bool | None

    @property
    def global_batch(self) -> int:
        """Return N*b."""
        return self.workers * self.per_worker_batch

    @property
    def iterations(self) -> float:
        """Return D/(N*b), the iterations of an epoch; NaN where D is unknown."""
        samples = self.train_samples or math.nan
        return iterations_per_epoch(samples, self.workers, self.per_worker_batch)

    def columns(self) -> dict[str, Any]:
        """Return what a row of a table says of the cell, by column."""
        return self._asdict() | {"global_batch": self.global_batch, "runs": " ".join(self.runs)}


def in_study(runs: pd.DataFrame, *studies: str) -> pd.DataFrame:
    """Return the rows of `runs` of any of these studies."""
    return runs[runs["study"].isin(studies)]


def combined_status(statuses: Iterable[str]) -> str:
    """Return "complete" when any of the statuses is, else the most telling of them."""
    weights = {status: weight for weight, status in enumerate(_BY_WEIGHT)}
    return min(statuses, key=lambda status: weights.get(status, len(weights)))


def first_known(column: Iterable[Any]) -> Any:
    """Return the first value of the column that is not null, or None."""
    return next((value for value in column if known(value) is not None), None)


_READ = ["run", "status", "train_samples", "payload_bytes", "oversubscribed"]


def cells(runs: pd.DataFrame) -> list[Cell]:
    """Return the cells of these runs in ascending order of workers, nodes and batch."""
    columns = {name: [known(value) for value in runs[name].tolist()] for name in [*CELL, *_READ]}
    groups: dict[tuple[int, int | None, int], list[dict[str, Any]]] = {}
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        nodes = None if row["nodes"] is None else int(row["nodes"])
        key = (int(row["workers"]), nodes, int(row["per_worker_batch"]))
        groups.setdefault(key, []).append(row)
    return [_cell(key, groups[key]) for key in sorted(groups, key=_unknown_last)]


def _unknown_last(key: tuple[int, int | None, int]) -> tuple[int, bool, int, int]:
    workers, nodes, batch = key
    return workers, nodes is None, nodes or 0, batch


def _cell(key: tuple[int, int | None, int], rows: Sequence[dict[str, Any]]) -> Cell:
    status = combined_status(row["status"] for row in rows)
    alike = [row for row in rows if row["status"] == status]
    over = [row["oversubscribed"] for row in alike if row["oversubscribed"] is not None]
    return Cell(
        *key,
        status,
        tuple(row["run"] for row in alike),
        first_known(row["train_samples"] for row in alike),
        first_known(row["payload_bytes"] for row in alike),
        bool(any(over)) if over else None,
    )


def one_worker_bases(found: Iterable[Cell]) -> dict[int, Cell]:
    """Return the one-worker cells on one node, keyed by per-worker batch."""
    return {
        cell.per_worker_batch: cell
        for cell in found
        if cell.workers == 1 and cell.nodes in (1, None)
    }


def sharing_launches(one: Cell, other: Cell) -> Cell:
    """Return a cell with those of its launches that another has too, all where these are not two.

    A machine's pace changes for minutes, and looks at open speed-ups launch some cells again: with
    other launches on either side a ratio would be one of paces too.
    """
    ends = set(map(launch_end, other.runs))
    runs = tuple(run for run in one.runs if launch_end(run) in ends)
    return one._replace(runs=runs) if len(runs) > 1 else one


def by_launch_end(times: Repeats) -> Repeats | None:
    """Return times of launches labelled by the ends of their names: of two cells like ones pair.

    None of a single launch, and of launches whose names do not tell them apart.
    """
    ends = launch_ends(times)
    return None if ends is None else times.set_axis(pd.Index(ends, dtype=object))


def launch_ends(times: Repeats) -> list[str] | None:
    """Return the labels of `by_launch_end`."""
    if len(times) < 2 or isinstance(times.index, pd.MultiIndex):
        return None
    ends = [launch_end(str(run)) for run in times.index]
    return ends if len(set(ends)) == len(ends) else None


class Launches:
    """The timed repeats of each arm in each run, and of each run, which is a launch, their median.

    What differs between launches, in processes of their own, does not show in the repeats of one
    (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013).
    """

    def __init__(self, epoch_times: pd.DataFrame) -> None:
        # Of Arrow's strings each row that is taken, and each label, takes several times longer.
        epoch_times = epoch_times.astype({"arm": object, "run": object})
        self._repeats = RowsByKey(epoch_times.set_index(["run", "repeat"]), "arm", "run")
        # All at once: of thousands of cells a median each takes a hundred times longer.
        columns = ["epoch_s", "rank_mean_epoch_s"]
        medians = epoch_times.groupby(["arm", "run"], observed=True)[columns].median()
        self._medians = RowsByKey(medians.reset_index("arm"), "arm", "run")
        self._seconds = medians.to_dict("index")  # of an arm and a run, by column
        self._epochs: dict[tuple[Cell | None, str], pd.Series] = {}
        self._logs: dict[tuple[Cell, str], pd.Series | None] = {}

    def of(self, cell: Cell | None, arm: str) -> pd.DataFrame:
        """Return the times of a cell's complete runs in one arm: a row a launch, by its run.

        Equal labels of two arms are of the same launch. Of a single launch its repeats, labelled by
        (run, repeat). Many ask for the same table: leave it as it is.
        """
        complete = cell is not None and cell.status == "complete"
        keys = [(arm, run) for run in cell.runs] if cell and complete else []
        medians = self._medians.of(*keys)
        return medians if len(medians) > 1 else self._repeats.of(*keys)

    def epoch_s(self, cell: Cell | None, arm: str) -> pd.Series:
        """Return the epoch seconds of a cell in one arm, a value for each launch; see `of`."""
        if (cell, arm) not in self._epochs:
            self._epochs[cell, arm] = self._medians_of(cell, arm)
        return self._epochs[cell, arm]

    def median_s(self, cell: Cell | None, arm: str) -> float:
        """Return the median of `epoch_s`; NaN without a launch."""
        seconds = finite(self.epoch_s(cell, arm))
        return middle(seconds) if len(seconds) else math.nan

    def _medians_of(self, cell: Cell | None, arm: str) -> pd.Series:
        """The seconds of `of`; of several launches without a table: six times sooner."""
        runs = sorted(cell.runs) if cell and cell.status == "complete" else []
        timed = [run for run in runs if (arm, run) in self._seconds]
        if len(timed) < 2:
            return self.of(cell, arm)["epoch_s"]
        seconds = [self._seconds[arm, run]["epoch_s"] for run in timed]
        return pd.Series(seconds, pd.Index(timed, dtype=object, name="run"), name="epoch_s")

    def log_pair(self, base: Cell, cell: Cell, arm: str) -> tuple[pd.Series, pd.Series] | None:
        """Return the logarithms of the epochs of two cells in one arm, of launches both have.

        None of single launches.
        """
        of_base, of_cell = (self._logs_of(one, arm) for one in (base, cell))
        if of_base is None or of_cell is None:
            return None
        if not of_cell.index.equals(of_base.index):
            common = of_cell.index.intersection(of_base.index)
            of_base, of_cell = of_base[common], of_cell[common]
        return (of_base, of_cell) if len(of_cell) > 1 else None

    def _logs_of(self, cell: Cell, arm: str) -> pd.Series | None:
        """The logarithms of a cell's epochs in one arm by the ends of its launches' names."""
        if (cell, arm) not in self._logs:
            times = by_launch_end(self.epoch_s(cell, arm))
            self._logs[cell, arm] = None if times is None else np.log(times)
        return self._logs[cell, arm]

    def ratio(
        self,
        base: Cell,
        cell: Cell,
        arm: str,
        prior: Prior = NOTHING_LIKE,
        confidence: float = CONFIDENCE,
    ) -> Estimate:
        """Return the epoch of a base over that of a cell, launch by launch where both have several.

        prior: of like pairs of logarithms. Unknown without a time of each.
        """
        if pair := self.log_pair(base, cell, arm):
            return median_of_ratios(pair, prior, confidence)
        return median_ratio(self.epoch_s(base, arm), self.epoch_s(cell, arm), confidence)

    def together(self, cell: Cell | None, arms: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
        """Return the times of some arms of a cell as columns; null where an arm was not timed.

        arms: (arm, column of its times) by the name that its column has here. A row a launch; of a
        single launch its repeats.
        """
        if cell is None or len(cell.runs) < 2:
            found = {name: self.of(cell, arm)[column] for name, (arm, column) in arms.items()}
            timed = {name: times for name, times in found.items() if len(times)}
            return pd.DataFrame(timed).reindex(columns=list(arms)).astype(float)
        runs = sorted(cell.runs) if cell.status == "complete" else []
        rows = [
            [self._seconds.get((arm, run), {}).get(column) for arm, column in arms.values()]
            for run in runs
        ]
        seconds = np.array(rows, float).reshape(len(runs), len(arms))
        times = pd.DataFrame(seconds, pd.Index(runs, dtype=object), list(arms))
        return times.dropna(how="all") if np.isnan(seconds).all(axis=1).any() else times

    def columns(self, cell: Cell, arm: str) -> dict[str, float | None]:
        """Return the launches of a cell in one arm, and what lies between the extreme ones."""
        return launch_columns(self.epoch_s(cell, arm))


def over_launches(repeats: Repeats) -> Repeats:
    """Return each launch's median of repeats labelled by (run, repeat); of a single launch them."""
    by_launch = repeats.groupby(level="run")
    return by_launch.median() if by_launch.ngroups > 1 else repeats


def launch_columns(launches: pd.Series) -> dict[str, float | None]:
    """Return the number of launches of `over_launches`, and what lies between the extreme ones."""
    several = not isinstance(launches.index, pd.MultiIndex)
    times = finite(launches)
    width = float(np.ptp(times)) / middle(times) if several and len(times) else None
    return {
        "launches": len(launches) if several else int(not launches.empty),
        "launch_spread_frac": width,
    }
