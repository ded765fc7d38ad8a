"""Answer the questions of the lab from tidy and derived tables."""

import argparse
import json
from pathlib import Path

from dpscale.errors import one_line
from dpscale.processes import collect_garbage_rarely
from dpscale.records.storage import read_table, write_text
from dpscale.reporting.answer import dump_answers
from dpscale.studies import answer_all, closing, schemas, tables


@one_line("answer.py")
def main() -> None:
    """Read the command line and the tables, and write the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tables",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the tidy tables, NAME.parquet",
    )
    parser.add_argument(
        "--derived",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the derived tables, NAME.csv",
    )
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="answers.json",
        help="the answers; closing.json, beside it, is the report's last page",
    )
    given = parser.parse_args()
    collect_garbage_rarely()
    tidy = {
        name: read_table(given.tables / f"{name}.parquet", columns)
        for name, columns in schemas().items()
    }
    derived = {
        name: read_table(given.derived / f"{name}.csv", table.columns)
        for name, table in tables().items()
    }
    pages = {
        given.output: answer_all(derived, tidy),
        given.output.with_name("closing.json"): [closing(derived, tidy)],
    }
    for path, answers in pages.items():
        # A line each: with indents a lab of thousands of runs would take seconds more.
        lines = [
            json.dumps(one, ensure_ascii=False, allow_nan=False) for one in dump_answers(answers)
        ]
        write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
