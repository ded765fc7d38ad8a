"""Make derived tables (CSV) from tidy tables (parquet)."""

import argparse
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, wait
from graphlib import TopologicalSorter
from pathlib import Path

import pandas as pd

from dpscale.derive.same_machine import require_same_machine
from dpscale.errors import one_line
from dpscale.forks import forks
from dpscale.records.storage import read_table, write_csv
from dpscale.studies import schemas
from dpscale.studies import tables as derived

_tidy: dict[str, pd.DataFrame] = {}  # tidy tables, read before forks are made: these have them


def derive(names: list[str], tables: Path, output: Path, processes: int = 1) -> None:
    """Make the named derived tables, each of them also where an earlier call left it.

    processes: that derive side by side, forks of this one.
    """
    require_same_machine(read_table(tables / "runs.parquet", schemas()["runs"]))
    _tidy.update(
        (name, read_table(tables / f"{name}.parquet", columns))
        for name, columns in schemas().items()
    )
    made: dict[str, pd.DataFrame] = {}  # of which some have the names of tidy ones
    order = TopologicalSorter[str]()
    waiting = Counter[str]()  # tables by how many others wait for them, however far
    for name in _needed(names):
        order.add(name, *(one for one in derived()[name].inputs if one not in _tidy))
        waiting.update(_needed([name]))
    order.prepare()

    def given(name: str) -> dict[str, pd.DataFrame]:
        """The derived tables that a derived one is made of."""
        return {one: made[one] for one in derived()[name].inputs if one not in _tidy}

    def urgency(name: str) -> tuple[int, int]:
        """What many wait for, or is made of many derived rows, is begun first: no core idles.

        Of tidy rows, which are far more, a table takes those of its study at once.
        """
        return waiting[name], sum(map(len, given(name).values()))

    ready: list[str] = []
    running: dict[Future[pd.DataFrame], str] = {}
    with forks(processes) as pool:
        while order.is_active():
            ready = sorted([*ready, *order.get_ready()], key=urgency)
            while ready and len(running) <= processes:  # one more than are at work
                name = ready.pop()
                path = output / f"{name}.csv" if name in names else None
                running[pool.submit(derive_one, name, given(name), path)] = name
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                made[name] = future.result()
                order.done(name)


def _needed(names: list[str]) -> list[str]:
    """The tables and those that they are made of, however far."""
    needed, left = list[str](), list(names)
    while left:
        if (name := left.pop()) not in needed:
            needed.append(name)
            left += [one for one in derived()[name].inputs if one not in schemas()]
    return needed


def derive_one(name: str, given: dict[str, pd.DataFrame], path: Path | None) -> pd.DataFrame:
    """Return a derived table, and write it where it was asked for; given: its derived inputs."""
    inputs = [given[one] if one in given else _tidy[one] for one in derived()[name].inputs]
    table = derived()[name].named(name, inputs)
    if path:
        write_csv(path, table)
    return table


@one_line("derive.py")
def main() -> None:
    """Read the command line, and derive."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Tables: {', '.join(derived())}.")
    parser.add_argument(
        "--tables",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the tidy tables, NAME.parquet",
    )
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the derived tables, NAME.csv",
    )
    parser.add_argument("--processes", type=int, default=1, help="that derive side by side")
    parser.add_argument("names", nargs="*", metavar="NAME", help="derived table (default: all)")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(derived()))
    if unknown:
        parser.error(f"no derived table {', '.join(unknown)}; there are {', '.join(derived())}")
    derive(given.names or list(derived()), given.tables, given.output, given.processes)


if __name__ == "__main__":
    main()
