"""Answer the questions of the lab from tidy and derived tables.

Writes the list of answers (answers.json) and, beside it, the findings that open the report
(summary.json: a list of texts).
"""

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

from dpscale.derive.tables import COLUMNS, DERIVED, TIDY
from dpscale.reporting.answer import dump_answers
from dpscale.reporting.answers import answer_all, findings


def write(content: object, path: Path) -> None:
    """Write the content as JSON whole or not at all: by a temporary name, then renamed."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(
        json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    unfinished.replace(path)


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
    tables = {name: given.tables / f"{name}.parquet" for name in TIDY}
    tables_derived = {name: given.derived / f"{name}.csv" for name in DERIVED}
    for path in (*tables.values(), *tables_derived.values()):
        if not path.exists():
            sys.exit(f"answer.py: no input table {path}")
    tidy = {name: pd.read_parquet(path) for name, path in tables.items()}
    derived = {
        name: pd.read_csv(path, dtype=COLUMNS[name]) for name, path in tables_derived.items()
    }
    answers = answer_all(derived, tidy)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    write(findings(answers, derived), given.output.with_name("summary.json"))
    write(dump_answers(answers), given.output)


if __name__ == "__main__":
    main()
