"""Check a hand-collected table of timings: CSV, TSV, Markdown or a spreadsheet (.xlsx).

Prints what was assumed, what is wrong and why, and the corrected tables of the lab. Exits with 0
where the table is consistent, 1 where something is wrong in it, 2 where it cannot be read or
anything else fails.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

try:
    from dpscale.audit import Given, audit, read_table
    from dpscale.errors import one_line
    from dpscale.records.storage import write_text
    from dpscale.reporting.audits import terminal_text, worded
except ImportError as error:  # Python would end with 1, which means findings
    print(f"audit_table.py: {error}; call it in the environment of dpscale", file=sys.stderr)
    sys.exit(2)


def count(text: str) -> int:
    """Return a whole number of at least 1, thousands apart or not."""
    number = int(text.replace(",", "").replace("_", ""))
    if number < 1:
        raise ValueError(text)
    return number


@one_line("audit_table.py", status=2)
def main() -> int:
    """Read the command line and the table, and say what is wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, metavar="TABLE", help="the table")
    parser.add_argument("--parameters", type=count, help="trainable parameters X")
    parser.add_argument("--samples", type=count, help="training samples D")
    parser.add_argument("--itemsize", type=count, help="bytes of a parameter [4]")
    parser.add_argument("--epochs", type=count, help="epochs of a run, for its steps [1]")
    parser.add_argument("--sheet", help="sheet of a spreadsheet [the first with the columns]")
    parser.add_argument("--title", default="", help="title of the table [the file's name]")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="the audit as JSON")
    given = parser.parse_args()
    facts = Given(given.parameters, given.samples, given.itemsize, given.epochs)
    found = audit(read_table(given.table, given.sheet), facts)
    content = {"title": given.title or given.table.name, **asdict(worded(found))}
    if given.output:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        write_text(given.output, text + "\n")
    print(terminal_text(content, given.table.name))
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
