"""Draw the report's figures from the derived tables: an SVG each, one for telephones, a CSV."""

import argparse
import traceback
from functools import cache, partial
from pathlib import Path

import pandas as pd

from dpscale.errors import located, one_line
from dpscale.figures import draw_figure, failed_figure
from dpscale.forks import forks
from dpscale.records.storage import read_table, write_csv, write_text
from dpscale.studies import figures as all_figures
from dpscale.studies import tables


@cache
def read(name: str, derived: Path) -> pd.DataFrame:
    """Return a derived table."""
    return read_table(derived / f"{name}.csv", tables()[name].columns)


def draw(*, derived: Path, output: Path, names: list[str], processes: int = 1) -> None:
    """Write each named figure into `output`: `<name>.svg`, also `narrow` and `print`, and `.csv`.

    processes: that draw side by side, forks of this one.
    """
    inputs = [
        {one: read(one, derived) for one in entry.inputs}
        for entry in map(all_figures().__getitem__, names)
    ]
    with forks(processes) as pool:
        for _ in pool.map(partial(draw_one, output), names, inputs):
            pass


def draw_one(output: Path, name: str, given: dict[str, pd.DataFrame]) -> None:
    """Draw a figure of its tables.

    One that fails takes no other with it: it says so, and its traceback goes to stderr.
    """
    try:
        drawings, drawn = draw_figure(name, all_figures()[name], given)
    except Exception as error:  # whatever it is: the report shows all the others
        traceback.print_exception(error)
        drawings, drawn = failed_figure(name, located(error))
    for kind, svg in drawings.items():
        write_text(output / f"{name}.{kind}", svg)
    write_csv(output / f"{name}.csv", drawn)


@one_line("draw.py")
def main() -> None:
    """Read the command line, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--derived", type=Path, required=True, help="folder of derived CSV files")
    parser.add_argument("--output", type=Path, required=True, help="folder for SVG and CSV files")
    parser.add_argument("--processes", type=int, default=1, help="that draw side by side")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"figures to draw, all by default: {', '.join(all_figures())}",
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(all_figures()):
        parser.error(f"no figure is named {', '.join(sorted(unknown))}")
    draw(
        derived=arguments.derived,
        output=arguments.output,
        names=arguments.names or list(all_figures()),
        processes=arguments.processes,
    )


if __name__ == "__main__":
    main()
