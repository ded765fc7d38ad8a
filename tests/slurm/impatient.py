"""Snakemake that asks Slurm how its jobs do every two seconds, in the place of `snakemake`.

The plugin asks more and more rarely, 10 s later each time: right for jobs of hours, and most of the
time of a test.
"""

import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

INTERVAL_S = 2

if __name__ == "__main__":
    RemoteExecutor.next_seconds_between_status_checks = property(
        lambda _: INTERVAL_S, lambda _, wanted: None
    )
    sys.exit(main())
