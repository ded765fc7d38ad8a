"""What snakemake would answer with a traceback before it reads the Snakefile, in a line.

profiles/default has it looked at first: snakemake reads its profiles before anything else.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from dpscale.config.reading import ConfigError, read_mapping

WRITTEN = (".", ".snakemake", ".snakemake/log", "results")  # of the folder of a call


def check_call(arguments: Sequence[str]) -> None:
    """End with a line where a configuration cannot be read, or a folder not be written.

    arguments: those of snakemake.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
    try:
        given, _ = parser.parse_known_args(arguments)
        for path in given.configfile:
            read_mapping(path)
    except argparse.ArgumentError:
        return  # snakemake says what is wrong with its arguments
    except ConfigError as error:
        sys.exit(str(error))
    if line := unwritable(Path.cwd()):
        sys.exit(f"dpscale: {line}")


def unwritable(folder: Path) -> str | None:
    """Return a line on a folder that snakemake has to write and may not; None where it may."""
    for path in (folder / name for name in WRITTEN):
        if os.path.exists(path) and not os.access(path, os.W_OK, effective_ids=True):
            return f"{path} may not be written; work in a clone of your own: git clone {folder}"
    cache = user_cache_path("snakemake", "snakemake")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache).close()
    except OSError as error:
        return (
            f"{cache}, where snakemake keeps what it reads, may not be written "
            f"({error.strerror}); set XDG_CACHE_HOME to a folder that may"
        )
    return None
