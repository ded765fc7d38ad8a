"""Which configuration the results in a folder are of."""

from pathlib import Path

from dpscale.config import Config, ConfigError
from dpscale.studies import read_config

SUFFIXES = (".yaml", ".yml", ".json")


def find_config(results: Path, folder: Path) -> Config:
    """Return the configuration in `folder` whose name is that of the results.

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
