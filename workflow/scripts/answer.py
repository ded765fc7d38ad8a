"""Answer the questions of the lab from tidy and derived tables.

Writes the list of answers (answers.json) and, beside it, the findings that open the report
(summary.json: a list of texts).
"""

import argparse
import json
from pathlib import Path

from dpscale.derive.tables import COLUMNS, DERIVED, TIDY
from dpscale.errors import one_line
from dpscale.records.schemas import SCHEMAS
from dpscale.records.storage import read_table, write_text
from dpscale.reporting.answer import dump_answers
from dpscale.reporting.answers import answer_all, findings


def write(content: object, path: Path) -> None:
    """Write the content as JSON."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


@one_line("answer.py")
def main() -> None:
    """Read the command line and the tables, and write both files."""
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
        help="the answers; summary.json is written beside them",
    )
    given = parser.parse_args()
    tidy = {name: read_table(given.tables / f"{name}.parquet", SCHEMAS[name]) for name in TIDY}
    derived = {name: read_table(given.derived / f"{name}.csv", COLUMNS[name]) for name in DERIVED}
    answers = answer_all(derived, tidy)
    write(findings(answers, derived), given.output.with_name("summary.json"))
    write(dump_answers(answers), given.output)


if __name__ == "__main__":
    main()
