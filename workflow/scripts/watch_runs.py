"""Shows a whole workflow in one view: what runs and how far it is, what waits, what failed.

Reads only. On a terminal the view is live until every run is done or you press Ctrl-C; elsewhere
it is printed once, or with --interval as a line for each change.
"""

import argparse
import sys
from pathlib import Path

from dpscale.arguments import add_config, config_of
from dpscale.config import ConfigError
from dpscale.errors import described, one_line
from dpscale.watch import Observer, follow, is_live, open_console, show

INTERVAL_S = 2.0


def seconds(text: str) -> float:
    """The interval; a tenth of a second at the least."""
    return max(0.1, float(text))


@one_line("watch_runs.py")
def main() -> int:
    """Read the command line, and show the view; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_config(parser)
    parser.add_argument("--once", action="store_true", help="print the view once")
    parser.add_argument("--interval", type=seconds, help=f"seconds (default: {INTERVAL_S:g})")
    given = parser.parse_args()
    try:
        config = config_of(given)
    except ConfigError as error:
        print(f"watch_runs.py: {described(error)}", file=sys.stderr)
        return 2
    results = given.place if given.place and given.place.is_dir() else Path("results", config.name)
    observer = Observer(config, results)
    console = open_console()
    if given.once or (not is_live(console) and not given.interval):
        show(observer, console)
    else:
        follow(observer, console, given.interval or INTERVAL_S)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
