"""Make derived tables (CSV) from tidy tables (parquet)."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from dpscale.derive.same_machine import MixedMachinesError, require_same_machine
from dpscale.derive.tables import COLUMNS, DERIVED, TIDY, in_order


def read(name: str, tables: Path, output: Path) -> pd.DataFrame:
    """Return an input table: tidy from TABLES, derived from OUTPUT."""
    if name in TIDY:
        return pd.read_parquet(tables / f"{name}.parquet")
    return pd.read_csv(output / f"{name}.csv", dtype=COLUMNS[name])


def write(table: pd.DataFrame, path: Path) -> None:
    """Write the table whole or not at all: by a temporary name, then renamed."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    table.to_csv(unfinished, index=False)
    unfinished.replace(path)


def derive(names: list[str], tables: Path, output: Path) -> None:
    """Make the named derived tables, in the order that they need each other."""
    output.mkdir(parents=True, exist_ok=True)
    require_same_machine(read("runs", tables, output))
    for name in in_order(names):
        function, inputs = DERIVED[name]
        write(function(*[read(given, tables, output) for given in inputs]), output / f"{name}.csv")


def main() -> None:
    """Read the command line, derive, and turn a known error into one line."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Tables: {', '.join(DERIVED)}.")
    parser.add_argument("--tables", type=Path, required=True, metavar="DIR",
                        help="folder of the tidy tables, NAME.parquet")  # fmt: skip
    parser.add_argument("--output", type=Path, required=True, metavar="DIR",
                        help="folder of the derived tables, NAME.csv; inputs that are derived "
                        "tables and not named here are read from it")  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help="derived table (default: all)")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(DERIVED))
    if unknown:
        parser.error(f"no derived table {', '.join(unknown)}; there are {', '.join(DERIVED)}")
    try:
        derive(given.names or list(DERIVED), given.tables, given.output)
    except MixedMachinesError as error:
        sys.exit(f"derive.py: {error}")
    except FileNotFoundError as error:
        sys.exit(f"derive.py: no input table {error.filename}")


if __name__ == "__main__":
    main()
