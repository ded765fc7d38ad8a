"""Writes down how long the runs of finished results took, so that a first call can tell.

For configurations in config/ that people start on, after one whole call from nothing to the report.
"""

import argparse
from pathlib import Path

from dpscale.config import ConfigError
from dpscale.errors import one_line
from dpscale.watch import Observer, find_config
from dpscale.watch.durations import write_durations
from dpscale.watch.estimate import measured


@one_line("write_durations.py")
def main() -> None:
    """Read the command line, and write the durations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="results/<name>")
    parser.add_argument("--seconds", type=float, required=True, help="that the whole call took")
    given = parser.parse_args()
    config = find_config(given.results, Path("config"))
    overview = Observer(config, given.results, slurm=False).look()
    if not overview.over():
        raise ConfigError(f"{given.results}: not every planned run is done; finish it first")
    write_durations(config.name, measured(overview.runs, given.seconds))


if __name__ == "__main__":
    main()
