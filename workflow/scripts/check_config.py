"""Checks a configuration and prints its name; says in one line a problem what is wrong with it.

A training of one's own is tried on two samples. What the plan leaves out of the defaults, and why,
goes to stderr.
"""

import argparse
import sys

from dpscale.arguments import add_config, config_of
from dpscale.config import ConfigError
from dpscale.studies import planned_runs

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    add_config(parser)
    try:
        config = config_of(parser.parse_args())
        runs = planned_runs(config)
    except ConfigError as error:
        sys.exit(str(error))
    for line in config.left_out:
        print(f"dpscale: {line}", file=sys.stderr)
    print(f"dpscale: {len(runs):,} runs are planned", file=sys.stderr)
    print(config.name)
