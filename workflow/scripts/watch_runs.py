"""Shows a whole workflow in one view: what runs and how far it is, what waits, what failed.

Reads only. On a terminal the view is live until every run is done or you press Ctrl-C; elsewhere
it is printed once, or with --interval as a line for each change.
"""

import argparse
import sys
from pathlib import Path

from dpscale.config import Config, ConfigError
from dpscale.errors import described, one_line
from dpscale.studies import read_config
from dpscale.watch import Observer, follow, is_live, open_console, show

DEFAULT, CONFIGS = Path("config/config.yaml"), Path("config")
SUFFIXES = (".yaml", ".yml", ".json")
INTERVAL_S = 2.0


def seconds(text: str) -> float:
    """The interval; a tenth of a second at the least."""
    return max(0.1, float(text))


def find_config(results: Path, folder: Path) -> Config:
    """The configuration in `folder` whose name is that of the results.

    Raises ConfigError where there is none; files there that are no configurations do not matter.
    """
    for path in sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES):
        try:
            config = read_config(path)
        except ConfigError:
            continue
        if config.name == results.resolve().name:
            return config
    raise ConfigError(
        f"{results}: no configuration in {folder} has this name; name its file with --configfile"
    )


def observer_of(given: argparse.Namespace) -> Observer:
    """The observer of the configuration, or of the results, that the command line names."""
    if given.results and not given.configfile:
        config = find_config(given.results, CONFIGS)
    else:
        config = read_config(given.configfile or DEFAULT)
    return Observer(config, given.results or Path("results", config.name))


@one_line("watch_runs.py")
def main() -> int:
    """Read the command line, and show the view; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", help="results/<name>")
    parser.add_argument("--configfile", type=Path, help=f"YAML file (default: {DEFAULT})")
    parser.add_argument("--once", action="store_true", help="print the view once")
    parser.add_argument("--interval", type=seconds, help=f"seconds (default: {INTERVAL_S:g})")
    given = parser.parse_args()
    try:
        observer = observer_of(given)
    except ConfigError as error:
        print(f"watch_runs.py: {described(error)}", file=sys.stderr)
        return 2
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
