"""Checks a configuration and prints its name; says in one line a problem what is wrong with it."""

import argparse
import sys
from pathlib import Path

from dpscale.config import ConfigError
from dpscale.studies import planned_runs, read_config

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path, help="YAML file of the configuration")
    try:
        config = read_config(parser.parse_args().config)
        planned_runs(config)
        print(config.name)
    except ConfigError as error:
        sys.exit(str(error))
