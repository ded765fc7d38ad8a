"""Compare two results, cell by cell: the second against the first.

Prints what differs (machine, versions, settings) and which cells show a measurable difference.
Exits with 1 where one is slower by more than --fail-if-slower, 2 where a folder cannot be read, or
nothing is in both and a bound was given, else with 0.
"""

import argparse
import math
import sys
from pathlib import Path

from dpscale.arguments import results_of
from dpscale.compare import compare, html_page, read_results, terminal_text
from dpscale.errors import one_line
from dpscale.records.storage import write_text
from dpscale.studies import schemas


def fraction(text: str) -> float:
    """Return a number of at least 0."""
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(text)
    return number


@one_line("compare.py", status=2)
def main() -> int:
    """Read the command line and both results, and say what differs; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    named = "results/NAME, or the file of a configuration"
    parser.add_argument("a", type=Path, help=f"{named}: what to compare with")
    second = parser.add_mutually_exclusive_group(required=True)
    second.add_argument("b", type=Path, nargs="?", help=named)
    second.add_argument("--configfile", type=Path, metavar="FILE", help="YAML file in place of b")
    parser.add_argument("--output", type=Path, metavar="compare.html", help="the page, all of it")
    parser.add_argument(
        "--fail-if-slower",
        type=fraction,
        metavar="0.05",
        help="end with 1 where a time or a rate is worse by more than this share",
    )
    given = parser.parse_args()
    a, b = (results_of(place) for place in (given.a, given.configfile or given.b))
    found = compare(
        *(read_results(one, schemas()) for one in (a, b)), schemas(), given.fail_if_slower
    )
    if given.output:
        write_text(given.output, html_page(found))
    print(terminal_text(found))
    if given.fail_if_slower is not None and not found.family:
        raise ValueError(f"{b}: nothing to judge: no cell of {a} with an interval")
    return 1 if found.slower else 0


if __name__ == "__main__":
    sys.exit(main())
