"""Ends with an error that names each answer and figure that failed; the report is written by then.

What was measured is kept: once the program is mended, the next call makes them anew.
"""

import argparse
import csv
import sys
from pathlib import Path

from dpscale.errors import one_line
from dpscale.records.storage import read_json, write_text


@one_line("check_report.py")
def main() -> None:
    """Read the command line, and look for what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=Path, required=True, help="answers.json")
    parser.add_argument("--figures", type=Path, required=True, help="folder of figures")
    parser.add_argument("--output", type=Path, help="written where nothing failed")
    given = parser.parse_args()
    beside = given.answers.with_name("closing.json")
    answers = read_json(given.answers) + (read_json(beside) if beside.exists() else [])
    failed = [f"{one['id']}: {one['error']}" for one in answers if one["status"] == "failed"]
    for path in sorted(given.figures.glob("*.csv")):
        head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        failed += [f"figure {path.stem}: {row[0]}" for row in rows if head == ["error"]]
    if failed:
        sys.exit("\n".join(["check_report.py: the report is written, without", *failed]))
    if given.output:
        write_text(given.output, f"{len(answers)} answers\n")


if __name__ == "__main__":
    main()
