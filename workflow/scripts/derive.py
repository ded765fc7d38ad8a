"""Make derived tables (CSV) from tidy tables (parquet)."""

import argparse
from pathlib import Path

from dpscale.derive.same_machine import require_same_machine
from dpscale.errors import one_line
from dpscale.records.storage import read_table, write_csv
from dpscale.studies import derived_of, schemas
from dpscale.studies import tables as derived


def derive(names: list[str], tables: Path, output: Path) -> None:
    """Make the named derived tables, each of them also where an earlier call left it."""
    require_same_machine(read_table(tables / "runs.parquet", schemas()["runs"]))
    tidy = {name: (tables / f"{name}.parquet", columns) for name, columns in schemas().items()}
    made = derived_of({name: read_table(*of) for name, of in tidy.items()})
    for name in names:
        write_csv(output / f"{name}.csv", made[name])


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
    parser.add_argument("names", nargs="*", metavar="NAME", help="derived table (default: all)")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(derived()))
    if unknown:
        parser.error(f"no derived table {', '.join(unknown)}; there are {', '.join(derived())}")
    derive(given.names or list(derived()), given.tables, given.output)


if __name__ == "__main__":
    main()
