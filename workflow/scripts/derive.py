"""Make derived tables (CSV) from tidy tables (parquet)."""

import argparse
from pathlib import Path

import pandas as pd

from dpscale.derive.same_machine import require_same_machine
from dpscale.derive.tables import in_order
from dpscale.errors import one_line
from dpscale.records.storage import read_table, write_csv
from dpscale.studies import schemas as tidy
from dpscale.studies import tables as derived


def read(name: str, tables: Path, output: Path) -> pd.DataFrame:
    """Return an input table: tidy from TABLES, derived from OUTPUT."""
    if name in tidy():
        return read_table(tables / f"{name}.parquet", tidy()[name])
    return read_table(output / f"{name}.csv", derived()[name].columns)


def derive(names: list[str], tables: Path, output: Path) -> None:
    """Make the named derived tables, in the order that they need each other."""
    require_same_machine(read("runs", tables, output))
    for name in in_order(names, derived(), tidy()):
        table = derived()[name]
        inputs = [read(given, tables, output) for given in table.inputs]
        try:
            made = table.make(*inputs)
        except Exception as error:  # the line or the traceback ends with the table
            error.add_note(f"derived table {name}")
            raise
        write_csv(output / f"{name}.csv", made)


@one_line("derive.py")
def main() -> None:
    """Read the command line, and derive."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Tables: {', '.join(derived())}.")
    parser.add_argument("--tables", type=Path, required=True, metavar="DIR",
                        help="folder of the tidy tables, NAME.parquet")  # fmt: skip
    parser.add_argument("--output", type=Path, required=True, metavar="DIR",
                        help="folder of the derived tables, NAME.csv; inputs that are derived "
                        "tables and not named here are read from it")  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help="derived table (default: all)")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(derived()))
    if unknown:
        parser.error(f"no derived table {', '.join(unknown)}; there are {', '.join(derived())}")
    derive(given.names or list(derived()), given.tables, given.output)


if __name__ == "__main__":
    main()
